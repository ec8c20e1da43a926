r"""Gradient descent: convergence claims are checked by running it with the derived gradient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lemmax.calculus.gradient import gradient
from lemmax.check.decide import CLOSE, FALSE, GUARD, TRUE
from lemmax.check.readings import Readers, Sizes
from lemmax.check.settle import Settled, digits_to_show, text_of
from lemmax.expr.nodes import Input
from lemmax.expr.tensor import Tensor, identifier
from lemmax.statement.convergence import BACKTRACKING, Convergence
from lemmax.statement.instances import Arrays
from lemmax.statement.verdict import Comparison

Array = npt.NDArray[Any]

SUSPICION = 1e-9
"""In float64 a loss that exceeds its bound by less than this, relative, is left undecided; one that exceeds
it by more is only suspected: the descent is run again in multiprecision before anything is refuted."""

FLOOR = 1e-13
"""Losses below this times the first one are not compared: rounding of F - Y has taken over."""

DESCENT_DIGITS = (50, 100)
HALVINGS = 60  # 2^-60: a step this small moves nothing in float64


class TrajectoryOutcome(NamedTuple):
    """State of a convergence claim on one instance with its closest comparison."""

    state: int
    slack: float
    lhs: float
    rhs: float


@dataclass(frozen=True, slots=True)
class Trajectory:
    """Losses and last iterates of a descent (leading axis: instances, in float64).

    Attributes:
        losses: f_0, ..., f_T.
        steps: step sizes used.
        arrays: all inputs, with the variables at their last values.
        gradient_squares: squared norms of the gradients at the iterates that were left.
    """

    losses: list[Any]
    steps: list[Any]
    arrays: Arrays
    gradient_squares: list[Any]


class Descent:
    """A convergence claim, prepared."""

    def __init__(self, claim: Convergence, readers: Readers) -> None:
        """Derive the gradient."""
        self.claim = claim
        self.readers = readers
        self.gradients = gradients_of(claim.loss, claim.variables)
        self._constants = [t for t in (claim.step, claim.rate) if isinstance(t, Tensor)]

    def judge(self, arrays: Arrays, sizes: Sizes) -> list[TrajectoryOutcome]:
        """Return the outcome on each instance of a batch, in float64."""
        count = len(next(iter(arrays.values())))
        constants = self.readers.of(self._constants).floats(arrays, sizes) if self._constants else {}
        step, rate = (_constant(v, constants) for v in (self.claim.step, self.claim.rate))
        with np.errstate(all="ignore"):
            path = self._float_path(arrays, sizes, step)
        losses = np.array([np.broadcast_to(f, (count,)) for f in path.losses])  # (T + 1, k)
        return [
            self._outcome(losses[:, k], rate if rate is None else np.broadcast_to(rate, (count,))[k])
            for k in range(count)
        ]

    def _float_path(self, arrays: Arrays, sizes: Sizes, step: Any) -> Trajectory:
        return descend(self.claim, self.gradients, _FloatModel(self, sizes), arrays, step)

    def _outcome(self, losses: Array, rate: float | None) -> TrajectoryOutcome:
        first = float(losses[0])
        times = range(1, len(losses)) if rate is not None else [len(losses) - 1]
        worst = TrajectoryOutcome(TRUE, np.inf, np.nan, np.nan)
        for t in times:
            bound = first * rate**t if rate is not None else first * float(self.claim.reaches or 0.0)
            loss = float(losses[t])
            if rate is not None and max(loss, bound) <= FLOOR * first:
                break
            if not np.isfinite(loss):
                return TrajectoryOutcome(FALSE, -np.inf, loss, bound)
            size = max(abs(loss), abs(bound))
            margin = (bound - loss) / size if size else 0.0
            state = FALSE if margin < -SUSPICION else TRUE if margin > SUSPICION else CLOSE
            if (state, margin) < (worst.state, worst.slack):
                worst = TrajectoryOutcome(state, margin, loss, bound)
        return worst

    def settle(self, arrays: Arrays, sizes: Sizes, name: str = "") -> Settled:
        """Run the descent on one instance with 50 and with 100 digits, and decide."""
        coarse, fine = (self._precise_path(arrays, sizes, digits) for digits in DESCENT_DIGITS)
        return _settle_paths(self.claim, coarse, fine, name or self.claim.name or "gradient descent")

    def _precise_path(self, arrays: Arrays, sizes: Sizes, digits: int) -> tuple[list[Any], Any]:
        import mpmath

        with mpmath.workdps(digits):
            constants = (
                self.readers.of(self._constants).precise(arrays, sizes, digits) if self._constants else {}
            )
            step, rate = (
                c.item() if isinstance(c, np.ndarray) else c
                for c in (_constant(v, constants) for v in (self.claim.step, self.claim.rate))
            )
            path = descend(self.claim, self.gradients, _PreciseModel(self, sizes, digits), arrays, step)
            return path.losses, rate


class _FloatModel:
    """Loss and gradients in float64, on a batch."""

    def __init__(self, descent: Descent, sizes: Sizes) -> None:
        self.descent, self.sizes = descent, sizes

    def value(self, arrays: Arrays) -> Any:
        loss = self.descent.claim.loss
        return self.descent.readers.of([loss]).floats(arrays, self.sizes)[loss.digest]

    def value_and_gradients(self, arrays: Arrays) -> tuple[Any, list[Any]]:
        loss, grads = self.descent.claim.loss, self.descent.gradients
        values = self.descent.readers.of([loss, *grads]).floats(arrays, self.sizes)
        return values[loss.digest], [values[g.digest] for g in grads]

    def square(self, grads: Sequence[Any]) -> Any:
        return sum((g.reshape(len(g), -1) ** 2).sum(axis=1) for g in grads)

    def select(self, where: Any, new: Any, old: Any) -> Any:
        return np.where(where.reshape(where.shape + (1,) * (new.ndim - where.ndim)), new, old)

    def scaled(self, step: Any, grad: Any) -> Any:
        return np.reshape(step, np.shape(step) + (1,) * (grad.ndim - np.ndim(step))) * grad

    def ones(self, loss: Any) -> Any:
        return np.ones(np.shape(loss))


class _PreciseModel:
    """Loss and gradients in multiprecision, on one instance."""

    def __init__(self, descent: Descent, sizes: Sizes, digits: int) -> None:
        self.descent, self.sizes, self.digits = descent, sizes, digits

    def value(self, arrays: Arrays) -> Any:
        loss = self.descent.claim.loss
        return self.descent.readers.of([loss]).precise(arrays, self.sizes, self.digits)[loss.digest].item()

    def value_and_gradients(self, arrays: Arrays) -> tuple[Any, list[Any]]:
        loss, grads = self.descent.claim.loss, self.descent.gradients
        values = self.descent.readers.of([loss, *grads]).precise(arrays, self.sizes, self.digits)
        return values[loss.digest].item(), [values[g.digest] for g in grads]

    def square(self, grads: Sequence[Any]) -> Any:
        return sum(x * x for g in grads for x in np.asarray(g).flat)

    def select(self, where: Any, new: Any, old: Any) -> Any:
        return new if where else old

    def scaled(self, step: Any, grad: Any) -> Any:
        return step * grad

    def ones(self, loss: Any) -> Any:
        return loss * 0 + 1


def descend(
    claim: Convergence, gradients: Sequence[Tensor], model: Any, arrays: Arrays, step: Any
) -> Trajectory:
    """Run gradient descent, on a batch in float64 or on one instance in multiprecision."""
    names = [identifier(str(v.name)) for v in claim.variables]
    now = dict(arrays)
    losses, steps, squares = [], [], []
    loss, grads = model.value_and_gradients(now)
    eta = model.ones(loss)
    for _ in range(claim.steps):
        losses.append(loss)
        squares.append(model.square(grads))
        eta = backtrack(model, now, names, loss, grads, 2 * eta) if claim.step == BACKTRACKING else step
        steps.append(eta)
        now = moved(model, now, names, grads, eta)
        loss, grads = model.value_and_gradients(now)
    losses.append(loss)
    return Trajectory(losses, steps, now, squares)


def moved(model: Any, arrays: Arrays, names: Sequence[str], grads: Sequence[Any], eta: Any) -> Arrays:
    """Return the arrays after a step."""
    return {**arrays, **{n: arrays[n] - model.scaled(eta, g) for n, g in zip(names, grads, strict=True)}}


def backtrack(
    model: Any, arrays: Arrays, names: Sequence[str], loss: Any, grads: Sequence[Any], eta: Any
) -> Any:
    r"""Halve the step until :math:`f_{t+1} \le f_t - \tfrac{\eta}{2} \|g\|^2`; failing that, do not move."""
    square = model.square(grads)
    for _ in range(HALVINGS):
        new = model.value(moved(model, arrays, names, grads, eta))
        good = new <= loss - eta * square / 2
        if np.all(good):
            return eta
        eta = model.select(np.asarray(good), eta, eta / 2)
    return model.select(np.asarray(good), eta, eta * 0)


def gradients_of(loss: Tensor, variables: tuple[Input, ...]) -> tuple[Tensor, ...]:
    """Return the gradients of a loss in several inputs."""
    found = gradient(loss, variables)
    return tuple(found) if isinstance(found, tuple | list) else (found,)


def _constant(value: Any, values: dict[str, Array]) -> Any:
    return values[value.digest] if isinstance(value, Tensor) else value


def _settle_paths(
    claim: Convergence, coarse: tuple[list[Any], Any], fine: tuple[list[Any], Any], name: str
) -> Settled:
    """Compare each loss with its bound; the two precisions bound the error of the finer one."""
    import mpmath

    digits = DESCENT_DIGITS[1]
    with mpmath.workdps(digits):
        pairs = [_bounds(claim, losses, rate) for losses, rate in (coarse, fine)]
        found: list[tuple[int, Any, int, Any, Any]] = []
        for (t, l0, b0), (_, l1, b1) in zip(*pairs, strict=True):
            error = (
                abs(l1 - l0)
                + abs(b1 - b0)
                + mpmath.mpf(10) ** (GUARD - DESCENT_DIGITS[0]) * (abs(l1) + abs(b1))
            )
            gap = b1 - l1
            state = TRUE if gap > error else FALSE if gap < -error else CLOSE
            found.append((state, gap, t, l1, b1))
        state, _, t, loss, bound = min(found, key=lambda item: (item[0], item[1]))
        shown = digits_to_show(loss, bound, digits)
        comparison = Comparison(
            name,
            "<=",
            text_of(loss, shown),
            text_of(bound, shown),
            (t,),
            digits,
            {TRUE: True, FALSE: False, CLOSE: None}[state],
        )
    return Settled(state, comparison, digits)


def _bounds(claim: Convergence, losses: list[Any], rate: Any) -> list[tuple[int, Any, Any]]:
    """Return (t, f_t, claimed bound on f_t) for the times that the claim speaks about."""
    import mpmath

    if rate is None:
        last = len(losses) - 1
        return [(last, losses[last], losses[0] * mpmath.mpf(claim.reaches))]
    return [(t, losses[t], losses[0] * mpmath.mpf(rate) ** t) for t in range(1, len(losses))]
