r"""Changes of a claim in one place, as texts: transposes, sums, Kronecker factors, symmetric parts, names."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lemmax.check.claim.places import Place
from lemmax.check.claim.source import Source
from lemmax.parse import records as r
from lemmax.parse.reach import bound_letters, free_letters

_TRANSPOSE = re.compile(r"(?:\\top|\\intercal|\\transpose|\\mathsf\s*\{?T\}?|\\mathrm\s*\{?T\}?|T)\s*\Z")
_BARE = re.compile(r"[\s{}()]")
_COMMUTATION = re.compile(r"K_\{\s*[A-Za-z]\s*,?\s*[A-Za-z]\s*\}")


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of a claim.

    Attributes:
        kind: what kind of change.
        words: what to change, in words.
        source: the claim after the change.
        letter: the index that a sum is put over.
    """

    kind: str
    words: str
    source: Source
    letter: str = ""


def edits(source: Source, found: Sequence[Place], letters: frozenset[str]) -> Iterator[Edit]:
    """Yield changes, those that are made most often first.

    Args:
        source: the claim.
        found: its places.
        letters: letters of the leading axes, which must stay free.
    """
    for rule in (_sums, _kronecker, _transposes, _exchanged, _dropped_sums, _deltas, _symmetric, _axes):
        for place in found:
            for kind, words, new in rule(place, letters):
                letter = words.removeprefix("sum over ").partition(":")[0] if rule is _sums else ""
                yield Edit(kind, words, source.with_piece(place.piece, place.replaced(new)), letter)


def symmetrised_edits(source: Source, found: Sequence[Place]) -> Iterator[Edit]:
    """Yield what leaves out the transpose of a part that was added to it."""
    for place in found:
        for kind, words, new in _symmetrised(place):
            yield Edit(kind, words, source.with_piece(place.piece, place.replaced(new)))


_Change = Iterator[tuple[str, str, str]]


# -- transposes ----------------------------------------------------------------------------------
def _transposes(place: Place, letters: frozenset[str]) -> _Change:
    part = place.part
    if not place.is_factor or isinstance(part, r.Number | r.Constant | r.Big | r.Fraction | r.Root | r.Fence):
        return
    if isinstance(part, r.Group) and part.left == "LCURLY":
        return
    words = place.words
    bare = without_transpose(place)
    if bare is not None:
        yield "transpose", f"leave out the transpose of {words}", bare
    elif isinstance(part, r.Symbol | r.Scripted | r.Group | r.Call | r.Product | r.Accented):
        yield "transpose", f"transpose {words}", rf"({words})^\top"


def without_transpose(place: Place) -> str | None:
    """Return the text of a part without its transpose, ``None`` if it has none."""
    part = place.part
    if not isinstance(part, r.Scripted):
        return None
    start = part.span[0]
    if part.primes == 1 and not part.sup:
        at = place.words.rfind("'")
        return place.words[:at] + place.words[at + 1 :] if at >= 0 else None
    if not part.sup:
        return None
    low, high = part.sup_span[0] - start, part.sup_span[1] - start
    text = place.text[start : part.span[1]]
    inside = text[low + 1 : high].strip()
    inside = inside[1:-1].strip() if inside.startswith("{") and inside.endswith("}") else inside
    if inside == "-1":
        return rf"{text[:low]}^{{-\top}}{text[high:]}"
    match = _TRANSPOSE.search(inside)
    if match is None:
        return None
    rest = inside[: match.start()].strip()
    if rest == "-":
        return f"{text[:low]}^{{-1}}{text[high:]}"
    return f"{text[:low]}{f'^{{{rest}}}' if rest else ''}{text[high:]}"


def _exchanged(place: Place, letters: frozenset[str]) -> _Change:
    r"""``B^\top B`` where ``B B^\top`` is meant, and the other way round."""
    part = place.part
    if not isinstance(part, r.Product):
        return
    for one, two in itertools.pairwise(part.parts):
        first, second = (place.text[p.span[0] : p.span[1]].strip() for p in (one, two))
        bare = _BARE.sub("", first), _BARE.sub("", second)
        if bare[0] != bare[1] and re.sub(r"\^?\\top", "", bare[0]) == re.sub(r"\^?\\top", "", bare[1]):
            before = place.text[part.span[0] : one.span[0]]
            after = place.text[two.span[1] : part.span[1]]
            words = f"exchange the factors of {first} {second}"
            yield "transpose", words, f"{before}{second} {first}{after}"


# -- sums ----------------------------------------------------------------------------------------
def _sums(place: Place, letters: frozenset[str]) -> _Change:
    """A sum over a letter that nothing binds here."""
    if not (place.is_summand or isinstance(place.part, r.Product)):
        return
    for letter in sorted(free_letters(place.part) - letters):
        put = rf"put \sum_{letter} before {place.words}"
        yield "missing sum", f"sum over {letter}: {put}", rf"\sum_{{{letter}}} ({place.words})"


def _dropped_sums(place: Place, letters: frozenset[str]) -> _Change:
    part = place.part
    if not isinstance(part, r.Big) or part.operator != "sum":
        return
    bound = sorted(bound_letters(part))
    body = place.text[part.body.span[0] : part.body.span[1]]
    for letter in bound:
        rest = [x for x in bound if x != letter]
        kind = "stacked" if letter in letters else "extra sum"
        head = rf"\sum_{{{','.join(rest)}}} " if rest else ""
        yield kind, f"leave out the sum over {letter} in {place.words}", f"{head}({body})"


def _deltas(place: Place, letters: frozenset[str]) -> _Change:
    r"""A factor \delta_{hh'}: there is no block between different members of a family."""
    if len(letters) != 2 or not place.is_summand or place.piece:
        return
    first, second = sorted(letters)
    yield (
        "stacked",
        f"multiply {place.words} by \\delta_{{{first}{second}}}: different members share no such block",
        rf"\delta_{{{first}{second}}} ({place.words})",
    )


# -- Kronecker products ----------------------------------------------------------------------------
def _kronecker(place: Place, letters: frozenset[str]) -> _Change:
    part = place.part
    if isinstance(part, r.Mixed) and set(part.operators) == {"KRON"} and len(part.parts) == 2:
        first, second = (place.text[p.span[0] : p.span[1]] for p in part.parts)
        words = f"exchange the factors of {place.words}: it is in the other order of vec"
        yield "vec order", words, rf"(({second}) \otimes ({first}))"
    if isinstance(part, r.Scripted) and _COMMUTATION.fullmatch(place.words):
        a, b = re.findall("[A-Za-z]", place.words)[1:]
        if a != b:
            yield "vec order", f"exchange the sizes of {place.words}", f"K_{{{b}{a}}}"


# -- symmetry ------------------------------------------------------------------------------------
def _symmetrised(place: Place) -> _Change:
    """A sum of a part and its transpose, where the part is meant."""
    part = place.part
    if not (isinstance(part, r.Sum) and len(part.parts) == 2 and part.signs[0] == part.signs[1] == 1):
        return
    first, second = (place.text[p.span[0] : p.span[1]].strip() for p in part.parts)
    for one, other in ((first, second), (second, first)):
        if _BARE.sub("", other) == _BARE.sub("", one) + r"^\top":
            yield (
                "symmetry",
                f"{one} is not symmetric: 2 {one} belongs in place of {place.words}",
                f"2 ({one})",
            )
            yield "symmetry", f"{one} is not symmetric: leave out {other}", one


def _symmetric(place: Place, letters: frozenset[str]) -> _Change:
    part = place.part
    words = place.words
    if isinstance(part, r.Group) and len(part.parts) == 1 and isinstance(part.parts[0], r.Sum):
        inner = part.parts[0]
        if len(inner.parts) == 2 and inner.signs[0] == inner.signs[1] == 1:
            for p in inner.parts:
                one = place.text[p.span[0] : p.span[1]]
                yield "symmetry", f"{one} is not symmetric: 2 {one} belongs in place of {words}", f"(2 {one})"
    if place.is_factor and isinstance(part, r.Symbol | r.Scripted | r.Group | r.Call):
        if isinstance(part, r.Group) and part.left == "LCURLY":
            return
        text = f"{words} is not symmetric"
        yield (
            "symmetry",
            f"{text}: its symmetric part is meant",
            rf"(\frac{{1}}{{2}} ({words} + ({words})^\top))",
        )
        yield "symmetry", f"{text}: add its transpose", rf"({words} + ({words})^\top)"


# -- axes ------------------------------------------------------------------------------------------
def _axes(place: Place, letters: frozenset[str]) -> _Change:
    part = place.part
    if isinstance(part, r.Call) and part.function == "softmax" and part.closed and part.head is None:
        inside = place.text[part.arguments[0].span[0] : part.arguments[-1].span[1]]
        new = rf"\operatorname{{softmax}}_{{col}}({inside})"
        yield "axis", f"take {place.words} over the other axis", new
