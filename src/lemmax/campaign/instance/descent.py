r"""Gradient descent on an instance, by generated code: loss and gradients are compiled, then run.

On W^V alone the loss is a convex quadratic and the step is 1/L.  On all weights the step is found by
backtracking: from 1, or twice the last one, halved until
:math:`f_{t+1} \le f_t - \tfrac{\eta}{2} \|\nabla f\|^2`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np

from lemmax.calculus.gradient import gradient
from lemmax.campaign.instance.archive import Array
from lemmax.campaign.instance.setup import Instance, model_of
from lemmax.codegen import compile as generate
from lemmax.models.attention import Kernel

FLOOR = 1e-14
"""Below this times f_0 losses say nothing: rounding of F - Y takes over."""

HALVINGS = 60
LETTERS = ("WQ", "WK", "WV", "WO")

Trend = Literal["kept", "undecided", "broken"]


@dataclass(frozen=True, slots=True)
class Path:
    """What a descent did.

    Attributes:
        losses: f_0, ..., f_T, down to the floor.
        steps: step sizes.
        distance: Frobenius distance of the last weights from the first.
        noise: bound on the relative rounding error of each loss.
    """

    losses: tuple[float, ...]
    steps: tuple[float, ...]
    distance: float
    noise: tuple[float, ...]

    @property
    def factors(self) -> tuple[float, ...]:
        """f_{t+1} / f_t, step by step."""
        return tuple(b / a for a, b in zip(self.losses, self.losses[1:], strict=False) if a > 0)

    @property
    def decrease(self) -> float:
        """f_T / f_0."""
        return self.losses[-1] / self.losses[0] if self.losses[0] > 0 else 0.0

    @property
    def worst(self) -> float | None:
        """The largest factor of a step."""
        return max(self.factors, default=None)

    @property
    def mean(self) -> float | None:
        """The geometric mean of the factors."""
        count = len(self.losses) - 1
        if count < 1 or self.losses[0] <= 0:
            return None
        return float((self.losses[-1] / self.losses[0]) ** (1.0 / count))

    def against(self, bounds: Sequence[float]) -> Trend:
        """Say whether each step's factor kept to its bound, as far as rounding lets this be told."""
        trend: Trend = "kept"
        for t, (factor, bound) in enumerate(zip(self.factors, bounds, strict=False)):
            allowed = 2 * (self.noise[t] + self.noise[t + 1]) * factor
            if factor > bound + allowed:
                return "broken"
            if factor > bound - allowed:
                trend = "undecided"
        return trend


@cache
def compiled(kernel: Kernel, names: tuple[str, ...]) -> Callable[..., Any]:
    """Return the generated function for loss, residual and gradients in some weights."""
    model = model_of(kernel)
    wanted = [model.weights[LETTERS.index(name)] for name in names]
    found = gradient(model.loss, tuple(wanted))
    return generate([model.loss, model.R, model.B, *found])


@cache
def compiled_loss(kernel: Kernel) -> Callable[..., float]:
    """Return the generated function for the loss alone."""
    return generate(model_of(kernel).loss)


def descend_values(kernel: Kernel, instance: Instance, step: float, steps: int) -> Path:
    """Run gradient descent on W^V with a fixed step."""
    return _descend(compiled(kernel, ("WV",)), instance, ("WV",), steps, lambda state: step)


def descend_all(kernel: Kernel, instance: Instance, steps: int) -> Path:
    """Run gradient descent on all four weights, with backtracking."""
    loss_at = compiled_loss(kernel)
    fixed = {name: array for name, array in instance.arrays.items() if name not in LETTERS}
    last = 0.5

    def search(state: _State) -> float:
        nonlocal last
        step = 2 * last
        for _ in range(HALVINGS):
            if loss_at(**fixed, **state.moved(step)) <= state.loss - step / 2 * state.square:
                last = step
                return step
            step /= 2
        return 0.0

    return _descend(compiled(kernel, LETTERS), instance, LETTERS, steps, search)


@dataclass(frozen=True, slots=True)
class _State:
    """Weights with the loss and its gradients there, and the norms that its rounding error depends on."""

    weights: Mapping[str, Array]
    loss: float
    residual: float
    scale: float
    gradients: Mapping[str, Array]

    @property
    def square(self) -> float:
        """Squared norm of the gradient."""
        return float(sum(np.sum(g * g) for g in self.gradients.values()))

    def moved(self, step: float) -> dict[str, Array]:
        """Return the weights after a step."""
        return {k: w - step * self.gradients[k] for k, w in self.weights.items()}


def _descend(
    run: Callable[..., Any],
    instance: Instance,
    names: tuple[str, ...],
    steps: int,
    choose: Callable[[_State], float],
) -> Path:
    start = {name: instance.arrays[name] for name in names}
    others = {name: array for name, array in instance.arrays.items() if name not in names}
    target = float(np.linalg.norm(instance.arrays["Y"]))
    H = instance.sizes["H"]
    depth = sum(instance.sizes[s] for s in ("n", "D", "v", "H"))

    def evaluate(weights: Mapping[str, Array]) -> _State:
        loss, residual, B, *grads = run(**others, **weights)
        size = float(np.linalg.norm(residual))
        heads = {**instance.arrays, **weights}
        products = [float(np.prod([np.linalg.norm(heads[k][h]) for k in ("WV", "WO")])) for h in range(H)]
        scale = target + float(np.linalg.norm(B)) * float(np.linalg.norm(products))
        return _State(weights, float(loss), size, scale, dict(zip(names, grads, strict=True)))

    def noise_of(state: _State) -> float:
        # the rounding error of R = F - Y is relative to |Y| and to the products that F is the sum of
        error = depth * np.finfo(float).eps * state.scale
        return 2 * error / state.residual if state.residual else np.inf

    state = evaluate(start)
    losses, noise = [state.loss], [noise_of(state)]
    taken: list[float] = []
    while len(taken) < steps and losses[-1] > FLOOR * losses[0]:
        step = choose(state)
        if step == 0.0:
            break
        state = evaluate(state.moved(step))
        if not np.isfinite(state.loss):
            break
        taken.append(step)
        losses.append(state.loss)
        noise.append(noise_of(state))
    moved = sum(float(np.sum((state.weights[k] - w) ** 2)) for k, w in start.items())
    return Path(tuple(losses), tuple(taken), float(np.sqrt(moved)), tuple(noise))
