r"""Names of tensors and sizes as they stand in formulas.

A name is split into what carries the scripts, its own subscripts and its own superscripts:
``W^Q`` is W with Q above.  In ``W^{Q\top}_h`` the rest, ``\top`` and ``h``, is said about it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import sympy as sp

from lemmax.calculus.flatten import flatten
from lemmax.errors import InvalidArgument, NameClash
from lemmax.expr.graph import topological_order
from lemmax.expr.nodes import Apply, Lambda
from lemmax.expr.tensor import Tensor, identifier
from lemmax.parse.records import Part
from lemmax.parse.words import ACCENTS, GREEK, SPELLED, UPRIGHT

_FONT = re.compile(r"\\(math[a-z]+|boldsymbol|bm|pmb|vec|text[a-z]*|operatorname)\s*\{?([^{}]*)\}?\Z")
_ACCENTS = "|".join(sorted(ACCENTS))
# with braces, or bare as in \hat y and \hat\theta
_ACCENT = re.compile(rf"\\({_ACCENTS})(?:\s*\{{(.*)\}}|(\s+[A-Za-z]|\s*\\.*))\Z", re.DOTALL)
_ROW = re.compile(r"((?:\\[A-Za-z]+\{)*)([A-Z])(\}*)\Z")

UPRIGHT_CONSTANTS = frozenset([r"\mathrm{e}", r"\mathrm{I}"])
"""Written so, they are the constants also where a tensor is called e or I."""

Given: TypeAlias = Tensor | Mapping[str, Tensor] | Iterable[Any] | object | None
"""What names may be given as: tensors, mappings, models, or several of these."""


@dataclass(frozen=True, slots=True)
class Key:
    r"""A name in parts, as in formulas.

    Attributes:
        base: what carries the scripts, such as ``W`` or ``\bar{S}``.
        sub: own subscripts.
        sup: own superscripts.
    """

    base: str
    sub: tuple[str, ...] = ()
    sup: tuple[str, ...] = ()

    @property
    def row(self) -> str | None:
        """The base of a row of the matrix: the small letter, if the base is one capital letter."""
        match = _ROW.match(self.base)
        return None if match is None else f"{match[1]}{match[2].lower()}{match[3]}"

    @property
    def text(self) -> str:
        """The name as LaTeX."""
        base = (
            rf"\mathrm{{{self.base}}}" if len(self.base) > 1 and not self.base.startswith("\\") else self.base
        )
        low = f"_{{{','.join(self.sub)}}}" if self.sub else ""
        high = f"^{{{','.join(self.sup)}}}" if self.sup else ""
        return f"{base}{high}{low}"


@dataclass(frozen=True, slots=True)
class Named:
    """A tensor under a name."""

    key: Key
    tensor: Tensor
    given: str


def plain(base: str) -> str:
    r"""Return a base without its font: ``\mathbf{X}`` is ``X``."""
    match = _FONT.match(base)
    return match[2].strip() if match else base


def key_of(name: str) -> Key:
    r"""Return the parts of a name that was given in code.

    >>> key_of("W^Q"), key_of("x1").sub, key_of("alpha").base
    (Key(base='W', sub=(), sup=('Q',)), ('1',), '\\alpha')
    """
    pieces: dict[str, list[str]] = {"": [], "_": [], "^": []}
    depth, mark, piece = 0, "", ""
    for character in [*name, "^"]:
        if depth == 0 and character in "^_":
            text = piece[1:-1] if mark and piece.startswith("{") and piece.endswith("}") else piece
            pieces[mark] += [text] if text else []
            mark, piece = character, ""
            continue
        depth += (character == "{") - (character == "}")
        piece += character
    base = "".join(pieces[""])
    primes = len(base) - len(base.rstrip("'"))
    base = base.rstrip("'")
    if primes:
        pieces["^"].append("'" * primes)
    accent = _ACCENT.match(base)
    if accent:
        inner = key_of((accent[2] or accent[3]).strip())
        base = rf"\{accent[1]}{{{inner.base}}}"
        pieces["_"], pieces["^"] = [*inner.sub, *pieces["_"]], [*inner.sup, *pieces["^"]]
    digits = re.fullmatch(r"([A-Za-z]+)(\d+)", base)
    if digits:
        base = digits[1]
        pieces["_"].insert(0, digits[2])
    return Key(canonical_base(base), *(tuple(_squeezed(p) for p in pieces[m]) for m in "_^"))


def canonical_base(text: str) -> str:
    r"""Return a base as it is compared: Greek words as commands, upright words bare."""
    if text in GREEK:
        return "\\" + text
    if text in SPELLED:
        return SPELLED[text]
    match = re.match(r"\\([A-Za-z]+)\*?\s*\{?([^{}]*)\}?\Z", text)
    if match and match[1] in UPRIGHT and len(match[2].strip()) > 1:
        return match[2].strip()
    return re.sub(r"\s+", "", text)


def _squeezed(text: str) -> str:
    """Return a script as it is compared: no blanks, no braces, no upright fonts."""
    text = re.sub(rf"\\({'|'.join(sorted(UPRIGHT))})\s*(?=\{{)", "", text)
    text = re.sub(r"\\prime", "'", text)
    if text in GREEK:
        return "\\" + text
    return re.sub(r"[\s{}]", "", text)


@dataclass
class Names:
    """The names that a formula may use.

    Attributes:
        by_base: tensors by the base of their names.
        sizes: symbolic sizes by their names in parts.
        words: upright words that are names.
        open: definitions whose sizes follow from where they are used, C = I - u u^T: text and record.
    """

    by_base: dict[str, list[Named]] = field(default_factory=dict)
    sizes: dict[Key, sp.Symbol] = field(default_factory=dict)
    words: set[str] = field(default_factory=set)
    _by_key: dict[Key, Named] = field(default_factory=dict)
    open: dict[Key, tuple[str, Part]] = field(default_factory=dict)

    def add(self, name: str, tensor: Tensor) -> None:
        """Add a tensor under a name.

        Raises:
            NameClash: the name belongs to another tensor.
        """
        if not isinstance(name, str) or not isinstance(tensor, Tensor):
            raise InvalidArgument(
                f"parse_latex: the name {name!r} was given {tensor!r}: expected names and tensors."
            )
        own = tensor.name is not None and identifier(tensor.name) == name
        key = key_of(str(tensor.name) if own else name)
        found = self._by_key.get(key)
        if found is not None:
            if found.tensor != tensor:
                (flat, other) = flatten([found.tensor, tensor])
                if flat == other:  # one definition, with products written out or not
                    named = Named(key, flat, found.given)
                    self._by_key[key] = named
                    same_base = self.by_base[key.base]
                    same_base[same_base.index(found)] = named
                    return
                raise NameClash(
                    f"parse_latex: the name {name!r} is given two tensors, {found.tensor.label()} and"
                    f" {tensor.label()}."
                )
            return
        named = Named(key, tensor, str(tensor.name) if own else name)
        self._by_key[key] = named
        self.by_base.setdefault(key.base, []).append(named)
        if len(key.base) > 1 and not key.base.startswith("\\"):
            self.words.add(key.base)
        self.learn_sizes(tensor)

    def include(self, found: Iterable[Named]) -> None:
        """Add names whose sizes are known already."""
        for named in found:
            self.by_base.setdefault(named.key.base, []).append(named)
            if len(named.key.base) > 1 and not named.key.base.startswith("\\"):
                self.words.add(named.key.base)

    def copy(self, without: Iterable[Key] = ()) -> Names:
        """Return names that can be added to, some of them left out."""
        gone = set(without)
        by_base = {
            b: kept for b, ns in self.by_base.items() if (kept := [n for n in ns if n.key not in gone])
        }
        by_key = {k: n for k, n in self._by_key.items() if k not in gone}
        return Names(by_base, dict(self.sizes), set(self.words), by_key, dict(self.open))

    def learn_sizes(self, *roots: Tensor) -> None:
        """Add the sizes that occur in tensors and in what they are made of."""
        found: set[sp.Symbol] = set()
        for t in topological_order(*roots):
            for size in t.shape:
                found |= size.free_symbols
            if isinstance(t, Lambda):
                for term in t.terms:
                    found |= {s for s in term.expr.free_symbols if s.is_integer and s.is_positive}
                    found |= {s for _, size in term.bound for s in size.free_symbols}
            elif isinstance(t, Apply):
                found |= _sizes_in(t.params)
        for symbol in sorted(found, key=str):
            self.add_size(symbol)

    def add_size(self, symbol: sp.Symbol) -> None:
        """Add a size."""
        self.sizes.setdefault(key_of(str(symbol)), symbol)

    def all(self) -> list[Named]:
        """Return all tensors, sorted by name."""
        return sorted(self._by_key.values(), key=lambda n: n.given)

    def size(self, key: Key) -> sp.Symbol | None:
        """Return the size of a name, if there is one."""
        return self.sizes.get(key)

    def size_called(self, text: str) -> sp.Symbol | None:
        """Return the size that is written like a letter of an index, if there is one."""
        base, _, sub = text.partition("_")
        return self.sizes.get(Key(base, (sub,) if sub else ()))

    def carried_by(self, base: str) -> tuple[list[Named], bool]:
        """Return tensors whose base is written like this, or whose row is (and whether it is the row)."""
        exact = self.by_base.get(base, [])
        if exact:
            return exact, False
        if base in UPRIGHT_CONSTANTS:
            return [], False
        bare = plain(base)
        loose = [n for b, found in sorted(self.by_base.items()) for n in found if plain(b) == bare]
        if loose and len({n.key.base for n in loose}) == 1:
            return loose, False
        rows = [n for _, found in sorted(self.by_base.items()) for n in found if n.key.row == base]
        return (rows, True) if rows else ([], False)

    def is_given(self, base: str) -> bool:
        """Is a tensor called by this base (and not only a row of one)?"""
        found, is_row = self.carried_by(base)
        return bool(found) and not is_row

    def spelled(self, text: str) -> list[Named]:
        """Return tensors whose name in code is this word."""
        return [n for n in self.all() if text in (n.given, identifier(n.given))]

    def close_to(self, text: str) -> list[str]:
        """Return names that look like the text."""
        bare = identifier(text).lower()
        known = {n.key.text: n for n in self.all()}
        close = [t for t in known if identifier(t).lower() == bare or t.lower() == text.lower()]
        close += difflib.get_close_matches(text, list(known), n=3, cutoff=0.5)
        return list(dict.fromkeys(close))[:3]


def _sizes_in(value: object) -> set[sp.Symbol]:
    if isinstance(value, tuple):
        return {s for item in value for s in _sizes_in(item)}
    return set(value.free_symbols) if isinstance(value, sp.Expr) else set()


# -- what the caller gives ---------------------------------------------------------------------
def collect(given: Given, by_keyword: Mapping[str, Tensor]) -> Names:
    """Return names from what the caller gives.

    Raises:
        InvalidArgument: it holds no tensors.
        NameClash: one name for two tensors.
    """
    if isinstance(given, Names):
        return given.copy()
    names = Names()
    for name, tensor in by_keyword.items():
        names.add(name, tensor)
    _add_given(names, given)
    return names


def _add_given(names: Names, given: Given) -> None:
    if given is None:
        return
    if isinstance(given, Tensor):
        _add_graph(names, [given])
    elif isinstance(given, sp.Symbol) and given.is_integer and given.is_positive:
        names.add_size(given)
    elif isinstance(given, Mapping):
        for name, tensor in given.items():
            names.add(name, tensor)
    elif isinstance(given, list | tuple | set | frozenset):
        for item in given:
            _add_given(names, item)
    else:
        _add_model(names, given)


def _add_model(names: Names, model: object) -> None:
    """Add the tensors of a model: under their names, and without one under that of the attribute."""
    found = {k: v for k, v in getattr(model, "__dict__", {}).items() if isinstance(v, Tensor)}
    if not found:
        raise InvalidArgument(
            f"parse_latex: names given as {type(model).__name__}: expected a mapping of names to tensors,"
            " a tensor, a model with tensors as attributes, or a list of these."
        )
    _add_graph(names, list(found.values()))
    for attribute, tensor in found.items():
        if tensor.name is None:
            names.add(attribute, tensor)


def _add_graph(names: Names, roots: Sequence[Tensor]) -> None:
    for tensor in topological_order(*roots):
        if tensor.name is not None:
            names.add(tensor.name, tensor)
    names.learn_sizes(*roots)
