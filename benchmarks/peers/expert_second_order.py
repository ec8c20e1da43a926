r"""Multi-head softmax attention under the squared loss, written by hand: batches and second order.

The layout is that of :mod:`expert_numpy`: W (D, 3, H, d) holds all query, key and value weights, WO
(H d, o) the output weights. Hessian-vector products are tangents of the closed-form gradient; in the
dense Hessian each block of query and key weights is one large product.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]


def batched_value_and_gradient(X: Array, Y: Array, W: Array, WO: Array) -> tuple[Array, Array, Array]:
    """Return losses and gradients; all arguments may have leading axes of instances."""
    D, _, H, d = W.shape[-4:]
    N, n = X.shape[-3:-1]
    b = X.shape[:-3]
    s = 1 / math.sqrt(d)
    Xf = X.reshape((*b, N * n, D))
    Wf = W.reshape((*b, D, 3 * H * d))
    P = (Xf @ Wf).reshape((*b, N, n, 3, H, d))
    nb = len(b)
    ax = tuple(range(nb))
    P = P.transpose((*ax, nb + 2, nb, nb + 3, nb + 1, nb + 4))  # (3,N,H,n,d) view
    P = np.moveaxis(P, nb, 0)
    Q, K, V = P
    A = Q @ K.swapaxes(-1, -2)
    A -= A.max(-1, keepdims=True)
    A *= s
    np.exp(A, out=A)
    A /= A.sum(-1, keepdims=True)  # S
    C = np.empty((*b, N, n, H, d))
    Ct = C.swapaxes(-2, -3)
    np.matmul(A, V, out=Ct)
    Cf = C.reshape((*b, N * n, H * d))
    R = Cf @ WO
    R -= Y.reshape(R.shape)
    Rv = R.reshape((*b, -1))
    loss = 0.5 * (np.vdot(R, R) if not b else np.einsum("...i,...i->...", Rv, Rv))
    gWO = Cf.swapaxes(-1, -2) @ R
    dC = (R @ WO.swapaxes(-1, -2)).reshape((*b, N, n, H, d)).swapaxes(-2, -3)  # (N,H,n,d)
    dP = np.empty((*b, N, n, 3, H, d))
    dPt = np.moveaxis(dP.transpose((*ax, nb + 2, nb, nb + 3, nb + 1, nb + 4)), nb, 0)
    np.matmul(A.swapaxes(-1, -2), dC, out=dPt[2])
    dA = dC @ V.swapaxes(-1, -2)
    dA -= np.einsum("...j,...j->...", dA, A)[..., None]
    dA *= A
    dA *= s
    np.matmul(dA, K, out=dPt[0])
    np.matmul(dA.swapaxes(-1, -2), Q, out=dPt[1])
    gW = (Xf.swapaxes(-1, -2) @ dP.reshape((*b, N * n, 3 * H * d))).reshape((*b, D, 3, H, d))
    return loss, gW, gWO


def hessian_vector_product(
    X: Array, Y: Array, W: Array, WO: Array, Wd: Array, WOd: Array
) -> tuple[Array, Array]:
    """Return the products of the Hessian with the direction (Wd, WOd)."""
    D, _, H, d = W.shape
    N, n = X.shape[:2]
    s = d**-0.5

    def T(M: Array) -> Array:
        return M.swapaxes(-1, -2)

    Xf = X.reshape(N * n, D)
    # one GEMM for primal+tangent projections
    PP = (
        (Xf @ np.concatenate([W.reshape(D, -1), Wd.reshape(D, -1)], 1))
        .reshape(N, n, 2, 3, H, d)
        .transpose(2, 3, 0, 4, 1, 5)
    )
    (Q, K, V), (Qd, Kd, Vd) = PP
    A = Q @ T(K)
    A -= A.max(-1, keepdims=True)
    A *= s
    np.exp(A, A)
    A /= A.sum(-1, keepdims=True)
    S = A
    Ad = Qd @ T(K)
    Ad += Q @ T(Kd)
    Ad *= s
    Sd = S * Ad
    Sd -= S * Sd.sum(-1, keepdims=True)
    CC = np.empty((2, N, n, H, d))
    CCt = CC.transpose(0, 1, 3, 2, 4)
    np.matmul(S, V, CCt[0])
    np.matmul(Sd, V, CCt[1])
    CCt[1] += S @ Vd
    Cf = CC[0].reshape(N * n, H * d)
    Cdf = CC[1].reshape(N * n, H * d)
    R = Cf @ WO
    R -= Y.reshape(R.shape)
    Rd = Cdf @ WO
    Rd += Cf @ WOd
    gOd = Cdf.T @ R
    gOd += Cf.T @ Rd
    dC = (R @ WO.T).reshape(N, n, H, d).transpose(0, 2, 1, 3)
    dCd = Rd @ WO.T
    dCd += R @ WOd.T
    dCd = dCd.reshape(N, n, H, d).transpose(0, 2, 1, 3)
    dPd = np.empty((N, n, 3, H, d))
    dPt = dPd.transpose(2, 0, 3, 1, 4)
    np.matmul(T(Sd), dC, dPt[2])
    dPt[2] += T(S) @ dCd
    G = dC @ T(V)
    Gd = dCd @ T(V)
    Gd += dC @ T(Vd)
    m = (G * S).sum(-1, keepdims=True)
    md = (Gd * S).sum(-1, keepdims=True)
    md += (G * Sd).sum(-1, keepdims=True)
    G -= m
    Gd -= md
    dA = S * G
    dA *= s
    Gd *= S
    G *= Sd
    Gd += G
    Gd *= s
    dAd = Gd
    np.matmul(dAd, K, dPt[0])
    dPt[0] += dA @ Kd
    np.matmul(T(dAd), Q, dPt[1])
    dPt[1] += T(dA) @ Qd
    return (Xf.T @ dPd.reshape(N * n, -1)).reshape(W.shape), gOd


def _pieces(X: Array, Y: Array, W: Array, WO: Array) -> tuple[Any, ...]:
    D, _, H, d = W.shape
    N, n = X.shape[:2]
    s = d**-0.5
    o = WO.shape[1]
    P = (
        (X.reshape(N * n, D) @ W.reshape(D, -1)).reshape(N, n, 3, H, d).transpose(2, 3, 0, 1, 4)
    )  # (3,H,N,n,d)
    Q, K, V = [np.ascontiguousarray(p) for p in P]
    A = Q @ K.swapaxes(-1, -2) * s
    A -= A.max(-1, keepdims=True)
    S = np.exp(A)
    S /= S.sum(-1, keepdims=True)  # (H,N,n,n)
    C = S @ V
    out_weights = WO.reshape(H, d, o)
    R = (C.transpose(1, 2, 0, 3).reshape(N * n, H * d) @ WO).reshape(N, n, o) - Y
    return s, Q, K, V, S, C, out_weights, R


def dense_hessian(X: Array, Y: Array, W: Array, WO: Array) -> Array:
    """Return the Hessian in (W, WO) as one matrix; each block of query and key weights is one product."""
    D, _, H, d = W.shape
    N, n = X.shape[:2]
    o = WO.shape[1]
    NN = N * n
    s, Q, K, V, S, C, out_weights, R = _pieces(X, Y, W, WO)
    Xf = X.reshape(NN, D)
    XT = Xf.T
    nW = D * 3 * H * d
    Pn = nW + H * d * o
    Hs = np.empty((Pn, Pn))

    # strided views of the blocks
    st = Hs.strides[0]
    e = Hs.itemsize
    ast = np.lib.stride_tricks.as_strided
    WW = ast(
        Hs,
        (D, 3, H, d, D, 3, H, d),
        (3 * H * d * st, H * d * st, d * st, st, 3 * H * d * e, H * d * e, d * e, e),
    )
    WOb = ast(
        Hs[:, nW:], (D, 3, H, d, H, d, o), (3 * H * d * st, H * d * st, d * st, st, d * o * e, o * e, e)
    )
    OWb = ast(Hs[nW:], (H, d, o, D, 3, H, d), (d * o * st, o * st, st, 3 * H * d * e, H * d * e, d * e, e))
    OOb = ast(Hs[nW:, nW:], (H, d, o, H, d, o), (d * o * st, o * st, st, d * o * e, o * e, e))
    Om = np.einsum("hbo,gco->hgbc", out_weights, out_weights)
    JV = [S[h][..., None] * (V[h][:, None] - C[h][:, :, None]) for h in range(H)]  # (N,k,j,m)
    Xt = [(S[h] @ X) for h in range(H)]  # (N,k,D)
    rho = [R @ out_weights[h].T for h in range(H)]  # (N,k,d)
    sJV = [s * JV[h] for h in range(H)]
    for h in range(H):
        B = np.matmul(K[h].swapaxes(-1, -2)[:, None], sJV[h])  # (N,k,b,m)
        g = np.einsum("ikm,ijm->ikj", rho[h], V[h])
        gam = S[h] * (g - (S[h] * g).sum(-1, keepdims=True))
        for k in range(H):
            if k >= h:
                M = np.matmul(sJV[h], np.matmul(Om[h, k], sJV[k].swapaxes(-1, -2)))  # (N,k,j,l)
                if k == h:
                    M -= (
                        s
                        * s
                        * (gam[..., :, None] * S[h][..., None, :] + S[h][..., :, None] * gam[..., None, :])
                    )
                    idx = np.arange(n)
                    M[..., idx, idx] += s * s * gam
                KM = np.matmul(K[h].swapaxes(-1, -2)[:, None], M)  # (N,k,b,l)
                T = np.matmul(KM, K[k][:, None])  # (N,k,b,e)
                RHS = (T[:, :, :, None, :] * X[:, :, None, :, None]).reshape(NN, -1)
                blk = (XT @ RHS).reshape(D, d, D, d)
                WW[:, 0, h, :, :, 0, k, :] = blk
                if k != h:
                    WW[:, 0, k, :, :, 0, h, :] = blk.transpose(2, 3, 0, 1)
                # KK
                qq = (Q[h][..., :, None] * Q[k][..., None, :]).reshape(N, n, d * d)  # (N,k,be)
                Z = np.matmul(M.reshape(N, n, n * n).swapaxes(-1, -2), qq).reshape(
                    N, n, n, d * d
                )  # (N,j,l,be)
                ZX = np.matmul(Z.transpose(0, 1, 3, 2).reshape(N, n * d * d, n), X)  # (N,(j,be),c)
                RHS = np.ascontiguousarray(ZX.reshape(N, n, d, d, D).transpose(0, 1, 2, 4, 3)).reshape(NN, -1)
                blk = (XT @ RHS).reshape(D, d, D, d)
                WW[:, 1, h, :, :, 1, k, :] = blk
                if k != h:
                    WW[:, 1, k, :, :, 1, h, :] = blk.transpose(2, 3, 0, 1)
                # QK (h,k) and (k,h)
                for a, b_, Mm in ((h, k, M),) if h == k else ((h, k, M), (k, h, M.swapaxes(-1, -2))):
                    KMX = np.matmul(np.matmul(K[a].swapaxes(-1, -2)[:, None], Mm), X[:, None])  # (N,k,b,c)
                    RHS = (KMX[..., None] * Q[b_][:, :, None, None, :]).reshape(NN, -1)
                    blk = (XT @ RHS).reshape(D, d, D, d)
                    if a == b_:
                        XGX = s * (XT @ np.matmul(gam, X).reshape(NN, D))
                        for q in range(d):
                            blk[:, q, :, q] += XGX
                    WW[:, 0, a, :, :, 1, b_, :] = blk
                    WW[:, 1, b_, :, :, 0, a, :] = blk.transpose(2, 3, 0, 1)
                # VV
                XX = Xt[h].reshape(NN, D).T @ Xt[k].reshape(NN, D)
                blk = XX[:, None, :, None] * Om[h, k][None, :, None, :]
                WW[:, 2, h, :, :, 2, k, :] = blk
                if k != h:
                    WW[:, 2, k, :, :, 2, h, :] = blk.transpose(2, 3, 0, 1)
                CCm = C[h].reshape(NN, d).T @ C[k].reshape(NN, d)
                OOb[h, :, :, k] = 0
                OOb[k, :, :, h] = 0
                for p in range(o):
                    OOb[h, :, p, k, :, p] = CCm
                    if k != h:
                        OOb[k, :, p, h, :, p] = CCm.T
            # QV, KV
            Xtk = Xt[k]
            RHS = np.matmul(B, Om[h, k])[:, :, :, None, :] * Xtk[:, :, None, :, None]
            U = np.matmul(sJV[h], Om[h, k])  # (N,k,j,e)
            # sum_k q_kb U_kje xt_kc -> per i: (j b e) x k @ k x c
            L = (U[:, :, :, None, :] * Q[h][:, :, None, :, None]).reshape(N, n, n * d * d)
            Rk = np.matmul(L.swapaxes(-1, -2), Xtk).reshape(N, n, d, d, D).transpose(0, 1, 2, 4, 3)
            if h == k:
                JX = s * S[h][..., None] * (X[:, None] - Xt[h][:, :, None])  # (N,k,j,c)
                KJX = np.matmul(K[h].swapaxes(-1, -2)[:, None], JX)  # (N,k,b,c)
                RHS += KJX[..., None] * rho[h][:, :, None, None, :]
                L = (Q[h][..., :, None] * rho[h][..., None, :]).reshape(N, n, d * d)
                F = (
                    np.matmul(JX.reshape(N, n, n * D).swapaxes(-1, -2), L)
                    .reshape(N, n, D, d, d)
                    .transpose(0, 1, 3, 2, 4)
                )
                Rk = Rk + F
            blk = (XT @ RHS.reshape(NN, -1)).reshape(D, d, D, d)
            WW[:, 0, h, :, :, 2, k, :] = blk
            WW[:, 2, k, :, :, 0, h, :] = blk.transpose(2, 3, 0, 1)
            blk = (XT @ np.ascontiguousarray(Rk).reshape(NN, -1)).reshape(D, d, D, d)
            WW[:, 1, h, :, :, 2, k, :] = blk
            WW[:, 2, k, :, :, 1, h, :] = blk.transpose(2, 3, 0, 1)
            # QO, KO, VO  (rows f of WO_k)
            BO = np.matmul(B, out_weights[h])
            RHS = C[k][:, :, None, :, None] * BO[:, :, :, None, :]
            if h == k:
                RHS += B[..., None] * R[:, :, None, None, :]
            blk = (XT @ RHS.reshape(NN, -1)).reshape(D, d, d, o)
            WOb[:, 0, h, :, k] = blk
            OWb[k, :, :, :, 0, h] = blk.transpose(2, 3, 0, 1)
            L = np.matmul(sJV[h], out_weights[h])  # (N,k,j,o)
            qc = (Q[h][..., :, None] * C[k][..., None, :]).reshape(N, n, d * d)
            KR = (
                np.matmul(L.reshape(N, n, n * o).swapaxes(-1, -2), qc)
                .reshape(N, n, o, d, d)
                .transpose(0, 1, 3, 4, 2)
            )
            if h == k:
                qr = (Q[h][..., :, None] * R[..., None, :]).reshape(N, n, d * o)
                KR = KR + np.matmul(sJV[h].reshape(N, n, n * d).swapaxes(-1, -2), qr).reshape(
                    N, n, d, d, o
                ).transpose(0, 1, 3, 2, 4)
            blk = (XT @ np.ascontiguousarray(KR).reshape(NN, -1)).reshape(D, d, d, o)
            WOb[:, 1, h, :, k] = blk
            OWb[k, :, :, :, 1, h] = blk.transpose(2, 3, 0, 1)
            XC = Xt[h].reshape(NN, D).T @ C[k].reshape(NN, d)
            blk = XC[:, None, :, None] * out_weights[h][None, :, None, :]
            if h == k:
                XR = Xt[h].reshape(NN, D).T @ R.reshape(NN, o)
                for q in range(d):
                    blk[:, q, q, :] += XR
            WOb[:, 2, h, :, k] = blk
            OWb[k, :, :, :, 2, h] = blk.transpose(2, 3, 0, 1)
    return Hs


def head_hessian(X: Array, Y: Array, W: Array, WO: Array, h: int = 0) -> Array:
    """Return the Hessian in the query and key weights of head ``h`` as one matrix, filled slice by slice.

    A slice is one product of X^T (D, N n) with an array of N n rows, so that the working set stays at
    N n D d entries beside the result.
    """
    D, _, _, d = W.shape
    N, n = X.shape[:2]
    s, Q, K, V, S, C, out_weights, R = _pieces(X, Y, W, WO)
    XT = X.reshape(N * n, D).T
    Sh, q, k, Oh = S[h], Q[h], K[h], out_weights[h]
    sJV = s * Sh[..., None] * (V[h][:, None] - C[h][:, :, None])
    g = np.matmul(R @ Oh.T, V[h].swapaxes(-1, -2))
    gam = Sh * (g - (Sh * g).sum(-1, keepdims=True))
    M = np.matmul(sJV, np.matmul(Oh @ Oh.T, sJV.swapaxes(-1, -2)))
    M -= s * s * (gam[..., :, None] * Sh[..., None, :] + Sh[..., :, None] * gam[..., None, :])
    diagonal = np.arange(n)
    M[..., diagonal, diagonal] += s * s * gam
    KM = np.matmul(k.swapaxes(-1, -2)[:, None], M)
    T = np.matmul(KM, k[:, None])
    KMX = np.matmul(KM, X[:, None])
    XGX = s * (XT @ np.matmul(gam, X).reshape(N * n, D))
    MT = M.reshape(N, n, n * n).swapaxes(-1, -2)
    result = np.empty((2 * D * d, 2 * D * d))
    blocks = result.reshape(2, D, d, 2, D, d)
    rows = np.empty((N, n, D, d))
    flat = rows.reshape(N * n, D * d)
    for b in range(d):
        np.multiply(X[..., None], T[:, :, b, None, :], out=rows)
        blocks[0, :, b, 0] = (XT @ flat).reshape(D, D, d)
        np.multiply(KMX[:, :, b, :, None], q[:, :, None, :], out=rows)
        mixed = (XT @ flat).reshape(D, D, d)
        mixed[:, :, b] += XGX
        blocks[0, :, b, 1] = mixed
        blocks[1, :, :, 0, :, b] = mixed.transpose(1, 2, 0)
        Z = np.matmul(MT, q[..., b : b + 1] * q).reshape(N, n, n, d)
        ZX = np.matmul(Z.transpose(0, 1, 3, 2).reshape(N, n * d, n), X).reshape(N, n, d, D)
        rows[...] = ZX.transpose(0, 1, 3, 2)
        blocks[1, :, b, 1] = (XT @ flat).reshape(D, D, d)
    return result
