r"""Corruptions of claims, by kind of mistake; those that change nothing are left out.

Each changes one thing in the text of the formula or of a definition that it uses.  Texts are changed
as texts, without the parser: nothing here knows how a mistake is looked for.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

import lemmax as lx
from lemmax.check.claim.api import names_of
from lemmax.check.claim.source import Reader, source_of, used_definitions
from lemmax.check.claim.target import Target, target_of, variables
from lemmax.parse.names import collect
from tests.check.paper_claims import Claim, loss_of
from tests.typeset.values import interpreted, random_inputs, size_values

KINDS = {
    "transposed": {"transpose", "layout"},
    "factor": {"factor"},
    "sign": {"sign"},
    "root of d": {"factor"},
    "sum missing": {"missing sum"},
    "layout": {"layout"},
    "vec order": {"vec order"},
    "softmax": {"softmax Jacobian"},
    "symmetric": {"symmetry"},
    "stacked": {"stacked"},
}
"""Kinds of mistakes, and the kinds of repairs that name them."""
_MATRIX = re.compile(
    r"(?<![\\A-Za-z_^{])(?:[XRYPESZT](?![A-Za-z])|W\^(?:[QKVO]|\{[QKVO](?:\\top)\})|\\Delta|J_A|J_k|L_k|M_k|M_1|Z_1|B_\{kj\}|[qk](?=_\{ih\}))"
    r"(?:_h|_\{ih\}|_i)?"
)
_TRANSPOSED = re.compile(r"\^\\top|\^\{\\top\}")
_CARET = re.compile(r"(W)\^\{([QKVO])\\top\}")
_SUM = re.compile(r"\\sum_(?:\{([^}]*)\}|(\w))\s*")


@dataclass(frozen=True)
class Corruption:
    """A wrong claim.

    Attributes:
        claim: the right one.
        kind: the kind of mistake.
        text: the wrong formula.
        where: the definitions, of which one may be wrong.
    """

    claim: Claim
    kind: str
    text: str
    where: tuple[str, ...]


# -- one change of a text ------------------------------------------------------------------------
def _without(text: str, match: re.Match[str], new: str = "") -> str:
    return text[: match.start()] + new + text[match.end() :]


def _transposed(text: str) -> Iterator[str]:
    for match in _TRANSPOSED.finditer(text):
        yield _without(text, match)
    for match in _CARET.finditer(text):
        yield _without(text, match, rf"W^{match[2]}")
    for match in _MATRIX.finditer(text):
        after = text[match.end() :]
        if "top" not in match[0] and not after.startswith(("^", "_", "'")):
            yield _without(text, match, rf"({match[0]})^\top")


def _factor(text: str) -> Iterator[str]:
    for match in re.finditer(r"\\frac\{(-?)(\d|c|2 c)\}", text):
        for scale in ("2", "4"):
            old = match[2]
            new = scale if old.isdigit() else f"{scale} c"
            if new == old:
                continue
            yield _without(text, match, rf"\frac{{{match[1]}{new}}}")
    for match in re.finditer(r"(?<=\\frac\{4\})\{d\}", text):
        yield _without(text, match, "{2 d}")


def _scaled(text: str) -> Iterator[str]:
    """The whole formula by a number or a size."""
    for scale in (r"2", r"\frac{1}{2}", r"\frac{1}{n}", r"3", r"\frac{1}{4}"):
        yield rf"{scale} ({text})"


def _sign(text: str) -> Iterator[str]:
    for match in re.finditer(r"(?<=[A-Za-z0-9})\]])\s([+-])\s", text):
        yield _without(text, match, " - " if match[1] == "+" else " + ")
    for match in re.finditer(r"\\exp\\left\((-)", text):
        yield text[: match.start(1)] + text[match.end(1) :]


def _negated(text: str) -> Iterator[str]:
    yield text[1:] if text.startswith("-") and " + " not in text else rf"-({text})"


def _root(text: str) -> Iterator[str]:
    for match in re.finditer(r"\\frac\{(1|c|2|2 c|4)\}\{(\\sqrt \{?d\}?|\\sqrt\{d\}|d)\}", text):
        yield _without(text, match, "" if match[1] == "1" else f"{match[1]} ")
        yield _without(
            text, match, rf"\frac{{{match[1]}}}{{{'d' if 'sqrt' in match[2] else chr(92) + 'sqrt d'}}}"
        )


def _sums(text: str) -> Iterator[str]:
    for match in _SUM.finditer(text):
        letters = (match[1] or match[2]).split(",")
        for letter in letters:
            rest = [x for x in letters if x != letter]
            yield _without(text, match, rf"\sum_{{{','.join(rest)}}} " if rest else "")


def _layout(text: str) -> Iterator[str]:
    yield rf"({text})^\top"


def _vec_order(text: str) -> Iterator[str]:
    for match in re.finditer(r"\\otimes", text):
        first, left = _operand(text, match.start(), -1)
        last, right = _operand(text, match.end(), 1)
        yield rf"{text[:first]}({right}) \otimes ({left}){text[last:]}"


def _operand(text: str, at: int, way: int) -> tuple[int, str]:
    """Return the other end of an operand of a Kronecker product, and the operand."""
    depth, place = 0, at
    opening, closing = ("([{", ")]}") if way > 0 else (")]}", "([{")
    while 0 < place < len(text) or (way > 0 and place < len(text)):
        character = text[place if way > 0 else place - 1]
        if depth == 0 and (character in closing or (character in "+" and place not in (at, at + way))):
            break
        if (
            depth == 0
            and way < 0
            and re.search(r"(?:\\sum_(?:\{[^}]*\}|\w)|\\frac\{[^{}]*\}\{[^{}]*\}|S_\{kj\}) \Z", text[:place])
        ):
            break
        depth += (character in opening) - (character in closing)
        place += way
    piece = text[at:place] if way > 0 else text[place:at]
    return place, piece.strip()


def _softmax(text: str) -> Iterator[str]:
    for pattern in (
        r" - \\operatorname\{diag\}\(E_?(?:\{ih\})? \\mathbf\{1\}\) S(?:_\{ih\})?",
        r" - s_k s_k\^\\top",
        r" - \\Delta_k s_k\^\\top(?= - )",
        r"(?<=s_k\^\\top) - s_k \\Delta_k\^\\top",
        r" - \\Delta_k s_k\^\\top - s_k \\Delta_k\^\\top",
    ):
        for match in re.finditer(pattern, text):
            yield _without(text, match)


def _symmetric(text: str) -> Iterator[str]:
    for name in (r"\Delta_{ih}", r"\Delta", "M_k", "B_{kj}"):
        for match in re.finditer(re.escape(name) + r"(?![_^A-Za-z])", text):
            for new in (rf"\frac{{1}}{{2}} ({name} + {name}^\top)",):
                yield _without(text, match, f"({new})")


def _symmetrised(text: str) -> Iterator[str]:
    yield rf"\frac{{1}}{{2}} (({text}) + ({text})^\top)"
    yield rf"({text}) + ({text})^\top"


def _stacked(text: str) -> Iterator[str]:
    yield rf"\sum_h ({text})"
    yield rf"[{text}]_{{h \le H}}"


_DENSE = {
    "W^O": r"[S_{ih} X_i W^V_h]_{i \le N, h \le H}^\top [R_i]_{i \le N}",
    "W^V": r"[S_{ih} X_i]_{i \le N, h \le H}^\top [R_i]_{i \le N} [W^O_h]_{h \le H}^\top",
}
"""Gradients as those of one dense matrix for all heads."""

_INSIDE: dict[str, Callable[[str], Iterator[str]]] = {
    "transposed": _transposed, "factor": _factor, "sign": _sign, "root of d": _root, "sum missing": _sums,
    "vec order": _vec_order, "softmax": _softmax, "symmetric": _symmetric,
}  # fmt: skip
_WHOLE: dict[str, Callable[[str], Iterator[str]]] = {
    "factor": _scaled, "sign": _negated, "layout": _layout, "symmetric": _symmetrised, "stacked": _stacked,
}  # fmt: skip


# -- of a claim ------------------------------------------------------------------------------------
@cache
def target(claim: Claim) -> Target:
    """Return what the claim is about."""
    loss, _ = loss_of(claim.loss)
    return target_of(loss, variables(loss, claim.wrt), part=claim.part or None)  # type: ignore[arg-type]


def all_corruptions(claim: Claim) -> Iterator[Corruption]:
    """Yield changes of a claim, right ones among them."""
    _, where = loss_of(claim.loss)
    loss, _ = loss_of(claim.loss)
    words = collect([names_of(loss, target(claim).tensor)], {}).words
    source = source_of(claim.text, where, words)
    for kind, change in _INSIDE.items():
        for text in change(claim.text):
            yield Corruption(claim, kind, text, where)
        for definition in used_definitions(source, words):
            left, _, right = definition.partition(" = ")
            for text in change(right):
                new = tuple(f"{left} = {text}" if w == definition else w for w in where)
                yield Corruption(claim, kind, claim.text, new)
    for kind, change in _WHOLE.items():
        if kind == "stacked" and target(claim).families != 1:
            continue
        if kind == "symmetric" and claim.wrt not in (("S",), ("W^Q", "W^K")):
            continue
        for text in change(claim.text):
            yield Corruption(claim, kind, text, where)
    if claim.wrt[0] in _DENSE and len(claim.wrt) == 1:
        yield Corruption(claim, "stacked", _DENSE[claim.wrt[0]], where)


def is_wrong(corruption: Corruption) -> bool:
    """Does a corruption change the value, or leave it none of the right shape?"""
    loss, _ = loss_of(corruption.claim.loss)
    right = target(corruption.claim)
    names = collect([names_of(loss, right.tensor)], {})
    try:
        source = source_of(corruption.text, corruption.where, names.words)
        claim = Reader(names, right.tensor, right.indices).tensor(source)
    except lx.ShapeError:
        return True
    symbols = sorted({*size_values(claim), *size_values(right.tensor)}, key=str)
    sizes = {s: 2 + position % 3 for position, s in enumerate(symbols)}
    arrays = random_inputs(claim, sizes, 7) | random_inputs(right.tensor, sizes, 7)
    try:
        values = [interpreted(t, arrays, sizes) for t in (claim, right.tensor)]
    except lx.LemmaxError:
        return True
    largest = max(1e-3, float(np.abs(values[1]).max()))
    return bool(np.abs(values[0] - values[1]).max() > 1e-6 * largest)


# -- a run -------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Outcome:
    """What was found out about a wrong claim.

    Attributes:
        corruption: the wrong claim.
        verdict: name of the verdict.
        repair: kind of the repair, empty if none was found.
        text: the repair in words.
    """

    corruption: Corruption
    verdict: str
    repair: str
    text: str

    @property
    def is_named(self) -> bool:
        """Does the repair name the mistake?"""
        return self.repair in KINDS[self.corruption.kind]


def drawn(claims: Sequence[Claim], per: int, seed: int) -> Iterator[Corruption]:
    """Yield up to so many wrong claims of each kind of mistake per claim, at random."""
    rng = np.random.default_rng(seed)
    for claim in claims:
        by_kind: dict[str, list[Corruption]] = {}
        for corruption in all_corruptions(claim):
            by_kind.setdefault(corruption.kind, []).append(corruption)
        for found in by_kind.values():
            shuffled = (found[int(p)] for p in rng.permutation(len(found)))
            yield from itertools.islice((c for c in shuffled if is_wrong(c)), per)


def outcome(corruption: Corruption) -> Outcome:
    """Ask about a wrong claim."""
    claim = corruption.claim
    loss, _ = loss_of(claim.loss)
    part = claim.part or None
    found = lx.check_formula(
        corruption.text,
        loss,
        claim.wrt,
        where=corruption.where,
        part=part,
        smallest=False,  # type: ignore[arg-type]
    )
    repair = found.repair
    return Outcome(
        corruption, found.verdict.name, repair.kind if repair else "", repair.text if repair else ""
    )
