r"""Names with scripts: which tensor is meant, and what is said about it.

All ways to read a name are tried; if more than one has a meaning, the formula is ambiguous.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from lemmax.expr.sizes import is_one, same_size
from lemmax.expr.tensor import Tensor
from lemmax.parse import records as r
from lemmax.parse.constants import constant
from lemmax.parse.context import Context
from lemmax.parse.exponents import raised
from lemmax.parse.failure import Failure, Span
from lemmax.parse.forms import Form, is_scalar, scalar
from lemmax.parse.integers import size_of
from lemmax.parse.names import Key, Named, canonical_base, plain
from lemmax.parse.positive_parts import is_sign, positive_part
from lemmax.parse.scripts import after, joined, letter_text
from lemmax.parse.subscripts import subscripted


@dataclass(frozen=True, slots=True)
class Written:
    """A name as written: what carries the scripts, and all scripts."""

    base: str
    sub: r.Script
    sup: r.Script
    primes: int
    extra: r.Script
    span: Span
    sub_end: int
    sup_span: Span


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read a name: in words, and its value (made on demand)."""

    words: str
    value: Callable[[], Form]
    weight: int


def written(part: r.Part) -> Written | None:
    """Return a part as a name with scripts, or ``None`` if it is none."""
    if isinstance(part, r.Group) and part.left == "LCURLY" and len(part.parts) == 1:
        return written(part.parts[0])
    if isinstance(part, r.Symbol):
        return Written(canonical_base(part.text), (), (), 0, (), part.span, part.span[1], part.span)
    if isinstance(part, r.Accented):
        inner = written(part.inside)
        if inner is None or inner.extra:
            return None
        base = rf"\{part.accent.lstrip(chr(92))}{{{inner.base}}}"
        return Written(base, inner.sub, inner.sup, inner.primes, (), part.span, inner.sub_end, inner.sup_span)
    if isinstance(part, r.Scripted):
        inner = written(part.base)
        if inner is None or inner.extra or (inner.sup and part.sup) or (inner.primes and part.sup):
            return None
        sub, extra = (inner.sub, part.sub) if inner.sub else (part.sub, ())
        sub_end = part.sub_span[1] if part.sub and not inner.sub else inner.sub_end
        sup, sup_span = (inner.sup, inner.sup_span) if inner.sup else (part.sup, part.sup_span)
        return Written(inner.base, sub, sup, inner.primes + part.primes, extra, part.span, sub_end, sup_span)
    return None


def symbol(ctx: Context, part: r.Part) -> Form:
    """Return the value of a name with scripts.

    Raises:
        Failure: the name is unknown, or has several meanings.
    """
    name = written(part)
    assert name is not None
    return resolve(ctx, name, part)


def resolve(ctx: Context, name: Written, part: r.Part) -> Form:
    """Return the value of a name as written."""
    carried, is_row = ctx.names.carried_by(name.base)
    readings = [x for n in carried if (x := _of_tensor(ctx, n, name, is_row)) is not None]
    if not carried and len(name.base) > 1:
        spelled = ctx.names.spelled(name.base)
        readings = [x for n in spelled if (x := _of_word(ctx, n, name)) is not None]
    readings += _of_size(ctx, name, part) + _of_letter(ctx, name, part)
    if not readings or name.base == "e":
        builtin = constant(ctx, name)
        if builtin is not None and (not readings or (name.sup and not name.sub)):
            readings.append(Reading(builtin[0], builtin[1], 0))
    if not readings:
        readings = _of_open_definition(ctx, name)
    if not readings:
        raise _unknown(ctx, name)
    return _only(ctx, readings, name.span)


def _of_tensor(ctx: Context, named: Named, name: Written, is_row: bool) -> Reading | None:
    key = named.key
    sub = after(name.sub, key.sub)
    own_primes = key.sup[-1].count("'") if key.sup and set(key.sup[-1]) == {"'"} else 0
    if own_primes and name.primes:
        if name.primes != own_primes or len(key.sup) > 1:
            return None
        sup: r.Script | None = name.sup
        primes = 0
    else:
        sup, primes = after(name.sup, key.sup), name.primes
    if sub is None or sup is None:
        return None

    def value() -> Form:
        base_span = name.span[0], max(name.sub_end, name.span[0] + 1)
        if is_sign(sub) and not name.extra:
            whole = subscripted(ctx, named.tensor, (), name.sub_end, name.span, is_row, ())
            form = positive_part(ctx, whole, name.base, sub, base_span)
            return raised(ctx, form, sup, name.sup_span, primes, name.span)
        form = subscripted(ctx, named.tensor, sub, name.sub_end, base_span, is_row, name.extra)
        if (sub or name.extra) and (sup or primes):
            check_entry(ctx, named.tensor, form, sup, primes, name)
        return raised(ctx, form, sup, name.sup_span, primes, name.span)

    said = f"{'a row or entry of ' if is_row else ''}the tensor {named.key.text}"
    if sub:
        said += f", subscript {joined(sub)}"
    if sup or primes:
        said += f", superscript {joined(sup) or chr(39) * primes}"
    return Reading(said, value, len(key.sub) + len(key.sup))


def check_entry(ctx: Context, tensor: Tensor, form: Form, sup: r.Script, primes: int, name: Written) -> None:
    r"""Refuse ``A^\top_{ij}`` and ``A^{-1}_{ij}``: is it the entry of the matrix with the superscript?

    Raises:
        Failure: it is not clear; ``A_{ij}^2`` is the square of an entry, ``A^2_{ij}`` is not clear.
    """
    if tensor.ndim < 2 or not is_scalar(ctx, form) or any(is_one(s) for s in tensor.shape[-2:]):
        return
    text = joined(sup) if sup else r"\top"
    is_transposed = text in (r"\top", "T", "'")
    is_square = same_size(tensor.shape[-1], tensor.shape[-2])
    is_inverse = text.startswith("-")
    behind = name.sup_span[0] > name.sub_end - 1
    if text.startswith((r"\circ", r"\odot")) or not (
        is_transposed or (is_square and (is_inverse or not behind))
    ):
        return
    base, low = name.base, joined(name.sub)
    high = rf"{{{text}}}"
    readings = [rf"({base}^{high})_{{{low}}}, an entry of the matrix"]
    if not is_transposed:
        readings.append(rf"({base}_{{{low}}})^{high}, a power of an entry")
    raise Failure(name.span, f"{ctx.text(name.span)}: an entry with a superscript.", readings)


def _of_open_definition(ctx: Context, name: Written) -> list[Reading]:
    """Read the right side of a definition once more, where it is used: its sizes follow from there."""
    found = ctx.names.open.get(Key(name.base, (joined(name.sub),) if name.sub else (), ()))
    if found is None or name.extra:
        if name.sub and Key(name.base) in ctx.names.open:
            raise Failure(
                name.span,
                f"{ctx.text(name.span)}: an entry of what is defined without its size: write the size in the"
                rf" definition, as in I_n or \mathbf{{1}}_n.",
            )
        return []
    source, right = found

    def value() -> Form:
        from lemmax.parse.meaning import mean

        before = set(ctx.unknowns.spans)
        form = mean(replace(ctx, source=source, scope={}, guarded=frozenset()), right).at(name.span)
        for symbol in ctx.unknowns.spans.keys() - before:  # what stays open is shown where the name is used
            ctx.unknowns.spans[symbol] = name.span, ctx.unknowns.spans[symbol][1]
        return raised(ctx, form, name.sup, name.sup_span, name.primes, name.span)

    return [Reading(f"the definition of {name.base}", value, 0)]


def _of_word(ctx: Context, named: Named, name: Written) -> Reading:
    def value() -> Form:
        form = subscripted(ctx, named.tensor, name.sub, name.sub_end, name.span, False, name.extra)
        return raised(ctx, form, name.sup, name.sup_span, name.primes, name.span)

    return Reading(f"the tensor {named.key.text}", value, 0)


def _of_size(ctx: Context, name: Written, part: r.Part) -> list[Reading]:
    bare = part.base if isinstance(part, r.Scripted) else part
    known = size_of(ctx, bare) if not name.sub else size_of(ctx, _without_sup(part))
    if known is None or name.extra:
        return []

    def value() -> Form:
        return raised(ctx, scalar(known, name.span), name.sup, name.sup_span, name.primes, name.span)

    return [Reading(f"the size {known}", value, 0)]


def _without_sup(part: r.Part) -> r.Part:
    if isinstance(part, r.Scripted):
        return r.Scripted(part.span, part.depth, part.base, part.sub, (), 0, part.sub_span, part.sub_span)
    return part


def _of_letter(ctx: Context, name: Written, part: r.Part) -> list[Reading]:
    """An index is worth its place, counted from 1."""
    text = letter_text(_without_sup(part))
    if text is None or name.extra:
        return []
    letter = ctx.letter(text)
    if letter is None and text in ctx.subscripted and not ctx.names.is_given(name.base):
        if size_of(ctx, _without_sup(part)) is not None or constant(ctx, name) is not None:
            return []
        letter = ctx.free_letter(text, name.span)
    if letter is None:
        return []
    found = letter

    def value() -> Form:
        return raised(ctx, scalar(found.value, name.span), name.sup, name.sup_span, name.primes, name.span)

    return [Reading(f"the index {text} as a number", value, 0)]


def _only(ctx: Context, readings: Sequence[Reading], span: Span) -> Form:
    """Return the value of the only reading that has one."""
    if len(readings) == 1:
        return readings[0].value()
    found: list[tuple[Reading, Form]] = []
    failed: list[tuple[Reading, Failure]] = []
    for reading in readings:
        state, free = ctx.unknowns.snapshot(), dict(ctx.free)
        try:
            found.append((reading, reading.value()))
        except Failure as failure:
            failed.append((reading, failure))
            ctx.unknowns.restore(state)
            ctx.free.clear()
            ctx.free.update(free)
    if not found:
        raise max(failed, key=lambda x: x[0].weight)[1]
    if len(found) > 1:
        raise Failure(
            span,
            f"{ctx.text(span)} has several meanings; use other names, or brackets.",
            [reading.words for reading, _ in found],
        )
    return found[0][1]


_NOTATIONS = {
    r"An expectation over samples is written out, as in \frac1n \sum_{i=1}^n.": {"E"},
    r"A variance is written out, as in \frac1n \|x - \mu \mathbf{1}\|^2.": {"V", "Var", "var", "Cov", "cov"},
    "A distribution has no form here: write its density out.": {"P", "Pr", "N"},
}
"""What to write for notation of probability, and its names without fonts."""


def _unknown(ctx: Context, name: Written) -> Failure:
    text = ctx.text(name.span)
    close = ctx.names.close_to(name.base if not name.sup else f"{name.base}^{joined(name.sup)}")
    hint = f" Did you mean {' or '.join(close)}?" if close else ""
    hint = hint or next((f" {said}" for said, bases in _NOTATIONS.items() if plain(name.base) in bases), "")
    known = ", ".join(n.key.text for n in ctx.names.all()[:20]) or "none"
    sizes = ", ".join(sorted(str(s) for s in ctx.names.sizes.values())) or "none"
    return Failure(name.span, f"the name {text} is not known.{hint} Names given: {known}; sizes: {sizes}.")


def bare_tensor(ctx: Context, part: r.Part) -> Tensor | None:
    """Return the tensor if a formula is nothing but its name; it may then have any number of axes."""
    name = written(part)
    if name is None or name.extra or name.primes:
        return None
    carried, is_row = ctx.names.carried_by(name.base)
    found = [n for n in carried if after(name.sub, n.key.sub) == () and after(name.sup, n.key.sup) == ()]
    return found[0].tensor if len(found) == 1 and not is_row and found[0].tensor.ndim > 2 else None
