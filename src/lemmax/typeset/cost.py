r"""How hard a formula is to read: the measure by which a form is chosen among equal ones.

Distinct subtrees are counted once, so that repeated parts are cheap; signs that slow a reader
down (transposes, explicit sums, entries in brackets) cost extra.  The figures are a judgement,
made by looking at formulas; nothing but the choice among *equal* forms depends on them.
"""

from __future__ import annotations

from lemmax.typeset.node import Node

_EXTRA: dict[str, float] = {
    "transpose": 0.2,
    "diagonal": 0.6,
    "diag": 0.3,
    "inner": 0.2,
    "trace": 0.3,
    "sum": 1.0,
    "blocks": 4.0,
    "pick": 3.0,
    "unit": 3.0,
    "delta": 2.0,
    "cases": 2.0,
    "atom": 0.0,
}


def cost(*nodes: Node) -> float:
    """Return the cost of reading nodes together; shared subtrees are counted once."""
    seen: set[str] = set()
    todo = list(nodes)
    total = 0.0
    while todo:
        x = todo.pop()
        if x.key in seen:
            continue
        seen.add(x.key)
        todo.extend(x.args)
        total += 1 + _EXTRA.get(x.op, 0.0)
        if x.op == "atom":
            kept = sum(1 for s in x.data[1] if s is None)
            total += 0.5 * max(0, min(2, x.data[0].ndim) - kept)  # rows and entries carry more subscripts
        if x.op == "linear":
            total += 0.3 * sum(1 for c in x.data if c not in (1, -1)) + 0.05 * sum(
                1 for c in x.data if c.could_extract_minus_sign()
            )
    return total
