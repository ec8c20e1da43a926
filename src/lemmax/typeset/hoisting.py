r"""Factors that do not depend on the index of a sum go in front of it.

:math:`\sum_k A_k \otimes B = (\sum_k A_k) \otimes B`, and
:math:`\sum_k (A_k \otimes B_k) K = (\sum_k A_k \otimes B_k) K`.
"""

from __future__ import annotations

from collections.abc import Callable

from lemmax.typeset.algebra import family_sum, linear, product, scale
from lemmax.typeset.kronecker import kron
from lemmax.typeset.node import Node, rebuild


def hoisted(x: Node) -> Node:
    """Return a tree whose sums hold in Kronecker products only what depends on their index."""
    x = rebuild(x, hoisted)
    if x.op != "sum":
        return x
    (body,) = x.args
    bound = {i for i, _ in x.data}
    if body.op == "linear" and len(body.args) == 1:
        return linear([(body.data[0], hoisted(family_sum(body.args[0], x.data)))], x.shape)
    if body.op == "scale" and not any(s.indices & bound for s in body.args[:-1]):
        return scale(body.args[:-1], hoisted(family_sum(body.args[-1], x.data)))
    if body.op == "product" and body.args[0].op == "kron":
        return _around(list(body.args), x, bound, product)
    if body.op == "product" and body.args[-1].op == "commutation":
        return _around(list(body.args), x, bound, product)
    if body.op == "kron":
        return _around(list(body.args), x, bound, kron)
    return x


def _around(parts: list[Node], x: Node, bound: set[object], join: Callable[..., Node]) -> Node:
    """Take the parts at both ends that do not depend on the sum out of it."""
    moving = [p for p, a in enumerate(parts) if a.indices & bound]
    if not moving or (moving[0] == 0 and moving[-1] == len(parts) - 1):
        return x
    first, last = moving[0], moving[-1]
    inner = parts[first : last + 1]
    body = join(*inner) if len(inner) > 1 else inner[0]
    return join(*parts[:first], hoisted(family_sum(body, x.data)), *parts[last + 1 :])
