r"""The reading *sample*: theorems are tried on instances drawn at random and made adversarial.

* :func:`check` draws instances, compares both sides, shrinks failures and refutes mutants;
* :func:`check_instance` evaluates a theorem on given arrays;
* :func:`check_gradient` and :func:`taylor_slope` examine a user's own gradient code;
* :class:`Descent` runs the descent that a convergence claim speaks about.
"""

from __future__ import annotations

from lemmax.check.descent import Descent, Trajectory
from lemmax.check.gradients import GradientReport, check_gradient, taylor_slope
from lemmax.check.instance import check_instance
from lemmax.check.run import check

__all__ = [
    "Descent",
    "GradientReport",
    "Trajectory",
    "check",
    "check_gradient",
    "check_instance",
    "taylor_slope",
]
