r"""How instances of a theorem are drawn: declarations only; ``lemmax.check`` reads them.

Without any declaration every size is drawn from 1 to 3 (as far as the theorem's constraints allow),
every input is Gaussian or what its assumptions say, and mutations strike at random.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import sympy as sp

from lemmax.errors import InvalidArgument
from lemmax.expr.nodes import Input
from lemmax.expr.tensor import Tensor
from lemmax.statement.kinds import as_inputs, is_a

Arrays: TypeAlias = dict[str, Any]
"""Arrays by the code name of their input (``WQ`` for ``W^Q``)."""

KINDS = (
    "gaussian", "uniform", "positive", "signs", "integers", "zeros", "ones",
    "symmetric", "positive_definite", "orthogonal", "diagonal", "lower_triangular",
)  # fmt: skip
"""Ways to draw an input.  uniform is on [0, 1); positive is exp of a Gaussian; signs are +1 and -1;
integers run from -3 to 3; the others give matrices (over the last two axes) of that kind."""

STRUCTURES = (
    "zero", "tied", "identical_tokens", "orthonormal_rows", "orthonormal_columns", "rank_one",
    "zero_head", "saturated", "rotated",
)  # fmt: skip
"""Structures that can be built in; see :class:`Structure`."""

MUTATIONS = (
    "duplicate", "near_duplicate", "zero_row", "zero", "zero_slice", "scale", "scale_slice", "round",
    "rank_one", "tie", "orthonormal_rows",
)  # fmt: skip
"""Named changes that strike a drawn instance at random."""


@dataclass(frozen=True, slots=True)
class Draw:
    """How an input's entries are drawn.

    Attributes:
        kind: one of :data:`KINDS`.
        scale: factor on the entries (of gaussian, uniform, positive, symmetric, ... draws).
    """

    kind: str = "gaussian"
    scale: float = 1.0

    def __post_init__(self) -> None:
        """Check kind and scale."""
        if self.kind not in KINDS:
            raise InvalidArgument(f"Draw({self.kind!r}): unknown kind; known: {', '.join(KINDS)}.")
        if not self.scale > 0:
            raise InvalidArgument(f"Draw({self.kind!r}, scale={self.scale!r}): the scale must be positive.")


@dataclass(frozen=True, slots=True)
class Structure:
    r"""Something that every instance has by construction (and a few, on purpose, have not).

    ==================== ================ =====================================================
    kind                 inputs           what is done
    ==================== ================ =====================================================
    zero                 A                A = 0
    tied                 A, B             B = A
    identical_tokens     A (..., n, D)    all rows of a matrix are its first row
    orthonormal_rows     A (..., a, b)    all rows of all matrices together are orthonormal, as far
                                          as b allows
    orthonormal_columns  A (..., a, b)    the columns of each matrix are orthonormal, as far as a allows
    rank_one             A                each matrix is replaced by its first column times its first row
    zero_head            A (H, ...)       all but the first slice along the first axis are 0
    saturated            A                A is multiplied by 10^4
    rotated              A, B (..., a, b) A is rounded to integers, B is A with rows reversed and every
                                          second one negated: A^T A = B^T B holds exactly
    ==================== ================ =====================================================

    Attributes:
        kind: one of :data:`STRUCTURES`, or any name if ``by`` is given.
        inputs: the inputs it acts on.
        by: a pure function of the arrays (by code name) and a ``numpy.random.Generator`` that returns
            the arrays to replace.
    """

    kind: str
    inputs: tuple[Input, ...]
    by: Callable[[Arrays, Any], Mapping[str, Any]] | None = None

    def __post_init__(self) -> None:
        """Check kind and inputs."""
        object.__setattr__(self, "inputs", as_inputs(f"Structure({self.kind!r})", self.inputs))
        if self.by is None and self.kind not in STRUCTURES:
            raise InvalidArgument(
                f"Structure({self.kind!r}): unknown kind; known: {', '.join(STRUCTURES)}; "
                "or pass by=a function."
            )
        need = 2 if self.kind in ("tied", "rotated") else 1
        if self.by is None and len(self.inputs) != need:
            raise InvalidArgument(
                f"Structure({self.kind!r}) acts on {need} input(s), {len(self.inputs)} were given."
            )

    @property
    def label(self) -> str:
        """Name shown in recipes, such as ``tied(W^Q, W^K)``."""
        return f"{self.kind}({', '.join(str(t.name) for t in self.inputs)})"


@dataclass(frozen=True, slots=True)
class Instances:
    r"""How instances are drawn.

    Attributes:
        sizes: largest value by size symbol, or a pair (smallest, largest).  Constraints of the theorem
            are respected by construction: sizes are drawn from the table of all that satisfy them.
        tokens: the input whose rows are tokens: it gets a token-identity table, so that equal tokens
            arise by design.  Default: the input called X, if it has rows.
        draw: kind of draw by input, as a :class:`Draw` or the name of a kind.
        structure: what is built in.  About one draw in six leaves one of them out, so that the
            hypothesis that needs it is also seen to fail.
        derived: inputs computed from the others, such as ``{Y: model.F - E}`` with an auxiliary input
            ``E`` that thereby plays the residual, or a step size ``{eta: theta / L}``.
        mutations: names out of :data:`MUTATIONS` that may strike; ``()`` for none.
        mutate: inputs that mutations may strike; default: all that are not derived, fixed in sign, or
            bound by an assumption.
    """

    sizes: Mapping[sp.Symbol, int | tuple[int, int]] = field(default_factory=dict)
    tokens: Input | None = None
    draw: Mapping[Input, Draw | str] = field(default_factory=dict)
    structure: tuple[Structure, ...] = ()
    derived: Mapping[Input, Tensor] = field(default_factory=dict)
    mutations: tuple[str, ...] = MUTATIONS
    mutate: tuple[Input, ...] | None = None

    def __post_init__(self) -> None:
        """Check ranges and names.

        Raises:
            InvalidArgument: a range is empty, or a name is unknown.
        """
        set_ = object.__setattr__
        ranges = {s: (1, r) if isinstance(r, int) else tuple(r) for s, r in self.sizes.items()}
        for s, r in ranges.items():
            if not (isinstance(s, sp.Symbol) and s.is_integer and s.is_positive):
                raise InvalidArgument(f"Instances: {s!r} is no size symbol; declare it with lx.sizes.")
            if len(r) != 2 or not 1 <= r[0] <= r[1]:
                raise InvalidArgument(f"Instances: the range {r} of size {s} is empty or not positive.")
        set_(self, "sizes", ranges)
        set_(self, "draw", {t: Draw(d) if isinstance(d, str) else d for t, d in self.draw.items()})
        set_(self, "structure", tuple(self.structure))
        set_(self, "mutations", tuple(self.mutations))
        for name in self.mutations:
            if name not in MUTATIONS:
                raise InvalidArgument(f"Instances: unknown mutation {name!r}; known: {', '.join(MUTATIONS)}.")
        for t, value in self.derived.items():
            if not is_a(t, Input) or not is_a(value, Tensor) or value.ndim != t.ndim:
                raise InvalidArgument(
                    f"Instances: derived[{t!r}] must map an input to a tensor of its shape, got {value!r}."
                )
        if self.mutate is not None:
            set_(self, "mutate", tuple(self.mutate))

    @property
    def named_inputs(self) -> tuple[Input, ...]:
        """The inputs that the declaration mentions by itself."""
        lone = (self.tokens,) if self.tokens is not None else ()
        built = tuple(t for s in self.structure for t in s.inputs)
        return (*lone, *self.draw, *built, *self.derived, *(self.mutate or ()))
