"""Random graphs of tensors: generated code agrees with the interpreter."""

from __future__ import annotations

import numpy as np
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

import lemmax as lx
from lemmax.expr.graph import inputs_of
from tests.codegen.samples import A, B, D, N, T, W, X, arrays_for, k, n, relative_error, s, x


def _matmul(a: lx.Tensor, b: lx.Tensor) -> lx.Tensor | None:
    return a @ b if a.ndim and b.ndim else None


def _swap(a: lx.Tensor, b: lx.Tensor) -> lx.Tensor | None:
    return a.mT if a.ndim > 1 else None


def _contract(a: lx.Tensor, b: lx.Tensor) -> lx.Tensor | None:
    """Sum over all axes of ``a`` but the last, which the leading axes of ``b`` must fit."""
    if a.ndim < 2 or b.ndim < a.ndim - 1 or a.ndim > 3:
        return None
    letters = "ijk"[: a.ndim - 1]
    return lx.einsum(
        f"{letters}x,{letters}{'yzw'[: b.ndim - a.ndim + 1]}->x{'yzw'[: b.ndim - a.ndim + 1]}", a, b
    )


OPERATIONS = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - 2 * b,
    "multiply": lambda a, b: a * b / 3,
    "matmul": _matmul,
    "swap": _swap,
    "contract": _contract,
    "sum": lambda a, b: a.sum(axis=0) if a.ndim else None,
    "mean": lambda a, b: lx.mean(a, axis=-1) if a.ndim else None,
    "tanh": lambda a, b: lx.tanh(a / 4),
    "exp": lambda a, b: lx.exp(-(a**2)),
    "sigmoid": lambda a, b: lx.sigmoid(a),
    "softmax": lambda a, b: lx.softmax(a) if a.ndim else None,
    "logsumexp": lambda a, b: lx.logsumexp(a, axis=-1) if a.ndim else None,
    "square": lambda a, b: a**2,
    "sqnorm": lambda a, b: lx.sqnorm(a),
    "dot": lambda a, b: lx.dot(a, b) if a.shape == b.shape else None,
    "divide": lambda a, b: a / (1 + b**2),
    "name": lambda a, b: a.named("V") if isinstance(a, lx.Lambda | lx.Apply) and a.operands else None,
}
"""Operations of two operands (the second may be ignored); ``None`` or a shape error means: not applicable."""


@st.composite
def graphs(draw: st.DrawFn) -> list[lx.Tensor]:
    """Draw a few tensors that share parts."""
    pool: list[lx.Tensor] = [A, B, X, W, T, x, s]
    names = 0
    steps = draw(
        st.lists(
            st.tuples(st.sampled_from(sorted(OPERATIONS)), st.integers(0, 99), st.integers(0, 99)),
            min_size=1,
            max_size=8,
        )
    )
    for name, first, second in steps:
        # later tensors are more likely, so that graphs get deep
        a, b = pool[-1 - first % len(pool)], pool[-1 - second % len(pool)]
        try:
            made = OPERATIONS[name](a, b)
        except lx.ShapeError:
            continue
        if made is None or made.ndim > 4:
            continue
        if name == "name":
            names += 1
            made = made.named(f"V{names}")
        pool.append(made)
    count = draw(st.integers(1, 3))
    return pool[-count:]


@given(graphs(), st.integers(0, 2**32 - 1), st.tuples(*[st.integers(1, 4)] * 4))
def test_random_graph(roots: list[lx.Tensor], seed: int, extents: tuple[int, ...]) -> None:
    sizes = dict(zip((n, D, k, N), extents, strict=True))
    rng = np.random.default_rng(seed)
    instances = [_arrays(roots, rng, sizes) for _ in range(2)]
    fn = lx.compile(roots)
    many = lx.compile(roots, batch=True) if fn.inputs else None
    found = [fn(**arrays) for arrays in instances]
    stacked = many(**{key: np.stack([i[key] for i in instances]) for key in fn.inputs}) if many else ()
    for p, t in enumerate(roots):
        for q, arrays in enumerate(instances):
            own = {lx.identifier(str(variable.name)) for variable in inputs_of(t)}
            reference = lx.evaluate(t, **{key: arrays[key] for key in sorted(own)})
            if np.abs(reference).max() > 1e100:
                continue  # repeated squares leave the range of floating point
            assert relative_error(found[q][p], reference) < 1e-9, fn.source
            if many:
                assert relative_error(stacked[p][q], reference) < 1e-9, many.source


def _arrays(
    roots: list[lx.Tensor], rng: np.random.Generator, sizes: dict[sp.Symbol, int]
) -> dict[str, np.ndarray]:
    return {name: a for t in roots for name, a in arrays_for(t, rng, sizes).items()}
