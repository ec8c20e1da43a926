r"""Tensors as LaTeX: right-hand sides, definitions, relations, the table of notation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import sympy as sp

from lemmax.calculus.flatten import inline
from lemmax.errors import InvalidArgument
from lemmax.expr.domains import without_domain
from lemmax.expr.graph import topological_order, transform
from lemmax.expr.nodes import Apply, Derivative, Input
from lemmax.expr.relation import Relation
from lemmax.expr.sizes import is_one
from lemmax.expr.tensor import Tensor
from lemmax.rules.definitions import DEFINITIONS
from lemmax.typeset.algebra import linear, parts_of
from lemmax.typeset.graph import Stuck
from lemmax.typeset.layout import Layout, check_rows, layout_of
from lemmax.typeset.letters import Letters
from lemmax.typeset.names import latex_expression, render_name
from lemmax.typeset.node import Node
from lemmax.typeset.reader import Reader
from lemmax.typeset.render import Scope, latex_node
from lemmax.typeset.render_rules import tex_slice

Notation = Literal["matrix", "index"]
Order = Literal["row", "column"]
"""Which index of a pair comes first: that of the rows of a matrix, or that of its columns."""


def latex(
    t: Tensor,
    notation: Notation = "matrix",
    where: bool = False,
    inline: bool = False,
    vec: Order = "row",
    rows: int | None = None,
) -> str:
    r"""Return the right-hand side of a tensor as LaTeX.

    In matrix notation a Hessian block of shape ``A.shape + B.shape`` is one matrix: its rows are
    numbered by the entries of A and its columns by those of B, both in the order ``vec``, and
    leading axes (heads, samples) are subscripts.  In row-major order it is
    ``merge(H, (0, 1), (2, 3))`` for matrices A and B.

    Args:
        t: the expression; of a named tensor its definition is shown, of an input its name.
        notation: ``matrix``, or ``index`` for sums over indices and entries.
        where: append the definitions of the named tensors that occur.
        inline: put the definitions of named tensors in their place; only inputs keep names.
        vec: order of the entries of a matrix in rows and columns, in :math:`\mathrm{vec}` and in
            commutation matrices: ``row`` (last axis fastest) or ``column``, as in
            :func:`lemmax.parse_latex`.
        rows: how many axes belong to the rows, such as 2 for the derivative of a matrix in a vector;
            found out for two pairs of axes.

    Raises:
        InvalidArgument: ``t`` is no tensor, or the notation, the order or the rows are unknown.
        MissingRule: a function in ``t`` has no row in the tables of typesetting.

    >>> import lemmax as lx
    >>> n, D = lx.sizes("n D")
    >>> X, w = lx.tensor("X", n, D), lx.tensor("w", D)
    >>> latex(lx.sqnorm(X @ w) / 2), latex(X @ w, notation="index")
    ('\\frac{1}{2} \\|X w\\|^2', '\\sum_{d=1}^{D} X_{id} w_d')
    >>> W = lx.tensor("W", D, n)
    >>> latex(lx.jacobian(X @ W, W)), latex(lx.jacobian(X @ W, W), vec="column")
    ('X \\otimes I_n', 'I_n \\otimes X')
    """
    check(t, notation, vec)
    check_rows(t, rows)
    if inline:
        t = inlined(t)
    letters = Letters(t)
    text = read(t, letters, notation == "index", frozenset(), MatrixOf(rows, vec)).text
    if not where:
        return text
    lines = [f"{left} = {right}" for left, right in reversed(definitions(t, notation, vec=vec))]
    return rf"{text}, \quad\text{{where }} " + r",\; ".join(lines) if lines else text


def check(t: object, notation: str, vec: str = "row") -> None:
    """Check arguments.

    Raises:
        InvalidArgument: no tensor, or an unknown notation or order.
    """
    if not isinstance(t, Tensor):
        raise InvalidArgument(f"latex: {t!r} of type {type(t).__name__}: expected a tensor.")
    if notation not in ("matrix", "index"):
        raise InvalidArgument(f"latex: notation={notation!r}: expected 'matrix' or 'index'.")
    if vec not in ("row", "column"):
        raise InvalidArgument(f"latex: vec={vec!r}: expected 'row' or 'column'.")


def inlined(t: Tensor) -> Tensor:
    """Return the tensor with the names of all but inputs taken away, and products flattened."""

    def unname(node: Tensor) -> Tensor:
        return node if isinstance(node, Input) or node.name is None else node.named(None)

    (bare,) = transform([t], unname)
    return bare


@dataclass(frozen=True)
class MatrixOf:
    """How a derivative of matrices in matrices is read as one matrix.

    Attributes:
        rows: how many axes belong to the rows, if that is told.
        vec: order of pairs of axes.
    """

    rows: int | None = None
    vec: Order = "row"


@dataclass(frozen=True)
class Formula:
    """A tensor read for printing.

    Attributes:
        tree: the right-hand side.
        slots: per axis the index that is a subscript, or ``None`` for rows and columns.
        scope: names and letters.
        layout: the axes of rows and columns where these are pairs of axes, outermost first.
    """

    tree: Node
    slots: tuple[sp.Symbol | None, ...]
    scope: Scope
    layout: Layout | None = None

    @property
    def text(self) -> str:
        """The right-hand side."""
        return latex_node(self.tree, self.scope)

    @property
    def indices(self) -> list[str]:
        """The letters of the subscripts, by axis."""
        return [self.scope.at[i] for i in self.slots if i is not None and i in self.scope.at]


def read(
    t: Tensor,
    letters: Letters,
    by_entries: bool = False,
    avoid: frozenset[str] = frozenset(),
    matrix: MatrixOf | None = None,
) -> Formula:
    """Return a tensor read for printing, with letters for its free indices.

    Args:
        t: the tensor.
        letters: letters of indices.
        by_entries: index notation.
        avoid: letters that no index gets.
        matrix: read pairs of axes as rows and columns; ``None`` leaves all but two axes as subscripts.
    """
    (flat,) = inline(transform([t], _written_out))
    if flat.name is None and t.name is not None:
        flat = flat.named(t.name)
    reader = Reader(flat, by_entries)
    if matrix is not None and not by_entries:
        found = _paired(flat, reader, letters, avoid, matrix)
        if found is not None:
            return found
    subscripts = frozenset(range(flat.ndim)) if by_entries else _subscripts(reader, flat)
    fixed = [reader.symbols.fresh(s) if p in subscripts else None for p, s in enumerate(flat.shape)]
    whole = isinstance(flat, Input) and not by_entries
    slots: list[sp.Expr | None] = [
        None if whole else sp.S.Zero if i is not None and is_one(s) else i
        for i, s in zip(fixed, flat.shape, strict=True)
    ]
    tree = reader.slice(flat, tuple(slots))
    if tree.op == "blocks" and tree.args[0].shape == (
        1,
        1,
    ):  # entries: the left-hand side carries the indices
        opened = iter(b for b in tree.data if b is not None)
        kept = [p for p, i in enumerate(fixed) if i is None and not is_one(flat.shape[p])]
        if len(kept) == sum(1 for b in tree.data if b is not None):
            for p in kept:
                fixed[p] = next(opened)[0]
            tree = tree.args[0]
    if tree.op == "linear" and tree.data == (-1,) and tree.args[0].op == "linear":
        (bracket,) = tree.args  # -A - B rather than -(A + B), where nothing stands around it
        tree = linear([(-c, x) for c, x in parts_of(bracket)], bracket.shape)
    at = _letters_for(fixed, flat, letters, avoid)
    column_major = matrix is not None and matrix.vec == "column"
    return Formula(tree, tuple(fixed), Scope(letters, at, by_entries, column_major))


def _letters_for(
    fixed: Sequence[sp.Symbol | None], t: Tensor, letters: Letters, avoid: frozenset[str]
) -> dict[sp.Symbol, str]:
    at = {sp.Symbol(f"${c}"): c for c in sorted(avoid)}
    for i, s in zip(fixed, t.shape, strict=True):
        if i is not None and not is_one(s):
            at[i] = letters.pick(s, set(at.values()))
    return at


def _paired(
    t: Tensor, reader: Reader, letters: Letters, avoid: frozenset[str], matrix: MatrixOf
) -> Formula | None:
    """Return a tensor read as a matrix over pairs of axes, if its axes are such pairs."""
    layout = layout_of(t, reader, matrix.rows)
    if layout is None:
        return None
    column_major = matrix.vec == "column"
    if column_major:
        layout = Layout(layout.rows[::-1], layout.columns[::-1])
    at = [reader.symbols.fresh(s) for s in t.shape]
    try:
        tree = reader.paired(t, layout, at)
    except Stuck:
        return None
    slots = tuple(None if p in layout.axes else i for p, i in enumerate(at))
    scope = Scope(letters, _letters_for(slots, t, letters, avoid), False, column_major)
    return Formula(tree, slots, scope, layout)


def _written_out(node: Tensor) -> Tensor:
    """Show a solve as an inverse, cofactors as the determinant times the inverse, and no domains."""
    if isinstance(node, Apply) and node.function in ("solve", "cofactors"):
        return DEFINITIONS[node.function](node).named(node.name)
    return without_domain(node)


def _subscripts(reader: Reader, t: Tensor) -> frozenset[int]:
    """Return the axes of the whole that are subscripts: leading ones, and those that its terms open.

    Those before an opened one are opened too: a formula with a free index is read as its leading axis.
    """
    if isinstance(t, Derivative):  # of a scalar: families of the variable; else by the two names alone
        return frozenset(range(t.wrt.ndim - 2)) if t.of.ndim == 0 else frozenset()
    opened = reader.family_axes(t)
    return frozenset(range(max(t.ndim - 2, 1 + max(opened, default=-1))))


def right_hand_side(
    t: Tensor, letters: Letters, by_entries: bool = False, avoid: frozenset[str] = frozenset()
) -> str:
    """Return the right-hand side of a tensor; indices get none of the letters to avoid."""
    return read(t, letters, by_entries, avoid).text


def left_hand_side(t: Tensor, formula: Formula) -> str:
    """Return the name of a tensor with the subscripts that its right-hand side uses."""
    slots = tuple(sp.S.Zero if is_one(s) else i for s, i in zip(t.shape, formula.slots, strict=True))
    return tex_slice(t, slots, formula.scope)


def definitions(
    t: Tensor | Sequence[Tensor],
    notation: Notation = "matrix",
    letters: Letters | None = None,
    vec: Order = "row",
) -> list[tuple[str, str]]:
    r"""Return the definitions of the named tensors below ``t`` as (left, right), operands first.

    >>> import lemmax as lx
    >>> n, D = lx.sizes("n D")
    >>> X, w = lx.tensor("X", n, D), lx.tensor("w", D)
    >>> definitions(lx.sqnorm((X @ w).named("p")))
    [('p', 'X w')]
    """
    # flat, because a gradient holds the flat forms of what its loss defines
    roots = inline(list(t) if isinstance(t, Sequence) else [t])
    letters = letters or Letters(*roots)
    found = []
    for node in topological_order(*roots):
        if node.name is None or isinstance(node, Input) or node in roots:
            continue
        formula = read(node, letters, by_entries=notation == "index")
        formula = replace(formula, scope=replace(formula.scope, column_major=vec == "column"))
        found.append((left_hand_side(node, formula), formula.text))
    return found


_RELATIONS = {"==": "=", ">=": r"\ge", "<=": r"\le", ">": ">", "<": "<"}


def latex_relation(relation: Relation, notation: Notation = "matrix") -> str:
    """Return a relation as LaTeX; named tensors on either side are shown by name."""
    letters = Letters(relation.lhs, relation.rhs)
    sides = []
    for side in (relation.lhs, relation.rhs):
        if side.name is not None:
            sides.append(render_name(letters.name(side.name)))
        else:
            sides.append(right_hand_side(side, letters, by_entries=notation == "index"))
    return f"{sides[0]} {_RELATIONS[relation.op]} {sides[1]}"


@dataclass(frozen=True, slots=True)
class NotationRow:
    """One row of the table of notation: LaTeX of symbol and shape, and words."""

    symbol: str
    shape: str
    meaning: str


def notation_table(t: Tensor | Sequence[Tensor]) -> list[NotationRow]:
    """Return sizes, inputs and named tensors with shapes and meaning, in order of use."""
    roots = inline(list(t) if isinstance(t, Sequence) else [t])
    letters = Letters(*roots)
    order = [node for node in topological_order(*roots) if node.name is not None]
    rows = []
    for node in sorted(order, key=lambda x: not isinstance(x, Input)):
        lead, core = node.shape[: max(node.ndim - 2, 0)], node.shape[max(node.ndim - 2, 0) :]
        shape = r" \times ".join(map(latex_expression, core)) or r"\text{scalar}"
        indices: list[str] = []
        for s in lead:
            indices.append(letters.pick(s, set(indices)))
        where = ", ".join(
            rf"${c} = 1, \dots, {latex_expression(s)}$" for c, s in zip(indices, lead, strict=True)
        )
        kind = "given" if isinstance(node, Input) else "defined below"
        if isinstance(node, Input) and node.assumptions:
            kind += ", " + ", ".join(a.replace("_", " ") for a in node.assumptions)
        rows.append(
            NotationRow(
                render_name(letters.name(str(node.name)), indices),
                shape,
                kind + (f"; {where}" if where else ""),
            )
        )
    return rows
