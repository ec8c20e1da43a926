r"""Functions written as names: ``\mathbf 1[x > 0]``, ``\sigma_k(A)``, ``\lambda_{\max}(A)``, ``\Gamma``."""

from __future__ import annotations

import sympy as sp

from lemmax.expr import functionals
from lemmax.expr.sizes import Size
from lemmax.parse import records as r
from lemmax.parse.algebra import entrywise
from lemmax.parse.calls import functional
from lemmax.parse.context import Context
from lemmax.parse.exponents import raised
from lemmax.parse.failure import Failure, Span
from lemmax.parse.forms import Form
from lemmax.parse.integers import integer
from lemmax.parse.meaning import mean
from lemmax.parse.names import canonical_base
from lemmax.parse.reader import read_places
from lemmax.parse.scripts import joined

_INDICATORS = frozenset([r"\mathbb{I}", r"\mathbf{I}", r"\mathrm{I}", "I"])
"""Letters that are an indicator before a relation in brackets."""


def is_callee(ctx: Context, factor: r.Part, following: r.Part) -> bool:
    r"""Is a factor a function of the brackets after it: ``\mathbf 1[x > 0]``, ``\sigma_k(A)``?"""
    group = following.base if isinstance(following, r.Scripted) else following
    if not isinstance(group, r.Group) or group.left == "LCURLY":
        return False
    if isinstance(factor, r.Constant) and factor.kind == "ones":
        return any(isinstance(p, r.Relation) for p in group.parts)
    base = factor.base if isinstance(factor, r.Scripted) else factor
    if not isinstance(base, r.Symbol):
        return False
    if base.text in _INDICATORS and any(isinstance(p, r.Relation) for p in group.parts):
        return True
    if base.text == r"\Gamma" and isinstance(factor, r.Symbol) and len(group.parts) == 1:
        return not ctx.names.is_given(base.text)
    if base.text not in (r"\sigma", r"\lambda"):
        return False
    which = joined(factor.sub) if isinstance(factor, r.Scripted) else ""
    given = ctx.names.carried_by(canonical_base(base.text))[0]
    if which in ("min", "max"):
        return all(n.key.sub != (which,) for n in given)
    return not given and ctx.letter(base.text) is None


def called(ctx: Context, factor: r.Part, following: r.Part) -> Form:
    """Return the function that a factor is, of the brackets after it, with their scripts."""
    scripted = following if isinstance(following, r.Scripted) else None
    group = scripted.base if scripted is not None else following
    assert isinstance(group, r.Group)
    span = factor.span[0], group.span[1]
    if isinstance(factor, r.Constant) or (isinstance(factor, r.Symbol) and factor.text in _INDICATORS):
        from lemmax.parse.vectors import indicator

        form = indicator(ctx, group.parts, span)
    elif isinstance(factor, r.Symbol) and factor.text == r"\Gamma":
        form = entrywise(ctx, sp.gamma, [mean(ctx, group.parts[0])], span, "gamma")
    else:
        form = _spectrum(ctx, factor, group, span)
    if scripted is None:
        return form
    if scripted.sub:
        raise Failure(
            scripted.span, f"{ctx.text(scripted)}: the subscript of a value in brackets has no meaning here."
        )
    return raised(
        ctx, form, scripted.sup, scripted.sup_span, scripted.primes, (factor.span[0], scripted.span[1])
    )


def _spectrum(ctx: Context, factor: r.Part, group: r.Group, span: Span) -> Form:
    sub = factor.sub if isinstance(factor, r.Scripted) else ()
    which = joined(sub)
    base = factor.base if isinstance(factor, r.Scripted) else factor
    singular = isinstance(base, r.Symbol) and base.text == r"\sigma"
    argument = ctx.text(group)
    if len(group.parts) != 1 or (isinstance(factor, r.Scripted) and (factor.sup or factor.primes)):
        raise Failure(span, f"{ctx.text(span)}: expected one argument, and no superscript before it.")
    if not which:
        readings = [rf"\operatorname{{sigmoid}}{argument}", rf"\sigma_{{k}}{argument}, a singular value"]
        raise Failure(
            span,
            f"{ctx.text(span)} is not clear.",
            readings if singular else [rf"\lambda_{{\max}}{argument}"],
        )
    names = {
        (True, "min"): functionals.sigma_min,
        (True, "max"): functionals.spectral_norm,
        (False, "min"): functionals.lambda_min,
        (False, "max"): functionals.lambda_max,
    }
    a = mean(ctx, group.parts[0])
    if (singular, which) in names:
        return functional(ctx, a, names[singular, which], span)
    if not singular:
        raise Failure(
            span, rf"{ctx.text(span)}: of the eigenvalues \lambda_{{\min}} and \lambda_{{\max}} are known."
        )
    assert isinstance(factor, r.Scripted)
    place = read_places(factor.sub, factor.sub_span[1]).places[0].low
    if place is None:
        raise Failure(span, f"{ctx.text(span)}: expected the number of a singular value.")
    k: Size = integer(ctx, place)
    return functional(ctx, a, lambda t: functionals.sigma(t, k), span)
