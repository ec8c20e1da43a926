r"""Stage 3a: which values get a variable.

A value gets a variable of its own if it belongs to a named tensor, is used more than once and is
no mere view, takes more than one line, or if an expression would get too long without it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from lemmax.codegen.values import Value
from lemmax.codegen.views import count_uses, reachable

LONGEST = 84
"""Most characters of one expression, as estimated by :func:`length`."""
LONGEST_PRODUCT = 48
"""Most characters of a matrix product, so that views of it fit on the same line."""
SHORTEST = 12
"""Expressions shorter than this are not worth a name."""

LEAVES = frozenset({"input", "number", "arange", "eye", "truth"})
VIEWS = frozenset({"transpose", "expand", "take", "slice", "diagonal", "broadcast", "copy"})
"""Operations that are written behind their operand and need no name of their own."""
BLOCKS = frozenset(
    {"softmax", "logsumexp", "place", "logdet", "sigmoid", "on_diagonal"}
    | {"nonzero", "check", "cofactors", "singular_dyad", "eigen_projector", "polar"}
)
"""Operations that take more than one line."""
REPEATING = {
    "softmax": (0,), "logsumexp": (0,), "sigmoid": (0,), "kth": (0,),
    "pullback_rowsum": (0, 1), "pullback_pairwise": (0, 1),
}  # fmt: skip
"""Operations whose text names an operand more than once; such an operand needs a name."""
REPEATING_CALLS = ("softplus",)


class Chooser:
    """Chooses the values that get a variable."""

    def __init__(self, roots: Sequence[Value], named: Collection[int]) -> None:
        """Choose among the values that ``roots`` need; ``named`` are the numbers of those with a name."""
        self.roots = frozenset(r.number for r in roots)
        self.order = reachable(roots)
        self.uses = count_uses(self.order, roots)
        self.forced: set[int] = set(self.roots)
        for v in self.order:
            if v.number in named or v.op in BLOCKS:
                self.forced.add(v.number)
            if v.op in VIEWS and self.uses[v.number] > 1 and v.args[0].op not in LEAVES:
                self.forced.add(v.args[0].number)  # the variable is what is looked at, not the view
            self.forced |= {a.number for a in repeated_operands(v)}

    def choose(self) -> list[Value]:
        """Return the values that get a variable, in order of execution."""
        lengths: dict[int, int] = {}
        products: set[int] = set()  # values whose expression holds a matrix product
        for v in self.order:
            inline = [a for a in dict.fromkeys(v.args) if not self.has_variable(a)]
            if v.op == "matmul":
                # a product of products is written in steps, unless it is a plain chain
                for a in [a for a in inline if a.number in products and a.op != "matmul"]:
                    self.forced.add(self.without_views(a).number)
                    inline.remove(a)
                for a in [a for a in inline if a.op == "matmul" and not all(map(self.is_plain, a.args))]:
                    self.forced.add(a.number)
                    inline.remove(a)
            own = length(v)
            most = LONGEST_PRODUCT if v.op == "matmul" else LONGEST
            while inline and own + sum(lengths[a.number] for a in inline) > most:
                longest = max(inline, key=lambda a: lengths[a.number])
                if lengths[longest.number] < SHORTEST:
                    break
                self.forced.add(longest.number)
                inline.remove(longest)
            lengths[v.number] = own + sum(lengths[a.number] for a in inline)
            if v.op == "matmul" or any(a.number in products for a in inline):
                products.add(v.number)
        return [v for v in self.order if v.op != "input" and self.has_variable(v)]

    def is_plain(self, v: Value) -> bool:
        """Is a value written as a name, or as a chain of products of names?"""
        return self.has_variable(v) or (v.op == "matmul" and all(map(self.is_plain, v.args)))

    def without_views(self, v: Value) -> Value:
        """Return what a chain of views without a variable looks at."""
        while v.op in VIEWS and v.args[0].op not in LEAVES and not self.has_variable(v.args[0]):
            v = v.args[0]
        return v

    def has_variable(self, v: Value) -> bool:
        """Does a value have a name of its own?"""
        if v.op == "input":
            return True
        if v.op in ("number", "truth"):
            return v.number in self.roots
        if v.number in self.forced:
            return True
        if self.uses[v.number] < 2 or v.op in LEAVES:
            return False
        return not (v.op in VIEWS and self.has_variable(v.args[0]))


def repeated_operands(v: Value) -> list[Value]:
    """Return the operands that the text of ``v`` names more than once."""
    slots = REPEATING.get(v.op, ())
    if v.op == "call" and v.params[0] in REPEATING_CALLS:
        slots = (0,)
    return [v.args[p] for p in slots if v.args[p].op not in ("input", "number")]


NAME = 6
"""Characters of a name, where it is not known yet."""


def length(v: Value) -> int:
    """Return about how many characters the text of an operation takes, without its inline operands."""
    if v.op in ("input", "pin"):
        return NAME if v.op == "input" else 0
    if v.op in ("number", "scale"):
        return 3 + len(str(v.params[0]))
    if v.op == "transpose":
        moved = sum(p != a for p, a in enumerate(v.params[0]))
        return 2 if v.ndim == 2 else 16 if moved == 2 else 12 + 3 * v.ndim
    if v.op in ("reshape", "broadcast"):
        return 10 + sum(2 + len(str(s)) for s in v.shape)
    if v.op in ("expand", "take", "slice"):
        return 4 + 3 * max(v.ndim, v.args[0].ndim)
    if v.op in ("add", "multiply", "divide", "power", "matmul", "compare"):
        return 2 + 3 * (len(v.args) - 1) + NAME
    return 20 + NAME
