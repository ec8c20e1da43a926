r"""Dyads, projectors and polar factors from decompositions, with first-order changes for the complex step.

For an imaginary part so small that its square is lost to rounding, a value that depends smoothly on a real
matrix has the imaginary part :math:`f'(A)[E]`; it is written here in the basis of the singular vectors
(eigenvectors), where each coordinate is a quotient of first-order perturbation theory (Stewart, Sun, Matrix
Perturbation Theory (1990), chapter V).  At ties the quotients are undefined, and so is the result.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lemmax.interpret.arrays import Array

_ROOM = 2.0**-50  # relative distance below which computed values may be equal


def transposed(x: Array) -> Array:
    """Return the transpose of the last two axes."""
    return np.asarray(np.swapaxes(x, -1, -2))


def outer(u: Array, v: Array) -> Array:
    """Return products of entries of vectors on last axes."""
    return np.asarray(u[..., :, None] * v[..., None, :])


def dyad(x: Array, k: int) -> Array:
    """Return the outer product of the k-th pair of singular vectors (from 0) of real matrices."""
    u, _, vt = np.linalg.svd(x, full_matrices=False)
    return outer(u[..., :, k], vt[..., k, :])


def projector(x: Array, k: int) -> Array:
    """Return outer squares of the k-th eigenvectors of symmetric parts (from 0, smallest first)."""
    _, q = np.linalg.eigh((x + transposed(x)) / 2)
    return outer(q[..., :, k], q[..., :, k])


def polar(x: Array, tolerance: float) -> Array:
    """Return U V^T over the singular values above a relative tolerance."""
    u, s, vt = np.linalg.svd(x, full_matrices=False)
    kept = s > tolerance * s[..., :1]
    return np.asarray((u * kept[..., None, :]) @ vt)


def with_change(value: Array, change: Array) -> Array:
    """Return the complex array of a value and its first-order change."""
    return np.asarray(value + 1j * change)


def change_of_singular_values(x: Array, e: Array) -> Array:
    """Return first-order changes of singular values: the diagonal of U^T E V; undefined at ties and at 0."""
    u, s, vt = np.linalg.svd(x, full_matrices=False)
    change = np.einsum("...ik,...ij,...kj->...k", u, e, vt)
    return np.where(_is_tied(s) | (s <= _ROOM * s.shape[-1] * s[..., :1]), np.nan, change)


def _is_tied(values: Array) -> Array:
    room = _ROOM * values.shape[-1] * np.max(np.abs(values), axis=-1, keepdims=True)
    same = np.abs(np.diff(values, axis=-1)) <= room
    pad = [(0, 0)] * (values.ndim - 1)
    return np.asarray(np.pad(same, [*pad, (0, 1)]) | np.pad(same, [*pad, (1, 0)]))


def change_of_eigenvalues(x: Array, e: Array) -> Array:
    """Return first-order changes of eigenvalues of symmetric parts; undefined at ties."""
    values, q = np.linalg.eigh((x + transposed(x)) / 2)
    change = np.einsum("...ik,...ij,...jk->...k", q, e, q)
    return np.where(_is_tied(values), np.nan, change)


def change_of_dyad(x: Array, e: Array, k: int) -> Array:
    r"""Return the first-order change of :math:`u_k v_k^\top`.

    With :math:`\Omega = U^\top E V` (full U and V): :math:`du = \sum_p u_p (\sigma_k \Omega_{pk} + \sigma_p
    \Omega_{kp}) / (\sigma_k^2 - \sigma_p^2)`, and dv alike with the transpose.
    """
    u, s, vt = np.linalg.svd(x)
    omega = transposed(u) @ e @ transposed(vt)
    du = u @ _turn(omega, s, k)[..., None]
    dv = transposed(vt) @ _turn(transposed(omega), s, k)[..., None]
    return outer(du[..., 0], vt[..., k, :]) + outer(u[..., :, k], dv[..., 0])


def _turn(omega: Array, s: Array, k: int) -> Array:
    """Return the coordinates of du for all p (0 for p = k)."""
    rows, columns = omega.shape[-2:]
    values = np.zeros((*s.shape[:-1], rows))
    values[..., : s.shape[-1]] = s
    row = np.zeros((*omega.shape[:-2], rows))
    row[..., : min(rows, columns)] = omega[..., k, : min(rows, columns)]
    top = s[..., k, None] * omega[..., :, k] + values * row
    gap = s[..., k, None] ** 2 - values**2
    gap[..., k] = 1.0
    top[..., k] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(gap == 0, np.nan, top / gap)


def change_of_projector(x: Array, e: Array, k: int) -> Array:
    """Return the first-order change of the outer square of an eigenvector."""
    values, q = np.linalg.eigh((x + transposed(x)) / 2)
    omega = transposed(q) @ ((e + transposed(e)) / 2) @ q
    gap = values[..., k, None] - values
    gap[..., k] = 1.0
    top = omega[..., :, k].copy()
    top[..., k] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        turned = np.where(gap == 0, np.nan, top / gap)
    dq = (q @ turned[..., None])[..., 0]
    return outer(dq, q[..., :, k]) + outer(q[..., :, k], dq)


def change_of_polar(x: Array, e: Array) -> Array:
    r"""Return the first-order change of the polar factor of matrices of full rank.

    For m >= n: :math:`dW = U \Lambda V^\top + (I - U U^\top) E V \Sigma^{-1} V^\top`, with
    :math:`\Lambda_{pq} = (\Omega_{pq} - \Omega_{qp}) / (\sigma_p + \sigma_q)`.
    """
    if x.shape[-2] < x.shape[-1]:
        return transposed(change_of_polar(transposed(x), transposed(e)))
    u, s, vt = np.linalg.svd(x, full_matrices=False)
    moved = e @ transposed(vt)
    omega = transposed(u) @ moved
    inner = (omega - transposed(omega)) / (s[..., :, None] + s[..., None, :])
    beyond = (moved - u @ omega) / s[..., None, :]
    return np.asarray((u @ inner + beyond) @ vt)


def first_order(
    value: Callable[[Array], Array], change: Callable[[Array, Array], Array], x: Array, tiny: float
) -> Array | None:
    """Return value and change at a complex matrix with a tiny imaginary part; ``None`` if it is not tiny."""
    if not np.iscomplexobj(x):
        return value(x)
    if np.max(np.abs(x.imag), initial=0.0) > tiny:
        return None
    # scaled to size 1, so that nothing underflows on the way
    size = np.max(np.abs(x.imag), initial=0.0)
    if size == 0:
        return value(x.real)
    return with_change(value(x.real), size * change(x.real, x.imag / size))
