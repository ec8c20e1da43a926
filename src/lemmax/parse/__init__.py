"""Reading: formulas in LaTeX, as papers write them and as lemmax prints them, to tensors."""

from __future__ import annotations

from lemmax.parse.api import parse_latex

__all__ = ["parse_latex"]
