r"""Stage 3: values become statements.

Input: the values of the outputs.  Output: a :class:`~lemmax.codegen.records.Plan`.  A value gets a
variable of its own if it belongs to a named tensor, is used more than once and is no mere view,
needs more than one line, or if the expression would get too long without it.
"""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from lemmax.codegen.lower import Program
from lemmax.codegen.naming import Names, argument_names, size_names
from lemmax.codegen.planner import Planner
from lemmax.codegen.records import Plan, Statement
from lemmax.codegen.values import Value
from lemmax.errors import InvalidArgument
from lemmax.expr.tensor import identifier

LONGEST = 10
"""Most weight of one expression: an operation weighs 2, a view 1."""
LONGEST_OPERAND = {True: 2, False: 4}
"""Most weight of an operand of a matrix product, if it holds another matrix product and if not."""

LEAVES = frozenset({"input", "number", "arange", "eye", "truth"})
VIEWS = frozenset({"transpose", "expand", "take", "slice", "diagonal", "broadcast", "copy"})
BLOCKS = frozenset({"softmax", "logsumexp", "place", "logdet", "sigmoid"})
"""Operations that take more than one line."""
REPEATING = {
    "softmax": (0,), "logsumexp": (0,), "sigmoid": (0,), "kth": (0,),
    "pullback_rowsum": (0, 1), "pullback_pairwise": (0, 1),
}  # fmt: skip
"""Operations whose text names an operand more than once; such an operand needs a name."""
REPEATING_CALLS = ("softplus",)
RISKY = frozenset(
    {"call", "divide", "power", "multiply", "add", "matmul", "scale", "logsumexp", "logdet", "sigmoid"}
)
"""Operations that may warn on operands that are not meant."""


class Scheduler:
    """Chooses variables and puts statements in order."""

    def __init__(self, planner: Planner, roots: Sequence[Value], names: Names) -> None:
        """Schedule the values that ``roots`` need."""
        self.planner = planner
        self.roots = roots
        self.names = names
        self.order = reachable(roots)
        self.uses: dict[int, int] = {}
        for v in self.order:
            for a in v.args:
                self.uses[a.number] = self.uses.get(a.number, 0) + 1
        for root in roots:
            self.uses[root.number] = self.uses.get(root.number, 0) + 1
        self.forced: set[int] = {r.number for r in roots}
        for v in self.order:
            if v.number in planner.names or v.op in BLOCKS:
                self.forced.add(v.number)
            if v.op in VIEWS and self.uses[v.number] > 1 and v.args[0].op not in LEAVES:
                self.forced.add(v.args[0].number)  # the variable is what is looked at, not the view
            self.forced |= {a.number for a in repeated_operands(v)}
        self.variables: dict[int, str] = {}

    def choose(self) -> list[Value]:
        """Return the values that get a variable, in order of execution."""
        weight: dict[int, int] = {}
        holds_product: dict[int, bool] = {}
        for v in self.order:
            if v.op == "input":
                weight[v.number], holds_product[v.number] = 0, False
                continue
            inline = [a for a in dict.fromkeys(v.args) if not self.has_variable(a)]
            own = 0 if v.op in LEAVES else 1 if v.op in VIEWS else 2
            for a in list(inline):
                if v.op == "matmul" and weight[a.number] > LONGEST_OPERAND[holds_product[a.number]]:
                    base = self.without_views(a)
                    self.forced.add(base.number)
                    inline.remove(a)
            while inline and own + sum(weight[a.number] for a in inline) > LONGEST:
                heaviest = max(inline, key=lambda a: weight[a.number])
                if weight[heaviest.number] < 3:
                    break
                self.forced.add(heaviest.number)
                inline.remove(heaviest)
            weight[v.number] = own + sum(weight[a.number] for a in inline)
            holds_product[v.number] = v.op == "matmul" or any(holds_product[a.number] for a in inline)
        return [v for v in self.order if v.op != "input" and self.has_variable(v)]

    def without_views(self, v: Value) -> Value:
        """Return what a chain of views without a variable looks at."""
        while v.op in VIEWS and v.args[0].op not in LEAVES and not self.has_variable(v.args[0]):
            v = v.args[0]
        return v

    def has_variable(self, v: Value) -> bool:
        """Does a value have a name of its own?"""
        if v.op in ("input",):
            return True
        if v.op in ("number", "truth"):
            return v.number in {r.number for r in self.roots}
        if v.number in self.forced:
            return True
        if self.uses[v.number] < 2 or v.op in LEAVES:
            return False
        return not (v.op in VIEWS and self.has_variable(v.args[0]))


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


def repeated_operands(v: Value) -> list[Value]:
    """Return the operands that the text of ``v`` names more than once."""
    slots = REPEATING.get(v.op, ())
    if v.op == "call" and v.params[0] in REPEATING_CALLS:
        slots = (0,)
    return [v.args[p] for p in slots if v.args[p].op not in ("input", "number")]


def schedule(
    program: Program,
    planner: Planner,
    roots: Sequence[Value],
    name: str,
    output_names: Sequence[str | None],
    returns_tuple: bool,
) -> Plan:
    """Return the plan of a function called ``name``.

    Raises:
        InvalidArgument: a size cannot be found from the shapes of the inputs.
    """
    arguments = argument_names(program.inputs)
    names = Names([*arguments, name])
    sizes = size_names(_size_symbols(program, roots), names)
    scheduler = Scheduler(planner, roots, names)
    chosen = scheduler.choose()
    by_input = {t.name: a for t, a in zip(program.inputs, arguments, strict=True)}
    variables = {v.number: by_input[str(v.params[0])] for v in scheduler.order if v.op == "input"}
    wishes = {r.number: w for r, w in zip(roots, output_names, strict=True) if w is not None}
    # named tensors first, so that they keep their names
    for v in chosen:
        if v.number in planner.names and v.number not in wishes:
            variables[v.number] = names.take(identifier(planner.names[v.number]))
    for number, wish in wishes.items():
        if number not in variables:
            variables[number] = names.take(wish)
    guarded = guarded_values(scheduler.order, roots)
    statements = []
    for v in chosen:
        if v.number not in variables:
            logits = any(u.op in ("softmax", "logsumexp") and v in u.args for u in scheduler.order)
            variables[v.number] = names.take("logits" if logits else wished_name(v, variables))
        inside = inline_values(v, variables)
        operands = tuple(
            dict.fromkeys(variables[a.number] for a in inside if a.number in variables and a is not v)
        )
        statements.append(
            Statement(
                variables[v.number],
                operation_of(v),
                operands,
                v.shape,
                sp.Add(*[flops(x) for x in inside if x is v or x.number not in variables]),
                v,
                planner.tensors.get(v.number),
                any(
                    x.number in guarded and x.op in RISKY
                    for x in inside
                    if x is v or x.number not in variables
                ),
            )
        )
    outputs = tuple((variables[r.number], t) for r, t in zip(roots, program.outputs, strict=True))
    return Plan(
        name, program.inputs, arguments, sizes, tuple(statements), outputs, returns_tuple,
        program.instance_axis, variables, tuple(dict.fromkeys(planner.choices)),
    )  # fmt: skip


def _size_symbols(program: Program, roots: Sequence[Value]) -> list[sp.Symbol]:
    """Return the size symbols of the inputs in order; others may not occur."""
    found = list(
        dict.fromkeys(
            s for t in program.inputs for extent in t.shape for s in sorted(extent.free_symbols, key=str)
        )
    )
    for v in reachable(roots):
        needed = {s for extent in v.shape for s in extent.free_symbols}
        needed |= {s for p in v.params for s in _symbols_in(p)}
        missing = sorted(needed - set(found), key=str)
        if missing:
            raise InvalidArgument(
                f"compile: the size {missing[0]} occurs in the expression but in the shape of no input, so "
                "that it cannot be taken from the arrays. Use a number for it, or give it to an input."
            )
    return found


def _symbols_in(param: object) -> set[sp.Symbol]:
    if isinstance(param, sp.Basic):
        return set(param.free_symbols)
    if isinstance(param, tuple):
        return {s for p in param for s in _symbols_in(p)}
    return set()


def inline_values(v: Value, variables: dict[int, str]) -> list[Value]:
    """Return ``v``, what stands in its expression, and the variables in it."""
    found: list[Value] = []
    stack = [v]
    while stack:
        x = stack.pop()
        if x in found:
            continue
        found.append(x)
        if x is v or x.number not in variables:
            stack.extend(reversed(x.args))
    return found


def guarded_values(order: Sequence[Value], roots: Sequence[Value]) -> set[int]:
    """Return the values that only feed branches of a ``where``, which may discard them."""
    open_uses = {r.number for r in roots}
    guarded: set[int] = set()
    for v in reversed(order):
        if v.number not in open_uses:
            guarded.add(v.number)
        for slot, a in enumerate(v.args):
            if v.number not in guarded and not (v.op == "where" and slot > 0):
                open_uses.add(a.number)
    return guarded


def operation_of(v: Value) -> str:
    """Return the name of an operation for the plan."""
    return str(v.params[0]) if v.op == "call" else v.op


def wished_name(v: Value, variables: dict[int, str]) -> str:
    """Return a name for an unnamed value: ``X_WQ`` for a product, ``X_flat`` for a reshape, else ``t``."""
    if v.op == "reshape" and (base := variables.get(v.args[0].number)):
        return f"{base}_flat"
    if v.op in ("reshape", "transpose", "expand", "take"):
        inner = v.args[0]
        if inner.number not in variables:
            return wished_name(inner, variables)
    if v.op == "matmul":
        parts = [_base_name(a, variables) for a in v.args]
        if all(parts):
            joined = "_".join(p for p in parts if p)
            if len(joined) <= 12:
                return joined
    return "t"


def _base_name(v: Value, variables: dict[int, str]) -> str | None:
    while v.number not in variables and v.op in ("reshape", *sorted(VIEWS)):
        v = v.args[0]
    return variables.get(v.number)


def flops(v: Value) -> sp.Expr:
    """Return the floating-point operations of one value."""
    if v.op in LEAVES | VIEWS | {"reshape", "concat", "place"}:
        return sp.S.Zero
    out = sp.Mul(*v.shape)
    if v.op == "matmul":
        return 2 * out * v.args[0].shape[-1]
    size = sp.Mul(*v.args[0].shape) if v.args else out
    if v.op in ("sum", "max", "min", "prod"):
        return size
    if v.op in ("softmax", "logsumexp", "pullback_rowsum"):
        return 4 * size
    if v.op == "pullback_pairwise":
        return 3 * size * v.shape[-1]
    if v.op in ("inv", "det", "logdet", "singular_values", "eigenvalues", "rank", "cond"):
        return size * v.args[0].shape[-1]
    return out * max(1, len(v.args) - 1)
