"""The helper that decides between skip and failure when an outside tool is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import tools

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch) -> str:
    """Make jax look as if it were not installed, demanded by nobody."""
    monkeypatch.setitem(tools.TOOLS, "jax", (lambda: False, "install it"))
    monkeypatch.delenv(tools.REQUIRED_BY_ENVIRONMENT, raising=False)
    return "jax"


def test_present_tool_lets_the_test_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(tools.TOOLS, "jax", (lambda: True, ""))
    monkeypatch.setenv(tools.REQUIRED_BY_ENVIRONMENT, "jax")
    tools.require("jax")


def test_missing_tool_skips_with_the_remedy(absent: str) -> None:
    with pytest.raises(pytest.skip.Exception, match="jax is missing: install it"):
        tools.require(absent)


def test_missing_tool_fails_where_it_is_demanded(absent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(tools.REQUIRED_BY_ENVIRONMENT, "latex, jax")
    with pytest.raises(pytest.fail.Exception, match="LEMMAX_REQUIRE demands it"):
        tools.require(absent)


def test_another_demand_leaves_the_skip(absent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(tools.REQUIRED_BY_ENVIRONMENT, "latex")
    with pytest.raises(pytest.skip.Exception):
        tools.require(absent)


def test_unknown_names_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(pytest.UsageError, match="known tools"):
        tools.require("jaxx")
    monkeypatch.setenv(tools.REQUIRED_BY_ENVIRONMENT, "latexx")
    with pytest.raises(pytest.UsageError, match="latexx"):
        tools.tools_demanded()


@pytest.mark.parametrize(("demand", "outcome"), [("", "1 skipped"), ("poppler", "1 error")])
def test_marker_in_a_real_run(tmp_path: Path, demand: str, outcome: str) -> None:
    """The marker skips in one process and fails in the other, with this project's own conftest."""
    (tmp_path / "test_needy.py").write_text(
        "import pytest\n\n\n@pytest.mark.requires('poppler')\ndef test_needy():\n    pass\n"
    )
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "tests.conftest", "-c"]
    run = subprocess.run(
        [*command, str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path), str(tmp_path / "test_needy.py")],
        cwd=ROOT,
        env={"PATH": str(tmp_path), tools.REQUIRED_BY_ENVIRONMENT: demand},
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome in run.stdout, run.stdout + run.stderr
    assert "poppler is missing: install poppler-utils" in run.stdout


def test_blas_runs_one_thread() -> None:
    import numpy as np
    import scipy.linalg
    import threadpoolctl

    assert np.linalg.norm(scipy.linalg.inv(2 * np.eye(3)) @ np.eye(3)) > 0  # both libraries are loaded
    pools = [pool for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
    assert pools
    assert all(pool["num_threads"] == 1 for pool in pools), pools


def test_slow_tests_run_last(pytestconfig: pytest.Config, request: pytest.FixtureRequest) -> None:
    slow = [item.get_closest_marker("slow") is not None for item in request.session.items]
    assert slow == sorted(slow)
