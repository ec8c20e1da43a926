r"""The base of all tensors: shape, name, structural identity, and operators.

Identity is a digest computed once, at construction, from the digests of the operands:
comparing two tensors costs one comparison of strings, on shared graphs too, and does not
depend on the hash seed.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Container
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

import sympy as sp

from lemmax.errors import InvalidArgument
from lemmax.expr.sizes import Size

if TYPE_CHECKING:
    from lemmax.expr.relation import Relation

Scalar: TypeAlias = int | float | sp.Expr
"""What may stand beside a tensor in arithmetic: numbers and expressions in sizes."""


class TensorSymbol(sp.Symbol):  # type: ignore[misc]
    """The SymPy symbol of a tensor: label of its entries, or the tensor itself if it is a scalar."""

    __slots__ = ("tensor",)
    tensor: Tensor

    def __new__(cls, tensor: Tensor) -> TensorSymbol:
        """Make the symbol of ``tensor``; its assumptions are those of the tensor's entries."""
        label = tensor.name if tensor.name else f"_{tensor.digest[:16]}"
        obj = sp.Symbol.__xnew__(cls, label, real=True, **tensor.entry_assumptions())
        obj.tensor = tensor
        return obj  # type: ignore[no-any-return]

    def _hashable_content(self) -> tuple[Any, ...]:
        # the digest tells apart tensors that share a name; SymPy's caches compare by this
        return (self.name, self.tensor.digest, *sorted(self.assumptions0.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the tensor."""
        return TensorSymbol, (self.tensor,)

    def __getnewargs_ex__(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Copy by the tensor."""
        return (self.tensor,), {}


class Tensor:
    """An immutable expression with a shape.

    Attributes:
        shape: sizes by axis; ``()`` is a scalar.
        name: ``None``, or a name; a named tensor is kept whole in derivations.
        operands: the tensors that this one is made of.
        digest: structural identity, equal exactly for structurally equal tensors.
    """

    __slots__ = ("__weakref__", "_symbol", "digest", "name", "operands", "shape")
    __array_priority__ = 1000.0  # NumPy's scalars leave mixed arithmetic to us
    __array_ufunc__ = None

    shape: tuple[Size, ...]
    name: str | None
    operands: tuple[Tensor, ...]
    digest: str
    _symbol: TensorSymbol | None

    def _finish(
        self, shape: tuple[Size, ...], name: str | None, operands: tuple[Tensor, ...], content: str
    ) -> None:
        """Set the common attributes; called once, at the end of a constructor."""
        if name is not None:
            check_name(name)
        text = "|".join([type(self).__name__, name or "", str(shape), content, *(t.digest for t in operands)])
        set_ = object.__setattr__
        set_(self, "shape", shape)
        set_(self, "name", name)
        set_(self, "operands", operands)
        set_(self, "digest", hashlib.blake2b(text.encode(), digest_size=16).hexdigest())
        set_(self, "_symbol", None)

    def __setattr__(self, key: str, value: object) -> None:
        """Refuse: tensors are immutable."""
        raise AttributeError(f"tensors are immutable; cannot set {key!r}. Build a new tensor instead.")

    def __eq__(self, other: object) -> bool:
        """Structural equality; for a statement about values use :meth:`eq` or ``lx.equal``."""
        return isinstance(other, Tensor) and self.digest == other.digest

    def __hash__(self) -> int:
        """Hash by structure."""
        return hash(self.digest)

    def __bool__(self) -> bool:
        """Refuse: a tensor has no truth value."""
        raise InvalidArgument(
            f"{self.label()} has no truth value; compare with .eq(), .ge(), ... and check the relation."
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as a flat list of nodes, however deep the graph is."""
        from lemmax.expr import pickling

        return pickling.unpack, (pickling.pack(self),)

    def __copy__(self) -> Tensor:
        """The tensor itself: it is immutable."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        """The tensor itself: it is immutable."""
        return self

    # -- description ---------------------------------------------------------------------
    @property
    def ndim(self) -> int:
        """Number of axes (never called rank, which is the matrix rank)."""
        return len(self.shape)

    @property
    def symbol(self) -> TensorSymbol:
        """The SymPy symbol that stands for this tensor in bodies."""
        if self._symbol is None:
            object.__setattr__(self, "_symbol", TensorSymbol(self))
        assert self._symbol is not None
        return self._symbol

    def entry(self, *indices: sp.Expr | int) -> sp.Expr:
        """Return the entry at ``indices`` as a SymPy expression (the symbol itself for a scalar)."""
        if len(indices) != self.ndim:
            raise InvalidArgument(f"{self.label()} has {self.ndim} axes; {len(indices)} indices were given.")
        if not indices:
            return self.symbol
        return sp.Indexed(sp.IndexedBase(self.symbol), *indices)

    def entry_assumptions(self) -> dict[str, bool]:
        """SymPy assumptions on the entries beyond being real."""
        return {}

    def label(self) -> str:
        """Return a short text for messages: name or kind, and the shape by size names."""
        return f"{self.name or self.describe()} ({', '.join(map(str, self.shape)) or 'scalar'})"

    def describe(self) -> str:
        """Return a short text of how the tensor is made, for messages."""
        return type(self).__name__

    def describe_kind(self) -> str:
        """Return one word for an unnamed tensor inside the text of another."""
        return "(...)"

    def rebuild(self, *operands: Tensor) -> Tensor:
        """Return the same node over other operands; ``self`` if nothing changed."""
        raise NotImplementedError

    def named(self, name: str | None) -> Tensor:
        """Return this tensor under a name (or without one, for ``None``)."""
        raise NotImplementedError

    def __repr__(self) -> str:
        """Show name or kind with shape."""
        return f"<{self.label()}>"

    def _repr_latex_(self) -> str | None:
        """LaTeX for notebooks, in display style."""
        from lemmax.expr import display

        return display.rich_latex(self)

    # -- arithmetic ----------------------------------------------------------------------
    def __add__(self, other: Tensor | Scalar) -> Tensor:
        """Entrywise sum, with NumPy's broadcasting."""
        from lemmax.expr import arithmetic

        return arithmetic.add(self, other)

    __radd__ = __add__

    def __sub__(self, other: Tensor | Scalar) -> Tensor:
        """Entrywise difference."""
        from lemmax.expr import arithmetic

        return arithmetic.subtract(self, other)

    def __rsub__(self, other: Tensor | Scalar) -> Tensor:
        """Entrywise difference."""
        from lemmax.expr import arithmetic

        return arithmetic.subtract(other, self)

    def __neg__(self) -> Tensor:
        """Entrywise negative."""
        from lemmax.expr import arithmetic

        return arithmetic.multiply(-1, self)

    def __pos__(self) -> Tensor:
        """The tensor itself."""
        return self

    def __abs__(self) -> Tensor:
        """Entrywise absolute value."""
        from lemmax.expr import functions

        return functions.of_tensor("abs", self)

    def __mul__(self, other: Tensor | Scalar) -> Tensor:
        """Entrywise (Hadamard) product."""
        from lemmax.expr import arithmetic

        return arithmetic.multiply(self, other)

    def __rmul__(self, other: Tensor | Scalar) -> Tensor:
        """Entrywise (Hadamard) product."""
        from lemmax.expr import arithmetic

        return arithmetic.multiply(other, self)

    def __truediv__(self, other: Tensor | Scalar) -> Tensor:
        """Entrywise quotient."""
        from lemmax.expr import arithmetic

        return arithmetic.divide(self, other)

    def __rtruediv__(self, other: Tensor | Scalar) -> Tensor:
        """Entrywise quotient."""
        from lemmax.expr import arithmetic

        return arithmetic.divide(other, self)

    def __pow__(self, exponent: Tensor | Scalar) -> Tensor:
        """Entrywise power (not the matrix power)."""
        from lemmax.expr import arithmetic

        return arithmetic.power(self, exponent)

    def __rpow__(self, base: Scalar) -> Tensor:
        """Entrywise power of a number."""
        from lemmax.expr import arithmetic

        return arithmetic.power(base, self)

    def __matmul__(self, other: Tensor) -> Tensor:
        """Matrix product over the last two axes; leading axes broadcast."""
        from lemmax.expr import linalg

        return linalg.matmul(self, other)

    def __rmatmul__(self, other: object) -> Tensor:
        """Refuse: what stands on the left is no tensor."""
        from lemmax.expr import linalg

        return linalg.matmul(other, self)  # type: ignore[arg-type]

    @property
    def T(self) -> Tensor:
        """Transpose of a matrix (a vector is its own)."""
        from lemmax.expr import linalg

        return linalg.transpose(self)

    @property
    def mT(self) -> Tensor:
        """Transpose of the last two axes, leading axes kept."""
        from lemmax.expr import linalg

        return linalg.matrix_transpose(self)

    def __getitem__(self, key: Any) -> Any:
        """Index notation if an index is symbolic, else NumPy's slices and entries."""
        from lemmax.expr import indexing

        return indexing.getitem(self, key)

    def __iter__(self) -> Any:
        """Refuse: iterating over a symbolic axis would not end."""
        raise InvalidArgument(
            f"cannot iterate over {self.label()}; use indices, such as A[0] or lx.tensor_from."
        )

    def sum(self, axis: Any = None, keepdims: bool = False) -> Tensor:
        """Sum over axes; see ``lx.sum``."""
        from lemmax.expr import reductions

        return reductions.sum(self, axis=axis, keepdims=keepdims)

    def mean(self, axis: Any = None, keepdims: bool = False) -> Tensor:
        """Mean over axes; see ``lx.mean``."""
        from lemmax.expr import reductions

        return reductions.mean(self, axis=axis, keepdims=keepdims)

    def max(self, axis: Any = None, keepdims: bool = False) -> Tensor:
        """Maximum over axes; see ``lx.max``."""
        from lemmax.expr import reductions

        return reductions.max(self, axis=axis, keepdims=keepdims)

    def min(self, axis: Any = None, keepdims: bool = False) -> Tensor:
        """Minimum over axes; see ``lx.min``."""
        from lemmax.expr import reductions

        return reductions.min(self, axis=axis, keepdims=keepdims)

    def prod(self, axis: Any = None, keepdims: bool = False) -> Tensor:
        """Product over axes; see ``lx.prod``."""
        from lemmax.expr import reductions

        return reductions.prod(self, axis=axis, keepdims=keepdims)

    def __array_namespace__(self, api_version: str | None = None) -> ModuleType:
        """Return the module ``lemmax``, so that code written against the array API can be traced.

        Of the standard it has, under the same names: ``abs exp log sqrt sign sin cos tan sinh cosh tanh``,
        ``maximum minimum where``, ``sum mean prod max min``, ``matmul matrix_transpose permute_dims``,
        ``concat stack``, and the operators and attributes of tensors.
        """
        return sys.modules["lemmax"]

    # -- relations -----------------------------------------------------------------------
    def _relation(self, op: str, other: Tensor | Scalar) -> Relation:
        from lemmax.expr.relation import relation

        return relation(self, op, other)

    def eq(self, other: Tensor | Scalar) -> Relation:
        """The statement that both sides are equal, entry by entry."""
        return self._relation("==", other)

    def ge(self, other: Tensor | Scalar) -> Relation:
        """The statement ``self >= other``."""
        return self._relation(">=", other)

    def le(self, other: Tensor | Scalar) -> Relation:
        """The statement ``self <= other``."""
        return self._relation("<=", other)

    def gt(self, other: Tensor | Scalar) -> Relation:
        """The statement ``self > other``."""
        return self._relation(">", other)

    def lt(self, other: Tensor | Scalar) -> Relation:
        """The statement ``self < other``."""
        return self._relation("<", other)

    __ge__ = ge
    __le__ = le
    __gt__ = gt
    __lt__ = lt


_NAME_PATTERN = re.compile(r"[A-Za-z\\][\w\\^{}(),*' +-]*\Z")


def check_name(name: str) -> None:
    r"""Check that ``name`` can be printed and turned into an identifier.

    Raises:
        InvalidArgument: the name is empty, or does not start with a letter (or ``\`` for a
            LaTeX command), or holds characters that cannot be printed in a formula.
    """
    if not isinstance(name, str) or not _NAME_PATTERN.match(name) or name.count("{") != name.count("}"):
        raise InvalidArgument(
            f"tensor name {name!r}: expected a letter followed by letters, digits, _ ^ {{ }}, such as 'W^Q'"
            " or 'x_1'."
        )


def distinct_name(name: str, taken: Container[str | None]) -> str:
    r"""Return ``name``, or the first of its variants that is not taken.

    >>> distinct_name("S", {"S"}), distinct_name("W^Q", {"W^Q"})
    ('S^{(2)}', '\\tilde{W^Q}')
    """
    depth = [name[:p].count("{") - name[:p].count("}") for p in range(len(name))]
    scripts = any(c in "^_" and d == 0 for c, d in zip(name, depth, strict=True))
    variant, number = name, 1
    while variant in taken:
        number += 1
        variant = rf"\tilde{{{variant}}}" if scripts else f"{name}^{{({number})}}"
    return variant


def identifier(name: str) -> str:
    r"""Return the name that code uses: everything but letters, digits and ``_`` is dropped.

    >>> identifier("W^Q"), identifier(r"\bar{S}")
    ('WQ', 'barS')
    """
    if not isinstance(name, str):
        raise InvalidArgument(f"identifier({name!r}): expected a name.")
    return re.sub(r"[^A-Za-z0-9_]", "", name)
