r"""LaTeX: matrix notation recognised from index notation, index notation, documents, PDF files."""

from __future__ import annotations

from lemmax.typeset.latex import definitions, latex, latex_relation, notation_table

__all__ = ["definitions", "latex", "latex_relation", "notation_table"]
