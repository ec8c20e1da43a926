r"""The reference interpreter: evaluates any tensor on arrays.

It is slow but independent: it shares no code with calculus, derivation, typesetting or code
generation, so that their results can be checked against it.
"""

from __future__ import annotations

from lemmax.interpret.api import evaluate
from lemmax.interpret.complexes import ComplexArithmetic
from lemmax.interpret.evaluator import Evaluator
from lemmax.interpret.floating import FloatArithmetic
from lemmax.interpret.multiprecision import MpArithmetic
from lemmax.interpret.protocol import Arithmetic
from lemmax.interpret.rounded import Rounded
from lemmax.interpret.rounding import RoundingArithmetic

__all__ = [
    "Arithmetic",
    "ComplexArithmetic",
    "Evaluator",
    "FloatArithmetic",
    "MpArithmetic",
    "Rounded",
    "RoundingArithmetic",
    "evaluate",
]
