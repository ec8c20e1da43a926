r"""Formal derivatives, evaluated by perturbing the variable.

In floating point by the complex step, exact to rounding; in multiprecision by central differences at
doubled precision, which also serve derivatives of derivatives.  All entries of the variable are
perturbed at once, along an extra leading axis.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lemmax.errors import UnsupportedYet
from lemmax.expr.nodes import Derivative
from lemmax.expr.tensor import Tensor
from lemmax.interpret.arrays import Array
from lemmax.interpret.complexes import COMPLEX, ComplexArithmetic
from lemmax.interpret.floating import FloatArithmetic
from lemmax.interpret.frame import Frame
from lemmax.interpret.multiprecision import MpArithmetic
from lemmax.interpret.parts import Run
from lemmax.interpret.program import Program
from lemmax.interpret.protocol import Arithmetic, Value

STEP = 1e-30  # its square is far below rounding, and tiny slopes times it do not underflow
CHUNK = 256  # entries of the variable that are perturbed at once: bounds the memory
FLOAT_DIGITS = 20  # for nested derivatives in floating point: more than float64 holds


def compile_derivative(node: Derivative) -> Run:
    """Return a function that computes a formal derivative."""
    program = Program([node.of])
    fixed, moving = _fixed(node, program)
    nested = any(isinstance(t, Derivative) for t in program.order)

    def run(frame: Frame) -> Value:
        arithmetic = frame.arithmetic
        known = _known(node, program, fixed, moving, frame)
        if isinstance(arithmetic, MpArithmetic):
            return _central(node, program, known, frame, arithmetic.digits)
        if not isinstance(arithmetic, FloatArithmetic):
            raise UnsupportedYet(
                f"{node.label()}: a formal derivative cannot be evaluated in the {arithmetic.name} "
                "arithmetic; work it out first (lx.gradient), or use 'float' or 'mpmath'."
            )
        if isinstance(arithmetic, ComplexArithmetic):
            known = {t: _real(node, x) for t, x in known.items()}
        if nested:
            return _central(node, program, known, frame, FLOAT_DIGITS).astype(float)
        return _complex_step(node, program, known, frame)

    return run


def _fixed(node: Derivative, program: Program) -> tuple[list[Tensor], set[str]]:
    """Return the tensors whose values stay fixed, and the digests of what changes with the variable."""
    if node.scope == "local":
        fixed = [t for t in node.of.operands if t != node.wrt]
        return fixed, {node.of.digest, node.wrt.digest}
    moving = {node.wrt.digest}
    for t in program.order:
        if any(operand.digest in moving for operand in t.operands):
            moving.add(t.digest)
    used = {operand.digest for t in program.order if t.digest in moving for operand in t.operands}
    used.add(node.of.digest)
    return [t for t in program.order if t.digest not in moving and t.digest in used], moving


def _known(
    node: Derivative, program: Program, fixed: list[Tensor], moving: set[str], frame: Frame
) -> dict[Tensor, Value]:
    """Return the values of what is held: the fixed tensors, the variable, and what the run itself holds."""
    # what lies only below held tensors was not computed, and is not needed either
    known = {t: frame.values[t.digest] for t in [*fixed, node.wrt] if t.digest in frame.values}
    if node.scope == "total":
        for t in program.order:
            if t.digest in frame.held and t.digest in moving:
                known[t] = frame.values[t.digest]
    return known


def _real(node: Derivative, x: Array) -> Array:
    if np.iscomplexobj(x) and np.any(x.imag != 0):
        raise UnsupportedYet(
            f"{node.label()}: a formal derivative at a complex point; derivatives of derivatives are "
            "evaluated from real arrays, in 'float' or 'mpmath'."
        )
    return np.real(x)


def _perturbed(
    node: Derivative,
    program: Program,
    known: dict[Tensor, Any],
    frame: Frame,
    arithmetic: Arithmetic,
    steps: Array,
) -> Array:
    """Return the value of ``of`` for each of ``steps`` (P, *wrt.shape) added to the variable."""
    lead = max(np.ndim(x) - t.ndim for t, x in known.items())
    x = np.asarray(known[node.wrt])
    x = x.reshape((1,) * (lead - x.ndim + node.wrt.ndim) + x.shape)
    steps = steps.reshape(len(steps), *(1,) * lead, *x.shape[lead:])
    given = {t.digest: value for t, value in known.items()}
    given[node.wrt.digest] = arithmetic.add(x, steps)
    result = program.compute(given, frozenset(given), frame.sizes, arithmetic).values[node.of.digest]
    shape = np.shape(result)
    inner = shape[len(shape) - node.of.ndim :]
    outer = np.broadcast_shapes((len(steps), *(1,) * lead), shape[: len(shape) - node.of.ndim])
    return np.asarray(np.broadcast_to(result, outer + inner))


def _assemble(derivative: Array, shape: tuple[int, ...]) -> Array:
    """Move the axis of perturbed entries to the end and give it the shape of the variable."""
    moved = np.moveaxis(derivative, 0, -1)
    return moved.reshape(moved.shape[:-1] + shape)


def _unit_steps(node: Derivative, known: dict[Tensor, Any], step: Any, dtype: Any) -> list[Array]:
    """Return one step for each entry of the variable, in chunks."""
    x = known[node.wrt]
    shape = np.shape(x)[np.ndim(x) - node.wrt.ndim :]
    count = int(np.prod(shape, dtype=int))
    chunks = []
    for start in range(0, count, CHUNK):
        stop = min(start + CHUNK, count)
        unit = np.zeros((stop - start, count), dtype=dtype)
        unit[np.arange(stop - start), np.arange(start, stop)] = step
        chunks.append(unit.reshape(stop - start, *shape))
    return chunks


def _complex_step(node: Derivative, program: Program, known: dict[Tensor, Any], frame: Frame) -> Array:
    chunks = _unit_steps(node, known, 1j * STEP, complex)
    rows = [np.imag(_perturbed(node, program, known, frame, COMPLEX, c)) / STEP for c in chunks]
    return _assemble(np.concatenate(rows), chunks[0].shape[1:])


def _central(
    node: Derivative, program: Program, known: dict[Tensor, Any], frame: Frame, digits: int
) -> Array:
    """Return ``(f(x + h) - f(x - h)) / 2h`` at doubled precision; the error is about ``10^(-4/3 digits)``."""
    fine = MpArithmetic(2 * digits + 10)
    exact = {t: fine.array(np.asarray(x)) for t, x in known.items()}
    largest = max([1, *(abs(e) for e in np.asarray(exact[node.wrt]).flat if fine.context.isfinite(e))])
    step = largest * fine.context.mpf(10) ** (-fine.context.mpf(2 * digits) / 3)
    chunks = _unit_steps(node, exact, step, object)
    rows = []
    for chunk in chunks:
        up = _perturbed(node, program, exact, frame, fine, chunk)
        down = _perturbed(node, program, exact, frame, fine, -chunk)
        rows.append((up - down) / (2 * step))
    result = _assemble(np.concatenate(rows), chunks[0].shape[1:])
    target = frame.arithmetic
    return target.array(result) if isinstance(target, MpArithmetic) else result
