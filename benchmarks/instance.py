r"""Arrays of one size, the same for all contestants."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.peers import expert_numpy

Array = np.ndarray[Any, np.dtype[np.float64]]

NAMES = ("WQ", "WK", "WV", "WO")


class Instance:
    """Arrays of one size, in the expert's layout and as separate weights, with a direction for each."""

    def __init__(
        self, size: str | dict[str, int], instances: int | None = None, N: int | None = None
    ) -> None:
        """Draw them."""
        X, Y, W, WO = expert_numpy.make(size)
        rng = np.random.default_rng(1)
        lead = () if instances is None else (instances,)
        if N is not None:
            X, Y = (rng.standard_normal((N, *a.shape[1:])) for a in (X, Y))
        if instances is not None:
            X, Y, W, WO = (a * rng.uniform(0.5, 1.5, (instances, *[1] * a.ndim)) for a in (X, Y, W, WO))
        self.X, self.Y, self.W, self.WO = X, Y, W, WO
        self.V, self.VO = rng.standard_normal(W.shape), rng.standard_normal(WO.shape)
        self.arrays: dict[str, Array] = {"X": X, "Y": Y}
        self.lead = lead
        for prefix, fused, out in (("", W, WO), ("d", self.V, self.VO)):
            self.arrays.update(
                {f"{prefix}{name}": a for name, a in zip(NAMES, self.split(fused, out), strict=True)}
            )

    def split(self, fused: Array, out: Array) -> list[Array]:
        """Return separate weights, as new arrays."""
        H, d = fused.shape[-2:]
        parts = [np.ascontiguousarray(np.moveaxis(fused[..., p, :, :], -2, -3)) for p in range(3)]
        return [*parts, out.reshape((*self.lead, H, d, -1)).copy()]
