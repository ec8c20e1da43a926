"""Outside tools that some tests need: skipped without them, failed where the environment demands them.

A test that needs a tool says so by ``@pytest.mark.requires("latex")`` or by calling ``require("latex")``.
On a machine without the tool the test is skipped and the reason is shown. The variable LEMMAX_REQUIRE lists
tools that must be there (``LEMMAX_REQUIRE=latex,jax``): then a missing one is a failure, never a skip.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Callable

import pytest

REQUIRED_BY_ENVIRONMENT = "LEMMAX_REQUIRE"


def has_latex() -> bool:
    """Say whether pdflatex and the packages that exported documents load are installed."""
    if shutil.which("pdflatex") is None or shutil.which("kpsewhich") is None:
        return False
    files = ["amsmath.sty", "amsthm.sty", "cleveref.sty", "lmodern.sty"]
    return subprocess.run(["kpsewhich", *files], capture_output=True, check=False).returncode == 0


def has_jax() -> bool:
    """Say whether JAX can be imported; it is not imported here."""
    return importlib.util.find_spec("jax") is not None


def has_poppler() -> bool:
    """Say whether the programs that read PDF files (pdfinfo, pdftotext) are installed."""
    return shutil.which("pdfinfo") is not None and shutil.which("pdftotext") is not None


# name: (is it here?, how to get it)
TOOLS: dict[str, tuple[Callable[[], bool], str]] = {
    "latex": (has_latex, "install pdflatex with amsmath, cleveref and lmodern (see .ci/run)"),
    "jax": (has_jax, "install the extra: pip install 'lemmax[oracle]'"),
    "poppler": (has_poppler, "install poppler-utils"),
}


def tools_demanded() -> frozenset[str]:
    """Return the tools that the environment demands.

    Raises:
        pytest.UsageError: the variable names a tool that no test knows, so that a slip would demand nothing.
    """
    names = {name.strip() for name in os.environ.get(REQUIRED_BY_ENVIRONMENT, "").split(",")} - {""}
    unknown = sorted(names - TOOLS.keys())
    if unknown:
        known = ", ".join(sorted(TOOLS))
        raise pytest.UsageError(f"{REQUIRED_BY_ENVIRONMENT} names {', '.join(unknown)}; known are {known}")
    return frozenset(names)


def require(tool: str) -> None:
    """Go on if the tool is here; otherwise skip the test, or fail it if the environment demands the tool."""
    if tool not in TOOLS:
        raise pytest.UsageError(f"require({tool!r}): known tools are {', '.join(sorted(TOOLS))}")
    is_here, remedy = TOOLS[tool]
    if is_here():
        return
    reason = f"{tool} is missing: {remedy}"
    if tool in tools_demanded():
        pytest.fail(f"{reason}; {REQUIRED_BY_ENVIRONMENT} demands it", pytrace=False)
    pytest.skip(reason, allow_module_level=True)
