r"""Values with a label on each axis, and how to line them up.

Labels are the index symbols of an index lambda.  :func:`align` turns a labelled value into an
array whose axes stand in a wanted order, with axes of size 1 where a label is missing, so that
NumPy's broadcasting does what the index notation says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import sympy as sp

from lemmax.codegen.values import Pool, Value
from lemmax.expr.sizes import Size

Label: TypeAlias = sp.Symbol
"""An index symbol on an axis."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """A value and one label per axis; no label occurs twice."""

    value: Value
    labels: tuple[Label, ...]


@dataclass(frozen=True, slots=True)
class Frame:
    """What the labels of one product mean.

    Attributes:
        sizes: size of each label.
        order: labels as they should stand in results: free ones first, then summed ones.
    """

    sizes: Mapping[Label, Size]
    order: tuple[Label, ...]

    def sort(self, labels: Iterable[Label]) -> tuple[Label, ...]:
        """Return different labels in the order of the frame."""
        chosen = set(labels)
        return tuple(label for label in self.order if label in chosen)


def align(pool: Pool, item: Labelled, target: Sequence[Label]) -> Value:
    """Return the value with its axes in the order of ``target``; leading missing axes are left out."""
    value = permute(pool, item, [label for label in target if label in item.labels])
    first = next((p for p, label in enumerate(target) if label in item.labels), len(target))
    missing = [p - first for p, label in enumerate(target) if p > first and label not in item.labels]
    return pool.expand(value, missing)


def permute(pool: Pool, item: Labelled, order: Sequence[Label]) -> Value:
    """Return the value with its axes in the order of its labels in ``order``."""
    return pool.transpose(item.value, [item.labels.index(label) for label in order])


def combine(pool: Pool, frame: Frame, items: Sequence[Labelled]) -> tuple[list[Value], tuple[Label, ...]]:
    """Line up several labelled values on the union of their labels."""
    labels = frame.sort(label for item in items for label in item.labels)
    return [align(pool, item, labels) for item in items], labels
