"""Set-up of all tests: one BLAS thread, Hypothesis profiles, fast tests first, outside tools."""

from __future__ import annotations

import os

# Before NumPy is imported: small matrices gain nothing from threads, and two test processes share two cores.
for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ[_variable] = "1"

import hypothesis
import pytest
import threadpoolctl

from tests.tools import require, tools_demanded

# `derandomize` makes CI the same on every run; elsewhere new examples are tried each time.
hypothesis.settings.register_profile("dev", max_examples=30, deadline=None)
hypothesis.settings.register_profile(
    "ci", max_examples=200, deadline=None, derandomize=True, database=None, print_blob=True
)
hypothesis.settings.register_profile("nightly", max_examples=5000, deadline=None, print_blob=True)
hypothesis.settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if "CI" in os.environ else "dev")
)


def pytest_configure(config: pytest.Config) -> None:
    """Hold BLAS to one thread also if a plugin imported NumPy earlier, and refuse unknown tool names."""
    threadpoolctl.threadpool_limits(limits=1, user_api="blas")
    tools_demanded()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run tests marked slow after all others; otherwise keep the order."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is not None)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip or fail a test whose outside tools are missing."""
    for marker in item.iter_markers("requires"):
        for tool in marker.args:
            require(tool)
