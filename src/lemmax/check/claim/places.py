r"""Places in the text of a claim where one change can be made: summands, factors, products with Kronecker."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lemmax.parse import records as r
from lemmax.parse.reach import children


@dataclass(frozen=True, slots=True)
class Place:
    """A part of a piece of a claim.

    Attributes:
        piece: the number of the piece, 0 for the formula.
        text: the text of the piece.
        part: the record of the part.
        is_summand: is it a summand, or the whole of what a bracket, a sum or a piece holds?
        is_factor: does it stand in a product, or alone?
    """

    piece: int
    text: str
    part: r.Part
    is_summand: bool
    is_factor: bool

    @property
    def span(self) -> tuple[int, int]:
        """The place in the text of the piece."""
        return self.part.span

    @property
    def words(self) -> str:
        """The part as it is written."""
        return self.text[self.span[0] : self.span[1]].strip()

    @property
    def is_whole(self) -> bool:
        """Is it all of the formula?"""
        return self.piece == 0 and self.words == self.text.strip()

    def replaced(self, new: str) -> str:
        """Return the text of the piece with another text in this place."""
        return f"{self.text[: self.span[0]]}{new}{self.text[self.span[1] :]}"


def places(piece: int, text: str, part: r.Part) -> Iterator[Place]:
    """Yield all places of a piece, outer ones first; scripts hold none."""
    stack = [(part, True, True)]
    while stack:
        found, is_summand, is_factor = stack.pop()
        yield Place(piece, text, found, is_summand, is_factor)
        stack += [(p, *_role(found, p)) for p in reversed(children(found))]


def _role(parent: r.Part, child: r.Part) -> tuple[bool, bool]:
    """Is a child a summand, and is it a factor?"""
    if isinstance(parent, r.Sum):
        return True, not isinstance(child, r.Sum)
    if isinstance(parent, r.Group | r.Big | r.Call | r.Fence):
        return not isinstance(child, r.Sum), True
    if isinstance(parent, r.Product | r.Mixed | r.Chain):
        return False, True
    return False, False
