r"""Convergence claims: descent is run with the derived gradient, each loss compared with its bound."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lemmax.check.decide import CLOSE, FALSE, TRUE, error_of
from lemmax.check.iterate import FloatModel, PreciseModel, descend, gradients_of
from lemmax.check.readings import Readers, Sizes
from lemmax.check.settle import FEWEST_SHOWN, Settled, agreement_of, digits_to_show, text_of
from lemmax.check.watched import Watch
from lemmax.expr.tensor import Tensor, identifier
from lemmax.statement.convergence import Convergence
from lemmax.statement.instances import Arrays
from lemmax.statement.verdict import Comparison

Array = npt.NDArray[Any]

SUSPICION = 1e-9
"""In float64 a loss that exceeds its bound by less than this, relative, is left undecided; one that exceeds
it by more is only suspected: the descent is run again in multiprecision before anything is refuted."""

FLOOR = 1e-13
"""Losses below this times the first one are not compared: rounding of F - Y has taken over."""

DESCENT_DIGITS = (50, 100)


class PathOutcome(NamedTuple):
    """State of a convergence claim on one instance, with its closest comparison."""

    state: int
    slack: float
    lhs: float
    rhs: float


class Descent:
    """A convergence claim, prepared."""

    def __init__(self, claim: Convergence, readers: Readers) -> None:
        """Derive the gradients."""
        self.claim = claim
        self._readers = readers
        self._gradients = gradients_of(claim.loss, claim.variables)
        self._names = [identifier(str(v.name)) for v in claim.variables]
        self._constants = [t for t in (claim.step, claim.rate) if isinstance(t, Tensor)]

    def judge(self, arrays: Arrays, sizes: Sizes) -> list[PathOutcome]:
        """Return the outcome on each instance of a batch, in float64."""
        count = len(next(iter(arrays.values())))
        values = self._readers.of(self._constants).floats(arrays, sizes) if self._constants else {}
        step, rate = (_constant(v, values) for v in (self.claim.step, self.claim.rate))
        model = FloatModel(self._readers, self.claim.loss, self._gradients, sizes)
        with np.errstate(all="ignore"):
            path = descend(model, self._names, arrays, step, self.claim.steps)
        losses = np.array([np.broadcast_to(f, (count,)) for f in path.losses])  # (T + 1, instances)
        rates = [None] * count if rate is None else np.broadcast_to(rate, (count,)).tolist()
        return [self._outcome(losses[:, k], r) for k, r in enumerate(rates)]

    def _outcome(self, losses: Array, rate: float | None) -> PathOutcome:
        first = float(losses[0])
        times = range(1, len(losses)) if rate is not None else [len(losses) - 1]
        worst = PathOutcome(TRUE, np.inf, np.nan, np.nan)
        for t in times:
            bound = first * rate**t if rate is not None else first * float(self.claim.reaches or 0.0)
            loss = float(losses[t])
            if rate is not None and max(loss, bound) <= FLOOR * first:
                break
            if not np.isfinite(loss):
                return PathOutcome(FALSE, -np.inf, loss, bound)
            size = max(abs(loss), abs(bound))
            margin = (bound - loss) / size if size else 0.0
            state = FALSE if margin < -SUSPICION else TRUE if margin > SUSPICION else CLOSE
            if (state, margin) < (worst.state, worst.slack):
                worst = PathOutcome(state, margin, loss, bound)
        return worst

    def settle(self, arrays: Arrays, sizes: Sizes) -> Settled:
        """Run the descent on one instance with 50 and with 100 digits, and decide."""
        import mpmath

        coarse, fine = (self._precise_bounds(arrays, sizes, digits) for digits in DESCENT_DIGITS)
        watch = coarse[1].joined(fine[1])
        digits = DESCENT_DIGITS[1]
        found: list[tuple[int, Any, int, Any, Any]] = []
        with mpmath.workdps(digits):
            for (t, l0, b0), (_, l1, b1) in zip(coarse[0], fine[0], strict=True):
                gap, error = b1 - l1, error_of(l0, l1, watch) + error_of(b0, b1, watch)
                found.append((TRUE if gap > error else FALSE if gap < -error else CLOSE, gap, t, l1, b1))
            state, _, t, loss, bound = min(found, key=lambda item: (item[0], item[1]))
        shown = digits_to_show(loss, bound, digits) if state != CLOSE else FEWEST_SHOWN
        comparison = Comparison(
            self.claim.name or "gradient descent",
            "<=",
            text_of(loss, shown),
            text_of(bound, shown),
            (t,),
            digits,
            {TRUE: True, FALSE: False, CLOSE: None}[state],
        )
        return Settled(state, comparison, digits, watch.is_tame, agreement_of(loss, bound, digits))

    def _precise_bounds(
        self, arrays: Arrays, sizes: Sizes, digits: int
    ) -> tuple[list[tuple[int, Any, Any]], Watch]:
        """Return (t, f_t, claimed bound on f_t) for the times that the claim speaks about."""
        import mpmath

        with mpmath.workdps(digits):
            values: dict[str, Array] = {}
            if self._constants:
                values, _ = self._readers.of(self._constants).precise(arrays, sizes, digits)
            step, rate = (_number(_constant(v, values)) for v in (self.claim.step, self.claim.rate))
            model = PreciseModel(self._readers, self.claim.loss, self._gradients, sizes, digits)
            path = descend(model, self._names, arrays, step, self.claim.steps)
            losses, last = path.losses, self.claim.steps
            if rate is None:
                bounds = [(last, losses[last], losses[0] * mpmath.mpf(self.claim.reaches))]
            else:
                bounds = [(t, losses[t], losses[0] * mpmath.mpf(rate) ** t) for t in range(1, last + 1)]
            return bounds, model.watch


def _constant(value: Any, values: dict[str, Array]) -> Any:
    return values[value.digest] if isinstance(value, Tensor) else value


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, np.ndarray) else value
