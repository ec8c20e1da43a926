r"""What goes wrong while reading: a place in the formula, what is wrong, and the readings that fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from lemmax.errors import ParseError, ShapeError

Span: TypeAlias = tuple[int, int]
"""First and last place of a part of the formula: start included, end excluded."""

_WINDOW = 72  # so many characters of a long formula are shown around the place


class MisfitError(ParseError, ShapeError):
    """Sizes in a formula do not fit; the message shows both parts with their shapes."""


class Failure(Exception):
    """A failure at a place of the formula; :func:`as_error` turns it into a ``ParseError``.

    Attributes:
        span: where it happened.
        message: what happened and what to do.
        readings: texts of the readings that are possible, if there are several.
        is_shape: do sizes not fit?
        is_open: does a size not follow?
    """

    def __init__(
        self,
        span: Span,
        message: str,
        readings: Sequence[str] = (),
        is_shape: bool = False,
        is_open: bool = False,
    ) -> None:
        """Make a failure."""
        super().__init__(message)
        self.span = span
        self.message = message
        self.readings = tuple(readings)
        self.is_shape = is_shape
        self.is_open = is_open


def as_error(failure: Failure, source: str) -> ParseError:
    """Return the public error: message, the line with a caret below the place, readings."""
    lines = [failure.message, *_marked(source, failure.span)]
    if failure.readings:
        lines += [
            "possible readings:",
            *(f"  {position}. {r}" for position, r in enumerate(failure.readings, start=1)),
        ]
    return (MisfitError if failure.is_shape else ParseError)("\n".join(lines))


def _marked(source: str, span: Span) -> list[str]:
    """Return the line that holds the start of the span, cut to a window, and carets under the span."""
    start = min(max(span[0], 0), len(source))
    end = min(max(span[1], start + 1), len(source) + 1)
    first = source.rfind("\n", 0, start) + 1
    last = source.find("\n", start)
    last = len(source) if last < 0 else last
    low = max(first, min(start - _WINDOW // 3, last - _WINDOW))
    high = min(last, low + _WINDOW)
    before, after = "..." if low > first else "", "..." if high < last else ""
    line = f"{before}{source[low:high]}{after}".replace("\t", " ")
    carets = "^" * max(1, min(end, high) - start)
    return [f"  {line}", f"  {' ' * (len(before) + start - low)}{carets}"]
