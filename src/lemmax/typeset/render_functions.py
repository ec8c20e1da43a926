r"""LaTeX of functions: entrywise ones, functions of whole matrices, reductions over subscripts."""

from __future__ import annotations

from collections.abc import Callable

import sympy as sp

from lemmax.expr.sizes import same_size
from lemmax.typeset.algebra import transpose
from lemmax.typeset.names import latex_expression
from lemmax.typeset.node import Node, is_column, is_scalar
from lemmax.typeset.render import (
    ATOM,
    BIG,
    HADAMARD,
    POWER,
    PRODUCT,
    Scope,
    barred,
    latex_node,
    parenthesised,
    raised_base,
    shows_range,
)

Rendered = tuple[str, int]

_ENTRYWISE: dict[str, str] = {
    "exp": r"\exp",
    "log": r"\log",
    "sin": r"\sin",
    "cos": r"\cos",
    "tan": r"\tan",
    "asin": r"\arcsin",
    "acos": r"\arccos",
    "atan": r"\arctan",
    "sinh": r"\sinh",
    "cosh": r"\cosh",
    "tanh": r"\tanh",
    "max": r"\max",
    "min": r"\min",
    **{
        name: rf"\operatorname{{{name}}}"
        for name in ("sign", "erf", "relu", "sigmoid", "softplus", "pow", "atan2", "floor", "ceiling")
    },
    "Abs": r"\operatorname{abs}",
    "asinh": r"\operatorname{arcsinh}",
    "acosh": r"\operatorname{arccosh}",
    "atanh": r"\operatorname{arctanh}",
    "Heaviside": r"\operatorname{step}",
}

_CALLS: dict[str, str] = {
    "softmax": r"\operatorname{softmax}",
    "logsumexp": r"\operatorname{logsumexp}",
    "max": r"\max",
    "min": r"\min",
    "prod": r"\operatorname{prod}",
    "vec": r"\operatorname{vec}",
    "rank": r"\operatorname{rank}",
    "sigma_min": r"\sigma_{\min}",
    "lambda_min": r"\lambda_{\min}",
    "lambda_max": r"\lambda_{\max}",
    "cond": r"\operatorname{cond}",
    "det": r"\det",
    "logdet": r"\log\det",
    "polar": r"\operatorname{polar}",
}

_SUPERSCRIPTS = {"pinv": "^{+}"}

_BIG: dict[str, str] = {
    "max": r"\max",
    "min": r"\min",
    "prod": r"\prod",
    "logsumexp": r"\operatorname*{logsumexp}",
}


def tex_entrywise(x: Node, scope: Scope) -> Rendered:
    """Return a function applied entry by entry."""
    (function,) = x.data
    inside = ", ".join(latex_node(a, scope) for a in x.args)
    if function == "Abs" and is_scalar(x):
        return barred(inside, "|", r"\lvert", r"\rvert"), ATOM
    if function == "step":
        return rf"\mathbf{{1}}{parenthesised(f'{inside} > 0', '[', ']')}", POWER
    if function in ("floor", "ceiling"):
        side = "floor" if function == "floor" else "ceil"
        return rf"\l{side} {inside} \r{side}", ATOM
    if function == "pow" and is_scalar(x):
        base, exponent = x.args
        return f"{raised_base(base, scope)}^{{{latex_node(exponent, scope)}}}", POWER
    if function == "pow" and is_scalar(x.args[1]):
        base, exponent = x.args
        return rf"{raised_base(base, scope)}^{{\circ {latex_node(exponent, scope, PRODUCT)}}}", POWER
    name = _ENTRYWISE.get(function) or _special(function)
    if function in ("exp", "log") and not is_scalar(x) and same_size(*x.shape):
        name += r"^{\circ}"  # not the exponential of a matrix
    return f"{name}{parenthesised(inside)}", POWER


def _special(key: str) -> str:
    """Return the name of a special function: of those with an order, as a subscript."""
    name, _, order = key.partition(":")
    word = rf"\operatorname{{{name.replace('_', '')}}}"
    return f"{word}_{{{order}}}" if order else word


def tex_call(x: Node, scope: Scope) -> Rendered:
    """Return a function of a matrix."""
    function, *params = x.data
    (a,) = x.args
    if function == "inv":
        return f"{raised_base(a, scope)}^{{-1}}", POWER
    if function in _SUPERSCRIPTS:
        return f"{raised_base(a, scope)}{_SUPERSCRIPTS[function]}", POWER
    if function == "matrix_power":
        return f"{raised_base(a, scope)}^{{{latex_expression(scope.shifted(params[0]))}}}", POWER
    if function == "vec" and scope.column_major:
        a = transpose(a)  # the tree holds the row-major order
    inside = latex_node(a, scope)
    if function == "singular_dyad":
        at = r"\min" if params[0] == "last" else latex_expression(sp.sympify(params[0]))
        return rf"\operatorname{{dyad}}_{{{at}}}{parenthesised(inside)}", POWER
    if function == "eigen_projector":
        return rf"\operatorname{{proj}}_{{\{params[0]}}}{parenthesised(inside)}", POWER
    if function in ("spectral_norm", "nuclear_norm"):
        shown = barred(inside, r"\|", r"\lVert", r"\rVert")
        return f"{shown}_{'2' if function == 'spectral_norm' else '*'}", ATOM
    if function == "sigma":
        return rf"\sigma_{{{latex_expression(params[0])}}}{parenthesised(inside)}", POWER
    if function in ("argmax_mask", "argmin_mask"):
        which = function[3:6]
        mark = r"_{\mathrm{all}}" if params[0] == "all" and not is_column(a) else ""
        return rf"\operatorname{{onehot}}{mark}(\arg\{which} {latex_node(a, scope, HADAMARD)})", POWER
    return f"{_CALLS[function]}{parenthesised(inside)}", POWER


def tex_reduce(x: Node, scope: Scope) -> Rendered:
    """Return a reduction over subscripts."""
    function, *over = x.data
    inner = scope.inside(x)
    if scope.ranges or not all(shows_range(x.args[0], i) for i, _ in over):
        below = r",\, ".join(rf"1 \le {inner.at[i]} \le {latex_expression(s)}" for i, s in over)
    else:
        below = ",".join(inner.at[i] for i, _ in over)
    return rf"{_BIG[function]}_{{{below}}} {latex_node(x.args[0], inner, BIG)}", BIG


def tex_argmask(x: Node, scope: Scope) -> Rendered:
    """Return 1 at the place of the first maximum (minimum), else 0."""
    from dataclasses import replace

    which, over, at = x.data
    letters = dict(scope.at)
    for i, size in over:
        letters[i] = scope.letters.pick(size, set(letters.values()))
    inner = replace(scope, at=letters)
    below = ",".join(inner.at[i] for i, _ in over)
    here = ",".join(scope.position(e) for e in at)
    here = here if len(at) == 1 else f"({here})"
    body = rf"{here} = \arg\{which}_{{{below}}} {latex_node(x.args[0], inner, BIG)}"
    return rf"\mathbf{{1}}{parenthesised(body, '[', ']')}", POWER


def tex_hull(x: Node, scope: Scope) -> Rendered:
    """Return the distance of a point from a sum of convex hulls of rows."""
    inner = scope.inside(x)
    ((h, _),) = x.data[1:]
    point = latex_node(x.args[0], scope)
    hull = rf"\sum_{{{inner.at[h]}}} \operatorname{{conv}}({latex_node(x.args[1], inner)})"
    return rf"\operatorname{{dist}}\Bigl( {point},\; {hull} \Bigr)", POWER


def _named(command: str) -> Callable[[Node, Scope], Rendered]:
    def rule(x: Node, scope: Scope) -> Rendered:
        return rf"\operatorname{{{command}}}{parenthesised(latex_node(x.args[0], scope))}", POWER

    return rule


FUNCTION_RULES: dict[str, Callable[[Node, Scope], Rendered]] = {
    "entrywise": tex_entrywise,
    "call": tex_call,
    "reduce": tex_reduce,
    "argmask": tex_argmask,
    "hull": tex_hull,
    "diagonal": _named("diag"),
    "trace": _named("tr"),
}
