r"""The reference interpreter: evaluates any tensor on arrays.

It is slow but independent: it shares no code with calculus, derivation, typesetting or code
generation, so that their results can be checked against it.
"""

from __future__ import annotations

from lemmax.interpret.api import evaluate
from lemmax.interpret.evaluator import Evaluator
from lemmax.interpret.floating import FloatArithmetic
from lemmax.interpret.protocol import Arithmetic

__all__ = ["Arithmetic", "Evaluator", "FloatArithmetic", "evaluate"]
