r"""The evaluator: a graph of tensors prepared once and computed on many sets of arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import sympy as sp

from lemmax.errors import EvaluationError, InvalidArgument, ShapeError
from lemmax.expr.domains import NOT_NEGATIVE, NOT_ZERO, ON_DOMAIN, guards_of
from lemmax.expr.graph import inputs_of, topological_order
from lemmax.expr.indices import is_index
from lemmax.expr.nodes import Apply, Input, Lambda, Param
from lemmax.expr.tensor import Tensor, TensorSymbol
from lemmax.interpret.applications import failing
from lemmax.interpret.arguments import as_numbers, check_ndim, code_names, given_sizes
from lemmax.interpret.floating import FLOAT
from lemmax.interpret.frame import Frame
from lemmax.interpret.program import Program
from lemmax.interpret.protocol import Arithmetic, Value
from lemmax.interpret.sizing import Axis, solve_sizes


class Evaluator:
    """One or several expressions, prepared for repeated evaluation.

    Bodies are compiled once; what a run adds are the operations on arrays themselves.

    Attributes:
        roots: the expressions.
        inputs: their inputs by the name that code uses.
        sizes: their size symbols by name.
    """

    def __init__(self, roots: Sequence[Tensor]) -> None:
        """Prepare ``roots``."""
        self.roots = tuple(roots)
        for root in self.roots:
            if not isinstance(root, Tensor):
                raise InvalidArgument(f"{root!r} is no tensor; an Evaluator takes a list of tensors.")
        self._program = Program(self.roots)
        self.inputs = code_names(inputs_of(*self.roots))
        self.sizes = _size_symbols(self._program.order)
        self._solved: dict[tuple[object, ...], dict[sp.Symbol, int]] = {}

    def run(
        self,
        arrays: Mapping[str, Any],
        sizes: Mapping[Any, int] | None = None,
        arithmetic: Arithmetic = FLOAT,
        override: Mapping[Tensor, Any] | None = None,
        batch: bool = False,
    ) -> list[Value]:
        """Return the value of each root.

        Args:
            arrays: inputs by code name; those that no root needs are ignored.
            sizes: sizes that the arrays do not determine, by symbol or name.
            arithmetic: what computes.
            override: tensors to be held at a given value instead of being computed.
            batch: arrays may carry a leading axis of instances; each value then has it too.

        Raises:
            ShapeError: arrays do not fit the shapes or one another.
            EvaluationError: an array is missing or holds no numbers, or a result is undefined.
        """
        override = dict(override or {})
        held = frozenset(t.digest for t in override)
        order = self._program.needed(held)
        given = self._given(order, held, arrays, override, batch)
        count = _instances(given) if batch else None
        known = self._known_sizes(given, sizes)
        values = {t.digest: arithmetic.array(a) if isinstance(a, np.ndarray) else a for t, _, a in given}
        frame = self._program.compute(values, held, known, arithmetic)
        results = [arithmetic.outgoing(frame.values[root.digest]) for root in self.roots]
        if count is None:
            for root, result in zip(self.roots, results, strict=True):
                if arithmetic.has_nan(result):
                    _explain_nan(root, order, frame)
            return results
        return [
            arithmetic.rearrange(lambda x, n=root.ndim: _with_instances(x, n, count), result)
            for root, result in zip(self.roots, results, strict=True)
        ]

    def _given(
        self,
        order: Sequence[Tensor],
        held: frozenset[str],
        arrays: Mapping[str, Any],
        override: Mapping[Tensor, Any],
        batch: bool,
    ) -> list[tuple[Tensor, str, Any]]:
        """Return all given values, checked, as (tensor, what to call it, array)."""
        needed = {t.digest for t in order if isinstance(t, Input)}
        given: list[tuple[Tensor, str, Any]] = []
        for name, node in self.inputs.items():
            if node.digest not in needed or node.digest in held:
                continue
            if name not in arrays:
                raise EvaluationError(
                    f"the array {name} is missing: input {node.label()}. "
                    f"Needed are {', '.join(self.inputs)}; given were {', '.join(sorted(arrays)) or 'none'}."
                )
            given.append((node, f"array {name}", as_numbers(f"array {name}", arrays[name])))
        for tensor, value in override.items():
            what = f"override of {tensor.label()}"
            plain = isinstance(value, np.ndarray | list | tuple | int | float | complex | np.generic)
            given.append((tensor, what, as_numbers(what, value) if plain else value))
        for tensor, what, array in given:
            if isinstance(array, np.ndarray):
                check_ndim(what, tensor, array.shape, batch)
        return given

    def _known_sizes(
        self, given: Sequence[tuple[Tensor, str, Any]], sizes: Mapping[Any, int] | None
    ) -> dict[sp.Symbol, int]:
        fixed = given_sizes(sizes, self.sizes)
        shapes = [
            (t, what, np.shape(a)[np.ndim(a) - t.ndim :]) for t, what, a in given if isinstance(a, np.ndarray)
        ]
        key = (tuple((t.digest, shape) for t, _, shape in shapes), tuple(fixed.items()))
        known = self._solved.get(key)
        if known is None:
            axes = [
                Axis(f"axis {axis} of {what} ({', '.join(map(str, t.shape))})", size, length)
                for t, what, shape in shapes
                for axis, (size, length) in enumerate(zip(t.shape, shape, strict=True))
            ]
            known = solve_sizes(axes, fixed)
            self._solved[key] = known
        return known


def _size_symbols(order: Sequence[Tensor]) -> dict[str, sp.Symbol]:
    """Return the sizes that occur in shapes, sums, bodies and parameters."""
    found: dict[str, sp.Symbol] = {}

    def collect(expr: Param) -> None:
        if isinstance(expr, tuple):
            for item in expr:
                collect(item)
        elif isinstance(expr, sp.Basic):
            for symbol in expr.free_symbols:
                if not isinstance(symbol, TensorSymbol) and not is_index(symbol) and symbol.is_integer:
                    found[str(symbol)] = symbol

    for node in order:
        collect(node.shape)
        if isinstance(node, Lambda):
            for term in node.terms:
                collect(tuple(size for _, size in term.bound))
                collect(term.expr)
        elif isinstance(node, Apply):
            collect(tuple(value for _, value in node.params))
    return dict(sorted(found.items()))


def _instances(given: Sequence[tuple[Tensor, str, Any]]) -> int:
    """Return the length of the instance axis."""
    counts = [(what, len(a)) for t, what, a in given if isinstance(a, np.ndarray) and a.ndim > t.ndim]
    if not counts:
        raise ShapeError("batch=True, but no array has a leading instance axis.")
    for what, count in counts[1:]:
        if count != counts[0][1]:
            raise ShapeError(f"{counts[0][0]} has {counts[0][1]} instances, {what} has {count}.")
    return counts[0][1]


def _with_instances(x: Any, ndim: int, count: int) -> Any:
    shape = np.shape(x)
    return np.broadcast_to(x, (count, *shape[len(shape) - ndim :]))


def _explain_nan(root: Tensor, order: Sequence[Tensor], frame: Frame) -> None:
    """Raise an error that names the first undefined tensor below ``root``."""
    parts = {t.digest for t in topological_order(root)}
    for node in order:
        value = frame.values[node.digest]
        if node.digest in parts and frame.arithmetic.has_nan(value):
            _explain_domain(node, frame)
            below = [t for t in order if t.digest in parts]
            hint = next((h for t in [node, *below] if (h := _root_at_zero(t, frame))), "")
            at = np.argwhere(np.asarray(frame.arithmetic.compare("!=", value, value).holds))
            where = f" at {tuple(int(i) for i in at[0])}" if at.ndim == 2 and at.size else ""
            raise EvaluationError(
                f"the value of {node.label()} is undefined{where}: not a number came out of "
                f"{node.describe()} (a logarithm or root of a negative number, a singular matrix, "
                f"0 * inf, or inf - inf).{hint}"
            )


def _explain_domain(node: Tensor, frame: Frame) -> None:
    """Raise an error that names the guard that fails, if ``node`` has guards."""
    if not isinstance(node, Apply) or node.function != ON_DOMAIN:
        return
    for guard in guards_of(node):
        fails = failing(guard, frame.values[guard.tensor.digest], frame)
        if fails.any():
            at = np.argwhere(fails)[0]
            where = f" at {tuple(map(int, at))}" if at.size else ""
            told = guard.told
            if guard.condition in (NOT_NEGATIVE, NOT_ZERO):
                entry = np.asarray(frame.arithmetic.outgoing(frame.values[guard.tensor.digest]))
                name = guard.tensor.name or guard.tensor.describe()
                told = f"{name} = {entry[tuple(at)]}{where}: {told}"
            elif where:
                told = f"{told}; matrix {where[4:]}"
            raise EvaluationError(f"{node.label()} does not exist at this point: {told}.")


def _root_at_zero(node: Tensor, frame: Frame) -> str:
    """Say which root a derivative divides by is 0, if one is."""
    if not isinstance(node, Lambda):
        return ""
    powers = {p for term in node.terms for p in term.expr.atoms(sp.Pow) if p.exp.is_Rational and p.exp < 0}
    for power in sorted(powers, key=str):
        symbols = sorted(power.base.atoms(TensorSymbol), key=str)
        if power.exp.q != 2 or len(symbols) != 1:
            continue
        base = symbols[0].tensor
        zero = frame.arithmetic.compare("==", frame.values[base.digest], frame.arithmetic.rational(0, 1))
        if np.any(zero.holds):
            names = ", ".join(str(t.name) for t in inputs_of(base))
            what = base.name or f"a sum in {names}"
            at = f" at {tuple(map(int, np.argwhere(zero.holds)[0]))}" if np.ndim(zero.holds) else ""
            return (
                f" The root of {what} is 0{at}: there a norm or root has no derivative. Pass"
                " nonsmooth='subgradient' where the derivative is taken for the subgradient 0 of a norm."
            )
    return ""
