r"""Products that have been computed already, under any names of their labels.

``sum_a X[i, k, a] W[h, a, b]`` is one array, whichever definition asks for it and whatever the
indices are called there.  Its key is a canonical form of the factors with their labels.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence

from lemmax.codegen.labels import Label, Labelled
from lemmax.expr.indices import bound_index

MOST_ORDERS = 24
"""Most orders of equal factors that are tried for the canonical form; beyond, sharing may be missed."""

Key = tuple[tuple[tuple[int, tuple[int, ...]], ...], tuple[int, ...]]


class SharedProducts:
    """The products that a program has computed so far."""

    def __init__(self) -> None:
        """Start with none."""
        self._known: dict[Key, Labelled] = {}

    def find(self, factors: Sequence[Labelled], kept: Collection[Label]) -> Labelled | None:
        """Return the product of ``factors`` summed over all labels but those in ``kept``, if it is there."""
        key, numbering = canonical(factors, kept)
        found = self._known.get(key)
        if found is None:
            return None
        back = {number: label for label, number in numbering.items()}
        return Labelled(found.value, tuple(back[x] for x in found.labels))

    def add(self, factors: Sequence[Labelled], kept: Collection[Label], result: Labelled) -> None:
        """Remember a product."""
        key, numbering = canonical(factors, kept)
        self._known.setdefault(key, Labelled(result.value, tuple(numbering[x] for x in result.labels)))


def canonical(factors: Sequence[Labelled], kept: Collection[Label]) -> tuple[Key, dict[Label, Label]]:
    """Return a key, equal for products that differ in the names of labels only, and the renaming to it."""
    ordered = sorted(factors, key=lambda f: f.value.number)
    groups = [list(group) for _, group in itertools.groupby(ordered, key=lambda f: f.value.number)]
    orders = itertools.product(*[itertools.permutations(group) for group in groups])
    forms = [
        _numbered(list(itertools.chain(*choice)), kept) for choice in itertools.islice(orders, MOST_ORDERS)
    ]
    key, numbering = min(forms, key=lambda form: form[0])
    return key, {label: bound_index(number) for label, number in numbering.items()}


def _numbered(factors: Sequence[Labelled], kept: Collection[Label]) -> tuple[Key, dict[Label, int]]:
    numbering: dict[Label, int] = {}
    parts = []
    for factor in factors:
        at = tuple(numbering.setdefault(x, len(numbering)) for x in factor.labels)
        parts.append((factor.value.number, at))
    return (tuple(parts), tuple(sorted(numbering[x] for x in kept if x in numbering))), numbering
