"""What a printed formula is worth, against the interpreter, which shares no code with typesetting."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
import sympy as sp

import lemmax as lx
from lemmax.calculus.flatten import flatten
from lemmax.expr.graph import inputs_of, topological_order
from lemmax.expr.nodes import Apply, Derivative, Lambda
from lemmax.expr.tensor import Tensor
from lemmax.typeset.latex import Formula, MatrixOf, read
from lemmax.typeset.letters import Letters
from lemmax.typeset.numeric import Instance, evaluate_node

Arrays = dict[str, npt.NDArray[np.float64]]


def sizes_in(t: Tensor) -> list[sp.Symbol]:
    """Return the symbolic sizes in shapes, sums, bodies and parameters."""
    found: set[sp.Symbol] = set()
    for node in topological_order(t):
        for n in node.shape:
            found |= n.free_symbols
        if isinstance(node, Lambda):
            for term in node.terms:
                found |= {s for s in term.expr.free_symbols if s.is_integer and s.is_positive}
                found |= {s for _, n in term.bound for s in n.free_symbols}
        if isinstance(node, Apply):
            found |= sizes_of_param(node.params)
    return sorted(found, key=str)


def sizes_of_param(value: object) -> set[sp.Symbol]:
    if isinstance(value, tuple):
        return set().union(*map(sizes_of_param, value))
    return value.free_symbols if isinstance(value, sp.Expr) else set()


def size_values(t: Tensor, low: int = 2) -> dict[sp.Symbol, int]:
    """Give the symbolic sizes different small values."""
    return {s: low + position % 3 for position, s in enumerate(sizes_in(t))}


def interpreted(t: Tensor, arrays: Arrays, sizes: dict[sp.Symbol, int]) -> npt.NDArray[np.float64]:
    """Return the interpreter's value."""
    used = {lx.identifier(str(x.name)): arrays[str(x.name)] for x in inputs_of(t)}
    own = {s: n for s, n in sizes.items() if s in sizes_in(t)}
    return np.asarray(lx.evaluate(t, used, sizes=own), dtype=float)


def shape_of(t: Tensor, sizes: dict[sp.Symbol, int]) -> tuple[int, ...]:
    return tuple(int(n.subs(sizes)) for n in t.shape)


def random_inputs(t: Tensor, sizes: dict[sp.Symbol, int], seed: int = 0) -> Arrays:
    rng = np.random.default_rng(seed)
    found: Arrays = {}
    for x in inputs_of(t):
        value = rng.standard_normal(shape_of(x, sizes))
        if "positive" in x.assumptions:
            value = np.abs(value) + 0.1
        if "symmetric" in x.assumptions:
            value = (value + np.swapaxes(value, -1, -2)) / 2
        if "positive_definite" in x.assumptions:
            value = value @ np.swapaxes(value, -1, -2) + np.eye(value.shape[-1])
        found[str(x.name)] = value
    return found


def formula_value(
    formula: Formula, t: Tensor, sizes: dict[sp.Symbol, int], arrays: dict[str, npt.NDArray[np.float64]]
) -> npt.NDArray[np.float64]:
    """Evaluate a formula at every value of its subscripts."""
    shape = shape_of(t, sizes)
    result = np.full(shape, np.nan)
    fixed = [p for p, i in enumerate(formula.slots) if i is not None]
    for values in itertools.product(*[range(shape[p]) for p in fixed]):
        at = {formula.slots[p]: v for p, v in zip(fixed, values, strict=True)}
        value = evaluate_node(formula.tree, Instance(arrays, sizes, at))
        where = [slice(None)] * len(shape)
        for p, v in zip(fixed, values, strict=True):
            where[p] = v  # type: ignore[call-overload]
        if formula.layout is not None:  # rows and columns taken apart, in the order of their axes
            axes = formula.layout.axes
            value = value.reshape([shape[p] for p in axes]).transpose(np.argsort(axes))
        result[tuple(where)] = value.reshape(result[tuple(where)].shape)
    return result


def named_values(t: Tensor, arrays: Arrays, sizes: dict[sp.Symbol, int]) -> Arrays:
    """Evaluate everything that is printed by its name."""
    found = dict(arrays)
    for node in topological_order(t, *flatten([t])):
        if isinstance(node, Derivative) or (node.name is not None and node.name not in found):
            found[node.name or node.digest] = interpreted(node, arrays, sizes)
    return found


def check_printed(
    t: Tensor,
    seed: int = 0,
    rtol: float = 1e-9,
    by_entries: bool = False,
    low: int = 2,
    matrix: MatrixOf | None = None,
) -> Formula:
    """Assert that a tensor's printed tree is worth what the interpreter says."""
    sizes = size_values(t, low)
    arrays = random_inputs(t, sizes, seed)
    formula = read(t, Letters(t), by_entries, matrix=matrix)
    want = interpreted(t, arrays, sizes)
    got = formula_value(formula, t, sizes, named_values(t, arrays, sizes))
    assert got.shape == want.shape
    scale = max(1.0, float(np.abs(want[np.isfinite(want)]).max(initial=0.0)))
    infinite = np.isinf(want) & (got == want)
    with np.errstate(invalid="ignore"):
        close = np.abs(got - want) <= rtol * scale
    assert np.all(close | infinite), f"{formula.text}\n{got}\n{want}"
    return formula
