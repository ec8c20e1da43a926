r"""From records to values: one rule per kind of record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy as sp

from lemmax.expr.sizes import same_size
from lemmax.parse import records as r
from lemmax.parse.algebra import add, divide, entrywise, kron, multiply, scalar_power
from lemmax.parse.context import Context
from lemmax.parse.exponents import raised
from lemmax.parse.failure import Failure
from lemmax.parse.forms import Form, demand_scalar, is_column, is_scalar, scalar
from lemmax.parse.positive_parts import is_sign, positive_part
from lemmax.parse.scripts import joined
from lemmax.parse.symbols import symbol, written


def mean(ctx: Context, part: r.Part) -> Form:
    """Return the value of a part.

    Raises:
        Failure: it has none, or several.
    """
    return _RULES[type(part)](ctx, part)


# -- leaves ------------------------------------------------------------------------------------
def _number(ctx: Context, part: r.Number) -> Form:
    return scalar(part.value, part.span)


def _constant(ctx: Context, part: r.Constant) -> Form:
    from lemmax.parse.vectors import ones

    if part.kind == "ones":
        return ones(ctx, part, (), part.span)
    if part.kind == "infinity":
        return scalar(sp.oo, part.span)
    raise Failure(
        part.span, f"{ctx.text(part)}: dots stand only between the first and the last block of a matrix."
    )


def _named(ctx: Context, part: r.Part) -> Form:
    if written(part) is None:
        raise Failure(part.span, f"{ctx.text(part)}: an accent stands over a name.")
    return symbol(ctx, part)


def _scripted(ctx: Context, part: r.Scripted) -> Form:
    from lemmax.parse.brackets import subscripted_group
    from lemmax.parse.norms import fenced
    from lemmax.parse.vectors import ones, zero_matrix

    if written(part) is not None:
        return symbol(ctx, part)
    base = part.base
    if isinstance(base, r.Fence):
        form = fenced(ctx, base, part)
    elif isinstance(base, r.Constant) and base.kind == "ones":
        form = ones(ctx, base, part.sub, part.sub_span)
    elif isinstance(base, r.Number) and part.sub:
        form = zero_matrix(ctx, base, part)
    elif is_sign(part.sub):
        inner = base.parts[0] if isinstance(base, r.Group) and len(base.parts) == 1 else base
        span = part.span[0], part.sub_span[1]
        form = positive_part(ctx, mean(ctx, base), ctx.text(inner), part.sub, span)
    elif part.sub:
        form = subscripted_group(ctx, base, part)
    else:
        powered = _power_of_diagonal(ctx, base, part)
        if powered is not None:
            return powered
        form = mean(ctx, base)
    return raised(ctx, form, part.sup, part.sup_span, part.primes, part.span)


def _power_of_diagonal(ctx: Context, base: r.Part, part: r.Scripted) -> Form | None:
    r"""Return a power of ``\operatorname{Diag}(v)``, any power, as the diagonal matrix of the powers of v."""
    if not isinstance(base, r.Call) or base.function not in ("Diag", "diag") or not part.sup or part.primes:
        return None
    from lemmax.parse.calls import diagonal_matrix
    from lemmax.parse.exponents import raised_entries

    (inner,) = base.arguments if len(base.arguments) == 1 else (None,)
    if inner is None or joined(part.sup) in (r"\top", "T", r"-\top", "-T"):
        return None
    vector = mean(ctx, inner)
    if ctx.is_trivial(vector.rows) == ctx.is_trivial(vector.columns):
        return None
    return diagonal_matrix(ctx, raised_entries(ctx, vector, part), part.span)


# -- sums and products -------------------------------------------------------------------------
def _sum(ctx: Context, part: r.Sum) -> Form:
    _check_reach(ctx, part)
    return add(ctx, part.signs, [mean(ctx, p) for p in part.parts], part.span)


def _check_reach(ctx: Context, part: r.Sum) -> None:
    """A big operator ends at a plus: an index that it binds must not come back after it."""
    from lemmax.parse.reach import free_letters, trailing_letters

    bound: dict[str, r.Part] = {}
    for p in part.parts:
        again = sorted(bound.keys() & free_letters(p))
        if again:
            big = bound[again[0]]
            inner = ctx.source[big.span[0] : p.span[1]]
            raise Failure(
                p.span,
                f"the index {again[0]} is summed in {ctx.text(big)}, which ends before this part, and"
                " used again here.",
                [
                    f"brackets around all that is summed, in {inner}",
                    f"another letter for the sum in {ctx.text(big)}",
                ],
            )
        bound |= {letter: p for letter in trailing_letters(p)}


_ENTRYWISE: dict[str, Callable[[sp.Expr, sp.Expr], sp.Expr]] = {
    "HADAMARD": lambda x, y: x * y,
    "QUOTIENT": lambda x, y: x / y,
}


def _mixed(ctx: Context, part: r.Mixed) -> Form:
    kinds = set(part.operators)
    if "KRON" in kinds and len(kinds) > 1:
        raise Failure(
            part.span, f"{ctx.text(part)}: a Kronecker and an entrywise product side by side; use brackets."
        )
    if any(
        a == "QUOTIENT" and b != "QUOTIENT" for a, b in zip(part.operators, part.operators[1:], strict=False)
    ):
        raise Failure(part.span, rf"{ctx.text(part)}: a product after \oslash; use brackets.")
    for p in part.parts[:-1]:
        _closed(ctx, p, part)
    factors = [_factor_forms(ctx, p) for p in part.parts]
    if "KRON" not in kinds:
        for position, (p, q) in enumerate(zip(part.parts, part.parts[1:], strict=False)):
            _check_grouping(ctx, p, factors[position], q, factors[position + 1])
    forms = [
        fs[0] if len(fs) == 1 else multiply(ctx, fs, p.span)
        for p, fs in zip(part.parts, factors, strict=True)
    ]
    result = forms[0]
    for operator, other in zip(part.operators, forms[1:], strict=True):
        span = part.span[0], other.span[1]
        if operator == "KRON":
            result = kron(ctx, result, other, span)
        else:
            what = "entrywise product" if operator == "HADAMARD" else "entrywise quotient"
            result = entrywise(ctx, _ENTRYWISE[operator], [result, other], span, what)
    return result


def _factor_forms(ctx: Context, part: r.Part) -> list[Form]:
    return product_forms(ctx, part) if isinstance(part, r.Product) else [mean(ctx, part)]


def _check_grouping(ctx: Context, left: r.Part, before: list[Form], right: r.Part, after: list[Form]) -> None:
    r"""Refuse ``A x \odot y`` where ``A (x \odot y)`` has a value too."""
    shaped = [[f for f in forms if not is_scalar(ctx, f)] for forms in (before, after)]
    if not all(shaped) or len(shaped[0]) + len(shaped[1]) <= 2:
        return
    a, b = shaped[0][-1], shaped[1][0]
    sizes = ((a.rows, b.rows), (a.columns, b.columns))
    if not all(same_size(ctx.unknowns.value(x), ctx.unknowns.value(y)) for x, y in sizes):
        return
    span = left.span[0], right.span[1]
    middle = ctx.source[left.span[1] : right.span[0]].strip()
    pair = f"({ctx.text(a.span)} {middle} {ctx.text(b.span)})"
    inner = f"{ctx.source[left.span[0] : a.span[0]]}{pair}{ctx.source[b.span[1] : right.span[1]]}"
    sides = [f"({ctx.text(p)})" if isinstance(p, r.Product) else ctx.text(p) for p in (left, right)]
    outer = f"{sides[0]} {middle} {sides[1]}"
    raise Failure(span, f"{ctx.text(span)}: which factors belong together? Use brackets.", [outer, inner])


def _closed(ctx: Context, p: r.Part, around: r.Part) -> None:
    """A function without brackets must not be followed by anything."""
    last = p
    while isinstance(last, r.Product | r.Chain):
        last = last.parts[-1]
    if isinstance(last, r.Call) and not last.closed:
        inner = last.arguments[0]
        if last.function == "log" and isinstance(inner, r.Call) and inner.function == "det" and inner.closed:
            return  # one function, written as two
        raise _open_call(ctx, last, around)


def _open_call(ctx: Context, call: r.Call, around: r.Part) -> Failure:
    head = ctx.source[call.span[0] : call.arguments[0].span[0]].rstrip()
    argument = ctx.text(call.arguments[0])
    rest = ctx.source[call.span[1] : around.span[1]].strip()
    return Failure(
        around.span,
        f"{ctx.text(around)}: how far does {head} reach? Put its argument in brackets.",
        [f"{head}({argument}) {rest}", f"{head}({argument} {rest})"],
    )


def _chain(ctx: Context, part: r.Chain) -> Form:
    for p in part.parts[:-1]:
        _closed(ctx, p, part)
    if "MOD" in part.operators:
        from lemmax.parse.integers import integer

        return scalar(integer(ctx, part), part.span)
    slashes = [k for k, operator in enumerate(part.operators) if operator == "SLASH"]
    if slashes:
        _check_slash(ctx, part, slashes)
    forms = [mean(ctx, p) for p in part.parts]
    result = forms[0]
    for operator, other in zip(part.operators, forms[1:], strict=True):
        span = part.span[0], other.span[1]
        if operator == "SLASH":
            result = divide(ctx, result, other, span)
        elif operator == "TIMES" and not (is_scalar(ctx, result) and is_scalar(ctx, other)):
            raise Failure(
                span, rf"{ctx.text(span)}: \times is read between numbers only.", [r"a matrix product A B"]
            )
        elif operator == "STAR" and not (is_scalar(ctx, result) or is_scalar(ctx, other)):
            left, right = ctx.source[span[0] : result.span[1]].strip(), ctx.text(other.span)
            readings = [f"{left} {right}, the matrix product", rf"{left} \odot {right}, entry by entry"]
            raise Failure(span, f"{ctx.text(span)}: which product is the star?", readings)
        elif is_column(ctx, result) and is_column(ctx, other):
            if len(forms) > 2:
                raise Failure(
                    part.span, f"{ctx.text(part)}: a dot product in a longer product; use brackets."
                )
            result = multiply(ctx, [_row_of(result), other], span)
        else:
            result = multiply(ctx, [result, other], span)
    return result


def _row_of(form: Form) -> Form:
    return Form(form.span, form.columns, form.rows, lambda row, column: form.entry(column, row))


def _check_slash(ctx: Context, part: r.Chain, slashes: list[int]) -> None:
    first = slashes[0]
    below = part.parts[first + 1]
    factors = below.parts if isinstance(below, r.Product) else (below,)
    if len(factors) == 1 and first + 1 == len(part.operators) and not isinstance(below, r.Big):
        return
    above = ctx.source[part.span[0] : part.parts[first].span[1]].strip()
    head = ctx.text(factors[0])
    rest = ctx.source[factors[0].span[1] : part.span[1]].strip().removeprefix(r"\cdot").strip()
    raise Failure(
        part.span,
        f"{ctx.text(part)}: how far does the denominator reach?",
        [rf"\frac{{{above}}}{{{head}}} {rest}", rf"\frac{{{above}}}{{{head} {rest}}}"],
    )


def _product(ctx: Context, part: r.Product) -> Form:
    return multiply(ctx, product_forms(ctx, part), part.span)


def product_forms(ctx: Context, part: r.Product) -> list[Form]:
    """Return the values of factors side by side; a function and the brackets after it are one factor."""
    from lemmax.parse.callees import called, is_callee
    from lemmax.parse.spelling import join_letters

    factors = join_letters(ctx, part.parts)
    forms: list[Form] = []
    position = 0
    while position < len(factors):
        factor = factors[position]
        following = factors[position + 1] if position + 1 < len(factors) else None
        position += 1
        if isinstance(factor, r.Number) and isinstance(following, r.Number):
            a, b = ctx.text(factor), ctx.text(following)
            raise Failure(
                part.span, f"two numbers side by side, {a} and {b}.", [rf"{a} \cdot {b}", f"{a}{b}"]
            )
        if following is not None and not isinstance(following, r.Call):
            _closed(ctx, factor, part)
        if isinstance(factor, r.Number) and factor.value == 1 and forms and not is_scalar(ctx, forms[-1]):
            text = ctx.text(forms[-1].span)
            raise Failure(
                part.span,
                f"{ctx.text(part)}: the number 1 after a matrix.",
                [rf"{text} \mathbf{{1}}, times the vector of ones", text],
            )
        if following is not None and is_callee(ctx, factor, following):
            forms.append(called(ctx, factor, following))
            position += 1
        else:
            forms.append(mean(ctx, factor))
    return forms


def _fraction(ctx: Context, part: r.Fraction) -> Form:
    return divide(ctx, mean(ctx, part.above), mean(ctx, part.below), part.span)


def _root(ctx: Context, part: r.Root) -> Form:
    inside = mean(ctx, part.inside)
    text = ctx.text(part.inside).strip("{}")
    readings = (
        rf"({text})^{{\circ 1/2}}, entry by entry",
        "the square root of a matrix, which lemmax does not have",
    )
    demand_scalar(ctx, inside, "what stands below a root", readings)
    degree = scalar(sp.Integer(2), part.span) if part.degree is None else mean(ctx, part.degree)
    demand_scalar(ctx, degree, "the degree of a root")
    zero = sp.S.Zero
    inverse = Form(part.span, sp.S.One, sp.S.One, lambda row, column: 1 / degree.entry(zero, zero))
    return scalar_power(inside, inverse, part.span)


# -- brackets ----------------------------------------------------------------------------------
def _group(ctx: Context, part: r.Group) -> Form:
    if len(part.parts) != 1:
        raise Failure(part.span, f"{ctx.text(part)}: several parts in brackets; expected one.")
    return mean(ctx, part.parts[0]).at(part.span)


def _fence(ctx: Context, part: r.Fence) -> Form:
    from lemmax.parse.norms import fenced

    return fenced(ctx, part, None)


def _relation(ctx: Context, part: r.Relation) -> Form:
    raise Failure(
        part.span,
        rf"{ctx.text(part)}: a relation is no value; it stands in \mathbf{{1}}[...] or after a case.",
    )


def _call(ctx: Context, part: r.Call) -> Form:
    from lemmax.parse.calls import call

    return call(ctx, part)


def _big(ctx: Context, part: r.Big) -> Form:
    from lemmax.parse.bigs import big

    return big(ctx, part)


def _matrix(ctx: Context, part: r.Matrix) -> Form:
    from lemmax.parse.blocks import matrix

    return matrix(ctx, part)


def _cases(ctx: Context, part: r.Cases) -> Form:
    from lemmax.parse.conditions import cases

    return cases(ctx, part)


_RULES: dict[type[r.Part], Callable[[Context, Any], Form]] = {
    r.Number: _number,
    r.Constant: _constant,
    r.Symbol: symbol,
    r.Accented: _named,
    r.Scripted: _scripted,
    r.Sum: _sum,
    r.Mixed: _mixed,
    r.Chain: _chain,
    r.Product: _product,
    r.Fraction: _fraction,
    r.Root: _root,
    r.Group: _group,
    r.Fence: _fence,
    r.Relation: _relation,
    r.Call: _call,
    r.Big: _big,
    r.Matrix: _matrix,
    r.Cases: _cases,
}
