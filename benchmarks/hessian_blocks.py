r"""How long lemmax takes to derive and typeset the 16 Hessian blocks of attention, and how long they print.

Every pair of the weights W^Q, W^K, W^V, W^O, with many heads and samples, in matrix notation.  Prints
processor time after import, not wall time, so that other work on the machine matters little.  Each number
is the best of several runs, every run in a process of its own: nothing is warm but the disk.

    python benchmarks/hessian_blocks.py [--runs 3] [--kernel softmax] [--vec row]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys

BLOCKS = """
import json, sys, time
import lemmax as lx
kernel, vec = sys.argv[1:]
model = lx.models.attention(kernel)
blocks = {}
for a in model.weights:
    for b in model.weights:
        start = time.process_time()
        hessian = lx.hessian(model.loss, a, b)
        derived = time.process_time()
        text = lx.latex(hessian, vec=vec)
        blocks[f"{a.name}, {b.name}"] = [derived - start, time.process_time() - derived, len(text)]
print(json.dumps(blocks))
"""


def measure(kernel: str, vec: str, runs: int) -> dict[str, tuple[float, float, int]]:
    """Return per block the best seconds to derive and to typeset it, and its characters of LaTeX."""
    found: dict[str, tuple[float, float, int]] = {}
    for _ in range(runs):
        command = [sys.executable, "-c", BLOCKS, kernel, vec]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        for block, (derive, typeset, length) in json.loads(done.stdout).items():
            best = found.get(block, (derive, typeset, length))
            found[block] = (min(derive, best[0]), min(typeset, best[1]), length)
    return found


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description="Processor time and length of the 16 Hessian blocks.")
    parser.add_argument("--runs", type=int, default=3, help="processes per measurement (default 3)")
    parser.add_argument("--kernel", choices=["softmax", "gaussian"], default="softmax")
    parser.add_argument("--vec", choices=["row", "column"], default="row", help="order of rows and columns")
    given = parser.parse_args()
    blocks = measure(given.kernel, given.vec, given.runs)
    print(f"{'block':12} {'derive':>9} {'typeset':>9} {'LaTeX':>12}")
    for block, (derive, typeset, length) in blocks.items():
        print(f"{block:12} {1000 * derive:6.0f} ms {1000 * typeset:6.0f} ms {length:6d} chars")
    derive, typeset, _ = (sum(part) for part in zip(*blocks.values(), strict=True))
    longest = max(length for _, _, length in blocks.values())
    print(f"{'all':12} {1000 * derive:6.0f} ms {1000 * typeset:6.0f} ms {longest:6d} chars at most")
    print(f"together {derive + typeset:.2f} s")


if __name__ == "__main__":
    main()
