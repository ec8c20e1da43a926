r"""``lx.check_formula``: a claimed gradient or block of a Hessian against what lemmax derives."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Literal

from lemmax.calculus.flatten import flatten
from lemmax.calculus.partials import Smoothness
from lemmax.check.claim.finding import Finding
from lemmax.check.claim.left_side import check_left_side
from lemmax.check.claim.search import find_repair
from lemmax.check.claim.source import Reader, Source, source_of
from lemmax.check.claim.target import Part, Target, Variable, check_variables, target_of, variables
from lemmax.check.claim.witness import smaller
from lemmax.check.diagnosis import Repair, diagnose
from lemmax.check.equality import equal
from lemmax.check.points import same_shape, size_symbols
from lemmax.errors import InvalidArgument, LemmaxError, ParseError, ShapeError
from lemmax.expr.graph import topological_order
from lemmax.expr.sizes import Size
from lemmax.expr.tensor import Tensor
from lemmax.parse.names import collect
from lemmax.statement.verdict import Verdict, Witness

Vec = Literal["row", "column"]


def check_formula(
    claim: str | Tensor,
    loss: Tensor,
    wrt: str | Tensor | Sequence[str | Tensor],
    *,
    order: int | None = None,
    names: Mapping[str, Tensor] | Sequence[object] | None = None,
    where: str | Iterable[str] = (),
    part: Part | None = None,
    vec: Vec = "row",
    nonsmooth: Smoothness = "raise",
    seed: int = 0,
    smallest: bool = True,
) -> Finding:
    r"""Return whether a claimed derivative of a loss is right, and if not, what one change makes it so.

    A gradient has the shape of its variable.  A block of the Hessian in A and B is a matrix with
    :math:`\dim A` rows and :math:`\dim B` columns in the order of vec; leading axes of A and B
    (samples, heads) are free indices of the claim, those of A first.

    Args:
        claim: the formula in LaTeX, with definitions after ``\text{where}`` if it likes; what stands
            left of an equals sign is passed over. Or a tensor.
        loss: the scalar that is differentiated.
        wrt: a variable for a gradient, two for a block; by name, with letters for leading axes if they matter
            (``W^Q_h``; one letter twice means the block of one member with itself).
        order: 2 for the block of one variable with itself.
        names: further names that the claim may use, beside the inputs of the loss, its named tensors, and
            adjoints such as ``\bar{S}``.
        where: definitions that the claim may use, each ``left = right``.
        part: for a block, ``outer`` (Gauss-Newton) or ``functional``: the claim is about this part alone.
        vec: order of vec in blocks, and of ``\operatorname{vec}`` in the claim.
        nonsmooth: what to do at a kink.
        seed: from which points are drawn.
        smallest: search for the smallest witness.

    Returns:
        A finding: the verdict (proved, refuted with a witness, unknown), and the repair, if one was found.

    Raises:
        ParseError: the claim cannot be read.
        InvalidArgument: there is no such variable.

    Example:
        >>> import lemmax as lx
        >>> n, D = lx.sizes("n D")
        >>> X, w, y = lx.tensor("X", n, D), lx.tensor("w", D), lx.tensor("y", n)
        >>> found = lx.check_formula(r"X^\top (X w - y)", lx.sqnorm(X @ w - y), w)
        >>> found.verdict.name, found.repair.text
        ('refuted', 'multiply the claim by 2')
    """
    given = [wrt] if isinstance(wrt, str | Tensor) else list(wrt)
    if order not in (None, 1, 2) or (order == 1 and len(given) > 1):
        raise InvalidArgument(
            f"order={order} for {len(given)} variables: expected 1 for one, 2 for one or two."
        )
    of = variables(loss, given * 2 if order == 2 and len(given) == 1 else given)
    check_variables(of)
    if part is not None and len(of) == 1:
        raise InvalidArgument(f"part={part!r} for a gradient: a block of the Hessian has parts.")
    target = _target(loss, tuple(of), vec, nonsmooth, part)
    if isinstance(claim, Tensor):
        return _of_tensor(claim, target, seed, smallest)
    known = collect([names_of(loss, target.tensor), *_listed(names)], {})
    definitions = [where] if isinstance(where, str) else list(where)
    check_left_side(claim, of)
    source = source_of(claim, definitions, known.words)
    reader = Reader(known, target.tensor, target.indices, vec)
    return _of_text(source, target, _parts(of, vec), reader, seed, smallest)


_NOTATION = re.compile("must be a scalar|expected a scalar")  # x^2, 1/x, e^x of a vector


@lru_cache(maxsize=16)  # claims about one loss often come one after the other
def _target(
    loss: Tensor, of: tuple[Variable, ...], vec: Vec, nonsmooth: Smoothness, part: Part | None
) -> Target:
    return target_of(loss, of, vec, nonsmooth, part)


def _listed(names: Mapping[str, Tensor] | Sequence[object] | None) -> list[object]:
    if names is None:
        return []
    return list(names) if isinstance(names, list | tuple) else [names]


def names_of(loss: Tensor, right: Tensor) -> dict[str, Tensor]:
    """Return what a formula may use by name: inputs and named tensors of the loss, and the adjoints."""
    # a derivative is made of the flattened forms of S, R ..., so these are what the names mean
    (flat,) = flatten([loss])
    return {str(t.name): t for t in topological_order(flat, right) if t.name is not None and t != flat}


def _parts(of: Sequence[Variable], vec: Vec) -> tuple[tuple[Size, ...], tuple[Size, ...]]:
    if len(of) == 1:
        return (), ()
    cores = [v.tensor.shape[v.families :] for v in of]
    if vec == "column":
        cores = [tuple(reversed(c)) for c in cores]
    return cores[0], cores[1]


def _of_tensor(claim: Tensor, target: Target, seed: int, smallest: bool) -> Finding:
    found = diagnose(claim, target.tensor, seed)
    verdict = found.verdict
    if not same_shape(claim, target.tensor):
        verdict = _misshapen(claim, target.tensor)
    elif smallest:
        verdict = smaller(verdict, claim, target.tensor, seed)
    return Finding(verdict, target.tensor, target.words, found.repair)


def _of_text(
    source: Source,
    target: Target,
    parts: tuple[tuple[Size, ...], tuple[Size, ...]],
    reader: Reader,
    seed: int,
    smallest: bool,
) -> Finding:
    try:
        claim = reader.tensor(source)
    except ParseError as error:
        own = _of_one_member(source, target, reader)
        if own is not None:
            narrowed, note = own
            found = _of_text(source, narrowed, parts, _for(reader, narrowed), seed, smallest)
            return Finding(found.verdict, found.right, found.words, found.repair, note)
        return _unreadable(error, source, target, parts, reader, seed)
    verdict = equal(claim, target.tensor, seed=seed)
    if verdict.name == "proved":
        return Finding(verdict, target.tensor, target.words)
    repair = find_repair(source, claim, target, parts, reader, seed)
    if smallest:
        verdict = smaller(verdict, claim, target.tensor, seed)
    return Finding(verdict, target.tensor, target.words, repair)


def _for(reader: Reader, target: Target) -> Reader:
    return Reader(reader.names, target.tensor, target.indices, reader.vec)


def _of_one_member(source: Source, target: Target, reader: Reader) -> tuple[Target, str] | None:
    """Return the block of one member with itself, if the claim has one letter for both families."""
    if not target.second or target.families != 2 or target.indices is not None:
        return None
    if not same_shape_of_axes(target.tensor):
        return None
    narrowed = target.of_members("hh")
    try:
        _for(reader, narrowed).tensor(source)
    except LemmaxError:
        return None
    return narrowed, "read as the block of one member of the family with itself"


def same_shape_of_axes(block: Tensor) -> bool:
    """Are the two leading axes of one size?"""
    return block.ndim >= 2 and block.shape[0] == block.shape[1]


def _unreadable(
    error: ParseError,
    source: Source,
    target: Target,
    parts: tuple[tuple[Size, ...], tuple[Size, ...]],
    reader: Reader,
    seed: int,
) -> Finding:
    """Return what is found of a claim that has no value of the right shape; it is wrong if shapes are why."""
    repair: Repair | None = None
    if isinstance(error, ShapeError):
        repair = find_repair(source, None, target, parts, reader, seed)
    if not isinstance(error, ShapeError) or (repair is None and _NOTATION.search(str(error))):
        raise error  # notation that is not read is no wrong claim
    shape = f"({', '.join(map(str, target.tensor.shape))})"
    message = str(error).splitlines()
    verdict = Verdict(
        "refuted",
        f"the {target.words} has shape {shape}, the claim has no value of this shape: {message[0]}",
        Witness({str(s): 2 + p for p, s in enumerate(size_symbols(target.tensor))}, {}),
    )
    return Finding(verdict, target.tensor, target.words, repair)


def _misshapen(claim: Tensor, right: Tensor) -> Verdict:
    shapes = [f"({', '.join(map(str, t.shape))})" for t in (claim, right)]
    sizes = {str(s): 2 + p for p, s in enumerate(size_symbols(claim, right))}
    return Verdict(
        "refuted", f"the claim has shape {shapes[0]}, the right formula {shapes[1]}", Witness(sizes, {})
    )
