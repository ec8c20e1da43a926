r"""Derivations: a list of steps, one rule each, that can be replayed."""

from __future__ import annotations

from lemmax.derivation.derive import derive
from lemmax.derivation.record import Derivation, Step

__all__ = ["Derivation", "Step", "derive"]
