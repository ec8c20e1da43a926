r"""From a file and options to a complete instance of the attention model.

Defaults, all printed in the report: 4 heads; d = D / heads, rounded up; v = D; m = 2; weights by the
Gaussian scheme at scale 1; Y from a teacher: softmax attention with weights of its own, drawn by the same
scheme and scale.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import sympy as sp

from lemmax.campaign.instance.archive import Array, read_archive
from lemmax.campaign.instance.weights import draw
from lemmax.errors import DataError
from lemmax.expr.tensor import identifier
from lemmax.interpret import evaluate
from lemmax.models.attention import AttentionModel, Kernel, attention

KERNELS: tuple[Kernel, Kernel] = ("softmax", "gaussian")
DEFAULT_HEADS, DEFAULT_OUT = 4, 2
LARGEST = 500_000  # entries of the attention matrices of all samples and heads, or of B_0
OPTIONS = {"H": "--heads", "d": "--dim", "v": "--value-dim", "m": "--out-dim"}


@dataclass(frozen=True, slots=True)
class Options:
    """What a user may choose; ``None`` is left to the file or to the default.

    Attributes:
        heads: H.
        dim: d.
        value_dim: v.
        out_dim: m.
        init: name of a scheme of :data:`lemmax.campaign.instance.weights.SCHEMES`.
        scale: factor on the weights.
        seed: seed of weights and teacher.
        steps: steps of gradient descent at most.
    """

    heads: int | None = None
    dim: int | None = None
    value_dim: int | None = None
    out_dim: int | None = None
    init: str = "gaussian"
    scale: float = 1.0
    seed: int = 0
    steps: int = 500

    @property
    def sizes(self) -> dict[str, int | None]:
        """The sizes that options give, by symbol."""
        return {"H": self.heads, "d": self.dim, "v": self.value_dim, "m": self.out_dim}


@dataclass(frozen=True, slots=True)
class Instance:
    """A complete instance: tokens, targets and weights.

    Attributes:
        arrays: by code name: X, Y, WQ, WK, WV, WO.
        sizes: by symbol: N, n, D, d, v, m, H.
        origin: where each array is from, in words.
        samples: which samples of the file these are.
        is_whole: are these all samples of the file?
    """

    arrays: Mapping[str, Array] = field(repr=False)
    sizes: Mapping[str, int]
    origin: Mapping[str, str]
    samples: tuple[int, ...]
    is_whole: bool = True

    def only(self, positions: tuple[int, ...]) -> Instance:
        """Return the instance with some of the samples, given by their positions."""
        rows = list(positions)
        arrays = {k: a[rows] if k in ("X", "Y") else a for k, a in self.arrays.items()}
        kept = tuple(self.samples[p] for p in positions)
        whole = self.is_whole and len(rows) == self.sizes["N"]
        sizes = {**self.sizes, "N": len(rows)}
        return replace(self, arrays=arrays, sizes=sizes, samples=kept, is_whole=whole)


def model_of(kernel: Kernel) -> AttentionModel:
    """Return the attention model that instances are read by."""
    return attention(kernel)


def shapes() -> dict[str, tuple[sp.Symbol, ...]]:
    """Return the shape of each array by code name, X first."""
    model = model_of("softmax")
    inputs = (model.X, model.Y, *model.weights)
    return {identifier(str(t.name)): t.shape for t in inputs}


def load_instance(path: Path, options: Options) -> Instance:
    """Read a file and complete it.

    Raises:
        DataError: the file is no instance, or sizes clash.
        InvalidArgument: an option has no meaning.
    """
    expected = shapes()
    arrays = read_archive(path, tuple(expected))
    if "X" not in arrays:
        raise DataError(
            f"{path} holds no array X (N, n, D), the tokens; it has {', '.join(arrays) or 'nothing'}. "
            "See examples/make_instance.py."
        )
    sizes = _sizes(path, arrays, options)
    _check_extent(path, sizes)
    origin = {name: "file" for name in arrays}
    drawn = f"{options.init}, scale {options.scale:g}, seed {options.seed}"
    for name, shape in expected.items():
        if name[0] == "W" and name not in arrays:
            arrays[name] = _draw(name, shape, sizes, options)
            origin[name] = drawn
    if "Y" not in arrays:
        arrays["Y"] = _teach(arrays["X"], expected, sizes, options)
        origin["Y"] = f"teacher: softmax attention with weights of its own, {drawn}"
    ordered = {name: arrays[name] for name in expected}
    return Instance(ordered, sizes, origin, tuple(range(sizes["N"])))


def _check_extent(path: Path, sizes: Mapping[str, int]) -> None:
    """Refuse what could not be read in reasonable time and memory."""
    s = sizes
    largest = max(s["N"] * s["H"] * s["n"] ** 2, s["N"] * s["n"] * s["H"] * max(s["D"], s["v"]))
    if largest > LARGEST:
        raise DataError(
            f"{path}: with H = {s['H']} heads the attention matrices or features have {largest} entries; at "
            f"most {LARGEST} are read. Take fewer samples (examples/make_instance.py --samples) or heads."
        )


def _sizes(path: Path, arrays: Mapping[str, Array], options: Options) -> dict[str, int]:
    """Return all sizes: from the file, from options, and by default."""
    known: dict[str, tuple[int, str]] = {}
    for symbol, value in options.sizes.items():
        if value is not None:
            known[symbol] = (value, OPTIONS[symbol])
    for name, array in arrays.items():
        shape = tuple(map(str, shapes()[name]))
        label = f"{name} ({', '.join(shape)})"
        if array.ndim != len(shape) or 0 in array.shape:
            raise DataError(
                f"{path}: {label} needs {len(shape)} axes, none empty; it has shape {array.shape}."
            )
        for symbol, length in zip(shape, array.shape, strict=True):
            value, source = known.setdefault(symbol, (length, label))
            if value != length:
                raise DataError(
                    f"{path}: {label} of shape {array.shape} says {symbol} = {length}, {source} says "
                    f"{symbol} = {value}. Make them agree."
                )
    sizes = {symbol: value for symbol, (value, _) in known.items()}
    sizes.setdefault("H", DEFAULT_HEADS)
    sizes.setdefault("d", -(-sizes["D"] // sizes["H"]))
    sizes.setdefault("v", sizes["D"])
    sizes.setdefault("m", DEFAULT_OUT)
    return {symbol: sizes[symbol] for symbol in ("N", "n", "D", "d", "v", "m", "H")}


def _draw(
    name: str, shape: tuple[sp.Symbol, ...], sizes: Mapping[str, int], options: Options, prefix: str = ""
) -> Array:
    heads, rows, columns = (sizes[str(symbol)] for symbol in shape)
    return draw(prefix + name, (heads, rows, columns), options.init, options.scale, options.seed)


def _teach(
    X: Array, expected: Mapping[str, tuple[sp.Symbol, ...]], sizes: Mapping[str, int], options: Options
) -> Array:
    weights = {
        name: _draw(name, shape, sizes, options, "teacher ")
        for name, shape in expected.items()
        if name[0] == "W"
    }
    taught: Array = evaluate(model_of("softmax").F, {"X": X, **weights})
    return taught
