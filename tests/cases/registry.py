"""Which of the users' cases are tested, and which are left out and why.

``user_cases.jsonl`` holds situations in which users of other tools were stuck or got wrong answers: what
was asked (``input``), the right answer (``right``) and the wrong one (``wrong``).  A test that asserts the
right answer of a case, as one of its kind, says so by :func:`covers`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

Test = TypeVar("Test", bound=Callable[..., Any])

CASES: dict[str, dict[str, str]] = {
    case["id"]: case
    for case in map(json.loads, Path(__file__).with_name("user_cases.jsonl").read_text("utf-8").splitlines())
}

COVERED: dict[str, list[str]] = {}
"""Test functions by the case whose right answer they assert."""

LEFT_OUT: dict[str, str] = {
    "I04": "ranges of functions over intervals: lemmax encloses values at points, intervals are no inputs",
    "L04": "regret of an optimiser (Adam): lemmax has no optimisers but gradient descent",
}
"""Cases that are no statement about what lemmax does, with the reason."""


def covers(*names: str) -> Callable[[Test], Test]:
    """Say that a test asserts the right answers of these cases."""

    unknown = [name for name in names if name not in CASES]
    if unknown:
        raise KeyError(f"{unknown[0]} is no case in user_cases.jsonl")

    def mark(test: Test) -> Test:
        for name in names:
            COVERED.setdefault(name, []).append(f"{test.__module__}.{test.__name__}")
        return test

    return mark
