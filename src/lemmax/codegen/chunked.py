r"""A function that goes through an axis of its arguments in chunks, around the function of one chunk."""

from __future__ import annotations

import textwrap

from lemmax.codegen.naming import Names
from lemmax.codegen.pytext import comma_list
from lemmax.codegen.records import Plan
from lemmax.codegen.streaming import Chunks


def chunk_name(plan: Plan) -> str:
    """Return the name of the function of one chunk."""
    name = f"{plan.name}_of_chunk"
    while name in plan.arguments:
        name += "_"
    return name


def chunked_lines(plan: Plan, chunks: Chunks) -> list[str]:
    """Return the lines of the function that calls that of one chunk and combines its results."""
    names = Names([*plan.arguments, plan.name, chunk_name(plan)])
    lengths, start, stop, parts, part = (
        names.take(word) for word in ("lengths", "start", "stop", "parts", "part")
    )
    axes = dict(chunks.axes)
    streamed = [a for a in plan.arguments if a in axes]
    taken = [f"{a}[{':, ' * axes[a]}{start}:{stop}]" if a in axes else a for a in plan.arguments]
    call = chunk_name(plan)
    one = len(plan.outputs) == 1 and not plan.returns_tuple
    if chunks.combine == "sum":
        added = f"{part} if {parts} is None else " + (
            f"{parts} + {part}" if one else f"tuple([a + b for a, b in zip({parts}, {part})])"
        )
        first, each, last = "None", [f"{parts} = {added}"], f"return {parts}"
        does = f"adds up the results of {call} for at most {chunks.length} of {chunks.size} at a time"
    else:
        # written into the whole at once: parts that are kept until the end would be a second copy
        made = f"np.empty(({streamed[0]}.shape[{axes[streamed[0]]}], *a.shape[1:]), a.dtype)"
        several = f"[{part}]" if one else part
        first = "None"
        each = [
            f"if {parts} is None:",
            f"    {parts} = tuple([{made} for a in {several}])",
            f"for a, b in zip({parts}, {several}):",
            f"    a[{start}:{stop}] = b",
        ]
        last = f"return {parts}[0]" if one else f"return {parts}"
        does = f"joins the results of {call} for at most {chunks.length} of {chunks.size} at a time"
    unpack = f"{', '.join(streamed)}{',' if len(streamed) == 1 else ''} = ["
    body = [
        'r"""Return the same in less memory.',
        "",
        *textwrap.wrap(f"This {does}; arguments are those of that function.", 106),
        '"""',
        *comma_list(f"{unpack}np.asarray(a) for a in (", streamed, f"{',' if len(streamed) == 1 else ''})]"),
        *comma_list(f"{lengths} = {{", [f"{a}.shape[{axes[a]}:{axes[a] + 1}]" for a in streamed], "}"),
        f"if len({lengths}) != 1 or {lengths} <= {{(), (0,)}}:",
        f"    return {call}({', '.join(plan.arguments)})  # which says what is wrong",
        f"{parts} = {first}",
        f"for {start} in range(0, {streamed[0]}.shape[{axes[streamed[0]]}], {chunks.length}):",
        f"    {stop} = {start} + {chunks.length}",
        *[f"    {line}" for line in comma_list(f"{part} = {call}(", taken, ")", 102)],
        *[f"    {line}" for line in each],
        last,
    ]
    return [
        *comma_list(f"def {plan.name}(", plan.arguments, "):"),
        *[f"    {line}" if line else "" for line in body],
        "",
    ]
