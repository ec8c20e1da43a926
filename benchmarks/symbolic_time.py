r"""How long lemmax takes to start, and to derive and typeset the four gradients of the softmax model.

Prints processor time, not wall time, so that other work on the machine matters little.  Each number is
the best of several runs, every run in a process of its own: nothing is warm but the disk.

    python benchmarks/symbolic_time.py [--runs 5]

``comparison`` sets the gradients and one block of the Hessian beside SymPy and tensorgrad.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys

IMPORT = """
import json, time
start = time.process_time()
import lemmax
print(json.dumps({"import lemmax": time.process_time() - start}))
"""

GRADIENTS = """
import json, time
import lemmax as lx
start = time.process_time()
model = lx.models.attention("softmax")
gradients = lx.gradient(model.loss, model.weights)
derived = time.process_time()
texts = [lx.latex(g, notation="matrix") for g in gradients]
typeset = time.process_time()
derivation = lx.derive(model.loss, model.weights)
steps = time.process_time()
derivation.replay()
replayed = time.process_time()
print(json.dumps({
    "four gradients derived": derived - start,
    "four gradients typeset": typeset - derived,
    "derived and typeset": typeset - start,
    "derivation with steps": steps - typeset,
    "replay": replayed - steps,
}))
"""


COMPARED = """
import json, time
import lemmax as lx
start = time.process_time()
model = lx.models.attention("softmax")
lx.gradient(model.loss, model.weights)
done = time.process_time()
lx.hessian(model.loss, model.WQ, model.WK)
print(json.dumps({"four gradients": done - start, "block in W^Q, W^K": time.process_time() - done}))
"""


def measure(code: str, runs: int) -> dict[str, float]:
    """Return the best time of each part over several processes."""
    best: dict[str, float] = {}
    for _ in range(runs):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        for part, seconds in json.loads(done.stdout).items():
            best[part] = min(seconds, best.get(part, seconds))
    return best


PEERS = {"SymPy, raw index sums": "benchmarks.peers.in_sympy", "tensorgrad": "benchmarks.peers.in_tensorgrad"}


def comparison(runs: int) -> dict[str, dict[str, float]]:
    """Return the best times of lemmax and of the peers that are installed, for gradients and one block."""
    found = {"lemmax": measure(COMPARED, runs)}
    for peer, module in PEERS.items():
        if peer == "tensorgrad" and importlib.util.find_spec("tensorgrad") is None:
            continue
        code = f"from {module} import main; main()"
        found[peer] = measure(code, 1 if peer == "tensorgrad" else runs)
    return found


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description="Processor time of deriving, typesetting and importing.")
    parser.add_argument("--runs", type=int, default=5, help="processes per measurement (default 5)")
    runs = parser.parse_args().runs
    for part, seconds in {**measure(IMPORT, runs), **measure(GRADIENTS, runs)}.items():
        print(f"{part:26} {1000 * seconds:8.0f} ms")


if __name__ == "__main__":
    main()
