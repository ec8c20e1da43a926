"""lemmax: a symbolic-numeric proof assistant for the calculus behind machine-learning theory."""

from __future__ import annotations

from lemmax._version import __version__

__all__ = ["__version__"]
