r"""Which values share memory with their operands, and tidying up of views before scheduling."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lemmax.codegen.values import Pool, Value

SHARING = frozenset({"transpose", "reshape", "expand", "take", "slice", "diagonal", "broadcast", "pin"})
"""Operations whose result may share memory with their operand."""


def reachable(roots: Sequence[Value]) -> list[Value]:
    """Return all values that ``roots`` need, operands first, in the order of their first use."""
    order: list[Value] = []
    done: set[int] = set()
    stack: list[tuple[Value, bool]] = [(r, False) for r in reversed(roots)]
    while stack:
        v, expanded = stack.pop()
        if v.number in done:
            continue
        if expanded:
            done.add(v.number)
            order.append(v)
            continue
        stack.append((v, True))
        stack.extend((a, False) for a in reversed(v.args) if a.number not in done)
    return order


def count_uses(order: Sequence[Value], roots: Sequence[Value]) -> dict[int, int]:
    """Return how often each value is an operand or an output."""
    uses: dict[int, int] = {}
    for used in [*(a for v in order for a in v.args), *roots]:
        uses[used.number] = uses.get(used.number, 0) + 1
    return uses


def replaced(
    pool: Pool, order: Sequence[Value], change: Callable[[Value, dict[int, Value]], Value | None]
) -> tuple[dict[int, Value], int]:
    """Make values anew, operands first.

    Args:
        pool: where the new values are made.
        order: the values, operands before their users.
        change: returns what takes the place of a value, given what took the place of those before it, or
            ``None`` if it is the same operation on the new operands.

    Returns:
        The value that takes the place of each, by its number, and how many were changed.
    """
    new: dict[int, Value] = {}
    changed = 0
    for v in order:
        found = change(v, new)
        changed += found is not None
        new[v.number] = rebuilt(pool, v, [new[a.number] for a in v.args]) if found is None else found
    return new, changed


_PARTS = frozenset({"diagonal", "broadcast", "slice"})
"""Views that keep the memory of the whole, or cannot be written to."""


def chain_of_views(v: Value) -> list[Value]:
    """Return a value, what it is a view of, and so on to the array that has the memory."""
    found = [v]
    while found[-1].op in SHARING:
        found.append(found[-1].args[0])
    return found


def fresh_outputs(pool: Pool, roots: Sequence[Value]) -> list[Value]:
    """Copy outputs that share memory with an input or one another, could not be written to, or are parts."""
    taken: set[int] = set()
    found: list[Value] = []
    uses = count_uses(reachable(roots), roots)
    for root in (_with_room(pool, r, uses) for r in roots):
        *views, base = chain_of_views(root)
        unfit = any(v.op in _PARTS for v in views)
        constant = base.op in ("number", "arange", "eye")  # made on the spot
        shares = base.op == "input" or (base.number in taken and not constant) or (unfit and not constant)
        taken.add(base.number)
        # a copy for each output: interned, the copies of one value would be one array
        found.append(pool.make("copy", (root,), (len(found),)) if shares else root)
    return found


def _with_room(pool: Pool, root: Value, uses: dict[int, int]) -> Value:
    """Copy what diagonals are added to in place, unless it is made for that."""
    if root.op != "on_diagonal" or not root.params[0]:
        return root
    *views, base = chain_of_views(root.args[0])
    alone = all(uses[v.number] < 2 for v in (*views, base)) and not any(v.op in _PARTS for v in views)
    if alone and base.op in ("matmul", "add", "multiply", "divide", "scale"):
        return root
    copied = pool.make("copy", (root.args[0],), (root.number,))
    return pool.make(root.op, (copied, *root.args[1:]), root.params, root.shape)


def without_idle_pins(pool: Pool, roots: Sequence[Value]) -> dict[int, Value]:
    """Drop pins that only one operation looks at, so that the views on both sides become one.

    Returns:
        The value that takes the place of each value that ``roots`` need, by its number.
    """
    order = reachable(roots)
    uses = count_uses(order, roots)

    def behind(v: Value, new: dict[int, Value]) -> Value | None:
        return new[v.args[0].number] if v.op == "pin" and uses[v.number] < 2 else None

    return replaced(pool, order, behind)[0]


def rebuilt(pool: Pool, v: Value, args: Sequence[Value]) -> Value:
    """Return the same operation on other operands of the same shapes; views of views become one view."""
    if v.op == "transpose":
        return pool.transpose(args[0], v.params[0])
    if v.op == "reshape":
        return pool.reshape(args[0], v.shape)
    return pool.make(v.op, args, v.params, v.shape)
