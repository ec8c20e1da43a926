r"""The rules of Hessian-vector products: the gradient along a line through the variables.

.. math:: H U = \frac{d}{d\epsilon} \nabla f(A + \epsilon U) \Big|_{\epsilon = 0}

The gradient is moved to the line, its tangents along :math:`\epsilon` are derived like any others, and
then :math:`\epsilon` is set to zero.  No block of the Hessian is formed.

Source: B. A. Pearlmutter, Fast Exact Multiplication by the Hessian, Neural Computation 6 (1994).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lemmax.calculus.flatten import flatten
from lemmax.derivation.rules import Context, Line, Rule
from lemmax.errors import InvalidArgument, ReplayError, ShapeError
from lemmax.expr.graph import inputs_of, substitute, topological_order
from lemmax.expr.nodes import Input
from lemmax.expr.sizes import same_size
from lemmax.expr.tensor import Tensor, distinct_name


def line_of(f: Tensor, variables: Sequence[Tensor], directions: Sequence[Tensor]) -> Line:
    """Return the line through the variables in the directions.

    Raises:
        InvalidArgument: there are not as many directions as variables.
        ShapeError: a direction does not have the shape of its variable.
    """
    if len(variables) != len(directions):
        raise InvalidArgument(f"derive: {len(variables)} variables, but {len(directions)} directions.")
    for v, u in zip(variables, directions, strict=True):
        if v.ndim != u.ndim or not all(same_size(x, y) for x, y in zip(v.shape, u.shape, strict=True)):
            raise ShapeError(f"derive: the direction {u.label()} does not have the shape of {v.label()}.")
    taken = {t.name for t in topological_order(f, *variables, *directions)}
    step = Input(distinct_name(r"\epsilon", taken), ())
    moved: dict[Tensor, Tensor] = {}
    for v, u in zip(variables, directions, strict=True):
        name = distinct_name(rf"\hat{{{v.name or 'V'}}}", taken)
        taken.add(name)
        (moved[v],) = flatten([(v + step * u).named(name)], keep=[v])
    return Line(step, moved)


def _line(context: Context) -> Line:
    if context.line is None:
        raise ReplayError("the derivation is not that of a Hessian-vector product.")
    return context.line


def move(before: Tensor, place: Tensor, focus: Tensor | None, context: Context) -> Tensor:
    """Write the gradient in a variable at a point of the line."""
    line = _line(context)
    if before != context.adjoints.get(place.digest) or place not in line.moved:
        raise ReplayError(f"the gradient in {place.label()} was not derived before.")
    return substitute(before, dict(line.moved))


def stop(before: Tensor, place: Tensor, focus: Tensor | None, context: Context) -> Tensor:
    """Set the step to zero: points of the line become the variables."""
    line = _line(context)
    root = line.roots.get(place.digest)
    if root is None or before != context.final(root, line.step):
        raise ReplayError(f"the derivative of the gradient in {place.label()} was not derived before.")
    by_name = {point.name: v for v, point in line.moved.items()}
    swap = {t: by_name[t.name] for t in topological_order(before) if t.name in by_name}
    (after,) = flatten([substitute(before, swap)])
    if line.step in inputs_of(after):
        raise ReplayError("the derivative depends on the step otherwise than through points of the line.")
    return after


LINE_RULES: Mapping[str, Rule] = {"move_along_direction": move, "set_step_to_zero": stop}

LINE_STATEMENTS: Mapping[str, tuple[str, str]] = {
    "move_along_direction": (r"\hat A = A + \epsilon U", "each variable moves in its direction"),
    "set_step_to_zero": (r"\hat A = A", "for a step of zero"),
}
"""What these rules say, and when."""
