r"""Functions of matrices as NumPy expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import sympy as sp

from lemmax.codegen.pytext import ATOM, PRODUCT, Text, call
from lemmax.codegen.values import Value

if TYPE_CHECKING:
    from lemmax.codegen.render import Renderer


def linalg(r: Renderer, v: Value) -> Text:
    """A function of one matrix that NumPy has under this name."""
    return call(f"np.linalg.{v.op}", r.operand(v.args[0]).text)


def solve(r: Renderer, v: Value) -> Text:
    """Solutions of linear systems."""
    return call("np.linalg.solve", *[r.operand(a).text for a in v.args])


def pinv(r: Renderer, v: Value) -> Text:
    """Pseudo-inverses, with the cut-off that ranks have."""
    largest = (
        call("max", *dict.fromkeys(r.size(s) for s in v.shape[-2:]))
        if v.shape[-1] != v.shape[-2]
        else (Text(r.size(v.shape[-1])))
    )
    return call("np.linalg.pinv", r.operand(v.args[0]).text, f"{largest.at(PRODUCT)} * np.finfo(dtype).eps")


def matrix_power(r: Renderer, v: Value) -> Text:
    """An integer power."""
    return call("np.linalg.matrix_power", r.operand(v.args[0]).text, r.size(v.params[0]))


def rank(r: Renderer, v: Value) -> Text:
    """The rank, as a float."""
    return Text(f"np.linalg.matrix_rank({r.operand(v.args[0]).text}).astype(dtype)")


def singular_values(r: Renderer, v: Value) -> Text:
    """All singular values."""
    return call("np.linalg.svd", r.operand(v.args[0]).text, "compute_uv=False")


def eigenvalues(r: Renderer, v: Value) -> Text:
    """All eigenvalues of symmetric matrices."""
    return call("np.linalg.eigvalsh", r.operand(v.args[0]).text)


def kth(r: Renderer, v: Value) -> Text:
    """The k-th of sorted values, 0 beyond the last."""
    values = v.args[0]
    name = r.operand(values).at(ATOM)
    k = v.params[0]
    limit = values.shape[-1]
    at = f"{name}[..., {r.size(sp.expand(k - 1))}]"
    return Text(f"({at} if {r.size(k)} <= {r.size(limit)} else np.zeros_like({name}[..., 0]))")


MATRIX_RENDERERS: dict[str, Callable[[Renderer, Value], Text]] = {
    "inv": linalg,
    "det": linalg,
    "cond": linalg,
    "solve": solve,
    "pinv": pinv,
    "matrix_power": matrix_power,
    "rank": rank,
    "singular_values": singular_values,
    "eigenvalues": eigenvalues,
    "kth": kth,
}
"""Operation to the function that writes it down."""
