"""The repository speaks of lemmax alone: not of how, where or by whom it was written."""

from __future__ import annotations

import io
import re
import tokenize
from pathlib import Path

import pytest

from tests.repo.files import ROOT, text_of, tracked_files

# Each word is put together from halves, so that this file does not contain it.
SITTING = "ses" + "sion"
WRITER = "ag" + "ent"
TICKET = "iss" + "ue"
FOLDER = "/wo" + "rk"
TOOL = "fa" + "rm-bench"
BANNED = re.compile(
    "|".join(
        [
            rf"\b{SITTING}s?\b",
            rf"\b(sub-?)?{WRITER}s?\b",
            rf"\b{TICKET}s?\s*#",
            rf"(?<!\w){FOLDER}\b",
            r"(?<!\w)/ro" + "ot/",
            r"\bsha" + "red/",
            rf"\b{TOOL[:5]}(bench|studio)\b",
            r"\b(cla" + "ude|anth" + "ropic|chat" + r"gpt)\b",
            # hosts of package registries: the clients know them
            r"\bpy" + r"pi\.org\b",
            r"\bpython" + r"hosted\b",
            r"\bnpm" + r"js\.",
            r"\bdeb\.deb" + r"ian\b",
        ]
    ),
    re.IGNORECASE,
)
PYTEST_SCOPE = re.compile(rf"""(['"]){SITTING}\1""")


def prose_of(path: Path, text: str) -> list[tuple[int, str]]:
    """Return (line number, text) of what a file says: of Python its comments and strings, else everything.

    Identifiers are not prose: pytest calls one of its hook arguments by a banned word.
    """
    if path.suffix != ".py":
        return list(enumerate(text.splitlines(), start=1))
    spoken = (tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING))
    found = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in spoken and not PYTEST_SCOPE.fullmatch(token.string):
            found += list(enumerate(token.string.splitlines(), start=token.start[0]))
    return found


def slips(path: Path, text: str) -> list[str]:
    return [
        f"{path}:{number}: {match.group()}"
        for number, line in prose_of(path, text)
        for match in BANNED.finditer(line)
    ]


def test_no_file_names_its_making() -> None:
    found = []
    for path in tracked_files():
        name = path.relative_to(ROOT)
        found += [f"name of {name}"] if BANNED.search(f"/{name}") else []
        found += slips(name, text_of(path) or "")
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("name", "text", "count"),
    [
        ("a.md", f"As the last {SITTING} found", 1),
        ("a.md", f"see {TICKET} #12 and {FOLDER}/main", 2),
        ("a.md", f"Tissue samples, my{FOLDER}, {SITTING}al, agency, {TICKET}s", 0),
        ("a.py", f"def hook({SITTING}):\n    return {SITTING}.items\n", 0),
        ("a.py", f"x = 1  # an {WRITER.title()} wrote this\n", 1),
        ("a.py", f'x = """one\ntwo {TOOL}\n"""\n', 1),
        ("a.py", f'@fixture(scope="{SITTING}")\ndef f(): ...\n', 0),
        ("a.py", f'x = "a {SITTING}"\n', 1),
        ("a.py", f'x = f"a {SITTING} {{y}}"\n', 1),
    ],
)
def test_the_search_finds_what_it_should(name: str, text: str, count: int) -> None:
    assert len(slips(Path(name), text)) == count
