"""The printed text itself, not only the tree behind it: read back, it has the same value.

The reader of LaTeX shares no code with typesetting, so a lost bracket or a wrong subscript shows.
"""

from __future__ import annotations

import numpy as np
import pytest

import lemmax as lx
from lemmax.expr.graph import inputs_of, topological_order
from lemmax.expr.tensor import Tensor
from lemmax.typeset import latex
from lemmax.typeset.latex import read
from lemmax.typeset.letters import Letters
from tests.typeset.everyday import everyday
from tests.typeset.random_terms import random_tensor
from tests.typeset.values import interpreted, named_values, random_inputs, size_values

# What the text alone does not tell: which axis an index belongs to, a shape that only a scalar shows.
NOT_BY_TEXT_ALONE = {
    "matrix": set[str](),
    "index": {"Kronecker", "centring matrix", "constant", "blocks", "range", "first maximum"},
}


def check_read_back(t: Tensor, text: str) -> None:
    """Assert that a text stands for a tensor; named tensors are given to the reader as inputs."""
    sizes = size_values(t)
    arrays = random_inputs(t, sizes)
    names = {str(x.name): x for x in inputs_of(t)}
    for x in topological_order(t):
        if x.name is not None and x != t:
            names.setdefault(x.name, lx.tensor(x.name, *x.shape))
    back = lx.parse_latex(text, names, like=t)
    want = interpreted(t, arrays, sizes)
    got = interpreted(back, named_values(t, arrays, sizes), sizes)
    assert got.shape == want.shape, text
    np.testing.assert_allclose(
        got, want, rtol=1e-8, atol=1e-8 * max(1.0, float(np.abs(want).max())), err_msg=text
    )


@pytest.mark.parametrize("notation", ["matrix", "index"])
def test_everyday_expressions(notation: str) -> None:
    for name, t in everyday().items():
        if name not in NOT_BY_TEXT_ALONE[notation] | {"hull"}:
            check_read_back(t, latex(t, notation=notation))  # type: ignore[arg-type]


@pytest.mark.parametrize("start", range(0, 80, 20))
def test_random_sums_of_products(start: int) -> None:
    for seed in range(start, start + 20):
        t = random_tensor(seed, planar=bool(seed % 4), terms=1 + seed % 3)
        formula = read(t, Letters(t))
        if all(i in formula.tree.indices for i in formula.slots if i is not None):
            # (of a tensor that is constant along a family the text cannot show that axis)
            check_read_back(t, formula.text)


@pytest.mark.parametrize("kernel", ["softmax", "gaussian"])
def test_gradients_of_attention(kernel: str) -> None:
    model = lx.models.attention(kernel=kernel)
    for g in lx.gradient(model.loss, model.weights):
        check_read_back(g, latex(g))
        check_read_back(g, latex(g, inline=True))


def test_slopes_of_spectra_and_products() -> None:
    n, m = lx.sizes("n m")
    A, S, x = lx.tensor("A", n, m), lx.tensor("S", n, n), lx.tensor("x", n)
    for functional, v in [
        (lx.spectral_norm(A) ** 2 / 2, A),
        (lx.sigma(A, 2), A),
        (lx.sigma_min(A), A),
        (lx.nuclear_norm(A), A),
        (lx.cond(S), S),
        (lx.lambda_max(S), S),
        (lx.lambda_min(S @ S), S),
        (lx.prod(x), x),
    ]:
        g = lx.gradient(functional, v)
        back = lx.parse_latex(latex(g), [A, S, x], like=g)
        assert lx.equal(back, g).name == "proved", latex(g)
        check_read_back(g, latex(g))
    H = lx.hessian(lx.prod(x), x)
    back = lx.parse_latex(latex(H), [x], like=H, indices=["i", "j"])
    arrays = {"x": np.array([2.0, 3.0, 5.0])}
    np.testing.assert_allclose(lx.evaluate(back, arrays), lx.evaluate(H, arrays), rtol=1e-14)
    np.testing.assert_allclose(lx.evaluate(H, arrays), [[0, 5, 3], [5, 0, 2], [3, 2, 0]], rtol=1e-14)


def test_what_is_no_slope_of_a_spectrum_is_refused() -> None:
    n, m = lx.sizes("n m")
    A = lx.tensor("A", n, m)
    for text in (r"\operatorname{dyad}(A)", r"\operatorname{proj}_1(A)", r"\operatorname{proj}_{\max}(A)"):
        with pytest.raises(lx.ParseError):
            lx.parse_latex(text, [A])


def test_the_centring_matrix_stays_one() -> None:
    n, m = lx.sizes("n m")
    A = lx.tensor("A", n, m)
    text = r"\Bigl( I_n - \frac{1}{n} \mathbf{1}_n \mathbf{1}_n^\top \Bigr) A"
    read_from = lx.parse_latex(r"(I - \frac1n \mathbf 1 \mathbf 1^\top) A", [A])
    assert latex(read_from) == text == latex(A - lx.mean(A, axis=0, keepdims=True))
