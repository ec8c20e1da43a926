r"""``lx.parse_latex``: a formula as papers write it, read as a tensor."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Literal

from lemmax.errors import InvalidArgument, LemmaxError, ParseError
from lemmax.expr.sizes import Size, as_size
from lemmax.expr.tensor import Tensor
from lemmax.parse import records as r
from lemmax.parse.context import Context
from lemmax.parse.definitions import define, defined, with_definitions
from lemmax.parse.failure import Failure, as_error
from lemmax.parse.meaning import mean
from lemmax.parse.names import Given, Key, Named, Names, collect
from lemmax.parse.reader import read, read_definition
from lemmax.parse.scripts import letters_in
from lemmax.parse.symbols import bare_tensor
from lemmax.parse.target import Shape, expect_letters, tensor_of


def parse_latex(
    text: str,
    names: Given = None,
    /,
    *,
    like: Tensor | None = None,
    shape: Sequence[Size | int] | None = None,
    indices: str | Sequence[str] | None = None,
    vec: Literal["row", "column"] = "row",
    entrywise: bool = False,
    **tensors: Tensor,
) -> Tensor:
    r"""Return the tensor that a formula in LaTeX stands for.

    Matrix notation and index notation are read, mixed as papers mix them.  Nothing is evaluated:
    the text is parsed, and only names that are given are known.

    * Side by side is the matrix product; scalars scale.  ``\odot`` and ``\circ`` are entrywise,
      ``\otimes`` is the Kronecker product; both bind less than a product, so ``A B \otimes C``
      is ``(A B) \otimes C``.  Functions (``\tanh``, ``\max`` ...) act on entries, ``\exp`` and ``\log`` of
      square matrices as ``\exp^{\circ}(A)`` only; ``A^2`` and ``A^{-1}`` are powers of matrices,
      ``A^{\circ 2}`` of entries.
    * A number beside a vector, or a matrix that is not square, is added to each entry: ``1 - p``.
    * A vector is a column.  ``x^\top y`` is a scalar, ``x y^\top`` a matrix.
    * Subscripts go to the leading axes: ``X_i`` of a tensor (N, n, D) is the matrix of sample i.
      ``x_k`` is row k of ``X`` as a column, if no ``x`` was given.  Indices count from 1.
    * Indices that nothing sums are the leading axes of the result, in the order of ``indices``,
      else in the one that fits ``like`` or ``shape``, else alphabetical.
    * ``\sum_i``, ``\max_i`` ... reach up to the next plus or minus.
    * ``\operatorname{vec}`` is row-major unless ``vec="column"``; ``K_{ab}`` is the commutation
      matrix with ``K_{ab} vec(A) = vec(A^\top)`` for A of shape a x b, where K is no given name.

    Args:
        text: the formula; left of an equals sign a derivative may stand, which is passed over, as in
            ``\nabla_W f = ...``; definitions may follow after ``\text{where}``.
        names: tensors by name (``{"W^Q": WQ}``), a model with all its tensors, a tensor with all
            named tensors that it is made of, a size (such as an exponent), or a list of these.
        like: a tensor whose shape the result must have.
        shape: the same, by sizes.
        indices: letters of free indices in the order of axes, such as ``"ih"``; a colon stands for rows or
            columns where they do not come last, as in ``":i"``.
        vec: order of ``\operatorname{vec}``.
        entrywise: say that ``\exp`` and ``\log`` of square matrices act on entries; by default this is an
            ambiguity, which ``\exp^{\circ}(A)`` settles in the formula.
        **tensors: tensors by name in code (``WQ=WQ`` for ``W^Q``).

    Raises:
        ParseError: the formula cannot be read, is ambiguous (the readings are shown), uses unknown
            names, or its shapes do not fit (then it is a ``ShapeError`` as well).
        NameClash: one name is given two tensors.

    Example:
        >>> import lemmax as lx
        >>> n, D, k = lx.sizes("n D k")
        >>> X, W, Y = lx.tensor("X", n, D), lx.tensor("W", D, k), lx.tensor("Y", n, k)
        >>> claim = lx.parse_latex(r"X^\top (X W - Y)", X=X, W=W, Y=Y)
        >>> lx.equal(claim, lx.gradient(lx.sqnorm(X @ W - Y) / 2, W)).name
        'proved'
    """
    if not isinstance(text, str):
        raise InvalidArgument(
            f"parse_latex: {text!r} of type {type(text).__name__}: expected a string of LaTeX."
        )
    if vec not in ("row", "column"):
        raise InvalidArgument(f"parse_latex: vec={vec!r}: expected 'row' or 'column'.")
    wanted = _shape(like, shape)
    known = collect(names, tensors)
    if like is not None:
        known.learn_sizes(like)
    letters = list(indices) if indices else None
    with reported(text):
        formula = read(text, known.words)
        ctx = Context(
            text,
            known,
            column_major=vec == "column",
            fits_target=wanted is not None or letters is not None,
            entrywise=entrywise,
            subscripted=frozenset(letters_in(formula.tokens)),
        )
        return _value(ctx, formula, wanted, letters)


@contextmanager
def reported(text: str) -> Iterator[None]:
    """Turn failures inside into errors that show the place in the text."""
    try:
        yield
    except Failure as failure:
        raise as_error(failure, text) from None
    except RecursionError:
        raise ParseError("the formula is nested too deeply; give its parts names.") from None


def defined_key(text: str, words: Collection[str] = ()) -> Key:
    """Return the name that a definition defines, without its indices.

    Raises:
        ParseError: the text is no definition.
    """
    return _defined_key(text, frozenset(words))


@lru_cache(maxsize=512)  # asked again for every change of a claim that is tried
def _defined_key(text: str, words: frozenset[str]) -> Key:
    with reported(text):
        return defined(Context(text, Names()), read_definition(text, words)[0])[1]


def define_latex(text: str, names: Names, vec: Literal["row", "column"] = "row") -> list[Named]:
    r"""Add a definition, ``P_{ih} = R_i W^{V\top}_h``, to names; return what was added.

    Raises:
        ParseError: the text is no definition, or its right side cannot be read.
    """
    with reported(text):
        definition, tokens = read_definition(text, names.words)
        letters = frozenset(letters_in(tokens))
        ctx = Context(text, names, column_major=vec == "column", fits_target=True, subscripted=letters)
        return define(ctx, definition)


def _value(ctx: Context, formula: r.Formula, shape: Shape | None, letters: list[str] | None) -> Tensor:
    ctx = with_definitions(ctx, formula.definitions)
    bare = bare_tensor(ctx, formula.whole)
    if bare is not None and bare.shape == (shape or bare.shape):
        return bare
    if letters is not None:
        expect_letters(ctx, letters, shape)
    form = mean(ctx, formula.whole)
    try:
        return tensor_of(ctx, form, shape, letters)
    except Failure:
        raise
    except LemmaxError as error:
        raise Failure((0, len(ctx.source)), str(error)) from error


def _shape(like: Tensor | None, shape: Sequence[Size | int] | None) -> Shape | None:
    if like is not None and shape is not None:
        raise InvalidArgument("parse_latex: give like= or shape=, not both.")
    if like is not None:
        if not isinstance(like, Tensor):
            raise InvalidArgument(f"parse_latex: like={like!r}: expected a tensor.")
        return like.shape
    return None if shape is None else tuple(as_size(s) for s in shape)
