"""Names for formulas, and what it means that a formula was read right."""

from __future__ import annotations

import re

import numpy as np
import sympy as sp

import lemmax as lx
from lemmax.expr.graph import inputs_of, topological_order

n, m, H, N, d = lx.sizes("n m H N d")
A = lx.tensor("A", n, n)
B = lx.tensor("B", n, m)
C = lx.tensor("C", m, n)
G = lx.tensor("G", n, n)
x, y, z = lx.tensor("x", n), lx.tensor("y", n), lx.tensor("z", m)
s, t = lx.tensor("s"), lx.tensor("t")
W = lx.tensor("W^Q", H, n, m)
X = lx.tensor("X", N, n, m)
u = lx.tensor(r"\bar{u}", n)
theta, lam = lx.tensor("theta", n), lx.tensor("lam")
K1 = lx.tensor("K_1", n, n)
Wq, loss = lx.tensor("Wq", n, m), lx.tensor("loss")
NAMES: dict[str, lx.Tensor] = {
    str(v.name): v for v in (A, B, C, G, x, y, z, s, t, W, X, u, theta, lam, K1, Wq, loss)
}
NAMES_AND_SIZES = [NAMES, lx.ones(N, d)]  # the second brings its sizes


def read(text: str, **options: object) -> lx.Tensor:
    return lx.parse_latex(text, NAMES_AND_SIZES, **options)  # type: ignore[arg-type, no-any-return]


def assert_same(got: lx.Tensor, want: lx.Tensor, text: str = "") -> None:
    """Assert that two tensors are equal: proved where normal forms reach, else by values."""
    assert got.shape == want.shape, text
    verdict = lx.equal(got, want)
    assert verdict.name != "refuted", f"{text}: {verdict}"
    if verdict.name != "proved":
        assert_same_values(got, want, text)


def assert_same_values(got: lx.Tensor, want: lx.Tensor, text: str = "", seed: int = 0) -> None:
    """Assert that two tensors have the same values on random arrays, by the interpreter."""
    symbols = sorted(
        {q for v in topological_order(got, want) for p in v.shape for q in p.free_symbols}, key=str
    )
    sizes = {symbol: 3 + position % 3 for position, symbol in enumerate(symbols)}
    rng = np.random.default_rng(seed)
    arrays = {
        lx.identifier(str(v.name)): rng.standard_normal([int(sp.sympify(p).subs(sizes)) for p in v.shape])
        for v in inputs_of(got, want)
    }
    values = []
    for v in (got, want):
        own = {lx.identifier(str(i.name)): arrays[lx.identifier(str(i.name))] for i in inputs_of(v)}
        present = {q for w in topological_order(v) for p in w.shape for q in p.free_symbols}
        values.append(lx.evaluate(v, own, sizes={q: k for q, k in sizes.items() if q in present}))
    np.testing.assert_allclose(values[0], values[1], rtol=1e-9, atol=1e-9, err_msg=text)


def marked(error: Exception) -> str:
    """Return the part of the formula above the carets of a message."""
    lines = str(error).split("\n")
    position = next(p for p, line in enumerate(lines) if re.fullmatch(r" *\^+", line))
    start, end = lines[position].index("^"), len(lines[position])
    return lines[position - 1][start:end]


def readings(error: Exception) -> list[str]:
    """Return the readings that a message lists."""
    return re.findall(r"^  \d+\. (.*)$", str(error), re.M)
