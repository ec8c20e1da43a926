r"""How hard a formula is to read: the measure by which a form is chosen among equal ones.

Distinct subtrees are counted once, so that repeated parts are cheap; signs that slow a reader
down (transposes, explicit sums, entries in brackets) cost extra.  The figures are a judgement,
made by looking at formulas; nothing but the choice among *equal* forms depends on them.
"""

from __future__ import annotations

from lemmax.typeset.algebra import outer_ones
from lemmax.typeset.node import Node, is_column, is_row, is_scalar

_EXTRA: dict[str, float] = {
    "transpose": 0.2,
    "diagonal": 0.6,
    "diag": 0.3,
    "inner": 0.2,
    "trace": 0.3,
    "sum": 1.0,
    "blocks": 2.0,
    "pick": 3.0,
    "unit": 3.0,
    "delta": 2.0,
    "commutation": 2.0,
    "cases": 2.0,
    "atom": 0.0,
}

_LENGTH = 0.3
"""Cost of a node each time it is printed, on top of what it costs the first time."""


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
        if x.op == "product" and x == outer_ones(*x.shape):
            total += 1  # the matrix of ones is one sign
            continue
        todo.extend(x.args)
        total += 1 + _EXTRA.get(x.op, 0.0)
        if x.op == "kron" and any(a == outer_ones(*a.shape) and not is_column(a) for a in x.args):
            total += 4.0  # entries taken apart again: an opened sum is easier to read
        if x.op == "kron" and any(map(is_column, x.args)) and any(map(is_row, x.args)):
            total += 0.5  # a product of rank one in two places
        if x.op == "blocks" and not is_scalar(x.args[0]) and None in x.data:
            total += 8.0  # rows or columns one by one: the last resort
        if x.op == "atom":
            core = x.data[1][-2:]
            total += 0.3 * sum(1 for s in core if s is not None)  # rows, entries: more subscripts
            total += 2.0 * (len(core) == 2 and core[0] is None and core[1] is not None)  # a column
        if x.op == "linear":
            total += 0.3 * sum(1 for c in x.data if c not in (1, -1)) + 0.05 * sum(
                1 for c in x.data if c.could_extract_minus_sign()
            )
    return total + _LENGTH * sum(x.weight for x in nodes)
