r"""Local partial derivatives: of the definition of one tensor in one of its operands.

For an index lambda they are ``sympy.diff`` of the body in an entry, with Kronecker deltas
that say which entry; each different entry of the operand is one summand (product rule).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import sympy as sp

from lemmax.calculus.canonical import expand_terms
from lemmax.calculus.joins import KINKS, is_smooth, without_extremes
from lemmax.calculus.kinks import zero_at_zero
from lemmax.calculus.terms import entries_of, entry_tensor, indices_of, is_monomial
from lemmax.errors import InvalidArgument, MissingRule, NonSmooth
from lemmax.expr.functions import relu, sigmoid, softplus, step
from lemmax.expr.indices import fresh, is_index
from lemmax.expr.nodes import Lambda, Term
from lemmax.expr.special import write_out
from lemmax.expr.tensor import Tensor, TensorSymbol

Smoothness = Literal["raise", "subgradient"]

_KNOWN = (sigmoid, softplus, relu, step)


@dataclass(frozen=True, slots=True)
class LocalPartial:
    """The terms of ``d U[u] / d V[v]`` with the indices they are written in.

    Attributes:
        rows: indices u of U.
        columns: indices v of V.
        terms: summands, with deltas where an index is tied.
        rule: name of the rule of differentiation.
    """

    rows: tuple[sp.Symbol, ...]
    columns: tuple[sp.Symbol, ...]
    terms: tuple[Term, ...]
    rule: str


def check_policy(nonsmooth: str) -> None:
    """Check the policy for kinks.

    Raises:
        InvalidArgument: it is neither ``raise`` nor ``subgradient``.
    """
    if nonsmooth not in ("raise", "subgradient"):
        raise InvalidArgument(f"nonsmooth={nonsmooth!r}: expected 'raise' or 'subgradient'.")


def local_partial(of: Lambda, wrt: Tensor, nonsmooth: Smoothness) -> LocalPartial:
    """Differentiate the body of ``of`` in the entries of its operand ``wrt``.

    Raises:
        NonSmooth: a function with a kink is met and ``nonsmooth`` is ``raise``.
        MissingRule: SymPy does not know the derivative of a function.
    """
    rows, columns = fresh(of.ndim), fresh(wrt.ndim)
    terms: list[Term] = []
    rules: set[str] = set()
    for term in of.terms:
        new = fresh(len(term.bound))
        swap: dict[sp.Basic, sp.Basic] = dict(zip(of.indices, rows, strict=True))
        swap.update({old: i for (old, _), i in zip(term.bound, new, strict=True)})
        expr = term.expr.xreplace(swap)
        bound = tuple((i, s) for i, (_, s) in zip(new, term.bound, strict=True))
        for entry in entries_of(expr, wrt):
            slope = differentiate(expr, entry, nonsmooth)
            rules.add(_rule_name(expr, entry, slope))
            if isinstance(expr, sp.exp) and not term.bound and len(of.terms) == 1:
                # the exponential is its own derivative: keep the name (S, not exp(A))
                slope = sp.Mul(*[of.entry(*rows) if f == expr else f for f in sp.Mul.make_args(slope)])
            ties = [sp.KroneckerDelta(i, j) for i, j in zip(columns, indices_of(entry), strict=True)]
            terms += [
                Term(bound, sp.Mul(part.expr, *ties))
                for part in _summands(Term(bound, slope))
                if part.expr != 0
            ]
    # the most telling rule names the step: a product of powers is differentiated by the product rule
    order = ("elementwise_derivative", "power_rule", "product_rule", "linearity")
    rule = next((r for r in order if r in rules), "linearity")
    return LocalPartial(rows, columns, tuple(terms), rule)


def _summands(slope: Term) -> list[Term]:
    """Multiply a slope out if that gives products of entries, or parts over fewer indices.

    ``1 - tanh(x)**2`` stays one factor: multiplied out, a composition of d functions would have d summands.
    """
    parts = expand_terms(slope)
    sums = [f for f in sp.Mul.make_args(slope.expr) if isinstance(f, sp.Add)]
    whole = all(_indices(s) in (set(), _indices(f)) for f in sums for s in f.args)
    return [slope] if whole and not all(is_monomial(part.expr) for part in parts) else parts


def _indices(expr: sp.Expr) -> set[sp.Symbol]:
    return {s for s in expr.atoms(sp.Symbol) if is_index(s)}


def differentiate(expr: sp.Expr, entry: sp.Expr, nonsmooth: Smoothness) -> sp.Expr:
    """Return the derivative of a scalar body in one entry, all other entries fixed."""
    assumptions = {"positive": True} if entry.is_positive else {"real": True}
    x = sp.Dummy("x", **assumptions)
    held = expr.xreplace({entry: x})
    _check_smooth(held, x, entry, nonsmooth)
    smooth, steps = _hold_steps(without_extremes(expr).xreplace({entry: x}))
    slope = write_out(sp.diff(smooth, x).xreplace(steps))
    slope = slope.replace(sp.Heaviside, lambda z, *_: step(z)).replace(sp.DiracDelta, lambda *_: sp.S.Zero)
    if slope.has(sp.Derivative, sp.Subs):
        raise MissingRule(
            f"the derivative of {expr} in {entry} is not known to SymPy: give the function an fdiff method, "
            "or write it with functions that have one (lx.exp, lx.relu, ...)."
        )
    slope = slope.replace(lambda e: e.is_Mul, _join_powers).replace(lambda e: e.is_Mul, _join_signs)
    slope = slope.xreplace({x: entry})
    return zero_at_zero(slope) if nonsmooth == "subgradient" else slope


def _hold_steps(expr: sp.Expr) -> tuple[sp.Expr, dict[sp.Basic, sp.Basic]]:
    """Put constants for roundings, whose derivative is 0 where it exists; SymPy leaves it unevaluated."""
    held = {f: sp.Dummy(real=True) for f in sorted(expr.atoms(sp.floor, sp.ceiling), key=str)}
    return (expr.xreplace(held), {d: f for f, d in held.items()}) if held else (expr, {})


def _join_powers(product: sp.Mul) -> sp.Expr:
    """Write ``x**p / x`` as ``x**(p - 1)``: SymPy leaves it as it is, and it is undefined at 0."""
    exponents: dict[sp.Expr, list[sp.Expr]] = {}
    for factor in product.args:
        base, exponent = factor.as_base_exp()
        exponents.setdefault(base, []).append(exponent)
    if all(base.is_number or len(parts) == 1 for base, parts in exponents.items()):
        return product
    return sp.Mul(*[sp.Pow(base, sp.Add(*parts)) for base, parts in exponents.items()])


def _join_signs(product: sp.Mul) -> sp.Expr:
    """Write ``relu(u) step(u)`` as ``relu(u)``, ``u sign(u)`` as ``|u|`` and ``|u| sign(u)`` as ``u``."""
    factors = list(product.args)
    for f in product.args:
        if not isinstance(f, step | sp.sign):
            continue
        (u,) = f.args
        swaps = {relu(u): relu(u)} if isinstance(f, step) else {sp.Abs(u): u, u: sp.Abs(u)}
        for place, g in enumerate(factors):
            base, exponent = g.as_base_exp()
            # an entry u may be hidden by its sign, -u, or by a power, sqrt(|u|)
            if base in swaps and exponent.is_Rational and exponent >= 1:
                factors[place] = base ** (exponent - 1) * swaps[base]
                factors.remove(f)
                break
    return product if len(factors) == len(product.args) else sp.Mul(*factors)


def _check_smooth(held: sp.Expr, x: sp.Symbol, entry: sp.Expr, nonsmooth: Smoothness) -> None:
    if nonsmooth != "raise":
        return
    kinks = sorted((f for f in held.atoms(*KINKS) if x in f.free_symbols), key=str)
    cases = [f for f in held.atoms(sp.Piecewise) if any(x in c.free_symbols for _, c in f.args)]
    kinks += sorted(cases, key=str)
    if kinks and not is_smooth(held, x):
        of = entry_tensor(entry)
        kink = f"{type(kinks[0]).__name__} of {of.label() if of is not None else entry}"
        raise NonSmooth(
            f"{kink} has a kink, so its derivative does not exist everywhere. Pass nonsmooth='subgradient' to"
            " get the derivative away from kinks and one subgradient at them (relu'(0) = 0, sign(0) = 0)."
        )


def _rule_name(expr: sp.Expr, entry: sp.Expr, slope: sp.Expr) -> str:
    symbol = entry.base.label if isinstance(entry, sp.Indexed) else entry
    if symbol not in slope.atoms(TensorSymbol):
        others = sp.Mul(*[f for f in sp.Mul.make_args(expr) if not f.has(entry)])
        return "product_rule" if others.atoms(TensorSymbol) else "linearity"
    if any(isinstance(f, sp.Function) and f.has(entry) for f in expr.atoms(sp.Function)):
        return "elementwise_derivative"
    return (
        "power_rule"
        if any(p.has(entry) and p.base.has(entry) for p in expr.atoms(sp.Pow))
        else "product_rule"
    )
