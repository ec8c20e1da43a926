r"""Stage 4, with buffers: the body of a function that writes its intermediate results into kept memory.

The buffers, with all views of them, are made once per set of sizes, by a function of their own.  A call
takes them out of a list and puts them back when it is done: two calls at once never share them, and
a call that fails leaves none behind.
"""

from __future__ import annotations

from collections.abc import Callable

import sympy as sp

from lemmax.codegen.memory import Memory
from lemmax.codegen.memory_order import ENTRYWISE, REDUCTIONS, WITH_SCRATCH, memory_order, reduced_rows
from lemmax.codegen.naming import Names
from lemmax.codegen.places import Key, Place
from lemmax.codegen.pytext import comma_list, tuple_text
from lemmax.codegen.records import Plan, Statement
from lemmax.codegen.render import Renderer
from lemmax.codegen.schedule import wished_name
from lemmax.codegen.values import Value
from lemmax.codegen.writing import written

MOST_KEPT = 128 * 2**20
"""Most bytes that a function keeps between calls."""

StatementLines = Callable[[Statement, Renderer, Names], list[str]]


class BufferedBody:
    """Writes the statements of a plan with memory.

    Attributes:
        function: lines of the function that makes the buffers, and the list that keeps them.
        lines: lines of the body, without the conversion of arguments and the return.
    """

    def __init__(
        self,
        plan: Plan,
        memory: Memory,
        names: Names,
        comment: Callable[[Statement], list[str]],
        plain: StatementLines,
    ) -> None:
        """Write ``plan``; ``plain`` gives the lines of statements that make arrays of their own."""
        self._plan = plan
        self._memory = memory
        self._names = names
        self._given = {number: name for number, name in plan.variables.items()}
        self._variables = {n: v for n, v in self._given.items() if n not in memory.places}
        self._renderer = Renderer(self._variables, plan.sizes)
        self._kept, self._make = (names.take(f"_{word}_{plan.name}") for word in ("memory_of", "allocate"))
        self._locals = {word: names.take(word) for word in ("sizes", "kept", "buffers", "keep")}
        self._placed: dict[str, Place] = {}
        self._derived_names: dict[tuple[str, Key], str] = {}
        self._values = {v.number: v for v in memory.order}
        self._successors: dict[int, list[Value]] = {}
        for v in memory.order:
            looked_at = v.args[0].number if v.op in _VIEWS else memory.takes_over.get(v.number)
            if looked_at is not None and v.number in memory.places:
                self._successors.setdefault(looked_at, []).append(v)
        body: list[str] = []
        for s in plan.statements:
            body += self._statement(s, comment, plain)
        self.function = self._buffers_function()
        self.lines = [*self._taking_lines(), "", *body, *self._keeping_lines()]

    # -- names -----------------------------------------------------------------------------
    def _name(self, v: Value) -> str:
        """Return the variable that holds the place of ``v``."""
        if v.number not in self._variables:
            place = self._memory.places[v.number]
            name = self._given.get(v.number) or self._derived(v, place.key)
            self._variables[v.number] = name
            self._placed.setdefault(name, place)
        return self._variables[v.number]

    def _derived(self, v: Value, key: Key) -> str:
        """Return a name for an unnamed value: what it looks at, or what becomes of it, says which."""
        family = self._family(v)
        named = [w for w in family if w.number in self._given]
        for w in named:
            if self._memory.places[w.number].key == key:
                return self._given[w.number]
        if v.op in _VIEWS:
            wish = self._wish_of_view(v)
        elif v.number in self._memory.parts:
            wish = f"{self._name(self._values[self._memory.parts[v.number]])}_part"
        elif named:
            wish = f"{self._given[named[0].number]}_{_suffix(v, named[0])}"
        else:
            wish = wished_name(v, self._variables, {})
        if (wish, key) not in self._derived_names:
            self._derived_names[wish, key] = self._names.take(wish)
        return self._derived_names[wish, key]

    def _family(self, v: Value) -> list[Value]:
        """Return the values that look at ``v`` or take its place, nearest first."""
        found, waiting = [], [v]
        while waiting:
            w = waiting.pop(0)
            for later in self._successors.get(w.number, ()):
                if later not in found:
                    found.append(later)
                    waiting.append(later)
        return found

    def _wish_of_view(self, v: Value) -> str:
        seen = []
        w = v
        while w.op in _VIEWS and w.number not in self._given:
            seen.append(w.op)
            w = w.args[0]
        base = self._given.get(w.number) or self._derived(w, self._memory.places[w.number].key)
        turned = seen == ["transpose"] and v.params[0][-2:] == (v.ndim - 1, v.ndim - 2)
        return f"{base}_{'part' if 'slice' in seen else 'T' if turned else _suffix(w, v)}"

    def _extra(self, wish: str, place: Place) -> str:
        """Return a name for a place that is no value's."""
        name = self._names.take(wish)
        self._placed[name] = place
        return name

    # -- statements ------------------------------------------------------------------------
    def _statement(
        self, s: Statement, comment: Callable[[Statement], list[str]], plain: StatementLines
    ) -> list[str]:
        needed = self._memory.needed
        own = [v for v in self._inline(s.value) if v.number in needed]
        lines: list[str] = []
        for v in own:
            if v.number in self._memory.places:
                lines += self._lines(v)
            elif v is s.value and v.number in needed:
                self._prepare(v)
                lines += plain(s, self._renderer, self._names)
        if s.guarded and any(v.number in self._memory.places for v in own):
            lines = ['with np.errstate(all="ignore"):  # for branches that are not chosen'] + [
                f"    {line}" for line in lines
            ]
        return [*comment(s), *lines] if lines else []

    def _inline(self, v: Value) -> list[Value]:
        """Return what a statement computes, operands first."""
        found: list[Value] = []

        def visit(x: Value) -> None:
            if x in found or (x is not v and x.number in self._given):
                return
            for a in x.args:
                visit(a)
            found.append(x)

        visit(v)
        return found

    def _prepare(self, v: Value) -> None:
        """Name the places that the text of ``v`` reads."""
        for a in v.args:
            if a.number in self._memory.places:
                self._name(a)
            elif a.number not in self._variables:
                self._prepare(a)

    def _lines(self, v: Value) -> list[str]:
        """Return the lines that compute a value into its place."""
        if v.op == "concat":
            return self._copies(v)
        if v.number not in self._memory.scratch and v.op not in _COMPUTED:
            return []  # a view of a buffer is made with the buffer
        self._prepare(v)
        stored = self._stored(v)
        if stored is not None:
            return stored
        out = self._name(v)
        scratch = self._memory.scratch.get(v.number)
        name = None if scratch is None else self._extra(f"{out}_rows", scratch)
        return written(self._renderer, v, out, name, None)

    # -- in the order of memory ------------------------------------------------------------
    def _stored(self, v: Value) -> list[str] | None:
        """Return the lines that compute ``v`` on matrices in the order of memory, if all lie the same way."""
        reduces = v.op in REDUCTIONS
        if not (v.op in ENTRYWISE | WITH_SCRATCH or (reduces and reduced_rows(v))):
            return None
        whole = v.args[0] if reduces else v
        like = self._memory.places.get(whole.number)
        if like is None:
            return None
        axis = whole.ndim - 1 if reduces or v.op in WITH_SCRATCH else memory_order(like)[0]
        names: dict[int, str] = {}
        for x in (v, *v.args):
            name = None if x.ndim == 0 else self._stored_name(x, like, axis)
            if name is None and x.ndim > 0:
                return None
            if name is not None:
                names[x.number] = name
        rows = None
        if v.number in self._memory.scratch:
            rows = self._rows(self._memory.scratch[v.number], like, axis, f"{self._name(v)}_rows")
            if rows is None:
                return None
        renderer = Renderer({**self._variables, **names}, self._plan.sizes)
        return written(renderer, v, names[v.number], rows, 0)

    def _stored_name(self, x: Value, like: Place, axis: int) -> str | None:
        """Return a name for an operand as a matrix of rows, or as one number per row."""
        place = self._memory.places.get(x.number)
        if place is None:
            return None
        if place.shape == like.shape:
            if memory_order(place) != memory_order(like):
                return None
            return self._view(self._memory.stored(place, axis), f"{self._name(x)}_stored")
        return self._rows(place, like, axis, f"{self._name(x)}_rows")

    def _rows(self, place: Place, like: Place, axis: int, wish: str) -> str | None:
        return self._view(self._memory.stored_rows(place, like, axis), wish)

    def _view(self, place: Place | None, wish: str) -> str | None:
        if place is None:
            return None
        if (wish, place.key) not in self._derived_names:
            self._derived_names[wish, place.key] = self._extra(wish, place)
        return self._derived_names[wish, place.key]

    def _copies(self, v: Value) -> list[str]:
        lines = []
        for place, source in self._memory.copies[v.number]:
            self._prepare_one(source)
            text = self._renderer.operand(source).text
            wish = f"{self._name(v)}_{text}" if text.isidentifier() else f"{self._name(v)}_part"
            lines.append(f"{self._extra(wish, place)}[...] = {text}")
        return lines

    def _prepare_one(self, v: Value) -> None:
        if v.number in self._memory.places:
            self._name(v)
        else:
            self._prepare(v)

    # -- buffers ---------------------------------------------------------------------------
    def _sizes(self) -> list[str]:
        return [*self._plan.sizes.values(), "dtype"]

    def _taking_lines(self) -> list[str]:
        sizes, kept, buffers = (self._locals[word] for word in ("sizes", "kept", "buffers"))
        return [
            f"{sizes} = {tuple_text(self._sizes())}",
            "try:  # each call takes its memory out of the list, so that calls at once share none",
            f"    {kept}, {buffers} = {self._kept}.pop()",
            "except IndexError:",
            f"    {kept} = None",
            f"if {kept} != {sizes}:",
            f"    {buffers} = {self._make}(*{sizes})",
            *comma_list("(", [*self._placed, self._locals["keep"]], f",) = {buffers}"),
        ]

    def _keeping_lines(self) -> list[str]:
        sizes, buffers, keep = (self._locals[word] for word in ("sizes", "buffers", "keep"))
        return [f"if {keep}:", f"    {self._kept}.append(({sizes}, {buffers}))"]

    def _buffers_function(self) -> list[str]:
        memory = self._memory
        body: list[str] = []
        bases: dict[int, str] = {}
        for name, place in self._placed.items():
            if not place.steps:
                bases.setdefault(place.buffer, name)
        inside: dict[int, str] = {}
        alone: list[str] = []
        for group in memory.shared:
            name = self._names.take("shared_memory")
            entries = ", ".join(self._renderer.size(sp.Mul(*memory.buffers[number])) for number in group)
            body.append(f"{name} = np.empty(max({entries}), dtype)  # in use one after the other")
            alone.append(name)
            inside.update(dict.fromkeys(group, name))
        for number, shape in enumerate(memory.buffers):
            if number not in bases:
                users = [n for n, p in self._placed.items() if p.buffer == number]
                bases[number] = self._names.take(f"{users[0]}_memory")
            shape_text = self._renderer.shape(shape)
            if number in inside:
                entries = self._renderer.size(sp.Mul(*shape))
                body.append(f"{bases[number]} = {inside[number]}[:{entries}].reshape({shape_text})")
                continue
            alone.append(bases[number])
            body.append(f"{bases[number]} = np.empty({shape_text}, dtype)")
        for name, place in self._placed.items():
            if name not in bases.values():
                body.append(f"{name} = {self._text(place, bases[place.buffer])}")
        return [
            f"{self._kept} = []",
            "",
            "",
            *comma_list(f"def {self._make}(", self._sizes(), "):"),
            f'    """Return the memory of one call of {self._plan.name}, for these sizes."""',
            *[f"    {line}" for line in body],
            *[f"    {line}" for line in self._limit_lines(alone)],
            *[
                f"    {line}"
                for line in comma_list("return (", [*self._placed, self._locals["keep"]], ",)", 102)
            ],
        ]

    def _limit_lines(self, bases: list[str]) -> list[str]:
        megabytes = MOST_KEPT // 2**20
        return [
            f"# more than {megabytes} MB are given back after the call",
            *comma_list(
                f"{self._locals['keep']} = sum([a.nbytes for a in (",
                bases,
                f",)]) <= {megabytes} * 2**20",
                102,
            ),
        ]

    def _text(self, place: Place, base: str) -> str:
        """Return the views that lead from a buffer to a place."""
        text, shape = base, self._memory.buffers[place.buffer]
        for step in place.steps:
            if step.op == "reshape":  # never ravel, which may copy
                text = f"{text}.reshape({', '.join(self._renderer.size(s) for s in step.shape)})"
            else:
                seen = Value("input", (), (text,), shape, -1)
                text = self._renderer.expression(Value(step.op, (seen,), step.params, step.shape, -2)).text
            shape = step.shape
        return text


def _suffix(v: Value, other: Value) -> str:
    """Return how ``v`` differs from another array of the same entries."""
    return "T" if v.ndim == other.ndim else "flat" if min(v.ndim, other.ndim) == other.ndim else "split"


_VIEWS = frozenset({"transpose", "reshape", "slice", "expand", "pin"})
_COMPUTED = frozenset(
    {"matmul", "add", "multiply", "scale", "divide", "call", "sum", "max", "min", "softmax"}
    | {"pullback_rowsum", "copy"}
)
