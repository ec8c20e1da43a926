r"""What a claim is about: a gradient, or a block of the Hessian as a matrix.

The block of A (H, D, d) and B (H, D, v) has two leading axes, one per family axis of A and of B, and
is a matrix of D d rows and D v columns, in the order of vec.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import sympy as sp

from lemmax.calculus.gradient import gradient
from lemmax.calculus.hessian import hessian
from lemmax.calculus.partials import Smoothness
from lemmax.errors import InvalidArgument
from lemmax.expr.graph import inputs_of, topological_order
from lemmax.expr.indexing import merge
from lemmax.expr.indices import free_indices
from lemmax.expr.linalg import permute
from lemmax.expr.nodes import Input, Lambda, Term
from lemmax.expr.notation import zeros
from lemmax.expr.tensor import Tensor, identifier

Vec = Literal["row", "column"]
Part = Literal["outer", "functional"]
Groups = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a derivative, with the letters of its leading axes, if they were named.

    Attributes:
        tensor: the input.
        letters: letters of the leading axes, as in ``W^Q_h``; empty if none were given.
    """

    tensor: Tensor
    letters: tuple[str, ...] = ()

    @property
    def families(self) -> int:
        """The number of leading axes, before those of the matrix."""
        return max(self.tensor.ndim - 2, 0)


@dataclass(frozen=True, slots=True)
class Target:
    """The right formula.

    Attributes:
        tensor: its value, in the shape that a claim is read in.
        indices: letters of the leading axes, or ``None`` where the claim may choose them.
        families: the number of leading axes.
        second: is it a block of the Hessian?
        words: what it is, such as "gradient in W^Q".
        apart: a block before its axes are merged into rows and columns, and how many are merged.
    """

    tensor: Tensor
    indices: tuple[str, ...] | None
    families: int
    second: bool
    words: str
    apart: tuple[Tensor, Groups] | None = None

    def of_members(self, letters: Sequence[str]) -> Target:
        """Return the block of members of which some are the same: those with the same letter."""
        assert self.apart is not None
        tensor = diagonal(self.apart[0], letters)
        families = len(dict.fromkeys(letters))
        whole = as_matrix(tensor, self.apart[1])
        return replace(self, tensor=whole, families=families, apart=(tensor, self.apart[1]))


def variables(loss: Tensor, names: Sequence[str | Tensor]) -> list[Variable]:
    r"""Return variables by name, ``W^Q`` or ``WQ``, or with letters for leading axes, ``W^Q_h``.

    Raises:
        InvalidArgument: the loss has no such input.
    """
    inputs = inputs_of(loss)
    inside = [t for t in topological_order(loss) if t.name is not None and t != loss and t not in inputs]
    return [Variable(n) if isinstance(n, Tensor) else _variable(inputs, inside, n) for n in names]


def _variable(inputs: Sequence[Input], inside: Sequence[Tensor], name: str) -> Variable:
    by_name: dict[str, Tensor] = {str(t.name): t for t in inside}
    for t in inputs:
        by_name |= {str(t.name): t, identifier(str(t.name)): t}
    if name in by_name:
        return Variable(by_name[name])
    match = re.fullmatch(r"(.+?)_(?:\{(.+)\}|(.))('*)", name.strip())
    if match and match[1] in by_name:
        tensor = by_name[match[1]]
        letters = re.findall(r"\\[A-Za-z]+'*|[A-Za-z]'*", (match[2] or match[3]) + match[4])
        if len(letters) == tensor.ndim - 2:
            return Variable(tensor, tuple(letters))
    raise InvalidArgument(
        f"there is no input called {name}. Inputs: {', '.join(str(t.name) for t in inputs)};"
        " leading axes may be given letters, as in W^Q_h."
    )


def target_of(
    loss: Tensor,
    of: Sequence[Variable],
    vec: Vec = "row",
    nonsmooth: Smoothness = "raise",
    part: Part | None = None,
) -> Target:
    """Return the derivative that a claim is compared with.

    Args:
        loss: the scalar that is differentiated.
        of: one variable for a gradient, two for a block of the Hessian.
        vec: order of vec in rows and columns of a block.
        nonsmooth: what to do at a kink.
        part: ``outer`` (Gauss-Newton) or ``functional``: a part of the block alone.
    """
    letters = [x for v in of for x in v.letters]
    is_named = all(len(v.letters) == v.families for v in of) and bool(letters)
    if len(of) == 1:
        found = gradient(loss, of[0].tensor, nonsmooth)
        assert isinstance(found, Tensor)
        words = f"gradient in {of[0].tensor.name}"
        return Target(found, tuple(letters) if is_named else None, of[0].families, False, words)
    a, b = of
    second = hessian(loss, a.tensor, b.tensor, nonsmooth, part=part or "total")
    apart, groups = in_order(second, a.tensor.ndim, vec)
    families = a.families + b.families
    of_what = {
        None: "",
        "outer": "outer (Gauss-Newton) part of the ",
        "functional": "functional part of the ",
    }
    words = f"{of_what[part]}Hessian block in {a.tensor.name}, {b.tensor.name}"
    target = Target(as_matrix(apart, groups), None, families, True, words, (apart, groups))
    if not is_named:
        return target
    kept = tuple(dict.fromkeys(letters))
    return replace(target.of_members(letters) if len(kept) < len(letters) else target, indices=kept)


def in_order(whole: Tensor, first: int, vec: Vec) -> tuple[Tensor, Groups]:
    """Return a second derivative with its leading axes first, and which of its axes are rows and columns.

    Args:
        whole: the second derivative.
        first: the number of axes of A.
        vec: order in which the axes of A and of B are merged.
    """
    axes = [tuple(range(first)), tuple(range(first, whole.ndim))]
    leads = [group[: max(len(group) - 2, 0)] for group in axes]
    cores = [group[max(len(group) - 2, 0) :] for group in axes]
    if vec == "column":
        cores = [tuple(reversed(core)) for core in cores]
    return permute(whole, (*leads[0], *leads[1], *cores[0], *cores[1])), (len(cores[0]), len(cores[1]))


def as_matrix(apart: Tensor, groups: Groups) -> Tensor:
    """Return a second derivative as families of matrices, of vectors if B is a scalar.

    Args:
        apart: the second derivative, leading axes first.
        groups: the number of axes of the rows, and of the columns.
    """
    lead = apart.ndim - sum(groups)
    sizes = [apart.shape[lead : lead + groups[0]], apart.shape[lead + groups[0] :]]
    if not groups[0] and groups[1]:  # rows of a scalar: one
        return as_matrix(_with_row(apart, lead), (1, groups[1]))
    if max(groups) <= 1:
        return apart
    if isinstance(apart, Lambda) and not apart.terms:
        return zeros(*apart.shape[:lead], *(sp.Mul(*s) for s in sizes if s))
    ends = (lead, lead + groups[0], apart.ndim)
    places = [tuple(range(start, end)) for start, end in itertools.pairwise(ends) if end > start]
    return merge(apart, *((p,) for p in range(lead)), *places)


def _with_row(t: Tensor, lead: int) -> Tensor:
    indices = free_indices(t.ndim + 1)
    shape = (*t.shape[:lead], sp.S.One, *t.shape[lead:])
    at = (*indices[:lead], *indices[lead + 1 :])
    return Lambda(shape, indices, (Term((), t.entry(*at)),))


def diagonal(block: Tensor, letters: Sequence[str]) -> Tensor:
    """Return a family with leading axes of one letter put to the same index."""
    kept = list(dict.fromkeys(letters))
    core = block.ndim - len(letters)
    indices = free_indices(len(kept) + core)
    own = dict(zip(kept, indices, strict=False))
    at = (*(own[x] for x in letters), *indices[len(kept) :])
    shape = tuple(block.shape[list(letters).index(x)] for x in kept) + block.shape[len(letters) :]
    return Lambda(shape, indices, (Term((), block.entry(*at)),))


def check_variables(of: Sequence[Variable]) -> None:
    """Check that there are one or two variables.

    Raises:
        InvalidArgument: there are none, or more.
    """
    if not 1 <= len(of) <= 2:
        raise InvalidArgument(
            f"{len(of)} variables: give one for a gradient, two for a block of the Hessian (twice the same"
            " for its diagonal block)."
        )
