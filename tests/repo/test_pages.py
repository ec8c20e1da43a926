"""Every snippet and command of README and docs does what the page shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.repo.files import ROOT
from tests.repo.pages import REQUIRES, PageError, blocks_of, is_as_shown, marked_command, run_page
from tests.repo.renew_pages import all_pages, renew, renewed
from tests.tools import require

PAGES = all_pages()


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_page_does_what_it_shows(page: Path, tmp_path: Path) -> None:
    for tool in REQUIRES.findall(page.read_text(encoding="utf-8")):
        require(tool)
    run_page(page, tmp_path)


# --- the runner itself


def run(tmp_path: Path, text: str) -> int:
    page = tmp_path / "page.md"
    page.write_text(text)
    return run_page(page, tmp_path)


GOOD = """
# A page

```python
x = 41 + 1
print(x)
```

```output
42
```

1. In a list, on the same names:

   ```python
   >>> x + 1
   43
   ```

```console
$ echo one; echo two; echo three
one
...
$ echo took 2.5 s \\
    for 3 samples
took 1 s for 3 samples
$ false || echo "exit code $?"
exit code 1
$ true
```

<!-- command: main -->

```sh
exit 7
```
"""


def test_good_page_passes_and_runs_its_blocks(tmp_path: Path) -> None:
    assert run(tmp_path, GOOD) == 3


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("x = 41 + 1", "x = 41 / 0", "ZeroDivisionError"),
        ("```output\n42", "```output\n43", "page.md:10 shows"),
        ("   43\n", "   44\n", "Expected:"),
        (">>> x + 1", ">>> x + 1  # doctest: +SKIP", "not skipped"),
        ("one\n...", "one\n...\nfour", "the real output is"),
        ("one\n...", "one", "the real output is"),
        ("1 s for 3", "1 s for 4", "the real output is"),
        ("$ true", "$ exit 3", "ended with code 3"),
        ("$ true", "$ echo more", "more"),
        ("<!-- command: main -->", "", "never run"),
        ("print(x)\n```", "print(x)\n```\n\n```console\n$ true\n```", "must follow a python block"),
        ("$ echo one", "echo one", "starts with a line"),
    ],
)
def test_wrong_page_is_refused(tmp_path: Path, right: str, wrong: str, said: str) -> None:
    assert right in GOOD
    with pytest.raises(PageError) as caught:
        run(tmp_path, GOOD.replace(right, wrong, 1))
    assert said in str(caught.value)


def test_unclosed_fence_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PageError, match="never closed"):
        run(tmp_path, "```python\nx = 1\n")


@pytest.mark.parametrize(
    ("shown", "real", "same"),
    [
        ("a  b", "a b\n\n", True),
        ("...", "", True),
        ("a\n...\nz", "a\nz", True),
        ("a\n...\nz", "a\nb\nc\nz", True),
        ("a\n...\nz", "a\nb", False),
        ("1.30", "1.3", False),
        ("in 10 ms", "in 3 ms", True),
        ("10 samples", "3 samples", False),
        ("", "said", False),
        ("ok", "\x1b[32mok\x1b[0m", True),
        ("a ... z", "a b c z", True),
        ("x = 0.31...", "x = 0.3141", True),
        ("a ... z", "a b\nc z", False),
        ("slack -2e-16 3e-200", "slack 1.4e-15 0e-11", True),
        ("slack 2e-09", "slack 3e-09", False),
    ],
)
def test_comparison(shown: str, real: str, same: bool) -> None:
    assert is_as_shown(shown, real) is same


def test_marked_command_is_one_line() -> None:
    assert marked_command(GOOD, "main") == "exit 7"
    for text in ("", GOOD + GOOD, GOOD.replace("exit 7", "exit 7\nexit 8")):
        with pytest.raises(PageError, match="one block of one line"):
            marked_command(text, "main")


def test_block_knows_its_line() -> None:
    lines = GOOD.splitlines()
    for block in blocks_of(GOOD):
        assert lines[block.line - 1].strip() == block.text.splitlines()[0]


@pytest.mark.parametrize(
    ("shown", "real", "new"),
    [
        ("a\nb", "a\nc", "a\nc"),
        ("a\n...\nz", "a\nb\nc\nz", "a\n...\nz"),
        ("a\n...\nz", "A\nb\nc\nz", "A\n...\nz"),
        ("a\n...\nz", "a\nb\nc\nZ", "a\n...\nZ"),
        ("a\n...", "A\nb\nc", "A\n..."),
        ("...\nz", "a\nb\nZ", "...\nZ"),
        ("took 1 s\nb", "took 2 s\nc", "took 1 s\nc"),
        ("", "new", "new"),
        ("x 0.3...\nb", "x 0.31\nc", "x 0.3...\nc"),
    ],
)
def test_renewed_output_is_right_and_as_short(shown: str, real: str, new: str) -> None:
    assert renewed(shown, real) == new.splitlines()
    assert is_as_shown(new, real)


def test_renewed_page_passes(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(GOOD.replace("\n42\n", "\n41\n").replace("\none\n...\n", "\neins\n...\n"))
    assert renew(page) == 2
    assert page.read_text() == GOOD
    assert renew(page) == 0
    page.write_text(GOOD.replace("\n42\n", "\n"))
    assert renew(page) == 1
    assert page.read_text() == GOOD
