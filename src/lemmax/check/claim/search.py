"""The search for one change that makes a claim right: filtered by numbers, proved by ``lx.equal``."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from lemmax.check.claim.edits import Edit, edits, symmetrised_edits
from lemmax.check.claim.places import Place, places
from lemmax.check.claim.relations import dense_shape, relations
from lemmax.check.claim.scales import scalar_unit, scale_edits
from lemmax.check.claim.softmax import softmax_edits
from lemmax.check.claim.source import Reader, Source, parts_of, used
from lemmax.check.claim.target import Target
from lemmax.check.diagnosis import Repair
from lemmax.check.equality import equal
from lemmax.check.points import Point, agrees, near, points, same_shape, size_symbols, value_of
from lemmax.errors import LemmaxError
from lemmax.expr.graph import inputs_of
from lemmax.expr.nodes import Apply, Input, Lambda
from lemmax.expr.notation import zeros
from lemmax.expr.sizes import Size
from lemmax.expr.tensor import Tensor
from lemmax.interpret import Evaluator
from lemmax.parse import parse_latex
from lemmax.parse.reach import free_letters

MOST_CANDIDATES = 600
"""So many changed texts are read at most."""
_MOST_PROOFS = 4  # candidates that agree in numbers but are not proved


def find_repair(
    source: Source,
    claim: Tensor | None,
    target: Target,
    parts: tuple[tuple[Size, ...], tuple[Size, ...]],
    reader: Reader,
    seed: int = 0,
) -> Repair | None:
    """Return the one change that makes the claim equal to the right formula, if one is found and proved.

    Args:
        source: the claim as text.
        claim: its value, or ``None`` if it has none of the right shape.
        target: what it should be.
        parts: sizes that rows and columns of a Hessian block stand for.
        reader: what reads the claim.
        seed: from which arrays are drawn.
    """
    right = target.tensor
    given = sorted((n.tensor for n in reader.names.all()), key=lambda t: t.digest)
    at = points(right, given, seed)
    if not at:
        return None
    found = _places(source, reader)
    if claim is not None:
        scalars = [t for t in given if isinstance(t, Input) and not t.ndim]
        units = [*size_symbols(right, *given), *(scalar_unit(t) for t in scalars)]
        whole = [p for p in found if p.is_whole]
        repair = _first(source, scale_edits(source, whole, reader, at, units), reader, right, at, seed)
        if repair is not None:
            return repair
    related = _related(source, claim, target, parts, reader, at, seed)
    letters = frozenset(reader.indices or _leading(source, reader, target))
    if related is not None and target.second:  # say which factor, if one is enough
        nearer = (e for e in edits(source, found, letters) if e.kind == related.kind)
        return _first(source, nearer, reader, right, at, seed) or related
    if related is not None:
        return related
    rest = [symmetrised_edits(source, found)]
    if claim is not None:
        inner = [p for p in found if not p.is_whole]
        rest.append(scale_edits(source, inner, reader, at, units))
    rest.append(edits(source, found, letters))
    rest.append(softmax_edits(source, found, _softmaxes(source, reader), _given(given)))
    return _first(source, itertools.chain(*rest), reader, right, at, seed)


def _given(tensors: Sequence[Tensor]) -> set[str]:
    """Return names of inputs, of their rows, and of sizes, without braces."""
    inputs = {str(t.name).replace("{", "").replace("}", "") for t in inputs_of(*tensors)}
    return inputs | {n.lower() for n in inputs if len(n) == 1} | {str(s) for s in size_symbols(*tensors)}


def _leading(source: Source, reader: Reader, target: Target) -> list[str]:
    """Return letters that are free in the whole claim: as many as there are leading axes, if that is so."""
    free = sorted({x for p in parts_of(source.formula, reader.names.words, False) for x in free_letters(p)})
    return free if len(free) == target.families else []


def _places(source: Source, reader: Reader) -> list[Place]:
    found: list[Place] = []
    for piece in used(source, reader.names.words):
        text = source.piece(piece)
        for part in parts_of(text, reader.names.words, piece > 0):
            found += places(piece, text, part)
    return found


def _softmaxes(source: Source, reader: Reader) -> list[str]:
    """Return names, as written, of tensors that are a softmax."""
    try:
        names = reader.defined(source)
    except LemmaxError:
        names = reader.names
    return sorted(n.key.text for n in names.all() if _is_softmax(n.tensor))


def _is_softmax(t: Tensor) -> bool:
    if isinstance(t, Lambda) and len(t.terms) == 1 and len(t.operands) == 1:
        return t.terms[0].expr.is_Indexed and _is_softmax(t.operands[0])
    return isinstance(t, Apply) and t.function == "softmax"


def _first(
    source: Source, candidates: Iterator[Edit], reader: Reader, right: Tensor, at: Sequence[Point], seed: int
) -> Repair | None:
    """Return the first change that agrees in numbers and is proved."""
    proofs = 0
    for edit in itertools.islice(candidates, MOST_CANDIDATES):
        try:
            tensor = reader.tensor(edit.source)
        except LemmaxError:
            continue
        if not same_shape(tensor, right) or not agrees(tensor, at):
            continue
        if equal(tensor, right, seed=seed).name == "proved":
            words = edit.words.replace(f"sum over {edit.letter}:", _axis(source, edit.letter, reader), 1)
            return Repair(edit.kind, words, tensor, str(edit.source))
        proofs += 1
        if proofs >= _MOST_PROOFS:
            return None
    return None


def _axis(source: Source, letter: str, reader: Reader) -> str:
    """Return which axis the claim lacks a sum over, in words."""
    free = sorted({x for p in parts_of(source.formula, reader.names.words, False) for x in free_letters(p)})
    try:
        open_claim = parse_latex(source.formula, reader.defined(source), vec=reader.vec)
    except LemmaxError:
        return f"sum over {letter}:"
    if letter not in free or not len(free) <= open_claim.ndim <= len(free) + 2:
        return f"sum over {letter}:"
    return f"sum over the axis of size {open_claim.shape[free.index(letter)]}:"


def _related(
    source: Source,
    claim: Tensor | None,
    target: Target,
    parts: tuple[tuple[Size, ...], tuple[Size, ...]],
    reader: Reader,
    at: Sequence[Point],
    seed: int,
) -> Repair | None:
    """Return the repair of a claim that is some other function of the right formula."""
    for relation in relations(target, parts):
        other = claim
        if claim is None or not same_shape(claim, relation.claimed):
            try:
                other = reader.tensor(source, relation.claimed)
            except LemmaxError:
                continue
        if other is None or not _same_values(other, relation.claimed, at):
            continue
        if equal(other, relation.claimed, seed=seed).name == "proved":
            return Repair(relation.kind, relation.text, relation.mend(other))
    dense = dense_shape(target)
    if dense is not None and claim is None:
        shape, blocks = dense
        try:
            other = blocks(reader.tensor(source, zeros(*shape)))
        except LemmaxError:
            return None
        if agrees(other, at) and equal(other, target.tensor, seed=seed).name == "proved":
            text = (
                "the claim is that of one dense matrix; each member of the family has a diagonal block of it"
            )
            return Repair("stacked", text, other)
    return None


def _same_values(a: Tensor, b: Tensor, at: Sequence[Point]) -> bool:
    evaluators = Evaluator([a]), Evaluator([b])
    for point in at:
        x, y = (value_of(e, point.arrays, point.sizes) for e in evaluators)
        if x is None or y is None or not near(np.asarray(x), np.asarray(y)):
            return False
    return bool(at)
