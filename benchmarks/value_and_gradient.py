r"""Generated value-and-gradient code against hand-written NumPy, in one run, interleaved.

    OPENBLAS_NUM_THREADS=1 python benchmarks/value_and_gradient.py

The loss is multi-head softmax attention under the squared loss. The expert's layout is one fused
array; "packed" also counts packing separate weights into it and unpacking the gradients, which is
the call that generated code answers. Ratios carry over to other machines, times do not.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import lemmax as lx

sys.path.insert(0, str(Path(__file__).parent))
from peers import expert_numpy as expert

ROUNDS = {"small": 1000, "medium": 300, "large": 40}


def generated() -> Any:
    """Return the compiled function for the value and the four gradients."""
    model = lx.models.attention()
    names = ["loss", "gWQ", "gWK", "gWV", "gWO"]
    return lx.compile(
        [model.loss, *lx.gradient(model.loss, model.weights)], name="value_and_gradient", outputs=names
    )


def contestants(size: str, fn: Any) -> dict[str, Callable[[], Any]]:
    """Return the calls to be timed on one instance, after a check that they agree."""
    X, Y, W, WO = expert.make(size)
    _, _, H, d = W.shape
    WQ, WK, WV = (np.ascontiguousarray(W[:, p].transpose(1, 0, 2)) for p in range(3))
    WOh = WO.reshape(H, d, -1)
    arrays = {"X": X, "Y": Y, "WQ": WQ, "WK": WK, "WV": WV, "WO": WOh}
    ordered = [arrays[name] for name in fn.inputs]
    workspace = expert.Workspace(X, W, WO)

    def packed(run: Callable[..., Any]) -> Any:
        fused = np.stack([WQ, WK, WV]).transpose(2, 0, 1, 3)
        f, gW, gO = run(X, Y, np.ascontiguousarray(fused), WOh.reshape(H * d, -1))
        return (
            f,
            *[np.ascontiguousarray(gW[:, p].transpose(1, 0, 2)) for p in range(3)],
            gO.reshape(WOh.shape).copy(),
        )

    for a, b in zip(fn(*ordered), packed(expert.value_and_gradient_lean), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9 * np.abs(b).max())
    raw = fn._function
    return {
        "lemmax, call": lambda: fn(*ordered),
        "lemmax, generated function": lambda: raw(*ordered),
        "expert, lean": lambda: expert.value_and_gradient_lean(X, Y, W, WO),
        "expert, workspace": lambda: workspace(X, Y, W, WO),
        "expert, workspace, packed": lambda: packed(workspace),
    }


def timed(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Return the median time of each call in microseconds, calls taken in turn."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            call()  # warm: the previous contestant has just filled the cache
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(t) * 1e6 for name, t in times.items()}


def main() -> None:
    """Print the table."""
    start = time.process_time()
    fn = generated()
    print(f"deriving and generating: {time.process_time() - start:.2f} s of processor time\n")
    print(f"{'':<28}" + "".join(f"{size:>22}" for size in ROUNDS))
    found = {size: timed(contestants(size, fn), rounds) for size, rounds in ROUNDS.items()}
    for name in found["small"]:
        cells = []
        for times in found.values():
            cells.append(
                f"{times[name]:10.1f} us x{times[name] / times['expert, workspace, packed']:5.2f}   "
            )
        print(f"{name:<28}" + "".join(f"{c:>22}" for c in cells))
    print("\nx: ratio to the expert with workspace behind the same call (packed).")


if __name__ == "__main__":
    main()
