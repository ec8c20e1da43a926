r"""The left side of a claim, ``\nabla_W f =``: it must name the variables that are asked about."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lemmax.check.claim.target import Variable
from lemmax.errors import ParseError
from lemmax.parse.names import key_of

_DERIVATIVE = re.compile(r"\\nabla|\\partial")
_NAMES_VARIABLES = re.compile(r"\\nabla\s*(\^\s*\{?2\}?)?\s*_|\\partial[^=]*\\partial")
_SECOND = re.compile(r"\\(nabla|partial)\s*\^\s*\{?\s*2|\\operatorname\{Hess")


def check_left_side(claim: str, of: Sequence[Variable]) -> None:
    r"""Check that a derivative left of the equals sign is the one that is asked about.

    Args:
        claim: the LaTeX, such as ``\frac{\partial f}{\partial W} = ...``.
        of: the variable of a gradient, or the two of a Hessian block.

    Raises:
        ParseError: it names another variable, or a derivative of second order instead of a gradient.
    """
    left, equals, _ = claim.partition("=")
    if not equals or not _DERIVATIVE.search(left):
        return
    bare = re.sub(r"[\s{}]", "", left)
    names = [str(v.tensor.name) for v in of]
    if _NAMES_VARIABLES.search(left):
        for name in names:
            if not any(re.sub(r"[\s{}]", "", spelling) in bare for spelling in _spellings(name)):
                raise ParseError(
                    f"the left side {left.strip()} does not name {name}, which the claim is checked for; "
                    "give the variable that it names as wrt (--wrt)."
                )
    if len(names) == 1 and _SECOND.search(left):
        raise ParseError(
            f"the left side {left.strip()} is of second order, and a gradient was asked for; for a block of "
            "the Hessian say order=2 (--order 2) or give two variables."
        )


def _spellings(name: str) -> list[str]:
    """Return the ways in which a formula may write a name: as given, and as ``x_1`` for ``x1``."""
    key = key_of(name)
    sub = "".join(f"_{s}" for s in (",".join(key.sub),) if s)
    sup = "".join(f"^{s}" for s in (",".join(key.sup),) if s)
    return [name, key.base + sub + sup, key.base + sup + sub]
