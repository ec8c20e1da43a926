r"""How the entries of an input are drawn: a table from kinds to functions of a random generator."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from lemmax.expr.nodes import Input
from lemmax.expr.tensor import identifier
from lemmax.statement.instances import Draw

Array = npt.NDArray[np.float64]
Shape = tuple[int, ...]


def random_of(seed: int, name: str) -> np.random.Generator:
    """Return the random generator of one input: it does not depend on what other inputs there are."""
    return np.random.default_rng([seed, zlib.crc32(name.encode())])


def draw_gaussian(rng: np.random.Generator, shape: Shape) -> Array:
    """Independent standard normal entries."""
    return rng.standard_normal(shape)


def draw_uniform(rng: np.random.Generator, shape: Shape) -> Array:
    """Independent entries, uniform on (0, 1)."""
    return 1.0 - rng.random(shape)


def draw_positive(rng: np.random.Generator, shape: Shape) -> Array:
    """Independent entries, the exponential of a standard normal number."""
    return np.exp(rng.standard_normal(shape))


def draw_signs(rng: np.random.Generator, shape: Shape) -> Array:
    """Independent signs, +1 or -1."""
    return np.where(rng.random(shape) < 0.5, -1.0, 1.0)


def draw_integers(rng: np.random.Generator, shape: Shape) -> Array:
    """Independent integers from -3 to 3."""
    return rng.integers(-3, 4, shape).astype(float)


def draw_zeros(rng: np.random.Generator, shape: Shape) -> Array:
    """Zero."""
    return np.zeros(shape)


def draw_ones(rng: np.random.Generator, shape: Shape) -> Array:
    """One in every entry."""
    return np.ones(shape)


def draw_symmetric(rng: np.random.Generator, shape: Shape) -> Array:
    """The symmetric part of a Gaussian matrix."""
    a = rng.standard_normal(shape)
    return (a + np.swapaxes(a, -1, -2)) / 2


def draw_positive_definite(rng: np.random.Generator, shape: Shape) -> Array:
    """A Gaussian matrix times its transpose, plus the identity; exactly symmetric."""
    a = rng.standard_normal(shape)
    g = a @ np.swapaxes(a, -1, -2)
    return (g + np.swapaxes(g, -1, -2)) / 2 + np.eye(shape[-1])


_HALF_HADAMARD = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]) / 2


def draw_orthogonal(rng: np.random.Generator, shape: Shape) -> Array:
    """A product of signed permutations and, from size 4 on, a Hadamard block: orthogonal without rounding."""
    size = shape[-1]
    result = np.zeros(shape)
    for matrix in result.reshape(-1, size, size):
        block = np.eye(size)
        if size >= 4 and rng.random() < 0.7:
            block[:4, :4] = _HALF_HADAMARD
        signs = draw_signs(rng, (size, 1))
        matrix[:] = (signs * block[rng.permutation(size)])[:, rng.permutation(size)]
    return result


def draw_diagonal(rng: np.random.Generator, shape: Shape) -> Array:
    """A diagonal matrix with Gaussian diagonal."""
    return rng.standard_normal(shape) * np.eye(shape[-2], shape[-1])


def draw_lower_triangular(rng: np.random.Generator, shape: Shape) -> Array:
    """The lower triangle of a Gaussian matrix."""
    return np.tril(rng.standard_normal(shape))


GENERATORS: dict[str, Callable[[np.random.Generator, Shape], Array]] = {
    "gaussian": draw_gaussian,
    "uniform": draw_uniform,
    "positive": draw_positive,
    "signs": draw_signs,
    "integers": draw_integers,
    "zeros": draw_zeros,
    "ones": draw_ones,
    "symmetric": draw_symmetric,
    "positive_definite": draw_positive_definite,
    "orthogonal": draw_orthogonal,
    "diagonal": draw_diagonal,
    "lower_triangular": draw_lower_triangular,
}
"""Functions by kind; the kinds are those of :data:`lemmax.statement.instances.KINDS`."""

CONTINUOUS = (
    "gaussian",
    "uniform",
    "positive",
    "symmetric",
    "positive_definite",
    "diagonal",
    "lower_triangular",
)
"""Kinds with a continuous distribution on the set of matrices they stand for."""

FREE = ("gaussian", "uniform", "integers", "positive")
"""Kinds of input that mutations may strike: no structure is lost."""


def default_draw(t: Input) -> Draw:
    """Return how an input is drawn if nothing is declared: by its assumptions, else Gaussian.

    Positive definite wins over symmetric, as it implies it.
    """
    order = ("positive_definite", "orthogonal", "diagonal", "lower_triangular", "symmetric", "positive")
    kind = next((a for a in order if a in t.assumptions), "gaussian")
    return Draw(kind)


def draw_input(t: Input, draw: Draw, shape: Shape, seed: int) -> Array:
    """Return the entries of an input."""
    entries = GENERATORS[draw.kind](random_of(seed, identifier(str(t.name))), shape)
    scaled = draw.kind not in ("signs", "integers", "zeros", "ones", "orthogonal")
    return entries * draw.scale if scaled and draw.scale != 1.0 else entries
