from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lemmax as lx
from lemmax.campaign.instance.setup import Instance, Options, load_instance
from lemmax.campaign.instance.weights import SCHEMES, draw
from lemmax.errors import DataError, InvalidArgument

X = np.random.default_rng(0).normal(size=(3, 2, 5))


def made(folder: Path, options: Options | None = None, **arrays: np.ndarray) -> Instance:
    np.savez(folder / "a.npz", **{"X": X, **arrays})
    return load_instance(folder / "a.npz", options or Options())


def test_defaults(tmp_path: Path) -> None:
    instance = made(tmp_path)
    assert dict(instance.sizes) == {"N": 3, "n": 2, "D": 5, "d": 2, "v": 5, "m": 2, "H": 4}
    assert {name: a.shape for name, a in instance.arrays.items()} == {
        "X": (3, 2, 5),
        "Y": (3, 2, 2),
        "WQ": (4, 5, 2),
        "WK": (4, 5, 2),
        "WV": (4, 5, 5),
        "WO": (4, 5, 2),
    }
    assert instance.origin["X"] == "file"
    assert "gaussian, scale 1, seed 0" in instance.origin["WQ"]
    assert "teacher" in instance.origin["Y"]
    np.testing.assert_array_equal(instance.arrays["X"], X)


def test_options_choose_sizes_scheme_and_scale(tmp_path: Path) -> None:
    options = Options(heads=2, dim=3, value_dim=4, out_dim=1, init="xavier", scale=2.0, seed=7)
    instance = made(tmp_path, options)
    assert dict(instance.sizes) == {"N": 3, "n": 2, "D": 5, "d": 3, "v": 4, "m": 1, "H": 2}
    np.testing.assert_array_equal(instance.arrays["WV"], draw("WV", (2, 5, 4), "xavier", 2.0, 7))


def test_teacher_is_softmax_attention_of_weights_of_its_own(tmp_path: Path) -> None:
    instance = made(tmp_path, Options(seed=3))
    weights = {
        name: draw(f"teacher {name}", instance.arrays[name].shape, "gaussian", 1.0, 3)  # type: ignore[arg-type]
        for name in ("WQ", "WK", "WV", "WO")
    }
    model = lx.models.attention("softmax")
    np.testing.assert_array_equal(instance.arrays["Y"], lx.evaluate(model.F, X=X, **weights))
    assert not np.allclose(weights["WV"], instance.arrays["WV"])


def test_seed_reproduces_and_what_the_file_brings_changes_nothing_else(tmp_path: Path) -> None:
    first, again, other = (made(tmp_path, Options(seed=s)) for s in (1, 1, 2))
    for name in first.arrays:
        np.testing.assert_array_equal(first.arrays[name], again.arrays[name])
    assert not np.array_equal(first.arrays["WQ"], other.arrays["WQ"])
    brought = made(tmp_path, Options(seed=1), WQ=np.ones((4, 5, 2)))
    np.testing.assert_array_equal(brought.arrays["WK"], first.arrays["WK"])
    np.testing.assert_array_equal(brought.arrays["WQ"], np.ones((4, 5, 2)))
    assert brought.origin["WQ"] == "file"


def test_sizes_follow_from_the_file(tmp_path: Path) -> None:
    instance = made(tmp_path, Y=np.zeros((3, 2, 3)), WQ=np.ones((6, 5, 7)))
    assert (instance.sizes["m"], instance.sizes["H"], instance.sizes["d"]) == (3, 6, 7)
    assert instance.arrays["WO"].shape == (6, 5, 3)


@pytest.mark.parametrize(
    ("arrays", "options", "said"),
    [
        ({"X": X[0]}, Options(), r"X \(N, n, D\) needs 3 axes, none empty; it has shape \(2, 5\)"),
        ({"X": X[:0]}, Options(), "none empty"),
        ({"Y": np.zeros((4, 2, 1))}, Options(), r"Y .* says N = 4, X \(N, n, D\) says N = 3"),
        ({"WQ": np.zeros((1, 4, 1))}, Options(), "says D = 4, X"),
        ({"WQ": np.zeros((1, 5, 1))}, Options(heads=2), "H = 1, --heads says H = 2"),
        ({"WQ": np.zeros((1, 5, 1)), "WO": np.zeros((2, 5, 1))}, Options(), "H = 2, WQ"),
        ({"WV": np.zeros(5)}, Options(), "needs 3 axes"),
    ],
)
def test_sizes_that_clash_are_refused(
    tmp_path: Path, arrays: dict[str, np.ndarray], options: Options, said: str
) -> None:
    with pytest.raises(DataError, match=said):
        made(tmp_path, options, **arrays)


def test_file_without_tokens_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", Y=X)
    with pytest.raises(DataError, match="holds no array X"):
        load_instance(tmp_path / "a.npz", Options())


def test_part_keeps_weights_and_the_numbers_of_samples(tmp_path: Path) -> None:
    instance = made(tmp_path)
    part = instance.only((2, 0))
    assert part.samples == (2, 0) and not part.is_whole
    assert part.sizes["N"] == 2 and instance.sizes["N"] == 3
    np.testing.assert_array_equal(part.arrays["X"], X[[2, 0]])
    np.testing.assert_array_equal(part.arrays["WQ"], instance.arrays["WQ"])
    assert part.only((1,)).samples == (0,)
    assert instance.only((0, 1, 2)).is_whole


@pytest.mark.parametrize("shape", [(3, 5, 2), (3, 2, 5), (3, 4, 4), (1, 1, 1)])
def test_orthogonal_heads(shape: tuple[int, int, int]) -> None:
    W = draw("WQ", shape, "orthogonal", 2.0, 0)
    assert W.shape == shape
    gram = np.swapaxes(W, -1, -2) @ W if shape[1] >= shape[2] else W @ np.swapaxes(W, -1, -2)
    np.testing.assert_allclose(gram, np.broadcast_to(4 * np.eye(gram.shape[-1]), gram.shape), atol=1e-12)


@pytest.mark.parametrize(
    ("scheme", "variance"), [("gaussian", 1.0), ("xavier", 2 / 100), ("orthogonal", 1 / 60)]
)
def test_variance_of_the_schemes(scheme: str, variance: float) -> None:
    W = draw("WV", (20, 60, 40), scheme, 1.0, 0)
    assert np.mean(W**2) == pytest.approx(variance, rel=0.05)
    assert abs(np.mean(W)) < 5 * np.sqrt(variance / W.size)


def test_schemes_refuse_nonsense() -> None:
    with pytest.raises(InvalidArgument, match="expected one of gaussian, xavier, orthogonal"):
        draw("WQ", (1, 1, 1), "kaiming", 1.0, 0)
    with pytest.raises(InvalidArgument, match="scale"):
        draw("WQ", (1, 1, 1), "gaussian", 0.0, 0)
    with pytest.raises(InvalidArgument, match="seed"):
        draw("WQ", (1, 1, 1), "gaussian", 1.0, -1)
    assert set(SCHEMES) == {"gaussian", "xavier", "orthogonal"}


def test_instance_that_is_too_large_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", X=np.zeros((100, 60, 2)))
    with pytest.raises(DataError, match="1440000 entries; at most 500000 are read"):
        load_instance(tmp_path / "a.npz", Options())
    assert load_instance(tmp_path / "a.npz", Options(heads=1)).sizes["N"] == 100
