r"""Derivations of second order: blocks of the Hessian, whole or in parts, rule by rule."""

from __future__ import annotations

from collections.abc import Sequence

from lemmax.calculus.flatten import flatten
from lemmax.calculus.forward import check_scalar
from lemmax.calculus.gradient import as_variables
from lemmax.calculus.middle import middle_tensor
from lemmax.calculus.partials import Smoothness
from lemmax.calculus.split import Part
from lemmax.derivation.builder import Builder, check_variables
from lemmax.derivation.forward_rules import forward_rule_of, tangent_of, visited
from lemmax.derivation.line_rules import line_of
from lemmax.derivation.record import Derivation
from lemmax.derivation.rules import Context, Line, has_deltas_to_contract
from lemmax.derivation.split_rules import claim_of, formal_outer, slope_of, split_of
from lemmax.errors import InvalidArgument
from lemmax.expr.nodes import Derivative, Lambda
from lemmax.expr.tensor import Tensor

Wrt = Tensor | Sequence[Tensor | tuple[Tensor, Tensor]]


def pairs_of(wrt: Wrt) -> tuple[tuple[Tensor, Tensor], ...]:
    """Return the blocks that are meant: those of all unordered pairs of variables, or the pairs given.

    Raises:
        InvalidArgument: variables and pairs are mixed, or there are none.
    """
    if isinstance(wrt, Tensor):
        return ((wrt, wrt),)
    given = tuple(wrt) if isinstance(wrt, list | tuple) else ()
    variables = [v for v in given if isinstance(v, Tensor)]
    pairs = [p for p in given if isinstance(p, tuple) and len(p) == 2]
    if variables and len(variables) == len(given):
        return tuple((a, b) for p, a in enumerate(variables) for b in variables[p:])
    if not pairs or len(pairs) < len(given) or not all(isinstance(v, Tensor) for p in pairs for v in p):
        raise InvalidArgument(
            f"derive in {wrt!r}: expected variables, whose pairs are taken, or pairs of variables, such as"
            " [(A, B)]."
        )
    return tuple(pairs)


def derive_blocks(
    f: Tensor,
    wrt: Wrt,
    nonsmooth: Smoothness,
    part: Part,
    through: Tensor | str | None,
    structured: str,
) -> Derivation:
    """Return the derivation of blocks of the Hessian; see :func:`lemmax.derive`."""
    pairs = pairs_of(wrt)
    for a, b in pairs:
        check_scalar("derive with order=2", f, a, b)
    weights = tuple(dict.fromkeys(w for pair in pairs for w in pair))
    check_variables(f, weights, structured)
    _, *flat = flatten([f, *weights], keep=weights)
    known = dict(zip(weights, flat, strict=True))
    blocks = tuple((known[a], known[b]) for a, b in pairs)
    firsts = tuple(dict.fromkeys(a for a, _ in blocks))
    if part == "total":
        builder = SecondBuilder(Context(firsts, nonsmooth))
        builder.reverse(f)
        results = [builder.second(a, b) for a, b in blocks]
        return Derivation(f, firsts, nonsmooth, tuple(builder.steps), tuple(results), blocks)
    middle = middle_tensor(f, weights, through, nonsmooth)
    split = split_of(f, weights, firsts, middle)
    builder = SecondBuilder(Context((split.held,), nonsmooth, split=split))
    builder.apply("name_middle_tensor", f, None, f)
    builder.reverse(split.loss)
    results = [builder.outer(a, b) for a, b in blocks] if part == "outer" else builder.functional(blocks)
    reason, linear_in = claim_of(part, builder.context)
    return Derivation(
        f,
        firsts,
        nonsmooth,
        tuple(builder.steps),
        tuple(results),
        blocks,
        part=part,
        middle=middle,
        psd_reason=reason,
        linear_in=linear_in,
    )


def derive_product(
    f: Tensor,
    wrt: Wrt,
    direction: Tensor | Sequence[Tensor],
    nonsmooth: Smoothness,
    structured: str,
) -> Derivation:
    """Return the derivation of a Hessian-vector product; see :func:`lemmax.derive`."""
    variables = as_variables(wrt)  # type: ignore[arg-type]
    for v in variables:
        check_scalar("derive with order=2", f, v, v)
    check_variables(f, variables, structured)
    _, *flat = flatten([f, *variables], keep=variables)
    directions = as_variables(direction)
    line = line_of(f, flat, directions)
    builder = SecondBuilder(Context(tuple(flat), nonsmooth, line=line))
    builder.reverse(f)
    results = tuple(builder.product(v, line) for v in flat)
    return Derivation(f, tuple(flat), nonsmooth, tuple(builder.steps), results, directions=directions)


class SecondBuilder(Builder):
    """Applies the rules of second derivatives and keeps the steps."""

    def second(self, a: Tensor, b: Tensor) -> Tensor:
        """Derive the derivative in ``b`` of the adjoint of ``a``."""
        return self.derivative(self.context.adjoints[a.digest], b)

    def derivative(self, root: Tensor, variable: Tensor) -> Tensor:
        """Derive the derivative of a tensor in a variable."""
        context = self.context
        known = context.final(root, variable)
        if known is not None:
            return known
        self.forward("write_out_definitions", root, None, root, variable)
        swept, along = context.sweeps[root.digest, variable.digest]
        for place in visited(swept, along):
            if (place.digest, along.digest) not in context.tangents:
                self.tangent(place, along)
        final = self.forward(
            "inline_definitions", swept, None, context.tangents[swept.digest, along.digest], along
        )
        context.finals[swept.digest, along.digest] = final
        return final

    def forward(
        self, rule: str, place: Tensor, focus: Tensor | None, before: Tensor, along: Tensor
    ) -> Tensor:
        """Apply one rule for tangents."""
        self.context.along = along
        after = self.apply(rule, place, focus, before, along)
        self.context.along = None
        return after

    def tangent(self, place: Tensor, along: Tensor) -> None:
        """Derive the tangent of one tensor."""
        context = self.context
        context.along = along
        start = forward_rule_of(place, None, context)
        current = self.apply(start, place, None, Derivative(place, along), along)
        if isinstance(place, Lambda) and place != along:
            for operand in place.operands:
                if tangent_of(operand, context) is not None:
                    rule = forward_rule_of(place, operand, context)
                    current = self.apply(rule, place, operand, current, along)
            if has_deltas_to_contract(current):
                current = self.apply("contract_deltas", place, None, current, along)
            current = self.apply_if_it_changes("collect_like_terms", place, current, along)
        context.along = None
        context.tangents[place.digest, along.digest] = current

    def product(self, variable: Tensor, line: Line) -> Tensor:
        """Derive the derivative of the gradient in a variable along the line."""
        gradient = self.context.adjoints[variable.digest]
        root = self.forward("move_along_direction", variable, None, gradient, line.step)
        line.roots[variable.digest] = root
        final = self.derivative(root, line.step)
        return self.forward("set_step_to_zero", variable, None, final, line.step)

    # -- parts ---------------------------------------------------------------------------------
    def outer(self, a: Tensor, b: Tensor) -> Tensor:
        """Derive the outer part of a block."""
        split = self.context.split
        assert split is not None
        self.derivative(slope_of(self.context), split.held)
        self.derivative(split.middle, a)
        self.derivative(split.middle, b)
        current = self.forward("gauss_newton", a, None, formal_outer(a, b, self.context), b)
        self.context.along = b
        current = self.apply_if_it_changes("put_back_middle_tensor", a, current, b)
        return self.forward("inline_block", a, None, current, b)

    def functional(self, blocks: Sequence[tuple[Tensor, Tensor]]) -> list[Tensor]:
        """Derive the functional parts of blocks."""
        split = self.context.split
        assert split is not None
        split.slope = slope_of(self.context)
        loss = self.apply("hold_slope", split.pairing, None, split.pairing)
        self.restart(loss, split.weights)
        results = []
        for a, b in blocks:
            current = self.second(a, b)
            current = self.forward("insert_slope", a, None, current, b)
            results.append(self.forward("inline_block", a, None, current, b))
        return results
