r"""Representative sizes: what the planner compares costs at before it has seen an array.

Sizes come from the arrays, so that the contraction order must be chosen without them.  What is
known is the structure: leading axes are families, the last two the matrix.  A matrix size that
occurs only inside one family (tokens of a sample, key dimension of a head) is taken to be small;
one that is shared between families (token dimension, output dimension) is taken to be large.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sympy as sp

from lemmax.errors import InvalidArgument
from lemmax.expr.nodes import Input

INSIDE_ONE_FAMILY = 8
SHARED = 32
FAMILY = 16


def representative_sizes(
    inputs: Sequence[Input], given: Mapping[str, int] | None = None
) -> dict[sp.Symbol, int]:
    """Return a number for each size symbol of ``inputs``; given ones win.

    Raises:
        InvalidArgument: a given size is no size of the inputs, or no positive integer.
    """
    families: dict[sp.Symbol, frozenset[sp.Symbol]] = {}
    leading: set[sp.Symbol] = set()
    for t in inputs:
        lead = frozenset(s for extent in t.shape[:-2] for s in extent.free_symbols)
        leading |= lead
        for extent in t.shape[-2:]:
            for s in extent.free_symbols:
                families[s] = families.get(s, lead) & lead
    found: dict[sp.Symbol, int] = {}
    for s in sorted({*families, *leading}, key=str):
        if s in leading:
            found[s] = FAMILY
        else:
            found[s] = INSIDE_ONE_FAMILY if families[s] else SHARED
    names = {str(s): s for s in found}
    for name, value in (given or {}).items():
        if name not in names or isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InvalidArgument(
                f"sizes={{{name!r}: {value!r}}}: expected a positive integer for one of the sizes "
                f"{', '.join(names) or '(there are none)'}."
            )
        found[names[name]] = value
    return found
