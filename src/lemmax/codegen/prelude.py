r"""The head of a generated function: conversion of arguments and checks of shapes."""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from lemmax.codegen.fits import needs_of
from lemmax.codegen.pytext import SUM, comma_list, number_text, tuple_text
from lemmax.codegen.records import Plan
from lemmax.errors import InvalidArgument
from lemmax.expr.nodes import Input
from lemmax.expr.sizes import Size

WIDTH = 106
"""Longest line of the function's body, which is indented by 4."""


def quoted(text: object) -> str:
    """Return a text (the name of a size, say) as it must stand in an f-string."""
    return str(text).replace("\\", "\\\\").replace("{", "{{").replace("}", "}}").replace('"', '\\"')


def raising(expected: str, given: str) -> list[str]:
    """Return the indented lines that raise ``expected, got given``; both are bodies of f-strings."""
    line = f'    raise ValueError(f"{expected}, got {given}")'
    if len(line) <= WIDTH:
        return [line]
    prefix = "f" if "{" in expected else ""
    return ["    raise ValueError(", f'        {prefix}"{expected}, "', f'        f"got {given}"', "    )"]


def conversion_lines(plan: Plan, complex_allowed: bool) -> list[str]:
    """Return the lines that make arrays of one floating-point type out of the arguments."""
    if not plan.arguments:
        return ["dtype = np.dtype(np.float64)"]
    comma = "," if len(plan.arguments) == 1 else ""
    kinds, expected = ("fc", "numbers") if complex_allowed else ("f", "real numbers")
    refusal = raising(f"{plan.name}: expected arrays of {expected}", "{[str(a.dtype) for a in arrays]}")
    return [
        *comma_list("arrays = [np.asarray(a) for a in (", plan.arguments, f"{comma})]"),
        "dtype = np.dtype(np.float64)",
        "dtypes = {a.dtype for a in arrays}",
        "if dtypes != {dtype}:  # single precision is kept if all arrays have it",
        "    single = np.dtype(np.float32)",
        "    dtype = single if dtypes == {single} else np.result_type(dtype, *dtypes)",
        f'    if dtype.kind not in "{kinds}":',
        *[f"    {line}" for line in refusal],
        "    arrays = [a.astype(dtype, copy=False) for a in arrays]",
        *_unpacked(plan.arguments, comma),
    ]


def _unpacked(arguments: Sequence[str], comma: str) -> list[str]:
    line = f"{', '.join(arguments)}{comma} = arrays"
    return [line] if len(line) <= WIDTH else comma_list("(", arguments, ") = arrays", width=0)


def shape_lines(plan: Plan) -> list[str]:
    """Return the lines that take the sizes from the shapes and check that they agree.

    Raises:
        InvalidArgument: a size cannot be worked out from the shapes.
    """
    lines: list[str] = []
    known: set[sp.Symbol] = set()
    waiting = list(zip(plan.inputs, plan.arguments, strict=True))
    while waiting:
        # first the inputs whose shapes need no arithmetic
        ready = next(
            (p for p, (t, _) in enumerate(waiting) if all(_is_plain(s, known) for s in t.shape)), None
        )
        if ready is None:
            ready = next((p for p, (t, _) in enumerate(waiting) if _is_solvable(t, known)), None)
        if ready is None:
            t = waiting[0][0]
            raise InvalidArgument(
                f"compile: the sizes in the shape of {t.label()} cannot be worked out from the shapes of the "
                "inputs; declare an input in which each of them is an axis of its own."
            )
        t, name = waiting.pop(ready)
        lines += _check(plan, t, name, known)
    lines += _positive(plan)
    lines += _fitting(plan)
    return lines


def _is_plain(s: Size, known: set[sp.Symbol]) -> bool:
    return isinstance(s, sp.Symbol) or not (s.free_symbols - known)


def _is_solvable(t: Input, known: set[sp.Symbol]) -> bool:
    seen = set(known) | {s for s in t.shape if isinstance(s, sp.Symbol)}
    for s in t.shape:
        unknown = s.free_symbols - seen
        if len(unknown) > 1 or (unknown and not _linear(s, next(iter(unknown)))):
            return False
        seen |= unknown
    return True


def _linear(s: Size, symbol: sp.Symbol) -> bool:
    expanded = sp.expand(s)
    return bool(sp.Poly(expanded, symbol).degree() == 1)


def _check(plan: Plan, t: Input, name: str, known: set[sp.Symbol]) -> list[str]:
    """Check one argument: number of axes, sizes already known, then take the new sizes."""
    sizes = plan.sizes
    expected = tuple_text([quoted(s) for s in t.shape]) if t.ndim else "()"
    new: dict[sp.Symbol, int] = {}
    known_here: dict[sp.Symbol, None] = {}
    conditions = [f"{name}.ndim != {t.ndim}"]
    derived: list[tuple[int, Size]] = []
    for axis, s in enumerate(t.shape):
        if isinstance(s, sp.Symbol) and s not in known and s not in new:
            new[s] = axis
            continue
        unknown = s.free_symbols - known
        if unknown:
            derived.append((axis, s))
            continue
        known_here.update(dict.fromkeys(sorted(s.free_symbols, key=str)))
        text = number_text(s, sizes).text
        conditions.append(f"{name}.shape[{axis}] != {text}")
    whole = t.ndim > 0 and not new and not derived
    if whole:
        shape = tuple_text([number_text(s, sizes).text for s in t.shape])
        conditions = [f"{name}.shape != {shape}"]
    given = ", ".join(f"{quoted(s)} = {{{sizes[s]}}}" for s in known_here)
    where = f" with {given}" if given else ""
    lines = [
        f"if {' or '.join(conditions)}:",
        *raising(f"{plan.name}: {name} must have shape {expected}{where}", f"{{{name}.shape}}"),
    ]
    if new:
        lines.append(_unpack(t, name, new, sizes))
    known |= set(new)
    for axis, s in derived:
        lines += _derived(plan, t, name, axis, s, known)
    return lines


def _unpack(t: Input, name: str, new: dict[sp.Symbol, int], sizes: dict[sp.Symbol, str]) -> str:
    """Return ``N, n, D = X.shape`` or, if few axes are new, ``m = Y.shape[2]``."""
    axes = list(new.values())
    if axes == list(range(t.ndim)):
        names = ", ".join(sizes[s] for s in new)
        return f"{names}{',' if t.ndim == 1 else ''} = {name}.shape"
    left = ", ".join(sizes[s] for s in new)
    return f"{left} = {', '.join(f'{name}.shape[{a}]' for a in axes)}"


def _derived(plan: Plan, t: Input, name: str, axis: int, s: Size, known: set[sp.Symbol]) -> list[str]:
    """Work out the one unknown size in an axis such as ``N*n`` or ``2*k + 1``, or check it."""
    sizes = plan.sizes
    unknown = sorted(s.free_symbols - known, key=str)
    text = number_text(s, sizes).text
    problem = raising(
        f"{plan.name}: axis {axis} of {name} must have size {quoted(s)}", f"{{{name}.shape[{axis}]}}"
    )
    lines = []
    if unknown:
        (symbol,) = unknown
        poly = sp.Poly(sp.expand(s), symbol)
        slope, offset = poly.coeff_monomial(symbol), poly.coeff_monomial(1)
        numerator = (
            f"{name}.shape[{axis}]"
            if offset == 0
            else f"({name}.shape[{axis}] - ({number_text(offset, sizes).text}))"
        )
        divided = numerator if slope == 1 else f"{numerator} // ({number_text(slope, sizes).text})"
        lines.append(f"{sizes[symbol]} = {divided}")
        known.add(symbol)
    return [*lines, f"if {name}.shape[{axis}] != {text}:", *problem]


def _positive(plan: Plan) -> list[str]:
    if not plan.sizes:
        return []
    every = list(plan.sizes.values())
    smallest = f"min({', '.join(every)})" if len(every) > 1 else every[0]
    values = ", ".join(f"{n} = {{{n}}}" for n in every)
    return [
        f"if {smallest} < 1:",
        *raising(f"{plan.name}: all sizes must be at least 1", values),
    ]


def _fitting(plan: Plan) -> list[str]:
    """Refuse sizes for which a slice, or a fixed index, reaches beyond its axis."""
    lines: list[str] = []
    for need in needs_of([t for _, t in plan.outputs]):
        terms = need.as_ordered_terms()
        below = sp.Add(*[-t for t in terms if t.could_extract_minus_sign()])
        above = need + below
        symbols = sorted(need.free_symbols, key=str)
        given = ", ".join(f"{quoted(s)} = {{{plan.sizes[s]}}}" for s in symbols)
        expected = f"{plan.name}: slices and indices need {quoted(above)} >= {quoted(below)}"
        code = [number_text(side, plan.sizes).at(SUM) for side in (above, below)]
        lines += [f"if {code[0]} < {code[1]}:", *raising(expected, given)]
    return lines
