r"""The four kinds of tensor: input, index lambda, application of a function, formal derivative.

* :class:`Input` is a variable with a name, a shape and assumptions.
* :class:`Lambda` is an index lambda: free indices and a scalar body, stored as a sum of
  :class:`Term` s.  ``A @ B`` is ``_i0, _i1 -> sum_k A[_i0, k] * B[k, _i1]``.
* :class:`Apply` is a function that has no body in index notation (softmax, inverse, rank,
  slices ...): tables in ``rules``, ``interpret``, ``typeset`` and ``codegen`` give its meaning.
* :class:`Derivative` is a derivative not yet worked out; derivations start from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import sympy as sp

from lemmax.errors import InvalidArgument, NameClash, ShapeError
from lemmax.expr.indices import bound_index, free_indices, is_index
from lemmax.expr.sizes import Size, as_size, same_size
from lemmax.expr.tensor import Tensor, TensorSymbol, check_name

Param: TypeAlias = str | int | bool | sp.Expr | tuple["Param", ...] | None
"""What a function's parameters are made of."""

ASSUMPTIONS = ("positive", "symmetric", "positive_definite", "orthogonal", "diagonal", "lower_triangular")


class Input(Tensor):
    """A variable: a name, a shape, and assumptions on its value.

    Attributes:
        assumptions: a sorted tuple out of :data:`ASSUMPTIONS`.
    """

    __slots__ = ("assumptions",)
    assumptions: tuple[str, ...]

    def __init__(self, name: str, shape: tuple[Size, ...], assumptions: tuple[str, ...] = ()) -> None:
        """Make the variable ``name``; use ``lx.tensor`` in scripts."""
        check_name(name)
        unknown = [a for a in assumptions if a not in ASSUMPTIONS]
        if unknown:
            raise InvalidArgument(
                f"tensor {name!r}: unknown assumption {unknown[0]!r}; known: {', '.join(ASSUMPTIONS)}."
            )
        sizes = tuple(as_size(s) for s in shape)
        matrices = [a for a in assumptions if a != "positive"]
        if matrices and (len(sizes) < 2 or not same_size(sizes[-1], sizes[-2])):
            raise ShapeError(
                f"tensor {name!r} of shape {sizes}: {matrices[0]} needs square matrices in the last two axes."
            )
        object.__setattr__(self, "assumptions", tuple(sorted(set(assumptions))))
        self._finish(sizes, name, (), ",".join(self.assumptions))

    def entry_assumptions(self) -> dict[str, bool]:
        """Entries are positive if the variable was declared so."""
        return {"positive": True} if "positive" in self.assumptions else {}

    def rebuild(self, *operands: Tensor) -> Tensor:
        """Inputs have no operands."""
        return self

    def named(self, name: str | None) -> Tensor:
        """Refuse: an input's name is what it is."""
        raise InvalidArgument(f"input {self.label()} already has a name; declare another with lx.tensor.")


@dataclass(frozen=True, slots=True)
class Term:
    """One summand of an index lambda: ``sum over bound of expr``.

    Attributes:
        bound: summed indices, each with its size (it runs from 0 to size - 1).
        expr: SymPy expression in entries of operands, indices and sizes; it holds no ``Sum``.
    """

    bound: tuple[tuple[sp.Symbol, Size], ...]
    expr: sp.Expr


class Lambda(Tensor):
    """An index lambda: ``indices -> sum of terms``.

    Attributes:
        indices: free indices, one per axis (always ``_i0, _i1, ...``).
        terms: the summands; none is the zero tensor.
    """

    __slots__ = ("indices", "terms")
    indices: tuple[sp.Symbol, ...]
    terms: tuple[Term, ...]

    def __init__(
        self,
        shape: tuple[Size, ...],
        indices: tuple[sp.Symbol, ...],
        terms: tuple[Term, ...],
        name: str | None = None,
    ) -> None:
        """Make ``indices -> sum of terms``; indices are renamed to the canonical ones."""
        own = free_indices(len(shape))
        if len(indices) != len(shape) or len(set(indices)) != len(indices):
            raise InvalidArgument(
                f"an index lambda of shape {shape} needs {len(shape)} different indices, got {indices}."
            )
        kept = tuple(_canonical(term, indices, own) for term in terms if term.expr != 0)
        symbols: dict[str, TensorSymbol] = {}
        for term in kept:
            for symbol in term.expr.atoms(TensorSymbol):
                symbols[symbol.tensor.digest] = symbol
        operands = tuple(s.tensor for s in sorted(symbols.values(), key=lambda s: (s.name, s.tensor.digest)))
        check_one_name_one_tensor(operands)
        object.__setattr__(self, "indices", own)
        object.__setattr__(self, "terms", kept)
        content = ";".join(f"{','.join(f'{i}:{s}' for i, s in t.bound)}~{_serialise(t.expr)}" for t in kept)
        self._finish(shape, name, operands, content)

    @property
    def body(self) -> sp.Expr:
        """The body as one SymPy expression, sums written as ``Sum``."""
        return sp.Add(
            *[sp.Sum(t.expr, *[(i, 0, s - 1) for i, s in t.bound]) if t.bound else t.expr for t in self.terms]
        )

    def describe(self) -> str:
        """Show the body, shortened."""
        from lemmax.expr.describe import describe_lambda

        return describe_lambda(self)

    def rebuild(self, *operands: Tensor) -> Tensor:
        """Return the lambda over other operands, given in the order of ``operands``."""
        if all(a is b for a, b in zip(self.operands, operands, strict=True)):
            return self
        swap = {a.symbol: b.symbol for a, b in zip(self.operands, operands, strict=True) if a != b}
        if any(a.shape != b.shape for a, b in zip(self.operands, operands, strict=True)):
            raise InvalidArgument("rebuild: an operand may only be replaced by one of the same shape.")
        # entries of a vector hold an IndexedBase around the symbol, scalars the bare symbol
        bases: dict[sp.Basic, sp.Basic] = {sp.IndexedBase(a): sp.IndexedBase(b) for a, b in swap.items()}
        terms = tuple(Term(t.bound, t.expr.xreplace({**bases, **swap})) for t in self.terms)
        return Lambda(self.shape, self.indices, terms, self.name)

    def named(self, name: str | None) -> Tensor:
        """Return the lambda under another name."""
        return Lambda(self.shape, self.indices, self.terms, name)


class Apply(Tensor):
    """A function applied to operands.

    Attributes:
        function: key into the tables of rules and readings, such as ``softmax``.
        params: sorted pairs of parameter name and value, such as ``("axis", 1)``.
    """

    __slots__ = ("function", "params")
    function: str
    params: tuple[tuple[str, Param], ...]

    def __init__(
        self,
        function: str,
        operands: tuple[Tensor, ...],
        shape: tuple[Size, ...],
        params: dict[str, Param] | tuple[tuple[str, Param], ...] = (),
        name: str | None = None,
    ) -> None:
        """Make ``function(*operands)`` with a shape worked out by the builder that calls this."""
        pairs = tuple(sorted(dict(params).items()))
        object.__setattr__(self, "function", function)
        object.__setattr__(self, "params", pairs)
        check_one_name_one_tensor(operands)
        self._finish(shape, name, operands, f"{function}{pairs}")

    def param(self, key: str) -> Param:
        """Return one parameter."""
        return dict(self.params)[key]

    def describe(self) -> str:
        """Show the function with its operands."""
        from lemmax.expr.describe import describe_application

        return describe_application(self.function, self.operands)

    def describe_kind(self) -> str:
        """Show the function's name."""
        return f"{self.function}(...)"

    def rebuild(self, *operands: Tensor) -> Tensor:
        """Return the same function of other operands."""
        if all(a is b for a, b in zip(self.operands, operands, strict=True)):
            return self
        return Apply(self.function, operands, self.shape, self.params, self.name)

    def named(self, name: str | None) -> Tensor:
        """Return the application under another name."""
        return Apply(self.function, self.operands, self.shape, self.params, name)


class Derivative(Tensor):
    r"""A derivative not yet worked out, of shape ``of.shape + wrt.shape``.

    ``scope="total"`` follows every path from ``wrt`` to ``of``; ``scope="local"`` means the
    partial derivative of the definition of ``of`` with all its other operands held fixed.
    """

    __slots__ = ("scope",)
    scope: Literal["total", "local"]

    def __init__(
        self, of: Tensor, wrt: Tensor, scope: Literal["total", "local"] = "total", name: str | None = None
    ) -> None:
        """Make the formal derivative of ``of`` in ``wrt``."""
        object.__setattr__(self, "scope", scope)
        self._finish(of.shape + wrt.shape, name, (of, wrt), scope)

    @property
    def of(self) -> Tensor:
        """What is differentiated."""
        return self.operands[0]

    @property
    def wrt(self) -> Tensor:
        """What it is differentiated in."""
        return self.operands[1]

    def describe(self) -> str:
        """Show both names."""
        return f"d {self.of.name or self.of.describe()} / d {self.wrt.name or self.wrt.describe()}"

    def rebuild(self, *operands: Tensor) -> Tensor:
        """Return the derivative of another tensor in another variable."""
        if all(a is b for a, b in zip(self.operands, operands, strict=True)):
            return self
        return Derivative(operands[0], operands[1], self.scope, self.name)

    def named(self, name: str | None) -> Tensor:
        """Return the derivative under another name."""
        return Derivative(self.of, self.wrt, self.scope, name)


def check_one_name_one_tensor(operands: tuple[Tensor, ...]) -> None:
    """Check that operands which share a name are the same tensor.

    Raises:
        NameClash: two different operands carry one name.
    """
    seen: dict[str, Tensor] = {}
    for operand in operands:
        if operand.name is None:
            continue
        other = seen.setdefault(operand.name, operand)
        if other != operand:
            raise NameClash(
                f"two different tensors are called {operand.name!r}: {other.label()} and {operand.label()}; "
                "give one of them another name."
            )


def _canonical(term: Term, indices: tuple[sp.Symbol, ...], own: tuple[sp.Symbol, ...]) -> Term:
    """Rename free indices to ``own`` and summed ones to ``_k0, _k1, ...``, all at once."""
    swap = dict(zip(indices, own, strict=True))
    named = [*indices, *(i for i, _ in term.bound)]
    if len(set(named)) != len(named):
        raise InvalidArgument(f"an index is bound twice in {named}: free and summed indices must differ.")
    bound = tuple((bound_index(p), as_size(s)) for p, (_, s) in enumerate(term.bound))
    swap.update({old: new for (old, _), (new, _) in zip(term.bound, bound, strict=True)})
    expr = term.expr.xreplace(swap) if any(a is not b for a, b in swap.items()) else term.expr
    if expr.has(sp.Sum):
        raise InvalidArgument(f"a term holds the unfinished sum {expr}: list its indices as bound.")
    allowed = set(own) | {i for i, _ in bound}
    stray = [s for s in expr.atoms(sp.Symbol) if is_index(s) and s not in allowed]
    if stray:
        raise InvalidArgument(f"index {min(map(str, stray))} is neither free nor summed in {term.expr}.")
    return Term(bound, expr)


def _serialise(expr: sp.Basic) -> str:
    """Return a text that is equal exactly for equal expressions (names are not enough: digests)."""
    if isinstance(expr, TensorSymbol):
        return f"@{expr.tensor.digest}"
    if isinstance(expr, sp.Symbol):
        return f"{expr.name}" if expr.is_integer else f"?{expr.name}"
    if isinstance(expr, sp.Float):
        sign, mantissa, exponent, _ = expr._mpf_  # what is printed is rounded to 15 digits
        return f"{'-' if sign else ''}{int(mantissa)}*2^{exponent}@{expr._prec}"
    if not expr.args:
        return str(expr)
    return f"{type(expr).__name__}({','.join(map(_serialise, expr.args))})"
