r"""LaTeX of each kind of node: a table of rules ``(node, scope) -> (text, precedence)``."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import sympy as sp

from lemmax.expr.nodes import Derivative
from lemmax.expr.tensor import Tensor
from lemmax.typeset.algebra import outer_ones, power, product, transpose
from lemmax.typeset.names import is_number, latex_expression, render_name, script, subscript
from lemmax.typeset.node import ONE, Node, is_column, is_row, is_scalar
from lemmax.typeset.render import (
    ATOM,
    BIG,
    HADAMARD,
    POWER,
    PRODUCT,
    SUM,
    Scope,
    barred,
    latex_node,
    parenthesised,
    raised_base,
    shows_range,
    tex,
)
from lemmax.typeset.render_blocks import BLOCK_RULES
from lemmax.typeset.render_functions import FUNCTION_RULES
from lemmax.typeset.render_kronecker import KRONECKER_RULES

Rendered = tuple[str, int]
_MOST_TRANSPOSES = 3  # so many transposed factors at the start are grouped


# -- leaves ------------------------------------------------------------------------------------
def tex_atom(x: Node, scope: Scope, transposed: bool = False) -> Rendered:
    """Return a slice of a named tensor, or a formal derivative."""
    t, slots = x.data
    if isinstance(t, Derivative):
        text = tex_derivative(t, slots, scope)
        if transposed:
            return rf"{parenthesised(text)}^\top", POWER
        return text, BIG if t.scope == "local" else PRODUCT  # an operator before its operand
    return tex_slice(t, slots, scope, transposed), POWER if transposed else ATOM


def tex_slice(t: Tensor, slots: tuple[sp.Expr | None, ...], scope: Scope, transposed: bool = False) -> str:
    """Return a named tensor with its subscripts; a row of a matrix in lower case."""
    name = scope.letters.name(str(t.name))
    lead = [scope.position(s) for s in slots[:-2] if s is not None]
    core = slots[-2:]
    # a fixed axis of size 1 shows nothing: it is the only place there is
    hidden = [n == ONE and s == 0 for n, s in zip(t.shape[-2:], core, strict=True)]
    if len(core) == 2 and hidden[0] and not hidden[1] and core[1] is None:
        transposed = not transposed  # the only row, as a column
    shown = [s for s, h in zip(core, hidden, strict=True) if not h]
    fixed = [s for s in shown if s is not None]
    marks = [":" if s is None else scope.position(s) for s in shown]
    if not fixed:
        marks = marks if is_number(lead) else []
    elif len(fixed) < len(shown) and shown[0] is not None:
        row = name.row
        taken = scope.letters.reserved | set(scope.at.values())
        if row is not None and row.letter not in taken and not is_number([*lead, *marks[:1]]):
            name, marks = row, marks[:1]
    return render_name(name, [*lead, *marks], transposed)


def tex_derivative(t: Derivative, slots: tuple[sp.Expr | None, ...], scope: Scope) -> str:
    r"""Return a formal derivative; subscripts stand above and below the line.

    The partial derivative of a definition in one of its operands is :math:`\partial_A S`.
    """
    of, wrt = (
        _slice_or_body(part, at, scope)
        for part, at in ((t.of, slots[: t.of.ndim]), (t.wrt, slots[t.of.ndim :]))
    )
    if t.scope == "local":
        return rf"\partial_{{{wrt}}} {of}"
    if t.of.name is None:
        return rf"\frac{{\partial}}{{\partial {wrt}}} {of}"
    return rf"\frac{{\partial {of}}}{{\partial {wrt}}}"


def _slice_or_body(t: Tensor, slots: tuple[sp.Expr | None, ...], scope: Scope) -> str:
    if t.name is not None:
        return tex_slice(t, slots, scope)
    from lemmax.typeset.latex import right_hand_side

    body = parenthesised(right_hand_side(t, scope.letters, scope.ranges, frozenset(scope.at.values())))
    marks = [":" if s is None else scope.position(s) for s in slots]
    return f"{body}_{{{subscript(marks)}}}" if any(s is not None for s in slots) else body


def tex_ones(x: Node, scope: Scope) -> Rendered:
    """Return the vector of ones with its size."""
    return rf"\mathbf{{1}}{script(latex_expression(x.shape[0]), '_')}", ATOM


def tex_eye(x: Node, scope: Scope) -> Rendered:
    """Return the identity with its size."""
    letter = r"\mathrm{I}" if "I" in scope.letters.reserved else "I"
    return f"{letter}{script(latex_expression(x.shape[0]), '_')}", ATOM


def tex_unit(x: Node, scope: Scope) -> Rendered:
    """Return a unit vector; upright where e may be a tensor, or a row of E."""
    letter = r"\mathrm{e}" if scope.letters.reserved & {"e", "E"} else "e"
    return f"{letter}{script(scope.position(x.data[0]), '_')}", ATOM


def tex_delta(x: Node, scope: Scope) -> Rendered:
    """Return a Kronecker delta; as an indicator where delta is a tensor."""
    at = [scope.position(e) for e in x.data]
    if r"\delta" in scope.letters.reserved:
        return rf"\mathbf{{1}}[{at[0]} = {at[1]}]", POWER
    return rf"\delta_{{{at[0]},{at[1]}}}", ATOM


def tex_number(x: Node, scope: Scope) -> Rendered:
    """Return a number; indices used as numbers count from 1."""
    value = scope.shifted(x.data[0])
    text = latex_expression(value)
    if value.is_Add or value.could_extract_minus_sign():
        return text, SUM
    return text, ATOM if value.is_Atom else PRODUCT


# -- signs -------------------------------------------------------------------------------------
def tex_transpose(x: Node, scope: Scope) -> Rendered:
    """Return a transpose: inside the superscript of a name, else after it."""
    (a,) = x.args
    if a.op == "atom":
        return tex_atom(a, scope, transposed=True)
    if a.op == "call" and a.data[0] == "inv":
        return rf"{raised_base(a.args[0], scope)}^{{-\top}}", POWER
    text, precedence = tex(a, scope)
    closed = precedence == ATOM or (precedence == POWER and text.endswith((")", "]")))
    return rf"{text if closed else parenthesised(text)}^\top", POWER


def tex_product(x: Node, scope: Scope) -> Rendered:
    """Return factors side by side; ones show their size where no neighbour tells it."""
    parts = []
    flipped = next((p for p, a in enumerate(x.args) if a.op != "transpose"), len(x.args))
    factors = x.args
    if flipped >= _MOST_TRANSPOSES and not is_row(x):
        # (A B C)^T rather than C^T B^T A^T
        group = product(*[a.args[0] for a in reversed(x.args[:flipped])])
        parts.append(rf"{parenthesised(latex_node(group, scope))}^\top")
        factors = x.args[flipped:]
        if not factors:
            return parts[0], POWER
    position = len(x.args) - len(factors)
    for a, run in itertools.groupby(factors):
        count = len(list(run))
        if count > 1:
            parts.append(_matrix_power(a, count, scope))
        elif a.op == "ones" and position > 0:
            parts.append(r"\mathbf{1}")
        elif a.op == "transpose" and a.args[0].op == "ones" and position < len(x.args) - 1:
            parts.append(r"\mathbf{1}^\top")
        else:
            parts.append(latex_node(a, scope, POWER))
        position += count
    return " ".join(parts), PRODUCT if len(parts) > 1 else POWER


def _matrix_power(a: Node, count: int, scope: Scope) -> str:
    """Return equal factors side by side as a power: of a matrix, or of its inverse."""
    sign = "-" if a.op == "call" and a.data[0] == "inv" else ""
    base = raised_base(a.args[0] if sign else a, scope)
    # a power of S_{ih} with subscripts could be one of its entries
    # and e^2 is the square of the number e
    if base == "e" or ("_" in base and not base.endswith((")", "]"))):
        base = parenthesised(base)
    return f"{base}{script(f'{sign}{count}', '^')}"


def tex_hadamard(x: Node, scope: Scope) -> Rendered:
    """Return an entrywise product; for scalars a product or a fraction."""
    if is_scalar(x):
        return tex_scalars(list(x.args), scope)
    above = [a for a in x.args if not _is_inverse(a)]
    below = [_reciprocal(a) for a in x.args if _is_inverse(a)]
    text = r" \odot ".join(latex_node(a, scope, POWER) for a in above) or latex_node(
        _ones_like(x), scope, POWER
    )
    for a in below:
        text += rf" \oslash {latex_node(a, scope, POWER)}"
    return text, HADAMARD


def _ones_like(x: Node) -> Node:
    return outer_ones(*x.shape)


def _is_inverse(x: Node) -> bool:
    return (x.op == "power" and bool(x.data[0].is_negative)) or (
        x.op == "transpose" and _is_inverse(x.args[0])
    )


def _reciprocal(x: Node) -> Node:
    if x.op == "transpose":
        return transpose(_reciprocal(x.args[0]))
    return power(x.args[0], -x.data[0])


def tex_scalars(factors: list[Node], scope: Scope, coefficient: sp.Expr = ONE) -> Rendered:
    """Return a product of scalars, as a fraction if there are reciprocals."""
    above = [a for a in factors if not _is_inverse(a)]
    below = [_reciprocal(a) for a in factors if _is_inverse(a)]
    if not below:
        return " ".join(_scalar_factor(a, scope, len(above) > 1) for a in above), PRODUCT
    top = " ".join(_scalar_factor(a, scope, len(above) > 1) for a in above) if above else "1"
    bottom = " ".join(_scalar_factor(a, scope, len(below) > 1) for a in below)
    return rf"\frac{{{top}}}{{{bottom}}}", PRODUCT


def _scalar_factor(x: Node, scope: Scope, several: bool) -> str:
    text, precedence = tex(x, scope)
    if several and (precedence < PRODUCT or x.op == "product"):
        return parenthesised(text)
    return text


def tex_scale(x: Node, scope: Scope) -> Rendered:
    """Return scalars before a matrix; bilinear forms in parentheses."""
    *scalars, body = x.args
    if is_scalar(x) and body.op != "sum":
        return tex_scalars(list(x.args), scope)
    front, _ = tex_scalars(scalars, scope)
    if len(scalars) == 1 and (scalars[0].op == "product" or tex(scalars[0], scope)[1] < PRODUCT):
        front = parenthesised(front)
    if body.op == "sum":
        return rf"{front} {latex_node(body, scope, BIG)}", BIG
    return rf"{front} \, {latex_node(body, scope, PRODUCT)}" if front[-1].isalnum() else (
        f"{front} {latex_node(body, scope, PRODUCT)}"
    ), PRODUCT


def tex_linear(x: Node, scope: Scope) -> Rendered:
    """Return a sum; one summand with a coefficient is a product."""
    text = ""
    for position, (c, a) in enumerate(zip(x.data, x.args, strict=True)):
        negative = c.could_extract_minus_sign()
        text += (" - " if negative else " + ") if position else ("-" if negative else "")
        shown = _times(-c if negative else c, a, scope)
        text += parenthesised(shown) if negative and c.is_Add and a.op == "number" else shown
    if len(x.args) > 1 or text.startswith("-"):
        return text, SUM
    return text, BIG if _reaches_far(x.args[0]) else PRODUCT


def _reaches_far(x: Node) -> bool:
    return x.op in ("sum", "reduce") or (x.op == "scale" and x.args[-1].op == "sum")


def _times(c: sp.Expr, x: Node, scope: Scope) -> str:
    if c == 1:
        return latex_node(x, scope, BIG)
    if x.op == "number" and x.data[0] == 1:
        return latex_expression(c)
    if is_scalar(x) and x.op in ("scale", "power", "hadamard") and not _reaches_far(x):
        factors = list(x.args) if x.op != "power" else [x]
        if any(_is_inverse(a) for a in factors):
            return _fraction(c, factors, scope)
    return f"{_coefficient(c)} {latex_node(x, scope, BIG)}"


def _fraction(c: sp.Expr, factors: list[Node], scope: Scope) -> str:
    above = [a for a in factors if not _is_inverse(a)]
    top = [] if c == 1 else [_coefficient(c)]
    top += [_scalar_factor(a, scope, len(above) + len(top) > 1) for a in above]
    below = [_reciprocal(a) for a in factors if _is_inverse(a)]
    bottom = " ".join(_scalar_factor(a, scope, len(below) > 1) for a in below)
    above_line = " ".join(top) or "1"
    return rf"\frac{{{above_line}}}{{{bottom}}}"


def _coefficient(c: sp.Expr) -> str:
    text = latex_expression(c)
    return parenthesised(text) if c.is_Add else text


def tex_power(x: Node, scope: Scope) -> Rendered:
    """Return an entrywise power; of scalars roots, reciprocals and ordinary powers."""
    (a,), (e,) = x.args, x.data
    if not is_scalar(x):
        shown = rf"\circ {_exponent(e)}"
        return rf"{_base_of_power(a, scope)}^{{{shown}}}", POWER
    if e == sp.Rational(1, 2):
        return rf"\sqrt{{{latex_node(a, scope)}}}", ATOM
    if e.is_negative:
        return rf"\frac{{1}}{{{latex_node(_reciprocal(x), scope)}}}", PRODUCT
    if a.op == "norm":
        return f"{tex(a, scope)[0]}{script(latex_expression(e), '^')}", POWER
    return rf"{_base_of_power(a, scope)}{script(_exponent(e), '^')}", POWER


def _exponent(e: sp.Expr) -> str:
    if e.is_Rational and not e.is_Integer:
        return f"{e.p}/{e.q}"
    return latex_expression(e)


def _base_of_power(a: Node, scope: Scope) -> str:
    text, precedence = tex(a, scope)
    closed = (precedence == ATOM and "^" not in text) or (
        a.op in ("entrywise", "call") and text.endswith(")") and a.data[0] != "logdet"  # two words
    )
    return text if closed else parenthesised(text)


def tex_norm(x: Node, scope: Scope) -> Rendered:
    r"""Return :math:`\|X\|_F`, of a column :math:`\|x\|`."""
    (a,) = x.args
    inside = latex_node(a, scope)
    return barred(inside, r"\|", r"\lVert", r"\rVert") + ("" if is_column(a) else "_F"), ATOM


def tex_inner(x: Node, scope: Scope) -> Rendered:
    """Return a Frobenius inner product."""
    first, second = (latex_node(a, scope) for a in x.args)
    return rf"\langle {first}, {second} \rangle", ATOM


def tex_sum(x: Node, scope: Scope) -> Rendered:
    r"""Return :math:`\sum_{i, h}`, families in a fixed order; in index notation with ranges."""
    bound = sorted(x.data, key=lambda b: scope.letters.rank(b[1]))
    inner = scope.inside(x)
    if scope.ranges or not all(shows_range(x.args[0], i) for i, _ in bound):
        signs = " ".join(rf"\sum_{{{inner.at[i]}=1}}^{{{latex_expression(s)}}}" for i, s in bound)
    else:
        signs = rf"\sum_{{{','.join(inner.at[i] for i, _ in bound)}}}"
    body, precedence = tex(x.args[0], inner)
    return f"{signs} {parenthesised(body) if precedence < BIG else body}", BIG


def tex_diag(x: Node, scope: Scope) -> Rendered:
    """Return a diagonal matrix; of reciprocals its inverse."""
    (v,) = x.args
    if v.op == "power" and v.data[0].is_negative:
        return rf"{_diag(v.args[0], scope)}^{{{_exponent(v.data[0])}}}", POWER
    return _diag(v, scope), POWER


def _diag(v: Node, scope: Scope) -> str:
    return rf"\operatorname{{Diag}}{parenthesised(latex_node(v, scope))}"


RULES: dict[str, Callable[[Node, Scope], Rendered]] = {
    "atom": tex_atom,
    "ones": tex_ones,
    "eye": tex_eye,
    "zeros": lambda x, scope: ("0", ATOM),
    "unit": tex_unit,
    "delta": tex_delta,
    "number": tex_number,
    "transpose": tex_transpose,
    "diag": tex_diag,
    "product": tex_product,
    "hadamard": tex_hadamard,
    "scale": tex_scale,
    "linear": tex_linear,
    "power": tex_power,
    "norm": tex_norm,
    "inner": tex_inner,
    "sum": tex_sum,
    **KRONECKER_RULES,
    **FUNCTION_RULES,
    **BLOCK_RULES,
}
"""One rule per kind of node."""
