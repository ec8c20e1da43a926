r"""The iteration of gradient descent, in float64 on a batch or in multiprecision on one instance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from lemmax.calculus.gradient import gradient
from lemmax.check.readings import Readers, Sizes, single, stacked
from lemmax.check.watched import Watch
from lemmax.errors import InvalidArgument
from lemmax.expr.nodes import Input
from lemmax.expr.tensor import Tensor, identifier
from lemmax.statement.convergence import BACKTRACKING
from lemmax.statement.instances import Arrays

Array = npt.NDArray[Any]

HALVINGS = 60  # 2^-60: a step this small moves nothing in float64


@dataclass(frozen=True, slots=True)
class Trajectory:
    """A descent.

    Attributes:
        losses: f_0, ..., f_T.
        steps: the step sizes used, T of them.
        gradient_squares: squared norms of the gradients at the iterates 0, ..., T - 1.
        arrays: all inputs, with the variables at their last values.
    """

    losses: list[Any]
    steps: list[Any]
    gradient_squares: list[Any]
    arrays: Arrays


class Model(Protocol):
    """What the iteration asks for: loss and gradients, and how numbers are combined."""

    def value(self, arrays: Arrays) -> Any:
        """Return the loss."""

    def value_and_gradients(self, arrays: Arrays) -> tuple[Any, list[Any]]:
        """Return loss and gradients."""

    def square(self, grads: Sequence[Any]) -> Any:
        """Return the sum of squares of all entries."""

    def moved(self, x: Any, step: Any, grad: Any) -> Any:
        """Return ``x`` after a step."""

    def select(self, where: Any, new: Any, old: Any) -> Any:
        """Return ``new`` where the condition holds, else ``old``."""


class FloatModel:
    """Loss and gradients in float64; arrays have a leading axis of instances."""

    def __init__(self, readers: Readers, loss: Tensor, gradients: Sequence[Tensor], sizes: Sizes) -> None:
        """Prepare."""
        self._loss, self._gradients, self._sizes = loss, tuple(gradients), sizes
        self._lone, self._all = readers.of([loss]), readers.of([loss, *gradients])

    def value(self, arrays: Arrays) -> Any:
        """Return the losses."""
        return self._lone.floats(arrays, self._sizes)[self._loss.digest]

    def value_and_gradients(self, arrays: Arrays) -> tuple[Any, list[Any]]:
        """Return losses and gradients."""
        values = self._all.floats(arrays, self._sizes)
        return values[self._loss.digest], [values[g.digest] for g in self._gradients]

    def square(self, grads: Sequence[Any]) -> Any:
        """Return sums of squares by instance."""
        return sum((g.reshape(len(g), -1) ** 2).sum(axis=1) for g in grads)

    def moved(self, x: Any, step: Any, grad: Any) -> Any:
        """Return ``x`` after a step (a number, or one per instance); what has diverged is infinite."""
        new = x - np.reshape(step, np.shape(step) + (1,) * (grad.ndim - np.ndim(step))) * grad
        return np.where(np.isnan(new), np.inf, new)

    def select(self, where: Any, new: Any, old: Any) -> Any:
        """Return steps by instance."""
        return np.where(where, new, old)


class PreciseModel:
    """Loss and gradients in multiprecision, on one instance.

    Attributes:
        watch: what all evaluations met.
    """

    def __init__(
        self, readers: Readers, loss: Tensor, gradients: Sequence[Tensor], sizes: Sizes, digits: int
    ) -> None:
        """Prepare."""
        self._loss, self._gradients, self._sizes, self._digits = loss, tuple(gradients), sizes, digits
        self._lone, self._all = readers.of([loss]), readers.of([loss, *gradients])
        self.watch = Watch(digits)

    def value(self, arrays: Arrays) -> Any:
        """Return the loss."""
        values, watch = self._lone.precise(arrays, self._sizes, self._digits)
        self.watch = self.watch.joined(watch)
        return values[self._loss.digest].item()

    def value_and_gradients(self, arrays: Arrays) -> tuple[Any, list[Any]]:
        """Return loss and gradients."""
        values, watch = self._all.precise(arrays, self._sizes, self._digits)
        self.watch = self.watch.joined(watch)
        return values[self._loss.digest].item(), [values[g.digest] for g in self._gradients]

    def square(self, grads: Sequence[Any]) -> Any:
        """Return the sum of squares."""
        return sum(x * x for g in grads for x in np.asarray(g).flat)

    def moved(self, x: Any, step: Any, grad: Any) -> Any:
        """Return ``x`` after a step."""
        return x - step * grad

    def select(self, where: Any, new: Any, old: Any) -> Any:
        """Return one of two steps."""
        return new if where else old


def descend(model: Model, names: Sequence[str], arrays: Arrays, step: Any, steps: int) -> Trajectory:
    """Run gradient descent on the inputs called ``names``."""
    now = dict(arrays)
    losses, used, squares = [], [], []
    loss, grads = model.value_and_gradients(now)
    eta = loss * 0 + 1
    for _ in range(steps):
        losses.append(loss)
        squares.append(model.square(grads))
        chosen = isinstance(step, str) and step == BACKTRACKING
        eta = backtrack(model, now, names, loss, grads, 2 * eta) if chosen else step
        used.append(eta)
        now = moved(model, now, names, grads, eta)
        loss, grads = model.value_and_gradients(now)
    losses.append(loss)
    return Trajectory(losses, used, squares, now)


def moved(model: Model, arrays: Arrays, names: Sequence[str], grads: Sequence[Any], eta: Any) -> Arrays:
    """Return the arrays after a step."""
    new = {n: model.moved(arrays[n], eta, g) for n, g in zip(names, grads, strict=True)}
    return {**arrays, **new}


def backtrack(
    model: Model, arrays: Arrays, names: Sequence[str], loss: Any, grads: Sequence[Any], eta: Any
) -> Any:
    r"""Halve the step until :math:`f_{t+1} \le f_t - \tfrac{\eta}{2} \|g\|^2`; failing that, do not move."""
    square = model.square(grads)
    good: Any = False
    for _ in range(HALVINGS):
        new = model.value(moved(model, arrays, names, grads, eta))
        good = np.asarray(new <= loss - eta * square / 2)
        if good.all():
            return eta
        eta = model.select(good, eta, eta / 2)
    return model.select(good, eta, eta * 0)


def gradients_of(loss: Tensor, variables: Sequence[Input]) -> tuple[Tensor, ...]:
    """Return the gradients of a loss in several inputs."""
    return tuple(gradient(loss, tuple(variables)))


def trajectory(
    loss: Tensor,
    variables: Input | Sequence[Input],
    arrays: Mapping[str, Any],
    step: float | Literal["backtracking"] = BACKTRACKING,
    steps: int = 100,
    sizes: Mapping[str, int] | None = None,
) -> Trajectory:
    r"""Run gradient descent with the derived gradient on given arrays, in float64.

    Args:
        loss: a scalar.
        variables: the inputs that move.
        arrays: all inputs by code name.
        step: step size, or ``"backtracking"``: from 1, or twice the last one, halved until
            :math:`f_{t+1} \le f_t - \tfrac{\eta}{2} \|g\|^2`.
        steps: number of steps.
        sizes: sizes that the arrays do not determine.

    Raises:
        InvalidArgument: the number of steps is not positive.
    """
    if steps < 1:
        raise InvalidArgument(f"trajectory: steps={steps!r}: expected an integer of at least 1.")
    moving = (variables,) if isinstance(variables, Input) else tuple(variables)
    readers = Readers()
    model = FloatModel(readers, loss, gradients_of(loss, moving), sizes or {})
    batch = stacked([{k: np.asarray(v, dtype=float) for k, v in arrays.items()}])
    path = descend(model, [identifier(str(v.name)) for v in moving], batch, step, steps)
    losses, used, squares = (
        [float(np.reshape(x, -1)[0]) for x in part]
        for part in (path.losses, path.steps, path.gradient_squares)
    )
    return Trajectory(losses, used, squares, single(path.arrays, 0))
