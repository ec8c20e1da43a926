r"""Letters of indices in records, before anything is known about them: which are bound, which are free."""

from __future__ import annotations

from collections.abc import Iterator

from lemmax.parse import records as r
from lemmax.parse.failure import Failure
from lemmax.parse.reader import read_places
from lemmax.parse.scripts import letter_text


def trailing_letters(part: r.Part) -> set[str]:
    """Return the letters that a big operator at the end of a part binds."""
    last = part
    while isinstance(last, r.Product | r.Chain | r.Mixed):
        last = last.parts[-1]
    if isinstance(last, r.Call) and not last.closed:
        return trailing_letters(last.arguments[0])
    if not isinstance(last, r.Big):
        return set()
    return bound_letters(last) | trailing_letters(last.body)


def bound_letters(big: r.Big) -> set[str]:
    """Return the letters below a big operator that stand alone or left of a relation."""
    if not big.sub:
        return set()
    try:
        places = read_places(big.sub, big.sub_span[1])
    except Failure:
        return set()  # said where the operator itself is read
    found = set()
    for place in places.places:
        found |= {text for p in binders_of(place) if (text := letter_text(p)) is not None}
    return found


def binders_of(place: r.Place) -> tuple[r.Part, ...]:
    r"""Return the parts of a place below a big operator that it binds: j in ``j=1``, ``1 \le j \le n``."""
    part = place.low
    if place.kind != "at" or part is None:
        return ()
    if isinstance(part, r.Relation):
        if len(part.parts) == 3:
            return (part.parts[1],)
        return (part.parts[0],)
    return part.parts if isinstance(part, r.Product) else (part,)


def free_letters(part: r.Part) -> set[str]:
    """Return the letters in subscripts of a part that nothing in it binds."""
    if isinstance(part, r.Big):
        return (free_letters(part.body) | _in_script(part.sup, part.sup_span)) - bound_letters(part)
    found = {text for p in children(part) for text in free_letters(p)}
    if isinstance(part, r.Scripted):
        found |= _in_script(part.sub, part.sub_span)
        if isinstance(part.base, r.Group):
            # entries in brackets with their indices: [a_{ij}]_{ij} binds i and j
            bound = _in_script(part.sub, part.sub_span)
            found = found - bound if bound <= free_letters(part.base) else found
    return found


def _in_script(tokens: r.Script, span: tuple[int, int]) -> set[str]:
    if not tokens:
        return set()
    try:
        places = read_places(tokens, span[1])
    except Failure:
        return set()
    found: set[str] = set()
    for place in places.places:
        for part in (place.low, place.high):
            if part is not None:
                found |= {text for p in leaves(part) if (text := letter_text(p)) is not None}
    return found


def leaves(part: r.Part) -> Iterator[r.Part]:
    """Yield the parts that may be letters."""
    if letter_text(part) is not None:
        yield part
        return
    for p in children(part):
        yield from leaves(p)


def children(part: r.Part) -> tuple[r.Part, ...]:
    """Return the parts of a part; scripts are not among them."""
    if isinstance(part, r.Sum | r.Mixed | r.Chain | r.Product | r.Group | r.Relation | r.Fence):
        return part.parts
    if isinstance(part, r.Call):
        return part.arguments
    if isinstance(part, r.Fraction):
        return part.above, part.below
    if isinstance(part, r.Root):
        return (part.inside,) if part.degree is None else (part.degree, part.inside)
    if isinstance(part, r.Big):
        return (part.body,)
    if isinstance(part, r.Scripted):
        return (part.base,)
    if isinstance(part, r.Accented):
        return (part.inside,)
    if isinstance(part, r.Matrix):
        return tuple(p for row in part.rows for p in row)
    if isinstance(part, r.Cases):
        return tuple(q for c in part.cases for q in (c.value, *(p for both in c.condition for p in both)))
    return ()
