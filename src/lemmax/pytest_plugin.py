r"""pytest plugin: ``pytest proofs/`` checks theorem files.

Each Python file that binds ``THEOREM`` becomes an item for the theorem and one per mutant; the check runs
once per file.  Nothing heavy is imported before a theorem file is collected.  Names that begin with ``_``
(the template) are left alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from lemmax.statement import MutantOutcome, Report, Theorem


class NotAsExpected(Exception):
    """A theorem or mutant did not come out as expected; the text is the report."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the plugin."""
    group = parser.getgroup("lemmax", "theorem files")
    group.addoption(
        "--lemmax-instances",
        type=_positive,
        default=200,
        help="accepted instances per theorem (default: 200)",
    )
    group.addoption("--lemmax-seed", type=_seed, default=0, help="seed of all draws (default: 0)")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect a theorem file."""
    if file_path.suffix != ".py" or file_path.name.startswith("_"):
        return None
    from lemmax.campaign.files import is_theorem_file

    return TheoremFile.from_parent(parent, path=file_path) if is_theorem_file(file_path) else None


class TheoremFile(pytest.File):
    """A theorem file, checked once for all its items."""

    _report: Report | None = None
    _theorem: Theorem | None = None

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the theorem and its mutants."""
        from lemmax.campaign.registry import load

        theorem = self._theorem = load(self.path)
        yield TheoremItem.from_parent(self, name=theorem.name)
        for mutant in theorem.mutants:
            yield MutantItem.from_parent(self, name=f"mutant: {mutant.name}", mutant=mutant.name)

    def report(self) -> Report:
        """Return the report; the first call runs the check."""
        if self._report is None:
            from lemmax.check import check

            assert self._theorem is not None  # items exist only after collect
            option = self.config.getoption
            instances, seed = option("--lemmax-instances"), option("--lemmax-seed")
            self._report = check(self._theorem, instances=instances, seed=seed)
        if self._report.interrupted:
            raise KeyboardInterrupt
        return self._report

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show why a file cannot be loaded, without a traceback."""
        from lemmax.errors import LemmaxError

        return str(excinfo.value) if isinstance(excinfo.value, LemmaxError) else super().repr_failure(excinfo)


class _Item(pytest.Item):
    """What theorem and mutant have in common."""

    def report(self) -> Report:
        """Return the report of the file."""
        assert isinstance(self.parent, TheoremFile)
        return self.parent.report()

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *args: Any, **kwargs: Any) -> Any:
        """Show the report in place of a traceback."""
        from lemmax.errors import LemmaxError

        if isinstance(excinfo.value, NotAsExpected | LemmaxError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, *args, **kwargs)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Say where the item is."""
        return self.path, None, self.name


class TheoremItem(_Item):
    """The theorem itself: verdict and evidence as expected."""

    def runtest(self) -> None:
        """Check; survivors among the mutants are the mutants' own failures."""
        report = self.report()
        others = len(report.shortcomings) - len(report.evidence.survivors)
        wanted = "refuted" if report.expected == "refuted" else "survived"
        if report.verdict.name not in (wanted, "proved") or others > 0:
            raise NotAsExpected(str(report))


class MutantItem(_Item):
    """A false variant of the theorem, which must be refuted."""

    def __init__(self, *, mutant: str, **kwargs: Any) -> None:
        """Remember which mutant."""
        super().__init__(**kwargs)
        self.mutant = mutant

    def runtest(self) -> None:
        """Look the mutant up in the report."""
        outcome = self._outcome()
        if not outcome.refuted:
            raise NotAsExpected(
                f"mutant {self.mutant!r} survived {outcome.tried} instances, though it should be false: "
                f"{outcome.reason}"
            )

    def _outcome(self) -> MutantOutcome:
        return next(m for m in self.report().evidence.mutants if m.name == self.mutant)


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError("expected an integer of at least 1")
    return value


def _seed(text: str) -> int:
    value = int(text)
    if value < 0:
        raise ValueError("expected a non-negative integer")
    return value
