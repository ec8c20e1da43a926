r"""The claim that an algorithm reaches something at a rate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from lemmax.errors import InvalidArgument
from lemmax.expr.nodes import Input
from lemmax.expr.tensor import Tensor
from lemmax.statement.kinds import as_inputs, is_a

BACKTRACKING: Literal["backtracking"] = "backtracking"


@dataclass(frozen=True, slots=True)
class Convergence:
    r"""Gradient descent on some inputs, all others held fixed, and what its losses do.

    The iteration is :math:`w_{t+1} = w_t - \eta \nabla_w f(w_t)`, from the values in the instance.
    Exactly one of the two claims is made:

    * ``rate``: :math:`f_t \le \rho^t f_0` for :math:`1 \le t \le T`;
    * ``reaches``: :math:`f_T \le \varepsilon f_0`.

    Attributes:
        loss: :math:`f`, a scalar.
        variables: the inputs that move.
        step: :math:`\eta`: a number, a scalar tensor (its value at the start is used throughout), or
            ``"backtracking"``: from 1, or twice the last one, halved until
            :math:`f_{t+1} \le f_t - \tfrac{\eta}{2} \|\nabla f(w_t)\|^2`.
        steps: :math:`T`.
        rate: :math:`\rho`, a scalar tensor or a number, taken at the start.
        reaches: :math:`\varepsilon`, a number.
        name: the claim in words, if given.
    """

    loss: Tensor
    variables: tuple[Input, ...]
    step: Tensor | float | Literal["backtracking"]
    steps: int
    rate: Tensor | float | None = None
    reaches: float | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        """Check each part.

        Raises:
            InvalidArgument: a part is missing or of the wrong kind.
        """
        object.__setattr__(self, "variables", as_inputs("Convergence: variables", self.variables))
        if not is_a(self.loss, Tensor) or self.loss.ndim:
            raise InvalidArgument(f"Convergence: the loss must be a scalar tensor, got {self.loss!r}.")
        if is_a(self.steps, bool) or not is_a(self.steps, int) or self.steps < 1:
            raise InvalidArgument(f"Convergence: steps={self.steps!r}: expected an integer of at least 1.")
        if isinstance(self.step, str) and self.step != BACKTRACKING:
            raise InvalidArgument(
                f"Convergence: step={self.step!r}: expected a number, a scalar tensor or 'backtracking'."
            )
        if (self.rate is None) == (self.reaches is None):
            raise InvalidArgument(
                "Convergence: give exactly one of rate= (f_t <= rate^t f_0) and reaches= "
                "(f_T <= reaches f_0)."
            )
        for what in ("step", "rate"):
            value = getattr(self, what)
            if isinstance(value, Tensor) and value.ndim:
                raise InvalidArgument(f"Convergence: {what} must be a scalar, got {value.label()}.")

    def named(self, name: str) -> Convergence:
        """Return the claim under a name."""
        return replace(self, name=name)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """The tensors that the claim speaks about."""
        return (self.loss, *self.variables, *(t for t in (self.step, self.rate) if isinstance(t, Tensor)))
