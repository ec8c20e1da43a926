r"""Names of arguments, sizes and variables of the generated function.

Names of inputs are what users type, so that a bad one is an error; all other names give way: a
variable whose name is taken gets a number.
"""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Sequence

import sympy as sp

from lemmax.errors import InvalidArgument, NameClash
from lemmax.expr.nodes import Input
from lemmax.expr.tensor import identifier

RESERVED = frozenset(
    {"np", "math", "special", "principal", "dtype", "dtypes", "arrays"}
    | {name for name in dir(builtins) if name.islower()}
)
"""Names that the generated text itself uses, and Python's functions, which must not be hidden."""


class Names:
    """Gives out names, each once."""

    def __init__(self, taken: Sequence[str] = ()) -> None:
        """Start with names that are gone already."""
        self._taken = {*taken, *RESERVED}

    def free(self, name: str) -> bool:
        """May ``name`` still be used?"""
        return name.isidentifier() and not keyword.iskeyword(name) and name not in self._taken

    def take(self, wish: str) -> str:
        """Return ``wish``, or the wish with the smallest number that makes it free."""
        base = wish if wish.isidentifier() and not keyword.iskeyword(wish) else f"{wish}_"
        base = base if base.isidentifier() else "t"
        name, count = base, 1
        while not self.free(name):
            count += 1
            name = f"{base}_{count}"
        self._taken.add(name)
        return name


def argument_names(inputs: Sequence[Input]) -> tuple[str, ...]:
    """Return the argument name of each input.

    Raises:
        InvalidArgument: a name is empty, no identifier, a keyword, or a name that the generated code needs.
        NameClash: two inputs have the same argument name.
    """
    found: dict[str, Input] = {}
    for t in inputs:
        name = identifier(str(t.name))
        if not name.isidentifier() or keyword.iskeyword(name):
            what = "a keyword of Python" if keyword.iskeyword(name) else "no name in Python"
            raise InvalidArgument(
                f"compile: input {t.label()} becomes {name!r} in code, which is {what}. Rename the input."
            )
        if name in RESERVED:
            raise InvalidArgument(
                f"compile: input {t.label()} becomes {name!r} in code, a name that Python or the generated "
                "function needs. Rename the input."
            )
        if name in found:
            raise NameClash(
                f"compile: inputs {found[name].label()} and {t.label()} both become {name!r} in code "
                "(everything but letters, digits and _ is dropped). Rename one of them."
            )
        found[name] = t
    return tuple(found)


def size_names(symbols: Sequence[sp.Symbol], names: Names) -> dict[sp.Symbol, str]:
    """Return the name in code of each size symbol."""
    found: dict[sp.Symbol, str] = {}
    for s in symbols:
        base = identifier(str(s))
        found[s] = names.take(base if names.free(base) else f"{base}_size")
    return found
