r"""The reading *sample*: theorems are tried on instances drawn at random and made adversarial.

* :func:`check` draws instances, compares both sides, shrinks failures and refutes mutants;
* :func:`check_instance` evaluates a theorem on given arrays;
* :func:`check_gradient` and :func:`taylor_slope` examine a user's own gradient code;
* :func:`trajectory` runs gradient descent with the derived gradient.
"""

from __future__ import annotations

from lemmax.check.gradients import GradientReport, check_gradient, taylor_slope
from lemmax.check.instance import check_instance
from lemmax.check.iterate import Trajectory, trajectory
from lemmax.check.run import check

__all__ = [
    "GradientReport",
    "Trajectory",
    "check",
    "check_gradient",
    "check_instance",
    "taylor_slope",
    "trajectory",
]
