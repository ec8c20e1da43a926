r"""Names a user may have meant, for messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

SHOWN = 12


def suggestion(given: str, known: Iterable[str]) -> str:
    """Return a sentence with the close names, else with the first known ones; empty if none is known."""
    names = list(known)
    close = close_names(given, names)
    if close:
        return f"Did you mean {' or '.join(close)}?"
    if not names:
        return ""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"Known: {', '.join(names[:SHOWN])}{more}."


def close_names(given: str, known: Sequence[str]) -> list[str]:
    """Return up to three known names that resemble what was given, or contain it."""
    folded: dict[str, str] = {}
    for name in known:
        folded.setdefault(name.casefold(), name)
    found = difflib.get_close_matches(given.casefold(), folded, n=3, cutoff=0.6)
    if not found and len(given) >= 3:
        found = [name for name in folded if given.casefold() in name][:3]
    return [folded[name] for name in found]
