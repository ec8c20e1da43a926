r"""How the time of value and gradient grows with one size: :math:`t \approx c\, x^p`, fitted.

Least squares of log t on log x; the slope p is given with its standard error. Overheads that do not grow
pull p down, caches that overflow push it up, so that p need not be an integer. In the number of operations
p is 1 for N, D and H, and between 1 and 2 for n.
"""

from __future__ import annotations

from typing import Any

from scipy import stats

from benchmarks import works
from benchmarks.instance import Instance
from benchmarks.measure import Clock, interleaved
from benchmarks.peers import expert_numpy
from benchmarks.works import Contestant, Contestants

BASE = {"N": 32, "n": 16, "D": 128, "d": 16, "H": 4, "o": 32}
RANGES = {
    "N": (16, 32, 64, 128, 256),
    "n": (16, 32, 64, 128, 256),
    "D": (64, 128, 256, 512, 1024),
    "H": (2, 4, 8, 16, 32),
}
BUDGET = 0.6
QUICK = 0.05


def contestants(sizes: dict[str, int]) -> Contestants:
    """Return lemmax, the lean expert and JAX for value and gradient at ``sizes``."""
    i = Instance(sizes)

    def lemmax() -> works.Call:
        fn = works.generated("value and gradient")
        arguments = [i.arrays[name] for name in fn.inputs]
        return lambda: fn(*arguments)

    def expert() -> works.Call:
        return lambda: expert_numpy.value_and_gradient_lean(i.X, i.Y, i.W, i.WO)

    def jax() -> works.Call:
        from benchmarks.peers import in_jax

        return in_jax.value_and_gradient(i)

    return {
        "lemmax": Contestant(lemmax, list),
        "expert, lean": Contestant(expert, lambda r: [r[0], *i.split(r[1], r[2])]),
        "JAX": Contestant(jax, lambda r: [r[0], *r[1]]),
    }


def study(quick: bool, clock: Clock) -> dict[str, dict[str, Any]]:
    """Return, for each size and contestant, the values, the times, and the exponent with its error."""
    found: dict[str, dict[str, Any]] = {}
    for name, values in RANGES.items():
        taken: dict[str, list[float]] = {}
        used = values[:3] if quick else values
        for value in used:
            times = interleaved(
                contestants({**BASE, name: value}), "expert, lean", QUICK if quick else BUDGET, clock
            )
            for who, summary in times.items():
                taken.setdefault(who, []).append(summary["median"])
        found[name] = {
            who: {"values": used, "times": times, **exponent(used, times)} for who, times in taken.items()
        }
    return found


def exponent(values: tuple[int, ...], times: list[float]) -> dict[str, float]:
    """Return p and its standard error in t = c x^p, by least squares in logarithms."""
    import numpy as np

    line = stats.linregress(np.log(values), np.log(times))
    return {"p": float(line.slope), "error": float(line.stderr)}
