r"""Stage 3: values become statements.

Input: the values of the outputs.  Output: a :class:`~lemmax.codegen.records.Plan`.  Which values get
a variable is decided in :mod:`lemmax.codegen.variables`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import sympy as sp

from lemmax.codegen.forms import Choice
from lemmax.codegen.lower import Program
from lemmax.codegen.memory import Memory, plan_memory
from lemmax.codegen.naming import Names, argument_names, size_names
from lemmax.codegen.planner import Planner
from lemmax.codegen.records import Plan, Statement
from lemmax.codegen.values import Value
from lemmax.codegen.variables import LEAVES, VIEWS, Chooser
from lemmax.codegen.views import reachable
from lemmax.errors import InvalidArgument
from lemmax.expr.tensor import identifier

FEWEST_BUFFERS = 6
"""With fewer buffers a function makes its arrays as it goes, unless buffers are asked for."""

RISKY = frozenset(
    {"call", "divide", "power", "multiply", "add", "matmul", "scale", "logsumexp", "logdet", "sigmoid"}
    | {"nonzero"}
)
"""Operations that may warn on operands that are not meant."""


_DECOMPOSITIONS = frozenset(
    {
        "inv",
        "det",
        "logdet",
        "singular_values",
        "eigenvalues",
        "rank",
        "cond",
        "solve",
        "pinv",
        "matrix_power",
    }
    | {"cofactors", "singular_dyad", "eigen_projector", "polar"}
)


def schedule(
    program: Program,
    planner: Planner,
    roots: Sequence[Value],
    name: str,
    output_names: Sequence[str | None],
    returns_tuple: bool,
    buffers: bool | None = None,
) -> Plan:
    """Return the plan of a function called ``name``.

    Raises:
        InvalidArgument: a size cannot be found from the shapes of the inputs.
    """
    arguments = argument_names(program.inputs)
    names = Names([*arguments, name])
    sizes = size_names(_size_symbols(program, roots), names)
    chooser = Chooser(roots, planner.names)
    chosen = chooser.choose()
    by_input = {t.name: a for t, a in zip(program.inputs, arguments, strict=True)}
    variables = {v.number: by_input[str(v.params[0])] for v in chooser.order if v.op == "input"}
    results = roots[len(program.guards) :]
    wishes = {r.number: w for r, w in zip(results, output_names, strict=True) if w is not None}
    # named tensors first, so that they keep their names
    for v in chosen:
        if v.number in planner.names and v.number not in wishes:
            variables[v.number] = names.take(identifier(planner.names[v.number]))
    for number, wish in wishes.items():
        if number not in variables:
            variables[number] = names.take(wish)
    guarded = guarded_values(chooser.order, roots)
    statements = []
    for v in chosen:
        if v.number not in variables:
            logits = any(u.op in ("softmax", "logsumexp") and v in u.args for u in chooser.order)
            variables[v.number] = names.take(
                "logits" if logits else wished_name(v, variables, planner.sources)
            )
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
    memory, remarks = _memory(statements, variables, roots, buffers, planner.extent)
    choices = [*planner.choices, *remarks]
    outputs = tuple((variables[r.number], t) for r, t in zip(results, program.outputs, strict=True))
    return Plan(
        name, program.inputs, arguments, sizes, tuple(statements), outputs, returns_tuple,
        program.instance_axis, variables, tuple(dict.fromkeys(choices)), memory,
    )  # fmt: skip


def _memory(
    statements: Sequence[Statement],
    variables: Mapping[int, str],
    roots: Sequence[Value],
    wished: bool | None,
    extent: Callable[[sp.Expr], float],
) -> tuple[Memory | None, list[Choice]]:
    """Return where intermediate results lie, unless arrays of their own were asked for or do as well."""
    if wished is False:
        return None, [Choice("memory", "a new array for each intermediate result", "asked for")]
    memory = plan_memory(execution_order(statements, variables), variables, roots, extent)
    count = len(memory.buffers)
    if not memory.buffers or (wished is None and count < FEWEST_BUFFERS):
        few = f"{count} buffers would do, fewer than {FEWEST_BUFFERS}"
        return None, [Choice("memory", "a new array for each intermediate result", few)]
    reason = "asked for" if wished else "fresh memory costs page faults, and allocations time"
    return memory, [Choice("memory", f"{count} buffers of {memory.entries} entries, kept", reason)]


def execution_order(statements: Sequence[Statement], variables: Mapping[int, str]) -> list[Value]:
    """Return all values, operands first, as the statements compute them."""
    found: dict[int, Value] = {}
    for s in statements:
        stack: list[tuple[Value, bool]] = [(s.value, False)]
        while stack:
            v, expanded = stack.pop()
            if v.number in found:
                continue
            if expanded:
                found[v.number] = v
                continue
            stack.append((v, True))
            stack.extend((a, False) for a in reversed(v.args))
    return list(found.values())


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
                "that it cannot be taken from the arrays. Use a number for it, or add a variable "
                "that has it: lx.compile(..., inputs=[...])."
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


def wished_name(v: Value, variables: Mapping[int, str], sources: Mapping[int, Value]) -> str:
    """Return a name for an unnamed value: ``X_WQ`` for a product, ``X_flat`` for a reshape, else ``t``.

    Args:
        v: the value.
        variables: names that are given already.
        sources: the products that parts of larger products were.
    """
    v = sources.get(v.number, v)
    if v.op == "reshape" and (base := variables.get(v.args[0].number)):
        return f"{base}_flat"
    if v.op in ("reshape", "transpose", "expand", "take", "pin"):
        inner = v.args[0]
        if inner.number not in variables:
            return wished_name(inner, variables, sources)
    if v.op in ("singular_values", "eigenvalues"):
        return v.op
    if v.op in ("matmul", "concat"):
        joined = "_".join(_base_name(a, variables) for a in v.args)
        if len(joined) <= 12 and "?" not in joined:
            return joined
    return "columns" if v.op == "concat" else "t"


def _base_name(v: Value, variables: Mapping[int, str]) -> str:
    """Return the name of what a chain of views looks at; ``?`` if it has none that says anything."""
    name = variables.get(v.number, "?")
    while v.op in VIEWS | {"reshape", "pin"} and not (v.op == "slice" and name != "?"):
        v = v.args[0]
        name = variables.get(v.number, name)
    return "?" if name == "t" or name.startswith("t_") else name


def flops(v: Value) -> sp.Expr:
    """Return the floating-point operations of one value."""
    if v.op in LEAVES | VIEWS | {"reshape", "pin", "concat", "place"}:
        return sp.S.Zero
    out = sp.Mul(*v.shape)
    if v.op == "on_diagonal":
        return sp.Add(*[sp.Mul(*block.shape) for block in v.args[int(v.params[0]) :]])
    if v.op == "matmul":
        return 2 * out * v.args[0].shape[-1]
    size = sp.Mul(*v.args[0].shape) if v.args else out
    if v.op in ("sum", "max", "min", "prod"):
        return size
    if v.op in ("softmax", "logsumexp", "pullback_rowsum"):
        return 4 * size
    if v.op == "pullback_pairwise":
        return 3 * size * v.shape[-1]
    if v.op in _DECOMPOSITIONS:
        return size * v.args[0].shape[-1]
    return out * max(1, len(v.args) - 1)
