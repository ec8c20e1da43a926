r"""Values of tensors as the comparisons need them: floats with bounds, and multiprecision numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lemmax.check.decide import Bounded
from lemmax.check.watched import Watch, WatchedArithmetic
from lemmax.errors import EvaluationError
from lemmax.expr.relation import Relation
from lemmax.expr.tensor import Tensor, identifier
from lemmax.interpret.api import find_arithmetic
from lemmax.interpret.evaluator import Evaluator
from lemmax.statement.instances import Arrays

Array = npt.NDArray[Any]
Sizes = Mapping[str, int]


class Reader:
    """Tensors, prepared for evaluation on many instances.

    Attributes:
        tensors: the tensors, each once.
    """

    def __init__(
        self, tensors: Iterable[Tensor], arithmetics: dict[tuple[int, bool], WatchedArithmetic] | None = None
    ) -> None:
        """Prepare tensors; arithmetics, which are slow to set up, may be shared."""
        self._arithmetics = {} if arithmetics is None else arithmetics
        self.tensors = tuple({t.digest: t for t in tensors}.values())
        self._evaluator = Evaluator(self.tensors)

    def _sizes(self, sizes: Sizes) -> dict[str, int]:
        return {name: value for name, value in sizes.items() if name in self._evaluator.sizes}

    def floats(self, arrays: Arrays, sizes: Sizes, batch: bool = True) -> dict[str, Array]:
        """Return float64 values by digest; with ``batch`` all have a leading axis of instances."""
        values = self._evaluator.run(arrays, self._sizes(sizes), find_arithmetic("float", 16), batch=batch)
        return {t.digest: np.asarray(v) for t, v in zip(self.tensors, values, strict=True)}

    def bounded(self, arrays: Arrays, sizes: Sizes) -> dict[str, Bounded]:
        """Return float64 values with rounding bounds by digest, for a batch of instances."""
        values = self._evaluator.run(arrays, self._sizes(sizes), find_arithmetic("rounding", 16), batch=True)
        return {
            t.digest: Bounded(np.asarray(v.value), np.asarray(v.radius))
            for t, v in zip(self.tensors, values, strict=True)
        }

    def precise(
        self, arrays: Arrays, sizes: Sizes, digits: int, full_ranks: bool = False
    ) -> tuple[dict[str, Array], Watch]:
        """Return values with a number of digits by digest (object arrays of mpf), for one instance.

        With ``full_ranks`` a rank that may be deficient is answered as full.
        """
        key = (digits, full_ranks)
        if key not in self._arithmetics:
            self._arithmetics[key] = WatchedArithmetic(digits, full_ranks)
        arithmetic = self._arithmetics[key]
        arithmetic.forget()
        values = self._evaluator.run(arrays, self._sizes(sizes), arithmetic)
        found = {t.digest: np.asarray(v, dtype=object) for t, v in zip(self.tensors, values, strict=True)}
        return found, arithmetic.watch


class Readers:
    """Readers by the set of tensors that they read, each prepared once."""

    def __init__(self) -> None:
        """Start without any."""
        self._known: dict[tuple[str, ...], Reader] = {}
        self._arithmetics: dict[tuple[int, bool], WatchedArithmetic] = {}

    def of(self, tensors: Iterable[Tensor]) -> Reader:
        """Return the reader of some tensors."""
        unique = {t.digest: t for t in tensors}
        key = tuple(unique)
        if key not in self._known:
            self._known[key] = Reader(unique.values(), self._arithmetics)
        return self._known[key]


def sides_of(relations: Iterable[Relation]) -> list[Tensor]:
    """Return all sides of relations."""
    return [side for relation in relations for side in (relation.lhs, relation.rhs)]


def stacked(instances: Sequence[Arrays]) -> Arrays:
    """Return instances of equal sizes as arrays with a leading axis."""
    return {name: np.stack([a[name] for a in instances]) for name in instances[0]}


def with_derived(readers: Readers, derived: Mapping[Any, Tensor], arrays: Arrays, sizes: Sizes) -> Arrays:
    """Return arrays (a batch) with the derived inputs added, computed in float64 in the order declared.

    Raises:
        EvaluationError: a derived input comes out undefined or infinite.
    """
    result = dict(arrays)
    for t, value in derived.items():
        found = readers.of([value]).floats(result, sizes)[value.digest]
        if not np.isfinite(found).all():
            raise EvaluationError(f"the derived input {t.label()} is not finite.")
        result[identifier(str(t.name))] = np.array(found, dtype=float)
    return result


def single(arrays: Arrays, at: int) -> Arrays:
    """Return one instance out of a batch."""
    return {name: value[at] for name, value in arrays.items()}
