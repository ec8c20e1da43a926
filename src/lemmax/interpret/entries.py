r"""Entries of tensors in a body: ``A[i, k]``, ``A[0, i]``, ``A[i, i]``, ``A[i + 1, j]``."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import sympy as sp

from lemmax.errors import EvaluationError
from lemmax.expr.indices import is_index
from lemmax.expr.tensor import Tensor
from lemmax.interpret.frame import Frame, compile_size
from lemmax.interpret.parts import Part, Run, Scope, alignment
from lemmax.interpret.protocol import Condition, IntArray, Value

Array: TypeAlias = npt.NDArray[Any]
IntegerRun: TypeAlias = Callable[[Frame], IntArray]
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def tensor_of(entry: sp.Indexed) -> Tensor:
    """Return the tensor that an entry belongs to."""
    tensor: Tensor = entry.base.label.tensor
    return tensor


def read(tensor: Tensor) -> Run:
    """Return a function that looks a tensor's value up."""
    digest = tensor.digest
    return lambda frame: frame.values[digest]


def is_plain(entry: sp.Indexed) -> bool:
    """Is every index of the entry an index symbol or a non-negative integer?"""
    return all(is_index(i) or (i.is_Integer and int(i) >= 0) for i in entry.indices)


def plain_entry(entry: sp.Indexed) -> tuple[tuple[sp.Symbol, ...], Run]:
    """Return the index symbols of a plain entry (by axis, with repetitions) and a function for its value."""
    tensor = tensor_of(entry)
    run = read(tensor)
    symbols = tuple(i for i in entry.indices if not i.is_Integer)
    if len(symbols) == len(entry.indices):
        return symbols, run
    key = (..., *[int(i) if i.is_Integer else slice(None) for i in entry.indices])
    needed = [(axis, int(i)) for axis, i in enumerate(entry.indices) if i.is_Integer]

    def take(frame: Frame) -> Value:
        value = run(frame)
        shape = frame.arithmetic.shape(value)[-tensor.ndim :]
        for axis, i in needed:
            if i >= shape[axis]:
                raise EvaluationError(
                    f"entry {entry}: index {i} is out of range on axis {axis} of {tensor.label()}, "
                    f"which has size {shape[axis]}."
                )
        return frame.arithmetic.rearrange(lambda x: x[key], value)

    return symbols, take


def compile_entry(entry: sp.Indexed, scope: Scope) -> Part:
    """Compile an entry whose indices may be any expressions in indices and sizes."""
    if not is_plain(entry):
        return _computed_entry(entry, scope)
    symbols, run = plain_entry(entry)
    indices = scope.sort(symbols)
    if symbols == indices:
        return Part(indices, run)
    letter = dict(zip(indices, LETTERS, strict=False))
    subscripts = f"...{''.join(letter[i] for i in symbols)}->...{''.join(letter[i] for i in indices)}"

    def move(x: Array) -> Array:
        return np.asarray(np.einsum(subscripts, x))

    return Part(indices, lambda frame: frame.arithmetic.rearrange(move, run(frame)))


def compile_index(expr: sp.Expr, scope: Scope) -> tuple[tuple[sp.Symbol, ...], IntegerRun]:
    """Compile an integer expression in indices and sizes to a function that fills its grid.

    Raises:
        EvaluationError: the expression is not made of sums and products of indices, sizes and integers.
    """
    indices = scope.sort(s for s in expr.free_symbols if is_index(s))

    def compile_node(node: sp.Expr) -> IntegerRun:
        if is_index(node):
            length = scope.ranges[node]
            key = alignment((node,), indices)[1:]
            return lambda frame: np.asarray(frame.arange(length(frame.sizes))[key])
        if not any(is_index(s) for s in node.free_symbols):
            size = compile_size(node)
            return lambda frame: np.array(size(frame.sizes))
        if node.is_Add or (node.is_Mul and all(a.is_integer for a in node.args)):
            parts = [compile_node(a) for a in node.args]
            join = operator.add if node.is_Add else operator.mul
            return lambda frame: functools.reduce(join, [part(frame) for part in parts])
        raise EvaluationError(
            f"the index {expr} cannot be computed: expected sums and products of indices, sizes and integers."
        )

    return indices, compile_node(expr)


def _computed_entry(entry: sp.Indexed, scope: Scope) -> Part:
    """Gather entries at computed indices; an index out of range reads as undefined."""
    tensor = tensor_of(entry)
    run = read(tensor)
    compiled = [compile_index(i, scope) for i in entry.indices]
    indices = scope.sort(s for symbols, _ in compiled for s in symbols)
    keys = [alignment(symbols, indices)[1:] for symbols, _ in compiled]

    def gather(frame: Frame) -> Value:
        arithmetic = frame.arithmetic
        value = run(frame)
        shape = arithmetic.shape(value)[-tensor.ndim :]
        grids = [at(frame)[key] for (_, at), key in zip(compiled, keys, strict=True)]
        inside = np.array(True)
        for axis, (grid, length) in enumerate(zip(grids, shape, strict=True)):
            if not compiled[axis][0] and not 0 <= grid.flat[0] < length:  # fixed by the sizes alone
                raise EvaluationError(
                    f"entry {entry}: index {grid.flat[0]} is out of range on axis {axis} of "
                    f"{tensor.label()}, which has size {length}."
                )
            inside = inside & (grid >= 0) & (grid < length)
        clipped = tuple(np.clip(g, 0, n - 1) for g, n in zip(grids, shape, strict=True))
        found = arithmetic.rearrange(lambda x: x[(..., *clipped)], value)
        if inside.all():
            return found
        return arithmetic.select(Condition(inside), found, arithmetic.constant("nan"))

    return Part(indices, gather)
