r"""Rank-one terms of derivatives of the softmax that are missing.

The Jacobian of s = softmax(a) is diag(s) - s s^T; of whole rows it takes E = S o P to
E - diag(E 1) S.  The second derivative along d = (diag(s) - s s^T) p is
diag(d) - d s^T - s d^T.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from lemmax.check.claim.edits import Edit
from lemmax.check.claim.places import Place
from lemmax.check.claim.source import Source
from lemmax.parse import records as r

KIND = "softmax Jacobian"
_SUBSCRIPT = re.compile(r"_(\{[^{}]*\}|\w)")


def softmax_edits(
    source: Source, found: Sequence[Place], softmaxes: Sequence[str], given: Collection[str]
) -> Iterator[Edit]:
    """Yield changes that put a rank-one term in.

    Args:
        source: the claim.
        found: its places.
        softmaxes: names, as they are written, of tensors that are a softmax along rows.
        given: names of inputs and sizes, of which no product with a derivative is named.
    """
    calls = {p.words for p in found if isinstance(p.part, r.Call) and p.part.function == "softmax"}
    for place in found:
        if _bare(place.words) in given:
            continue
        for words, new in _changes(place, [*softmaxes, *sorted(calls)]):
            yield Edit(KIND, words, source.with_piece(place.piece, place.replaced(new)))


def _changes(place: Place, softmaxes: Sequence[str]) -> Iterator[tuple[str, str]]:
    part, words = place.part, place.words
    missing = "the rank-one term of the derivative of the softmax is missing"
    if isinstance(part, r.Call) and part.function in ("diag", "Diag") and len(part.arguments) == 1:
        inner = place.text[part.arguments[0].span[0] : part.arguments[0].span[1]].strip()
        low = _SUBSCRIPT.search(inner)
        for row in _rows(softmaxes, low[0] if low else "", inner):
            if row == inner:
                yield f"{missing}: {words} - {row} {row}^T", rf"({words} - {row} {row}^\top)"
                continue
            yield (
                f"{missing}: {words} - {inner} {row}^T - {row} {inner}^T",
                rf"({words} - {inner} {row}^\top - {row} ({inner})^\top)",
            )
    if isinstance(part, r.Sum):
        yield from _summands(place, part, missing)
    if place.is_factor and isinstance(part, r.Symbol | r.Scripted | r.Group | r.Mixed):
        low = _SUBSCRIPT.search(words) if not isinstance(part, r.Group | r.Mixed) else None
        for s in softmaxes:
            if s == re.sub(_SUBSCRIPT, "", words):
                continue
            for sub in dict.fromkeys([low[0] if low else "", *_subscripts(words)]):
                full = rf"({words} - \operatorname{{diag}}(({words}) \mathbf{{1}}) {s}{sub})"
                yield f"{missing}: {words} - diag({words} 1) {s}{sub}", full
                for row in dict.fromkeys((f"{_small(s)}{sub}", f"{s}{sub}")):
                    yield (
                        f"{missing}: {words} - (1^T ({words})) {row}",
                        rf"({words} - (\mathbf{{1}}^\top ({words})) {row})",
                    )


def _rows(softmaxes: Sequence[str], sub: str, inner: str) -> list[str]:
    """Return rows of softmaxes with the subscript of a vector; the vector itself, if it is one."""
    rows = [f"{_small(s)}{sub}" for s in softmaxes]
    bare = re.sub(_SUBSCRIPT, "", inner)
    known = {*softmaxes, *(_small(s) for s in softmaxes)}
    return [inner] if bare in known else rows if sub else list(softmaxes)


def _bare(words: str) -> str:
    """Return a name without subscript and transpose."""
    return (
        re.sub(r"\^\s*\\top|\\top|\^\{\\top\}|\s", "", re.sub(_SUBSCRIPT, "", words))
        .replace("{", "")
        .replace("}", "")
    )


def _small(name: str) -> str:
    return name.lower() if len(name) == 1 else name


def _subscripts(words: str) -> list[str]:
    """Return the subscripts that occur in a text."""
    return [m[0] for m in _SUBSCRIPT.finditer(words)][:2]


def _summands(place: Place, part: r.Sum, missing: str) -> Iterator[tuple[str, str]]:
    r"""Add the transpose of a summand: ``diag(d) - d s^T`` lacks ``- s d^T``."""
    for sign, p in zip(part.signs, part.parts, strict=True):
        one = place.text[p.span[0] : p.span[1]].strip()
        mark = "+" if sign > 0 else "-"
        yield f"{missing}: {mark} ({one})^T", rf"{place.words} {mark} ({one})^\top"
