r"""What arithmetics on plain arrays have in common, and the floating-point arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from lemmax.errors import MissingRule
from lemmax.interpret.protocol import BoolArray, Condition, IntArray
from lemmax.interpret.special import float_function

Array: TypeAlias = npt.NDArray[Any]

COMPARE: dict[str, Callable[[Array, Array], BoolArray]] = {
    "<": np.less,
    "<=": np.less_equal,
    "==": np.equal,
    "!=": np.not_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}

BLAS_FROM = 1 << 15  # products of sizes from which a contraction of two factors is worth a call of BLAS


class ArrayArithmetic:
    """Operations that read the same for float, complex and mpf arrays.

    Subclasses give ``functions``, the numbers, the linear algebra, and what the real part is.
    """

    name = "arrays"
    resolution: Any = 2.0**-52
    functions: ClassVar[Mapping[str, Callable[[Array], Array]]] = {}

    def real(self, x: Array) -> Array:
        """Return what comparisons look at."""
        return x

    def shape(self, x: Array) -> tuple[int, ...]:
        """Return the shape."""
        return np.shape(x)

    def has_nan(self, x: Array) -> bool:
        """Is an entry undefined?"""
        return bool(np.any(x != x))

    def outgoing(self, x: Array) -> Array:
        """Make an array of a number."""
        return np.asarray(x)

    def rearrange(self, move: Callable[..., Array], *xs: Array) -> Array:
        """Move entries."""
        return move(*xs)

    def add(self, x: Array, y: Array) -> Array:
        """Return ``x + y``."""
        return x + y

    def multiply(self, x: Array, y: Array) -> Array:
        """Return ``x y``."""
        return x * y

    def divide(self, x: Array, y: Array) -> Array:
        """Return ``x / y``."""
        return x / y

    def integer_power(self, x: Array, exponent: int) -> Array:
        """Return ``x`` to an integer power by repeated squaring."""
        if exponent < 0:
            return self.divide(self.one(), self.integer_power(x, -exponent))
        result: Array | None = None
        square = x
        while exponent:
            if exponent & 1:
                result = square if result is None else self.multiply(result, square)
            exponent >>= 1
            if exponent:
                square = self.multiply(square, square)
        return self.one() if result is None else result

    def one(self) -> Array:
        """Return the number 1."""
        return np.array(1.0)

    def function(self, name: str, x: Array) -> Array:
        """Apply an entrywise function."""
        try:
            f = self.functions[name]
        except KeyError:
            special = float_function(name)
            if special is None:
                raise MissingRule(f"the {self.name} arithmetic has no function {name!r}.") from None
            return special(x)
        return f(x)

    def extreme_of_two(self, x: Array, y: Array, sign: int) -> Array:
        """Return the larger or smaller of two entries; the first at a tie."""
        a, b = self.real(x), self.real(y)
        return np.where(a >= b if sign > 0 else a <= b, x, y)

    def compare(self, op: str, x: Array, y: Array) -> Condition:
        """Compare real parts."""
        return Condition(np.asarray(COMPARE[op](self.real(x), self.real(y)), dtype=bool))

    def select(self, condition: Condition, x: Array, y: Array) -> Array:
        """Choose entries."""
        return np.where(condition.holds, x, y)

    def contract(self, subscripts: str, xs: Sequence[Array], count: int) -> Array:
        """Sum products."""
        return np.asarray(np.einsum(subscripts, *xs))

    # -- along axes --------------------------------------------------------------------------
    def softmax(self, x: Array, axis: int) -> Array:
        """Subtract the largest entry, exponentiate, normalise."""
        real = self.real(x)
        weights = self.function("exp", x - np.max(real, axis=axis, keepdims=True))
        return self.divide(weights, np.sum(weights, axis=axis, keepdims=True))

    def logsumexp(self, x: Array, axes: tuple[int, ...]) -> Array:
        """Return ``m + log(sum exp(x - m))``, where m is the largest entry; -inf if all entries are."""
        top = np.max(self.real(x), axis=axes, keepdims=True)
        finite = top != -np.inf
        shifted = x - np.where(finite, top, 0)
        total = np.sum(self.function("exp", shifted), axis=axes, keepdims=True)
        return np.asarray(top + self.function("log", total))

    def extreme(self, x: Array, axes: tuple[int, ...], sign: int) -> Array:
        """Return the entry whose real part is extreme, the first of several."""
        flat, keep = joined(x, axes)
        real = self.real(flat)
        at = np.argmax(real, axis=-1) if sign > 0 else np.argmin(real, axis=-1)
        return np.take_along_axis(flat, at[..., None], axis=-1)[..., 0].reshape(keep)

    def extreme_mask(self, x: Array, axes: tuple[int, ...], sign: int) -> Array:
        """Mark the first extreme entry."""
        flat, _ = joined(x, axes)
        real = self.real(flat)
        at = np.argmax(real, axis=-1) if sign > 0 else np.argmin(real, axis=-1)
        mask = np.arange(flat.shape[-1]) == at[..., None]
        return self.integers(unjoined(mask.astype(np.int64), x.shape, axes))

    def product(self, x: Array, axes: tuple[int, ...]) -> Array:
        """Multiply along axes."""
        flat, keep = joined(x, axes)
        return np.asarray(np.multiply.reduce(flat, axis=-1)).reshape(keep)

    def integers(self, numbers: IntArray) -> Array:
        """Take over integers."""
        raise NotImplementedError


def joined(x: Array, axes: tuple[int, ...]) -> tuple[Array, tuple[int, ...]]:
    """Return ``x`` with the reduced axes joined at the end, and the shape with them kept as length 1."""
    positive = sorted(a % x.ndim for a in axes)
    others = [a for a in range(x.ndim) if a not in positive]
    moved = x.transpose(*others, *positive)
    keep = tuple(1 if a in positive else n for a, n in enumerate(x.shape))
    return moved.reshape(*(x.shape[a] for a in others), -1), keep


def unjoined(flat: Array, shape: tuple[int, ...], axes: tuple[int, ...]) -> Array:
    """Undo :func:`joined` for an array of the same entries."""
    positive = sorted(a % len(shape) for a in axes)
    order = [*(a for a in range(len(shape)) if a not in positive), *positive]
    return flat.reshape([shape[a] for a in order]).transpose(np.argsort(order))
