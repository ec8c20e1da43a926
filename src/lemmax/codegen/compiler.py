r"""The driver: from tensors to a compiled function.

=========  =================================  ==========================================
stage      module                             result
=========  =================================  ==========================================
lower      :mod:`lemmax.codegen.lower`        definitions: sums of products, functions
plan       :mod:`lemmax.codegen.planner`      operations on arrays, shared and ordered
schedule   :mod:`lemmax.codegen.schedule`     statements: variables, shapes, costs
emit       :mod:`lemmax.codegen.numpy_source` source text
load       :mod:`lemmax.codegen.load`         a function
=========  =================================  ==========================================
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import sympy as sp

from lemmax.codegen.forms import Choice, SoftmaxGradient
from lemmax.codegen.function import CompiledFunction
from lemmax.codegen.lower import lower
from lemmax.codegen.naming import RESERVED, argument_names
from lemmax.codegen.order import Decided
from lemmax.codegen.planner import Planner
from lemmax.codegen.records import Plan
from lemmax.codegen.replanning import Replanner, Written
from lemmax.codegen.schedule import schedule
from lemmax.codegen.sizes import representative_sizes
from lemmax.codegen.streaming import Chunks, sample_axes
from lemmax.codegen.target import NUMPY, Target, as_target
from lemmax.errors import InvalidArgument
from lemmax.expr.domains import without_domains
from lemmax.expr.graph import inputs_of
from lemmax.expr.nodes import Input
from lemmax.expr.tensor import Tensor, identifier

DEFAULT_CHUNK = 256
"""Samples that are taken at once where they are streamed."""


def compile(
    t: Tensor | Sequence[Tensor],
    *,
    batch: bool | Sequence[str] = False,
    name: str | None = None,
    outputs: Sequence[str] | None = None,
    softmax_gradient: SoftmaxGradient = "auto",
    sizes: Mapping[str, int] | None = None,
    inputs: Sequence[Input] | None = None,
    buffers: bool | None = None,
    stream: str | None = None,
    chunk: int | None = None,
    replan: bool | None = None,
    check: bool = True,
    target: Target | str = NUMPY,
) -> CompiledFunction:
    """Return a function that computes ``t`` from arrays, with its source text.

    Args:
        t: a tensor, or a list of tensors, which share their common parts and are returned as a tuple.
        batch: ``True`` gives every input a leading instance axis, a list of names only those; all outputs
            get it.
        name: name of the function; by default ``compute``, with the name of a single tensor.
        outputs: names of the results in the source, for tensors without a name.
        softmax_gradient: ``rowsum`` or ``pairwise``; ``auto`` takes the pairwise form, which is exact for
            saturated rows, where its array of pairs has at most three axes.
        sizes: typical sizes by name; they decide the order of contractions, never a value.
        inputs: the arguments in order: all variables that occur, and others if you like, whose shapes are
            checked and may give sizes that nothing else gives; by default those that occur.
        buffers: whether intermediate results are written into memory that the function keeps from call to
            call; results are new arrays in any case, and calls at once do not share. ``None`` keeps memory
            where there are many intermediate results; ``False`` gives the shortest text.
        stream: name of a size, that of the samples: results are added up over chunks of samples, so that more
            samples take no more memory. The results must be sums over samples.
        chunk: most samples, or instances of a batch, that are taken at once; 256 samples by default.
        replan: whether the order of contractions may be chosen again at the first call with arrays of other
            sizes, if another one is cheaper there; results then differ by rounding. By default it is, unless
            ``sizes`` are given.
        check: whether each call checks that arrays of variables with structure have it (a symmetric matrix
            is symmetric, up to 1e-9 of its largest entry). Definite and orthogonal matrices take cubic time;
            ``False`` leaves the check out. The source text, run by itself, has no such check.
        target: what the plan is written down in: ``"numpy"``, or an object with ``emit`` and ``load``.

    Raises:
        InvalidArgument: a name cannot be used in code, a size is in no input, an argument is not understood.
        NameClash: two inputs have the same name in code.
        UnsupportedYet: something in the expression has no NumPy form.

    >>> import lemmax as lx
    >>> n, D = lx.sizes("n D")
    >>> fn = lx.compile(lx.sqnorm(lx.tensor("X", n, D)) / 2)
    >>> fn(X=[[3.0, 4.0]])
    12.5
    """
    writer = as_target(target)
    several = not isinstance(t, Tensor)
    roots = _as_roots(t)
    settings = (several, batch, name, outputs, softmax_gradient)
    variables, extents = _variables(roots, sizes, inputs)
    plan, decided = _planned(roots, *settings, variables, extents, buffers)
    chunks = _chunks(plan, roots, batch, stream, chunk)

    def written(plan: Plan) -> Written:
        plan = replace(plan, chunks=chunks)
        source = writer.emit(plan)
        return plan, source, writer.load(source, plan.name)

    def again(at: dict[sp.Symbol, int]) -> Written:
        plan, _ = _planned(roots, *settings, variables, at, buffers)
        text = ", ".join(f"{s} = {n}" for s, n in sorted(at.items(), key=lambda item: str(item[0])))
        told = Choice("sizes", text, "planned again at the first call with arrays of about these sizes")
        return written(replace(plan, choices=(*plan.choices, told)))

    made = written(plan)
    if replan is False or (replan is None and sizes is not None) or not decided:
        return CompiledFunction(made[1], made[0], made[2], check, loader=writer.load)
    replanner = Replanner(made, decided, extents, again)
    return CompiledFunction(made[1], made[0], made[2], check, replanner, writer.load)


def make_plan(
    roots: Sequence[Tensor],
    several: bool,
    batch: bool | Sequence[str] = False,
    name: str | None = None,
    outputs: Sequence[str] | None = None,
    softmax_gradient: SoftmaxGradient = "auto",
    sizes: Mapping[str, int] | None = None,
    inputs: Sequence[Input] | None = None,
    buffers: bool | None = None,
) -> Plan:
    """Return the plan for ``roots``; the arguments are those of :func:`compile`."""
    variables, extents = _variables(roots, sizes, inputs)
    settings = (several, batch, name, outputs, softmax_gradient)
    return _planned(roots, *settings, variables, extents, buffers)[0]


def _variables(
    roots: Sequence[Tensor], sizes: Mapping[str, int] | None, inputs: Sequence[Input] | None
) -> tuple[tuple[Input, ...], dict[sp.Symbol, int]]:
    variables = _inputs(roots, inputs)
    # the structure of sizes is that of one instance
    return variables, representative_sizes(variables, sizes)


def _planned(
    roots: Sequence[Tensor],
    several: bool,
    batch: bool | Sequence[str],
    name: str | None,
    outputs: Sequence[str] | None,
    softmax_gradient: SoftmaxGradient,
    variables: tuple[Input, ...],
    extents: dict[sp.Symbol, int],
    buffers: bool | None,
) -> tuple[Plan, list[Decided]]:
    """Return the plan at given sizes, and the orders that were decided in it."""
    guarded, roots = roots, without_domains(roots)
    arguments = argument_names(variables)
    batched = _batched(variables, arguments, batch)
    program = lower(guarded, batched, softmax_gradient, variables)
    planner = Planner(program, extents)
    values = planner.run()
    function = _function_name(name, roots, several, arguments)
    wished = _output_names(roots, outputs)
    return schedule(program, planner, values, function, wished, several, buffers), planner.decided


def _chunks(
    plan: Plan, roots: Sequence[Tensor], batch: object, stream: str | None, chunk: int | None
) -> Chunks | None:
    """Return how the function goes through samples or instances, if it does so in parts."""
    if stream is None and chunk is None:
        return None
    if chunk is not None and (isinstance(chunk, bool) or not isinstance(chunk, int) or chunk < 1):
        raise InvalidArgument(f"chunk={chunk!r}: expected a positive integer.")
    if stream is None and plan.instance_axis is None:
        raise InvalidArgument(
            f"chunk={chunk}: chunks of what? Give the size of samples, as in stream='N', or batch=True."
        )
    named = list(zip(plan.inputs, plan.arguments, strict=True))
    if stream is None:
        axes = [(a, 0) for t, a in named if t.shape[:1] == (plan.instance_axis,)]
        return Chunks(str(plan.instance_axis), int(chunk or DEFAULT_CHUNK), tuple(axes), "concatenate")
    if batch is not False:
        raise InvalidArgument(
            "stream and batch do not go together; call the function for one instance at a time."
        )
    symbols = {str(s): s for s in plan.sizes}
    if stream not in symbols:
        raise InvalidArgument(f"stream={stream!r}: expected one of the sizes {', '.join(symbols)}.")
    local = sample_axes(without_domains(roots), symbols[stream])
    for t, _ in named:
        if str(t.name) not in local and any(symbols[stream] in s.free_symbols for s in t.shape):
            raise InvalidArgument(
                f"stream={stream!r}: {t.label()} has that size, but the results do not use it."
            )
    axes = [(a, local[str(t.name)]) for t, a in named if str(t.name) in local]
    return Chunks(stream, DEFAULT_CHUNK if chunk is None else chunk, tuple(axes), "sum")


def _as_roots(t: object) -> list[Tensor]:
    roots = [t] if isinstance(t, Tensor) else list(t) if isinstance(t, list | tuple) else []
    if not roots or not all(isinstance(r, Tensor) for r in roots):
        raise InvalidArgument(f"compile({t!r}): expected a tensor or a list of tensors.")
    return roots


def _inputs(roots: Sequence[Tensor], given: Sequence[Input] | None) -> tuple[Input, ...]:
    found = inputs_of(*roots)
    if given is None:
        return found
    if not isinstance(given, list | tuple) or not all(isinstance(t, Input) for t in given):
        raise InvalidArgument(f"inputs={given!r}: expected a list of variables, as lx.tensor returns them.")
    left_out = [str(t.name) for t in found if t not in given]
    if left_out:
        raise InvalidArgument(f"inputs: {', '.join(left_out)} occurs in the expression; add it to the list.")
    if len(set(given)) < len(given):
        raise InvalidArgument("inputs: a variable is given twice; leave one out.")
    return tuple(given)


def _batched(inputs: Sequence[Input], arguments: Sequence[str], batch: object) -> frozenset[str]:
    if batch is False:
        return frozenset()
    if batch is True:
        if not inputs:
            raise InvalidArgument(
                "batch=True: the expression has no input that could carry an instance axis."
            )
        return frozenset(str(t.name) for t in inputs)
    known = {
        **{a: str(t.name) for a, t in zip(arguments, inputs, strict=True)},
        **{str(t.name): str(t.name) for t in inputs},
    }
    wanted = list(batch) if isinstance(batch, list | tuple | set | frozenset) else None
    if not wanted or not all(isinstance(b, str) and b in known for b in wanted):
        raise InvalidArgument(
            f"batch={batch!r}: expected True, False or a list of names out of {', '.join(arguments)}."
        )
    return frozenset(known[b] for b in wanted)


def _function_name(name: str | None, roots: Sequence[Tensor], several: bool, arguments: Sequence[str]) -> str:
    if name is None:
        given = "compute"
        if not several and roots[0].name:
            given = f"compute_{identifier(roots[0].name)}"
        return next(n for n in (given, *(f"{given}_{p}" for p in range(2, 99))) if n not in arguments)
    if not (isinstance(name, str) and _is_free(name)) or name in RESERVED or name in arguments:
        raise InvalidArgument(
            f"name={name!r}: expected a name that Python allows, that is no name of an input and hides no "
            "function of Python."
        )
    return name


def _is_free(name: str) -> bool:
    import keyword

    return name.isidentifier() and not keyword.iskeyword(name)


def _output_names(roots: Sequence[Tensor], outputs: Sequence[str] | None) -> list[str | None]:
    if outputs is None:
        unnamed = [p for p, r in enumerate(roots) if r.name is None]
        return [
            None if r.name is not None else "result" if len(unnamed) == 1 else f"result{unnamed.index(p) + 1}"
            for p, r in enumerate(roots)
        ]
    if (
        isinstance(outputs, str)
        or len(outputs) != len(roots)
        or not all(isinstance(o, str) and _is_free(o) for o in outputs)
    ):
        raise InvalidArgument(
            f"outputs={outputs!r}: expected {len(roots)} names that Python allows, one per tensor."
        )
    return list(outputs)
