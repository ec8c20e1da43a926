from __future__ import annotations

from pathlib import Path

import pytest

from lemmax.campaign import registry
from lemmax.campaign.files import is_theorem_file
from lemmax.errors import DataError
from tests.campaign.texts import FALSE, TRUE, put
from tests.repo.files import ROOT

A, B = "additive_norm_of_vectors", "triangle_inequality_of_vectors"


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to stand in, with its own ./proofs and its own shipped theorems."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry, "shipped_folder", lambda: tmp_path / "shipped")
    put(tmp_path / "proofs", A)
    put(tmp_path / "shipped", A, B)
    return tmp_path


def test_default_is_the_folder_here_then_the_shipped_one(house: Path) -> None:
    assert registry.find_files([]) == [Path("proofs") / f"{A}.py"]
    (house / "proofs" / f"{A}.py").unlink()
    assert [p.name for p in registry.find_files([])] == [f"{A}.py", f"{B}.py"]
    for name in (A, B):
        (house / "shipped" / f"{name}.py").unlink()
    with pytest.raises(DataError, match="no theorems"):
        registry.find_files([])


def test_name_is_looked_for_in_given_folders_first(house: Path) -> None:
    put(house / "mine", A)
    assert registry.find_files([A]) == [Path("proofs") / f"{A}.py"]
    assert registry.find_files([B]) == [house / "shipped" / f"{B}.py"]
    assert registry.find_files(["mine", A]) == [Path("mine") / f"{A}.py"]


def test_each_file_comes_once_in_the_order_given(house: Path) -> None:
    found = registry.find_files([B, "shipped", f"shipped/{A}.py", str(house / "shipped")])
    assert [p.name for p in found] == [f"{B}.py", f"{A}.py"]


def test_template_and_other_files_do_not_count(house: Path) -> None:
    folder = house / "mixed"
    put(folder, B)
    (folder / "_template.py").write_text(TRUE)
    (folder / "helper.py").write_text("THEOREMS = 1\n")
    (folder / "text.py").write_text('text = """\nTHEOREM = 1\n"""\n')
    (folder / "notes.txt").write_text(TRUE)
    (folder / "later.py").write_text("THEOREM: object\n'\\d'\n")
    assert [p.name for p in registry.find_files(["mixed"])] == [f"{B}.py"]
    assert not is_theorem_file(folder / "text.py")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["triangle_inequality_of_vector"], "Did you mean triangle_inequality_of_vectors"),
        (["nothing_like_it"], "There is no theorem called nothing_like_it"),
        (["proofs/triangle.py"], "There is no file or folder proofs/triangle.py"),
        (["empty"], "holds no theorem file"),
        (["notes.txt"], "no theorem file"),
        ([" "], "here the word is empty"),
        (["notes.npz"], "To read tokens, give --instance notes.npz"),
    ],
)
def test_wrong_words_are_refused_with_the_way_out(house: Path, words: list[str], said: str) -> None:
    (house / "empty").mkdir()
    (house / "notes.txt").write_text("")
    (house / "notes.npz").write_text("")
    with pytest.raises(DataError, match=said):
        registry.find_files(words)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("THEOREM = (\n", "line 1: SyntaxError"),
        ("import lemmax as lx\n\nTHEOREM = lx.no_such_name\n", "line 3: AttributeError"),
        ("THEOREM = 1\n", "must bind THEOREM"),
        (FALSE.replace("additive_norm_of_vectors", "other_of_vectors"), "name the file other_of_vectors.py"),
        (FALSE.replace('reference="nobody",', 'reference="",'), "line 7: .* no reference"),
        ("raise KeyError('x')\nTHEOREM = 1\n", "line 1: KeyError"),
        ("raise SystemExit(0)\nTHEOREM = 1\n", "line 1: SystemExit"),
    ],
)
def test_broken_file_is_told_in_a_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "additive_norm_of_vectors.py"
    path.write_text(text)
    with pytest.raises(DataError, match=said) as caught:
        registry.load(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_source_tree_ships_its_theorems() -> None:
    assert registry.shipped_folder() in (ROOT / "proofs", None) or registry.shipped_folder().name == "_proofs"  # type: ignore[union-attr]
    assert "pl_value_weights_of_full_row_rank" in registry.known_names()
