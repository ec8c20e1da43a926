r"""How a notebook shows a tensor: the printer lives in a layer above and is registered from there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lemmax.expr.tensor import Tensor

_printers: list[Callable[[Tensor], str]] = []


def register_printer(printer: Callable[[Tensor], str]) -> None:
    """Say how a tensor is written in LaTeX; the package does this once, when it is imported."""
    _printers[:] = [printer]


def rich_latex(t: Tensor) -> str | None:
    """Return display LaTeX with its delimiters, or ``None`` (plain text) if no printer is known."""
    return rf"$\displaystyle {_printers[0](t)}$" if _printers else None
