r"""Records that documents are made of; whoever has something to tell fills them in.

Formulas are LaTeX as :func:`lemmax.latex` gives it and go into the document as they are; all
other text is a user's, in which every character stands for itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from lemmax.typeset.latex import NotationRow


@dataclass(frozen=True, slots=True)
class Math:
    """A formula within a line of text."""

    latex: str


@dataclass(frozen=True, slots=True)
class Ref:
    r"""A reference to a labelled equation, statement or section (``\\cref``); several are joined."""

    labels: tuple[str, ...]

    def __init__(self, *labels: str) -> None:
        """Refer to labels."""
        object.__setattr__(self, "labels", labels)


@dataclass(frozen=True, slots=True)
class Cite:
    """A citation of entries of the list of references, with a place such as ``Theorem 2``."""

    keys: tuple[str, ...]
    place: str = ""


Inline: TypeAlias = "str | Math | Ref | Cite"
"""What a line of text is made of: text, formulas, references, citations."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph of text."""

    pieces: tuple[Inline, ...]

    def __init__(self, *pieces: Inline) -> None:
        """Make a paragraph of pieces, set one after the other without added blanks."""
        object.__setattr__(self, "pieces", pieces)


@dataclass(frozen=True, slots=True)
class Equation:
    r"""A displayed formula, broken into lines if it is long.

    Attributes:
        left: left side; may be empty.
        right: right sides, each with its relation: ``("= X^\top R",)``; a chain has several.
        label: name under which :class:`Ref` finds it; without one it gets no number.
    """

    left: str
    right: tuple[str, ...] = ()
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """A numbered statement, such as a step of a derivation or a theorem, or a proof.

    Attributes:
        kind: what it is called.
        body: paragraphs and equations.
        title: what stands in brackets behind the number: the rule of a step, the name of a theorem.
        label: name under which :class:`Ref` finds it.
    """

    kind: Literal["step", "theorem", "lemma", "proposition", "definition", "remark", "proof"]
    body: tuple[Block, ...]
    title: tuple[Inline, ...] = ()
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """A section.

    Attributes:
        title: heading.
        body: paragraphs, equations and statements.
        label: name under which :class:`Ref` finds it.
    """

    title: str
    body: tuple[Block, ...]
    label: str | None = None


Block: TypeAlias = "Paragraph | Equation | Statement"
"""What a section is made of."""


@dataclass(frozen=True, slots=True)
class Reference:
    """An entry of the list of references."""

    key: str
    pieces: tuple[Inline, ...]

    def __init__(self, key: str, *pieces: Inline) -> None:
        """Make the entry that :class:`Cite` finds under ``key``."""
        object.__setattr__(self, "key", key)
        object.__setattr__(self, "pieces", pieces)


@dataclass(frozen=True, slots=True)
class Document:
    """A document.

    Attributes:
        title: heading.
        sections: sections in order.
        notation: rows of the table of notation, which comes first; none if empty.
        references: entries of the list of references, which comes last; none if empty.
        abstract: text under the heading.
        footnote: small print under the heading, such as what made the document.
    """

    title: tuple[Inline, ...]
    sections: tuple[Section, ...]
    notation: tuple[NotationRow, ...] = ()
    references: tuple[Reference, ...] = ()
    abstract: tuple[Inline, ...] = ()
    footnote: tuple[Inline, ...] = ()


def chain(left: str, *steps: tuple[str, str], label: str | None = None) -> Equation:
    """Return an equation from relations and right sides: ``chain("f", ("=", "x"), ("<", "y"))``."""
    return Equation(left, tuple(f"{relation} {side}" for relation, side in steps), label)


@dataclass(slots=True)
class SectionBuilder:
    """Collects the blocks of a section."""

    title: str
    label: str | None = None
    blocks: list[Block] = field(default_factory=list)

    def add(self, *blocks: Block) -> None:
        """Add blocks."""
        self.blocks += blocks

    def build(self) -> Section:
        """Return the section."""
        return Section(self.title, tuple(self.blocks), self.label)


def formulas(blocks: Sequence[Block]) -> list[str]:
    """Return the LaTeX of all formulas in blocks."""
    found: list[str] = []
    for block in blocks:
        if isinstance(block, Equation):
            found += [block.left, *block.right]
        elif isinstance(block, Paragraph):
            found += [p.latex for p in block.pieces if isinstance(p, Math)]
        else:
            found += [p.latex for p in block.title if isinstance(p, Math)]
            found += formulas(block.body)
    return found
