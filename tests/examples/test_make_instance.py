"""The script that makes instance files, and what is claimed of the files it made."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"


def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_instance", EXAMPLES / "make_instance.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


script = load_script()


def tokens_of(path: Path) -> np.ndarray:
    with np.load(path, allow_pickle=False) as file:
        assert file.files == ["X"]
        return np.asarray(file["X"])


def attention_features(X: np.ndarray, heads: int, seed: int) -> np.ndarray:
    """Return B_0 (N n x H D) of softmax attention at Gaussian weights, written out by hand."""
    samples, n, dim = X.shape
    rng = np.random.default_rng(seed)
    blocks = []
    for _ in range(heads):
        query, key = rng.normal(size=(2, dim, dim))
        logits = (X @ query) @ (X @ key).transpose(0, 2, 1) / np.sqrt(dim)
        weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
        blocks.append(weights / weights.sum(axis=-1, keepdims=True) @ X)
    return np.concatenate(blocks, axis=-1).reshape(samples * n, heads * dim)


def run(*arguments: str | Path) -> int:
    return int(script.main([str(argument) for argument in arguments]))


# --- the shipped files


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("digits.npz", ()),
        ("digits_patches.npz", ("--tokens", "patches", "--patch", "4")),
    ],
)
def test_shipped_file_is_what_the_script_makes(tmp_path: Path, name: str, options: tuple[str, ...]) -> None:
    assert run("--digits", *options, "--samples", "32", "-o", tmp_path / name) == 0
    assert (tmp_path / name).read_bytes() == (EXAMPLES / name).read_bytes()


def test_shipped_tokens_are_the_digits_in_order() -> None:
    from sklearn.datasets import load_digits

    images = load_digits().images[:32] / 16
    rows, patches = tokens_of(EXAMPLES / "digits.npz"), tokens_of(EXAMPLES / "digits_patches.npz")
    assert rows.dtype == patches.dtype == np.float64
    np.testing.assert_array_equal(rows, images)
    for sample, image in enumerate(images):
        quarters = [image[:4, :4], image[:4, 4:], image[4:, :4], image[4:, 4:]]
        np.testing.assert_array_equal(patches[sample], [quarter.ravel() for quarter in quarters])


def test_equal_tokens_are_those_the_page_names() -> None:
    rows = tokens_of(EXAMPLES / "digits.npz")
    seen: dict[bytes, list[tuple[int, int]]] = {}
    for sample in range(32):
        for token in range(8):
            seen.setdefault(rows[sample, token].tobytes(), []).append((sample, token))
    assert [places for places in seen.values() if len(places) > 1] == [[(1, 5), (1, 6)], [(14, 0), (16, 0)]]
    patches = tokens_of(EXAMPLES / "digits_patches.npz").reshape(-1, 16)
    assert len(np.unique(patches, axis=0)) == len(patches)


def test_ranks_of_the_stacked_tokens() -> None:
    rows, patches = tokens_of(EXAMPLES / "digits.npz"), tokens_of(EXAMPLES / "digits_patches.npz")
    assert not rows[:, :, 0].any()
    assert np.linalg.matrix_rank(rows.reshape(-1, 8)) == 7
    assert np.linalg.matrix_rank(patches.reshape(-1, 16)) == 16


def test_no_image_has_a_blank_row_but_most_have_blank_columns() -> None:
    images, _ = script.load_digits()
    assert images.any(axis=2).all()
    blank_columns = (~images.any(axis=1)).sum(axis=1)
    assert np.mean(blank_columns >= 2) > 0.5


@pytest.mark.parametrize(
    ("name", "samples", "heads", "full"),
    [
        ("digits.npz", [0, 2, 3], 4, True),
        ("digits.npz", [14, 16], 4, True),  # an equal token in another sample does no harm
        ("digits.npz", [0, 1], 8, False),  # row 5 = row 6 in sample 1
        ("digits.npz", [0, 2, 3, 4], 4, False),  # 32 rows, rank at most 7 * 4
        ("digits_patches.npz", [0, 1, 2, 3], 4, True),
        ("digits_patches.npz", list(range(17)), 4, False),  # 68 rows, 64 columns
    ],
)
def test_sub_samples_of_both_kinds_exist(name: str, samples: list[int], heads: int, full: bool) -> None:
    features = attention_features(tokens_of(EXAMPLES / name)[samples], heads, seed=0)
    assert bool(np.linalg.matrix_rank(features) == len(features)) is full


# --- other sources


def test_columns_and_patches_of_an_oblong_image(tmp_path: Path) -> None:
    images = np.arange(2 * 2 * 4).reshape(2, 2, 4)
    np.save(tmp_path / "images.npy", images)
    assert run(tmp_path / "images.npy", "--tokens", "columns", "-o", tmp_path / "c.npz") == 0
    np.testing.assert_array_equal(tokens_of(tmp_path / "c.npz")[0], [[0, 4], [1, 5], [2, 6], [3, 7]])
    assert run(tmp_path / "images.npy", "--tokens", "patches", "--patch", "2", "-o", tmp_path / "p.npz") == 0
    np.testing.assert_array_equal(tokens_of(tmp_path / "p.npz")[0], [[0, 1, 4, 5], [2, 3, 6, 7]])


def test_seed_draws_a_reproducible_subset_in_order(tmp_path: Path) -> None:
    source = np.arange(60.0).reshape(10, 3, 2)
    np.savez(tmp_path / "in.npz", X=source)
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        assert run(tmp_path / "in.npz", "--samples", 4, "--seed", seed, "-o", tmp_path / f"{name}.npz") == 0
    a, b, c = ((tmp_path / f"{name}.npz").read_bytes() for name in "abc")
    assert a == b != c
    firsts = tokens_of(tmp_path / "a.npz")[:, 0, 0]
    assert len(set(firsts)) == 4 and list(firsts) == sorted(firsts) and set(firsts) <= set(source[:, 0, 0])


def test_unit_divides_by_the_largest_magnitude(tmp_path: Path) -> None:
    np.save(tmp_path / "in.npy", np.array([[[-8, 4]], [[2, 100]]]))
    assert run(tmp_path / "in.npy", "--samples", 1, "--unit", "-o", tmp_path / "out.npz") == 0
    np.testing.assert_array_equal(tokens_of(tmp_path / "out.npz"), [[[-1.0, 0.5]]])


def test_labels_become_one_hot_targets_of_every_token(tmp_path: Path) -> None:
    np.save(tmp_path / "in.npy", np.ones((3, 2, 5)))
    np.save(tmp_path / "labels.npy", np.array([7, 2, 7]))
    labels = ("--labels", tmp_path / "labels.npy")
    assert run(tmp_path / "in.npy", *labels, "--samples", 2, "-o", tmp_path / "out.npz") == 0
    with np.load(tmp_path / "out.npz", allow_pickle=False) as file:
        np.testing.assert_array_equal(file["Y"], [[[0, 1], [0, 1]], [[1, 0], [1, 0]]])
    assert run("--digits", "--labels", "--samples", 12, "-o", tmp_path / "digits.npz") == 0
    with np.load(tmp_path / "digits.npz", allow_pickle=False) as file:
        assert file["Y"].shape == (12, 8, 10)
        np.testing.assert_array_equal(file["Y"][11, 3], np.eye(10)[1])


# --- what is refused


def write_text(path: Path) -> None:
    path.write_text("not an array")


BAD_SOURCES = [
    ("two axes", lambda path: np.save(path, np.ones((3, 4))), "shape (3, 4)"),
    ("empty", lambda path: np.save(path, np.ones((0, 4, 2))), "none empty"),
    ("complex", lambda path: np.save(path, np.ones((2, 2, 2), dtype=complex)), "complex128"),
    ("not finite", lambda path: np.save(path, np.array([[[0.0, np.nan]]])), "(0, 0, 1)"),
    ("objects", lambda path: np.save(path, np.array([[[{}]]], dtype=object)), "plain numbers"),
    ("text", write_text, "cannot be read"),
    ("missing", lambda path: None, "no file"),
]


@pytest.mark.parametrize(
    ("write", "said"), [row[1:] for row in BAD_SOURCES], ids=[row[0] for row in BAD_SOURCES]
)
def test_bad_source_is_refused_and_an_older_output_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], write, said: str
) -> None:
    write(tmp_path / "in.npy")
    (tmp_path / "out.npz").write_bytes(b"older")
    assert run(tmp_path / "in.npy", "-o", tmp_path / "out.npz") == 2
    error = capsys.readouterr().err
    assert said in error and "Traceback" not in error
    assert (tmp_path / "out.npz").read_bytes() == b"older"


def test_objects_inside_an_archive_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "in.npz", X=np.array([[[{}]]], dtype=object))
    assert run(tmp_path / "in.npz", "-o", tmp_path / "out.npz") == 2
    assert "plain numbers" in capsys.readouterr().err


def test_keys_are_named_when_the_choice_is_open(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "in.npz", train=np.ones((2, 3, 4)), test=np.zeros((2, 3, 4)))
    assert run(tmp_path / "in.npz", "-o", tmp_path / "out.npz") == 2
    assert "test, train" in capsys.readouterr().err
    assert run(tmp_path / "in.npz", "--key", "train", "-o", tmp_path / "out.npz") == 0
    assert "left out: test" in capsys.readouterr().err
    assert tokens_of(tmp_path / "out.npz").all()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--samples", "1798"), "Ask for 1 to 1797"),
        (("--samples", "0"), "Ask for 1 to 1797"),
        (("--tokens", "patches", "--patch", "3"), "--patch 3"),
    ],
)
def test_impossible_options_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], said: str
) -> None:
    assert run("--digits", *options, "-o", tmp_path / "out.npz") == 2
    assert said in capsys.readouterr().err
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("in.npy", "--digits"),
        ("--digits", "--key", "X"),
        ("--digits", "--patch", "0"),
        ("--digits", "--seed", "-1"),
        ("in.npz",),
    ],
)
def test_bad_use_ends_with_code_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    output = "in.npz" if options == ("in.npz",) else "out.npz"
    with pytest.raises(SystemExit) as stop:
        run(*options, "-o", output)
    assert stop.value.code == 2


def test_labels_of_the_wrong_shape_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "in.npy", np.ones((3, 2, 5)))
    np.save(tmp_path / "labels.npy", np.array([0, 1]))
    assert run(tmp_path / "in.npy", "--labels", tmp_path / "labels.npy", "-o", tmp_path / "out.npz") == 2
    assert "(3,)" in capsys.readouterr().err


def test_failed_write_leaves_no_scratch_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "out.npz").mkdir()
    assert run("--digits", "-o", tmp_path / "out.npz") == 2
    assert "cannot be written" in capsys.readouterr().err
    assert os.listdir(tmp_path) == ["out.npz"]
