r"""The features B_0 of an instance: rank, smallest singular value, and the constants of the PL inequality.

With rank B = N n and every W^O_h of full column rank,

.. math::

    2 \mu f \le \|\nabla_{W^V} f\|_F^2 \le 2 L f, \qquad
    \mu = \sigma_{Nn}(B)^2 \min_h \sigma_m(W^O_h)^2, \quad L = \|B\|_2^2 \max_h \|W^O_h\|_2^2,

so each step of gradient descent on W^V with step 1/L shrinks the loss by the factor :math:`(1 - \mu/L)^2` at
least.  Source: Song, Han, Zhang, Ding, Hong, NeurIPS 2024, arXiv 2411.07538; the constants are derived here.
All numbers come with a bound on their rounding error; a rank that this leaves open is decided in
multiprecision where the matrix is small enough.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from lemmax.campaign.instance.archive import Array
from lemmax.campaign.instance.setup import Instance, model_of
from lemmax.campaign.instance.tokens import Tokens
from lemmax.check.decide import TRUE, Bounded
from lemmax.check.readings import Readers
from lemmax.check.settle import settle
from lemmax.expr import arithmetic, functionals, reductions
from lemmax.expr.relation import Relation, relation
from lemmax.expr.tensor import Tensor
from lemmax.models.attention import Kernel

PRECISE_ROWS = 48  # largest number of rows of B_0 that multiprecision decides in a few seconds

READERS = Readers()


@dataclass(frozen=True, slots=True)
class Number:
    """A float64 with a bound on its rounding error."""

    value: float
    radius: float

    @property
    def is_positive(self) -> bool:
        """Is it positive whatever rounding did?"""
        return self.value > self.radius


@dataclass(frozen=True, slots=True)
class Features:
    """What B_0 is like on an instance, for one kernel.

    Attributes:
        kernel: ``softmax`` or ``gaussian``.
        samples: which samples of the file.
        rows: N n.
        columns: H D.
        rank: rank of B_0: singular values above their rounding bound.
        rank_bound: what sizes and tokens allow at most; the rank is certain if both agree.
        sigma: sigma_{N n}(B_0), 0 if N n > H D.
        smallest: the smallest of the min(N n, H D) singular values.
        full: full row rank? ``None`` if that could not be decided.
        by: what decided.
        obstacles: why the rank cannot be full, whatever the weights.
        w: min_h sigma_m(W^O_h).
        mu: the PL constant.
        L: the upper constant.
    """

    kernel: Kernel
    samples: tuple[int, ...]
    rows: int
    columns: int
    rank: int
    rank_bound: int
    sigma: Number
    smallest: Number
    full: bool | None
    by: str
    obstacles: tuple[str, ...]
    w: Number
    mu: float
    L: float

    @property
    def applies(self) -> bool:
        """Does the PL inequality apply: full row rank, and output heads of full column rank?"""
        return self.full is True and self.w.is_positive

    @property
    def rate(self) -> float:
        """The upper bound (1 - mu/L)^2 on the factor per step, or 1 where nothing is guaranteed."""
        return (1.0 - self.mu / self.L) ** 2 if self.applies else 1.0


@cache
def tensors_of(kernel: Kernel) -> Mapping[str, Tensor]:
    """Return what is measured, as expressions of the model."""
    model = model_of(kernel)
    N, n, _, _, _, m, _ = model.sizes
    norms = functionals.spectral_norm(model.WO)
    w = reductions.min(functionals.sigma(model.WO, m), axis=0)
    sigma, norm = functionals.sigma(model.B, N * n), functionals.spectral_norm(model.B)
    return {
        "B": model.B,
        "sigma": sigma,
        "smallest": functionals.sigma_min(model.B),
        "w": w,
        "mu": arithmetic.power(sigma, 2) * arithmetic.power(w, 2),
        "L": arithmetic.power(norm, 2) * arithmetic.power(reductions.max(norms, axis=0), 2),
    }


def sigma_is_positive(kernel: Kernel) -> Relation:
    """Return the condition that decides full row rank."""
    return relation(tensors_of(kernel)["sigma"], ">", 0)


def rows_of(kernel: Kernel, instance: Instance) -> Array:
    """Return B_0 by sample (N, n, H D), in float64."""
    B = tensors_of(kernel)["B"]
    found: Array = READERS.of([B]).floats(dict(instance.arrays), instance.sizes, batch=False)[B.digest]
    return found.reshape(instance.sizes["N"], instance.sizes["n"], -1)


def measure(kernel: Kernel, instance: Instance, tokens: Tokens) -> Features:
    """Measure B_0 of an instance; ``tokens`` are those of the same instance."""
    sizes = instance.sizes
    parts = tensors_of(kernel)
    batch = {name: array[None] for name, array in instance.arrays.items()}
    values = READERS.of(parts.values()).bounded(batch, sizes)
    number = {name: _number(values[t.digest]) for name, t in parts.items() if name != "B"}
    rows, columns = sizes["N"] * sizes["n"], sizes["H"] * sizes["D"]
    obstacles = obstacles_of(instance, tokens)
    bound = rank_bound(instance, tokens)
    rank = _rank(values[parts["B"].digest])
    full, by = _decide(kernel, instance, obstacles, number["sigma"])
    return Features(
        kernel,
        instance.samples,
        rows,
        columns,
        max(rank, rows if full else 0),
        bound,
        number["sigma"],
        number["smallest"],
        full,
        by,
        obstacles,
        number["w"],
        number["mu"].value,
        number["L"].value,
    )


def rank_bound(instance: Instance, tokens: Tokens) -> int:
    """Return the largest rank that sizes and tokens allow B_0."""
    sizes = instance.sizes
    repeated = sum(len(group) - 1 for _, group in tokens.equal)
    by_tokens = sizes["H"] * tokens.rank if tokens.exact else sizes["H"] * sizes["D"]
    return min(sizes["N"] * sizes["n"] - repeated, sizes["H"] * sizes["D"], by_tokens)


def obstacles_of(instance: Instance, tokens: Tokens) -> tuple[str, ...]:
    """Say what forbids full row rank whatever the weights are."""
    sizes = instance.sizes
    rows, columns = sizes["N"] * sizes["n"], sizes["H"] * sizes["D"]
    found = []
    if rows > columns:
        found.append(f"N n = {rows} > H D = {columns}")
    for sample, group in tokens.equal:
        names = " = ".join(f"token {p}" for p in group)
        found.append(f"sample {instance.samples[sample]}: {names}, equal rows of B_0")
    if tokens.exact and rows > sizes["H"] * tokens.rank and tokens.rank < sizes["D"]:
        limit = sizes["H"] * tokens.rank
        found.append(
            f"stacked X has rank {tokens.rank} < D = {sizes['D']}, so rank B_0 <= H rank X = {limit} < {rows}"
        )
    return tuple(found)


def _decide(
    kernel: Kernel, instance: Instance, obstacles: tuple[str, ...], sigma: Number
) -> tuple[bool | None, str]:
    if obstacles:
        return False, "sizes and tokens"
    if sigma.is_positive:
        return True, "sigma above its rounding bound"
    if instance.sizes["N"] * instance.sizes["n"] > PRECISE_ROWS:
        return None, "sigma is within its rounding bound, and the matrix is too large for multiprecision"
    (settled,) = settle(READERS, [sigma_is_positive(kernel)], dict(instance.arrays), instance.sizes)
    if settled.state == TRUE:
        return True, f"sigma at {settled.digits} digits"
    return None, f"sigma is 0 to {settled.digits} digits"


def _number(bounded: Bounded) -> Number:
    return Number(float(bounded.value.reshape(-1)[0]), float(bounded.bound.reshape(-1)[0]))


def _rank(B: Bounded) -> int:
    """Count singular values above the norm of the entries' bounds and the rounding of the SVD itself."""
    matrix, radius = B.value[0], B.bound[0]
    values = np.linalg.svd(matrix, compute_uv=False)
    slip = np.linalg.norm(radius) + 4 * max(matrix.shape) * np.finfo(float).eps * values[0]
    return int(np.sum(values > slip))
