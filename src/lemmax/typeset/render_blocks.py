r"""LaTeX of matrices given by blocks, entries, ranges and cases."""

from __future__ import annotations

from collections.abc import Callable

import sympy as sp

from lemmax.typeset.names import latex_expression, script, subscript
from lemmax.typeset.node import Node, is_scalar, rename
from lemmax.typeset.render import ATOM, POWER, SUM, Scope, latex_node, parenthesised

Rendered = tuple[str, int]


def tex_blocks(x: Node, scope: Scope) -> Rendered:
    r"""Return entries in brackets with their indices, :math:`[a_{ij}]_{ij}`, or blocks."""
    row, column = x.data
    (body,) = x.args
    inner = scope.inside(x)
    bound = [b for b in (row, column) if b is not None]
    if is_scalar(body):
        where = subscript([inner.at[i] for i, _ in bound])
        return f"{parenthesised(latex_node(body, inner), '[', ']')}{script(where, '_')}", ATOM
    if len(bound) == 2:
        where = r",\, ".join(rf"{inner.at[i]} \le {latex_expression(s)}" for i, s in bound)
        return f"{parenthesised(latex_node(body, inner), '[', ']')}_{{{where}}}", ATOM
    ((i, size),) = bound
    first, last = (latex_node(rename(body, {i: at}), scope) for at in (sp.S.Zero, size - 1))
    middle = r"\\ \vdots \\" if row is not None else r"& \cdots &"
    return rf"\begin{{bmatrix}} {first} {middle} {last} \end{{bmatrix}}", ATOM


def tex_stack(x: Node, scope: Scope) -> Rendered:
    """Return matrices side by side or on top of each other."""
    mark = " & " if x.data[0] == "beside" else r" \\ "
    return rf"\begin{{bmatrix}} {mark.join(latex_node(a, scope) for a in x.args)} \end{{bmatrix}}", ATOM


def tex_range(x: Node, scope: Scope) -> Rendered:
    """Return a range of rows and columns, counted from 1, both ends included."""
    marks = []
    for r, size in zip(x.data, x.args[0].shape, strict=True):
        if r is None:
            marks += [":"] if size != 1 else []
            continue
        start, length = r
        low = scope.position(start)
        high = latex_expression(sp.expand(scope.shifted(sp.sympify(start + length))))
        marks.append(f"{low}:{high}")
    (a,) = x.args
    return f"{_closed(a, scope)}_{{{','.join(marks)}}}", POWER


def _closed(x: Node, scope: Scope) -> str:
    text = latex_node(x, scope, ATOM)
    return parenthesised(text) if "_" in text else text


def tex_pad(x: Node, scope: Scope) -> Rendered:
    """Return a matrix with blocks of zeros around it."""
    (a,) = x.args
    (top, left), (bottom, right) = (
        x.data,
        [sp.expand(w - n - b) for w, n, b in zip(x.shape, a.shape, x.data, strict=True)],
    )
    heights, widths = (
        [n for n in (before, size, after) if n != 0]
        for before, size, after in ((top, a.shape[0], bottom), (left, a.shape[1], right))
    )
    body = (int(top != 0), int(left != 0))
    rows = []
    for p, height in enumerate(heights):
        cells = [
            latex_node(a, scope) if (p, q) == body else zero_block(height, wide)
            for q, wide in enumerate(widths)
        ]
        rows.append(" & ".join(cells))
    inside = r" \\ ".join(rows)
    return rf"\begin{{bmatrix}} {inside} \end{{bmatrix}}", ATOM


def zero_block(rows: sp.Expr, columns: sp.Expr) -> str:
    """Return a block of zeros with its size."""
    if rows == columns == 1:
        return "0"
    sizes = [parenthesised(latex_expression(s)) if s.is_Add else latex_expression(s) for s in (rows, columns)]
    return rf"0_{{{sizes[0]} \times {sizes[1]}}}"


def tex_pick(x: Node, scope: Scope) -> Rendered:
    """Return a row, a column or an entry of a matrix expression."""
    marks = [":" if e is None else scope.position(e) for e in x.data]
    return rf"{parenthesised(latex_node(x.args[0], scope))}_{{{subscript(marks)}}}", POWER


_RELATIONS = {
    "Equality": "=",
    "Unequality": r"\ne",
    "GreaterThan": r"\ge",
    "LessThan": r"\le",
    "StrictGreaterThan": ">",
    "StrictLessThan": "<",
}


def tex_cases(x: Node, scope: Scope) -> Rendered:
    """Return a case distinction; cases that cannot occur are left out."""
    compared = iter(x.args[len(x.data) :])
    lines: list[str] = []
    for value, condition in zip(x.args[: len(x.data)], x.data, strict=True):
        shown = latex_node(value, scope)
        if isinstance(condition, str):
            left, right = (latex_node(next(compared), scope) for _ in range(2))
            lines.append(rf"{shown} & \text{{if }} {left} {_RELATIONS[condition]} {right}")
            continue
        if condition == sp.S.false:
            continue
        if condition == sp.S.true:
            if not lines:
                return parenthesised(shown), ATOM
            lines.append(rf"{shown} & \text{{otherwise}}")
            break
        lines.append(rf"{shown} & \text{{if }} {tex_condition(condition, scope)}")
    inside = r" \\ ".join(lines)
    return rf"\begin{{cases}} {inside} \end{{cases}}", SUM


def tex_condition(condition: sp.Basic, scope: Scope) -> str:
    """Return a condition on indices, counted from 1."""
    if isinstance(condition, sp.And):
        return r",\ ".join(tex_condition(c, scope) for c in sorted(condition.args, key=str))
    if isinstance(condition, sp.Or):
        return r"\ \text{or}\ ".join(tex_condition(c, scope) for c in sorted(condition.args, key=str))
    if not isinstance(condition, sp.Rel):
        return latex_expression(condition)
    left, right = condition.args
    if all(isinstance(e, sp.Symbol) and e in scope.at for e in (left, right)):
        return f"{scope.at[left]} {_RELATIONS[type(condition).__name__]} {scope.at[right]}"
    if left in scope.at and not any(i in right.free_symbols for i in scope.at):
        # i - 1 < p is i <= p, and i - 1 >= p is i > p, for integers
        if isinstance(condition, sp.StrictLessThan) and right == 1:
            return f"{scope.at[left]} = 1"
        integer = {"StrictLessThan": r"\le", "GreaterThan": ">"}
        if type(condition).__name__ in integer:
            return f"{scope.at[left]} {integer[type(condition).__name__]} {latex_expression(right)}"
    sides = [latex_expression(sp.expand(scope.shifted(e) + 1)) for e in (left, right)]
    return f"{sides[0]} {_RELATIONS[type(condition).__name__]} {sides[1]}"


BLOCK_RULES: dict[str, Callable[[Node, Scope], Rendered]] = {
    "blocks": tex_blocks,
    "stack": tex_stack,
    "range": tex_range,
    "pad": tex_pad,
    "pick": tex_pick,
    "cases": tex_cases,
}

__all__ = ["BLOCK_RULES", "POWER", "tex_condition"]
