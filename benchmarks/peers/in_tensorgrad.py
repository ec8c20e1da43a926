r"""The same derivatives in tensorgrad, simplified: ``python -m benchmarks.peers.in_tensorgrad``.

Prints processor seconds of the gradients in the four weights, and of the block of second derivatives in
query and key weights.
"""

from __future__ import annotations

import json
import time

import sympy as sp
from tensorgrad import Derivative, Variable
from tensorgrad import functions as F


def main() -> None:
    """Differentiate and print the times."""
    start = time.process_time()
    N, n, D, d, v, m, H = sp.symbols("N n D d v m H")
    X, Y = Variable("X", N=N, n=n, D=D), Variable("Y", N=N, n=n, m=m)
    WQ, WK = Variable("WQ", H=H, D=D, d=d), Variable("WK", H=H, D=D, d=d)
    WV, WO = Variable("WV", H=H, D=D, v=v), Variable("WO", H=H, v=v, m=m)
    columns = X.rename(n="j")
    attention = F.softmax(F.sum((X @ WQ) * (columns @ WK), ["d"]), dim="j")
    output = F.sum(attention * (columns @ WV), ["j"]) @ WO
    loss = F.frobenius2(output - Y) / 2
    gradients = [Derivative(loss, weight).full_simplify() for weight in (WQ, WK, WV, WO)]
    done = time.process_time()
    block = Derivative(Derivative(loss, WQ), WK).full_simplify()
    assert len(block.edges) == 6 and all(len(g.edges) == 3 for g in gradients)
    found = {"four gradients": done - start, "block in W^Q, W^K": time.process_time() - done}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
