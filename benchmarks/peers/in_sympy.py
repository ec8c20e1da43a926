r"""The same derivatives as raw index sums in SymPy, not simplified: ``python -m benchmarks.peers.in_sympy``.

Prints processor seconds of the gradients in the four weights, and of the block of second derivatives in
query and key weights.
"""

from __future__ import annotations

import json
import time
from typing import Any

import sympy as sp


def main() -> None:
    """Differentiate and print the times."""
    start = time.process_time()
    N, n, D, d, v, m, H = sp.symbols("N n D d v m H", integer=True, positive=True)
    X, Y, WQ, WK, WV, WO = (sp.IndexedBase(name) for name in ("X", "Y", "W^Q", "W^K", "W^V", "W^O"))
    i, k, j, l, h, c, p, q = sp.symbols("i k j l h c p q", integer=True)  # noqa: E741

    def total(body: Any, *ranges: Any) -> Any:
        return sp.Sum(body, *[(index, 0, size - 1) for index, size in ranges])

    def logit(column: Any, mark: str) -> Any:
        a, b, e = sp.symbols(f"a{mark} b{mark} e{mark}", integer=True)
        product = X[i, k, a] * WQ[h, a, e] * WK[h, b, e] * X[i, column, b]
        return total(product, (a, D), (b, D), (e, d)) / sp.sqrt(d)

    attention = sp.exp(logit(j, "")) / total(sp.exp(logit(l, "'")), (l, n))
    output = total(attention * X[i, j, p] * WV[h, p, q] * WO[h, q, c], (h, H), (j, n), (p, D), (q, v))
    loss = total((output - Y[i, k, c]) ** 2, (i, N), (k, n), (c, m)) / 2
    first = sp.symbols("h1 s1 t1", integer=True)
    second = sp.symbols("h2 s2 t2", integer=True)
    gradients = [loss.diff(weight[first]) for weight in (WQ, WK, WV, WO)]
    done = time.process_time()
    block = gradients[0].diff(WK[second])
    assert block != 0 and all(g != 0 for g in gradients)
    found = {"four gradients": done - start, "block in W^Q, W^K": time.process_time() - done}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
