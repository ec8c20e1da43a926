r"""Errors of lemmax: one base, a few classes, texts that say the way out.

Every message says what happened, what was given, what was expected and what to do.
An undecided comparison is *not* an error: it is the verdict ``unknown``.
"""

from __future__ import annotations


class LemmaxError(Exception):
    """Base of all errors that lemmax raises on purpose."""


class InvalidArgument(LemmaxError, ValueError):
    """A call was made with a value that it cannot take."""


class ShapeError(InvalidArgument):
    """Sizes of two operands do not fit; the message shows both shapes by name."""


class NameClash(InvalidArgument):
    """Two different tensors carry the same name where one name must mean one tensor."""


class MissingRule(LemmaxError, NotImplementedError):
    """No rule is known for a node; the message names the table where it belongs."""


class NonSmooth(LemmaxError, ArithmeticError):
    """A derivative was asked for at a function that has kinks."""


class UnsupportedYet(LemmaxError, NotImplementedError):
    """A thing that lemmax means to do but cannot do yet."""


class EvaluationError(LemmaxError, ValueError):
    """An expression could not be evaluated on the arrays that were given."""


class ReplayError(LemmaxError, AssertionError):
    """A derivation did not pass its replay: a step was altered, removed or is wrong."""


class DataError(LemmaxError, ValueError):
    """A data file is missing, malformed or does not fit the model."""


class ToolMissing(LemmaxError, RuntimeError):
    """An external program (a LaTeX engine, say) is needed and not installed."""


class ParseError(InvalidArgument):
    """A formula could not be read; the message shows the place, and the readings if there are several."""
