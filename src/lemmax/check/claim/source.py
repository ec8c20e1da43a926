r"""The text of a claim: a formula and definitions, read as a tensor again and again with one part changed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from lemmax.errors import ParseError
from lemmax.expr.nodes import Input
from lemmax.expr.tensor import Tensor
from lemmax.parse import parse_latex
from lemmax.parse import records as r
from lemmax.parse.api import define_latex, defined_key, reported
from lemmax.parse.names import Key, Named, Names, canonical_base, plain
from lemmax.parse.reader import read, read_definition, undisplayed
from lemmax.parse.words import ACCENTS

if TYPE_CHECKING:
    from lark import Token

Vec = Literal["row", "column"]
_SIZE = re.compile(r"\\(?:left|right|[bB]igg?[lrm]?)(?=\s*(?:[()\[\]]|\\[{}]))\s*")


@dataclass(frozen=True, slots=True)
class Source:
    """A formula and the definitions that it may use, as text.

    Attributes:
        formula: the formula without left side and definitions.
        definitions: each as ``left = right``.
    """

    formula: str
    definitions: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Show the formula, with its definitions behind it."""
        if not self.definitions:
            return self.formula
        return rf"{self.formula} \text{{ where }} {', '.join(self.definitions)}"

    def piece(self, number: int) -> str:
        """Return the text of the formula (0) or of a definition (1, 2, ...)."""
        return self.formula if number == 0 else self.definitions[number - 1]

    def with_piece(self, number: int, text: str) -> Source:
        """Return the source with another text in one place."""
        if number == 0:
            return replace(self, formula=text)
        before, after = self.definitions[: number - 1], self.definitions[number:]
        return replace(self, definitions=(*before, text, *after))


def source_of(text: str, definitions: Iterable[str], words: Iterable[str]) -> Source:
    """Take the text of a claim apart; what stands left of an equals sign is left out.

    Raises:
        ParseError: it is no formula.
    """
    with reported(text):
        bare = _SIZE.sub("", undisplayed(text))
    with reported(bare):
        formula = read(bare, frozenset(words), any_left=True)
    first = cast("Token", formula.tokens[0]).start_pos or 0
    own = [_between(bare, d.left.span[0], d.right.span[1]) for d in formula.definitions]
    end = formula.definitions[0].left.span[0] if own else len(bare)
    whole = bare[first : max(formula.whole.span[1], first)] if own else bare[first:end]
    return Source(whole.strip(), (*own, *(_SIZE.sub("", d) for d in definitions)))


def _between(text: str, start: int, end: int) -> str:
    return text[start:end].strip()


Defined: TypeAlias = "tuple[list[Named], dict[Key, tuple[str, r.Part]]]"
"""What definitions add to names: tensors, and those that are read again where they are used."""


@dataclass
class Reader:
    """Reads sources with given names; definitions that were read before are not read again.

    Attributes:
        names: what is given.
        like: a tensor of the shape expected.
        indices: letters of the leading axes in their order, or ``None``.
        vec: order of vec.
    """

    names: Names
    like: Tensor
    indices: Sequence[str] | None = None
    vec: Vec = "row"
    _known: dict[tuple[frozenset[Key], tuple[str, ...]], Defined] = field(default_factory=dict)

    def tensor(self, source: Source, like: Tensor | None = None) -> Tensor:
        """Return the value of a source.

        Raises:
            ParseError: it has none of the expected shape.
        """
        wanted = self.like if like is None else like
        indices = self.indices if like is None else None
        return parse_latex(source.formula, self.defined(source), like=wanted, indices=indices, vec=self.vec)

    def defined(self, source: Source) -> Names:
        """Return the names given and those that the source defines and uses.

        Raises:
            ParseError: a definition cannot be read, or uses itself.
        """
        own = {text: defined_key(text, self.names.words) for text in source.definitions}
        order = _order(source, own, self.names.words)
        clash = {own[text] for text in order}
        given = {n.key: n for n in self.names.all()}
        # what the claim defines itself stands for what it says, except inputs
        names = self.names.copy(
            without=[k for k in clash if k in given and not isinstance(given[k].tensor, Input)]
        )
        before: tuple[str, ...] = ()
        for text in order:
            before = (*before, text)
            place = frozenset(clash), before
            found = self._known.get(place)
            if found is None:
                added = define_latex(text, names, self.vec)
                self._known[place] = added, dict(names.open)
            else:
                names.include(found[0])
                names.open |= found[1]
        return names


def used_definitions(source: Source, words: Iterable[str]) -> list[str]:
    """Return the definitions that may be used, each after those that it uses itself."""
    known = frozenset(words)
    return _order(source, {text: defined_key(text, known) for text in source.definitions}, known)


def used(source: Source, words: Iterable[str]) -> list[int]:
    """Return the numbers of the pieces of a source that its value is made of, the formula first."""
    order = used_definitions(source, words)
    return [0, *(1 + source.definitions.index(text) for text in reversed(order))]


def _order(source: Source, keys: dict[str, Key], words: Iterable[str]) -> list[str]:
    """Return the definitions that are used, each after those that it uses itself."""
    done: list[str] = []
    opened: list[str] = []
    known = frozenset(words) | {k.base for k in keys.values() if len(k.base) > 1}

    def visit(text: str, left: bool) -> None:
        uses = set(_uses(text.partition("=")[2] if left else text, known))
        for other in sorted(keys, key=source.definitions.index):
            if other in done or other in opened or other == text or not _is_meant(keys[other], uses, keys):
                continue  # (a true circle shows as a name that is not known)
            opened.append(other)
            visit(other, True)
            opened.remove(other)
            done.append(other)

    visit(source.formula, False)
    return done


def _is_meant(key: Key, uses: set[tuple[str, str]], keys: dict[str, Key]) -> bool:
    """May a name be what is used?  M_1 is what is defined as M_1, else a member of a family M_k."""
    for base, number in uses:
        if not _fits(key, base):
            continue
        if key.sub:
            if key.sub == (number,):
                return True
        elif not number or not any(_fits(k, base) and k.sub == (number,) for k in keys.values()):
            return True
    return False


def _fits(key: Key, base: str) -> bool:
    """Is a base that of a name, or that of its rows or of the matrix whose rows it is?"""
    own = key.base
    if own == base or plain(own) == plain(base):
        return True
    return not own.endswith("}") and own[:-1] == base[:-1] and own[-1:].lower() == base[-1:].lower()


_ACCENTS = "|".join(sorted(ACCENTS))
_BARE_ACCENT = re.compile(rf"\\({_ACCENTS})\s*(\\[A-Za-z]+|(?<=\s)[A-Za-z])")
_USE = re.compile(
    rf"(\\(?:math[a-z]+|boldsymbol|bm|{_ACCENTS}|text[a-z]*|operatorname)\s*\{{[^{{}}]*\}}"
    r"|\\[A-Za-z]+|[A-Za-z])"
    r"(?:\s*_\s*(?:\{([^{}]*(?:\{[^{}]*\})?[^{}]*)\}|(\w)))?"
)


def _uses(text: str, words: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Yield all that may be the base of a name in a text, each with what stands below it."""
    for match in _USE.finditer(_BARE_ACCENT.sub(r"\\\1{\2}", text)):
        low = re.sub(r"\\[a-z]+|[\s{}]", "", match[2] or match[3] or "")
        yield canonical_base(match[1]), low
        inner = re.match(r"\\[A-Za-z]+\s*\{(.*)\}", match[1])
        if inner:
            yield canonical_base(inner[1]), low
    yield from ((w, "") for w in sorted(words) if w in text)


def parts_of(text: str, words: Iterable[str], is_definition: bool) -> tuple[r.Part, ...]:
    """Return the record of a piece: of a formula, or of the right side of a definition."""
    try:
        with reported(text):
            if is_definition:
                return (read_definition(text, frozenset(words))[0].right,)
            return (read(text, frozenset(words)).whole,)
    except ParseError:
        return ()
