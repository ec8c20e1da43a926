r"""Compare SymPy's matrix derivatives with those of lemmax: ``python docs/why_not_sympy.py``.

Each row is a scalar (or a vector) and a variable, written once for SymPy, once for lemmax and once for NumPy.
Both derivatives are evaluated at a random point and compared with complex steps of the NumPy function. The
table on the page between the markers is written anew, with the version of SymPy that was asked.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp

import lemmax as lx

PAGE = Path(__file__).resolve().parent / "explanation" / "why-not-sympy.md"
BEGIN, END = "<!-- table: begin -->\n", "<!-- table: end -->"
SIZE = 3
STEP = 1e-30  # of complex steps, which lose no digits by being small
CLOSE = 1e-12  # relative to the largest entry
SHORT = 80  # a result of SymPy up to this length is shown

n = lx.size("n")
A, C = lx.tensor("A", n, n), lx.tensor("C", n, n)
x, w = lx.tensor("x", n), lx.tensor("w", n)
b, k = lx.tensor("b"), lx.tensor("k")

N = sp.Symbol("n", integer=True, positive=True)
As, Cs = sp.MatrixSymbol("A", N, N), sp.MatrixSymbol("C", N, N)
xs, ws = sp.MatrixSymbol("x", N, 1), sp.MatrixSymbol("w", N, 1)
bs, ks = sp.Symbol("b"), sp.Symbol("k")
total = sp.Trace(sp.OneMatrix(N, 1).T * xs.applyfunc(sp.exp))
tr, det, inv = np.trace, np.linalg.det, np.linalg.inv


@dataclass(frozen=True)
class Row:
    """One function of one variable, for three programs.

    Attributes:
        latex: how it is written.
        variable: the variable of lemmax; its name is that in SymPy and NumPy.
        lemmax: the expression of lemmax.
        sympy: makes SymPy's expression.
        numpy: the function, of the arrays by name.
    """

    latex: str
    variable: lx.Tensor
    lemmax: lx.Tensor
    sympy: Callable[[], Any]
    numpy: Callable[[dict[str, Any]], Any]


ROWS = (
    Row(
        r"\operatorname{tr} A + \operatorname{tr} A A",
        A,
        lx.trace(A) + lx.trace(A @ A),
        lambda: sp.Trace(As) + sp.Trace(As * As),
        lambda v: tr(v["A"]) + tr(v["A"] @ v["A"]),
    ),
    Row(
        r"\operatorname{tr}(x^\top w) + b",
        w,
        lx.dot(x, w) + b,
        lambda: sp.Trace(xs.T * ws) + bs,
        lambda v: v["x"] @ v["w"] + v["b"],
    ),
    Row("A_{11}", A, A[0, 0], lambda: As[0, 0], lambda v: v["A"][0, 0]),
    Row(
        r"\log \det A",
        A,
        lx.logdet(A),
        lambda: sp.log(sp.Determinant(As)),
        lambda v: np.log(det(v["A"])),
    ),
    Row(
        r"\exp(\operatorname{tr} A)",
        A,
        lx.exp(lx.trace(A)),
        lambda: sp.exp(sp.Trace(As)),
        lambda v: np.exp(tr(v["A"])),
    ),
    Row(
        r"\log \sum_i e^{x_i}",
        x,
        lx.logsumexp(x),
        lambda: sp.log(total),
        lambda v: np.log(np.exp(v["x"]).sum()),
    ),
    Row(
        r"k \det A",
        A,
        k * lx.det(A),
        lambda: ks * sp.Determinant(As),
        lambda v: v["k"] * det(v["A"]),
    ),
    Row(
        r"(\operatorname{tr}(I - A))^2",
        A,
        lx.trace(lx.eye(n) - A) ** 2,
        lambda: sp.Trace(sp.Identity(N) - As) ** 2,
        lambda v: tr(np.eye(SIZE) - v["A"]) ** 2,
    ),
    Row(
        r"\|A\|_F",
        A,
        lx.norm(A),
        lambda: sp.sqrt(sp.Trace(As.T * As)),
        lambda v: np.sqrt((v["A"] * v["A"]).sum()),
    ),
    Row(
        r"\operatorname{softmax}(x)",
        x,
        lx.softmax(x),
        lambda: xs.applyfunc(sp.exp) / total,
        lambda v: np.exp(v["x"]) / np.exp(v["x"]).sum(),
    ),
    Row(
        r"\operatorname{tr}(A C)",
        A,
        lx.trace(A @ C),
        lambda: sp.Trace(As * Cs),
        lambda v: tr(v["A"] @ v["C"]),
    ),
    Row(
        r"\operatorname{tr}(A A C)",
        A,
        lx.trace(A @ A @ C),
        lambda: sp.Trace(As * As * Cs),
        lambda v: tr(v["A"] @ v["A"] @ v["C"]),
    ),
    Row(
        r"x^\top A x",
        x,
        lx.dot(x, A @ x),
        lambda: xs.T * As * xs,
        lambda v: v["x"] @ v["A"] @ v["x"],
    ),
    Row(
        r"\operatorname{tr}(A^{-1} C)",
        A,
        lx.trace(lx.inv(A) @ C),
        lambda: sp.Trace(As.inverse() * Cs),
        lambda v: tr(inv(v["A"]) @ v["C"]),
    ),
)


@dataclass(frozen=True)
class Outcome:
    """What came of a row.

    Attributes:
        row: the row.
        sympy: ``right``, ``wrong``, ``refused`` (an exception) or ``unevaluated``.
        shown: SymPy's result, or the name of its exception.
        lemmax: the derivative that lemmax prints.
        error: largest difference of lemmax from complex steps, relative to the largest entry.
    """

    row: Row
    sympy: str
    shown: str
    lemmax: str
    error: float


def arrays() -> dict[str, Any]:
    """Return a point: a matrix of positive determinant, and others."""
    rng = np.random.default_rng(0)
    square = rng.normal(size=(SIZE, SIZE))
    rest = {name: rng.normal(size=SIZE) for name in ("x", "w")}
    scalars = {name: float(rng.normal()) for name in ("b", "k")}
    return {
        "A": square @ square.T + np.eye(SIZE) + square,
        "C": rng.normal(size=(SIZE, SIZE)),
        **rest,
        **scalars,
    }


def complex_steps(row: Row, at: dict[str, Any]) -> Any:
    """Return the derivative: shape of the function, then that of the variable."""
    name = str(row.variable.name)
    columns = []
    for index in np.ndindex(at[name].shape):
        moved = at[name].astype(complex)
        moved[index] += 1j * STEP
        columns.append(np.imag(row.numpy({**at, name: moved})) / STEP)
    return np.moveaxis(np.array(columns), 0, -1).reshape((*np.shape(columns[0]), *at[name].shape))


def distance(value: Any, right: Any) -> float:
    """Return the largest difference relative to the largest entry; infinite if the shapes differ."""
    if np.shape(value) != np.shape(right):
        return float("inf")
    return float(np.abs(value - right).max() / np.abs(right).max())


@cache
def judge(row: Row) -> Outcome:
    """Differentiate a row with both programs."""
    at = arrays()
    right = complex_steps(row, at)
    derivative = (
        lx.jacobian(row.lemmax, row.variable) if row.lemmax.ndim else lx.gradient(row.lemmax, row.variable)
    )
    needed = {str(t.name) for t in (row.variable, A, C, x, w, b, k)} & names_in(derivative)
    value = lx.evaluate(derivative, {name: at[name] for name in needed}, sizes={"n": SIZE})
    text = lx.latex(derivative, where=bool(row.lemmax.ndim))
    outcome, shown = ask_sympy(row, at, right)
    return Outcome(row, outcome, shown, text, distance(value, right))


def names_in(t: lx.Tensor) -> set[str]:
    """Return the names of the inputs of a tensor."""
    from lemmax.expr.graph import inputs_of

    return {str(i.name) for i in inputs_of(t)}


def ask_sympy(row: Row, at: dict[str, Any], right: Any) -> tuple[str, str]:
    """Differentiate with SymPy, and judge its result by its value."""
    variable = {"A": As, "x": xs, "w": ws}[str(row.variable.name)]
    with warnings.catch_warnings(action="ignore"):
        try:
            found = sp.diff(row.sympy(), variable)
        except Exception as error:  # whatever it raises is its answer
            return "refused", type(error).__name__
        shown = str(found) if len(str(found)) <= SHORT else f"a {type(found).__name__}"
        try:
            value = numbers(found, at)
        except Exception:  # formulas that SymPy itself cannot evaluate
            return "unevaluated", shown
    if right.ndim == 1:
        value = value.reshape(-1)
    return ("right" if distance(value, right) < CLOSE else "wrong"), shown


def numbers(found: Any, at: dict[str, Any]) -> Any:
    """Evaluate a matrix expression of SymPy, entry by entry."""
    fixed = found.subs(N, SIZE)
    matrices = {s.name: s for s in fixed.atoms(sp.MatrixSymbol)}
    entries = {bs: at["b"], ks: at["k"]}
    for name, symbol in matrices.items():
        for i, j in np.ndindex(symbol.shape):
            entries[symbol[i, j]] = at[name].reshape(symbol.shape)[i, j]
    fixed = fixed.replace(lambda e: isinstance(e, sp.Trace), lambda e: sp.trace(e.arg.as_explicit()))
    return np.array(fixed.as_explicit().doit().subs(entries).evalf(), dtype=float)


def table() -> Iterator[str]:
    """Yield the lines of the table."""
    said = {
        "right": "right: `{}`",
        "wrong": "**silently wrong**: `{}`",
        "refused": "raises `{}`",
        "unevaluated": "no value: {}",
    }
    yield f"SymPy {sp.__version__}, lemmax {lx.__version__}, n = {SIZE}:"
    yield ""
    yield "| function | in | SymPy's matrix derivative | lemmax | error of lemmax |"
    yield "|---|---|---|---|---|"
    for row in ROWS:
        found = judge(row)
        name = f"$`{row.variable.name}`$"
        shown = said[found.sympy].format(found.shown)
        # a bar would end the cell
        function, derivative = (text.replace(r"\|", r"\Vert ") for text in (row.latex, found.lemmax))
        yield f"| $`{function}`$ | {name} | {shown} | $`{derivative}`$ | {below(found.error)} |"


def below(error: float) -> str:
    """Return a bound that does not depend on the machine, if there is one."""
    return f"< {CLOSE:.0e}" if error < CLOSE else f"**{error:.1e}**"


def main() -> None:
    """Write the table of the page anew."""
    text = PAGE.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    tail = rest.split(END)[1]
    PAGE.write_text(head + BEGIN + "\n" + "\n".join(table()) + "\n\n" + END + tail, encoding="utf-8")
    print("\n".join(table()))


if __name__ == "__main__":
    main()
