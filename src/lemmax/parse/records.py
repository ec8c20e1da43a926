r"""The formula as records, before it is known what its names mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import sympy as sp

from lemmax.parse.failure import Span

Script: TypeAlias = tuple[object, ...]
"""Tokens of a subscript or superscript, parsed when it is known what carries them."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a formula.

    Attributes:
        span: its place in the text.
        depth: how deep it is nested, 1 for a symbol.
    """

    span: Span
    depth: int


@dataclass(frozen=True, slots=True)
class Number(Part):
    """A number; decimals are exact."""

    value: sp.Rational
    digits: str


@dataclass(frozen=True, slots=True)
class Symbol(Part):
    r"""A letter, Greek letter or upright word: ``text`` is as in the formula, ``W`` or ``\mathcal{L}``."""

    text: str


@dataclass(frozen=True, slots=True)
class Constant(Part):
    r"""``ones`` (:math:`\mathbf 1`), ``infinity`` or ``dots``."""

    kind: str


@dataclass(frozen=True, slots=True)
class Accented(Part):
    """An accent over a symbol."""

    accent: str
    inside: Part


@dataclass(frozen=True, slots=True)
class Scripted(Part):
    """A part with a subscript, a superscript and primes."""

    base: Part
    sub: Script
    sup: Script
    primes: int
    sub_span: Span
    sup_span: Span


@dataclass(frozen=True, slots=True)
class Sum(Part):
    """Summands with their signs."""

    signs: tuple[int, ...]
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Mixed(Part):
    """Entrywise products and quotients and Kronecker products: ``first op second op ...``."""

    operators: tuple[str, ...]
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Chain(Part):
    r"""Parts with ``\cdot``, ``/`` or ``\bmod`` between them."""

    operators: tuple[str, ...]
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Product(Part):
    """Factors side by side."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Call(Part):
    """A function of arguments.

    Attributes:
        function: its name in ``words.FUNCTIONS``.
        spelled: as letters without a command (``tr`` in ``tr(A)``), else empty.
        arguments: what it is applied to.
        closed: do the arguments stand in brackets?
        head: the function with its own scripts, else ``None``.
    """

    function: str
    spelled: str
    arguments: tuple[Part, ...]
    closed: bool
    head: Scripted | None


@dataclass(frozen=True, slots=True)
class Big(Part):
    """An operator with a subscript that acts on all that follows."""

    operator: str
    sub: Script
    sup: Script
    sub_span: Span
    sup_span: Span
    body: Part


@dataclass(frozen=True, slots=True)
class Group(Part):
    """Parts in brackets, separated by commas; ``left`` is the opening bracket."""

    left: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Relation(Part):
    """A chain of comparisons."""

    operators: tuple[str, ...]
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Fraction(Part):
    """A numerator over a denominator."""

    above: Part
    below: Part


@dataclass(frozen=True, slots=True)
class Root(Part):
    """A root; the degree is ``None`` for a square root."""

    degree: Part | None
    inside: Part


@dataclass(frozen=True, slots=True)
class Fence(Part):
    """A part between marks: ``absolute``, ``norm``, ``floor``, ``inner`` (two parts)."""

    kind: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Matrix(Part):
    """Entries or blocks by rows."""

    rows: tuple[tuple[Part, ...], ...]


@dataclass(frozen=True, slots=True)
class Case(Part):
    """A value and its condition: alternatives of relations that hold together; none is "otherwise"."""

    value: Part
    condition: tuple[tuple[Part, ...], ...]


@dataclass(frozen=True, slots=True)
class Cases(Part):
    """A case distinction."""

    cases: tuple[Case, ...]


# -- scripts ---------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Exponent(Part):
    """What stands in a superscript: ``transposed``, ``inverse_transposed``, ``entrywise`` or ``power``."""

    kind: str
    value: Part | None


@dataclass(frozen=True, slots=True)
class Place(Part):
    """One place of a subscript: ``at`` an index (or a relation), ``range`` from low to high, or ``all``."""

    kind: str
    low: Part | None
    high: Part | None


@dataclass(frozen=True, slots=True)
class Places(Part):
    """A subscript: places, and whether commas separate them."""

    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Definition(Part):
    """``left = right``."""

    left: Part
    right: Part


@dataclass(frozen=True, slots=True)
class Formula(Part):
    """A formula with the definitions that follow it."""

    whole: Part
    definitions: tuple[Definition, ...]
    tokens: Script = ()
