r"""Readable, fast, standalone NumPy source from tensor expressions."""

from __future__ import annotations

from lemmax.codegen.compiler import compile, make_plan
from lemmax.codegen.file import write_source
from lemmax.codegen.function import CompiledFunction
from lemmax.codegen.records import Plan, Statement

__all__ = ["CompiledFunction", "Plan", "Statement", "compile", "make_plan", "write_source"]
