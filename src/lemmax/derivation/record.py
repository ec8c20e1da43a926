r"""The records: a step applies one rule at one place; a derivation is a list of steps."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from lemmax.calculus.forward import with_guards
from lemmax.calculus.partials import Smoothness
from lemmax.calculus.split import Part
from lemmax.expr.nodes import Derivative, Input
from lemmax.expr.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Step:
    """One step: ``before`` and ``after`` are equal by ``rule``.

    Attributes:
        rule: name of the rule, a key of ``derivation.rules.RULES``.
        place: the tensor whose adjoint (or tangent) is worked on; for ``inline_definitions`` what is
            rewritten; for a block of weights A and B that is put together, A.
        focus: the part of ``before`` that the rule acts on, if not all of it.
        before: the expression before.
        after: the expression after.
        along: the variable in which tangents are taken (second derivatives); ``None`` for adjoints.
    """

    rule: str
    place: Tensor
    focus: Tensor | None
    before: Tensor
    after: Tensor
    along: Tensor | None = None

    @property
    def where(self) -> str:
        """The place, and the variable in which it is differentiated."""
        return self.place.label() + (f" along {self.along.label()}" if self.along is not None else "")

    def __str__(self) -> str:
        """Show rule, place and both sides, shortened."""
        return f"{self.rule} at {self.where}: {self.before.describe()}  =  {self.after.describe()}"


@dataclass(frozen=True, slots=True, repr=False)
class Derivation:
    r"""How the gradients of a scalar, or blocks of its Hessian, were found.

    Attributes:
        f: the scalar as it was given.
        variables: what it was differentiated in.
        nonsmooth: the policy for kinks.
        steps: all steps; the steps of one adjoint follow one another, each starts where the last ended.
        results: the gradients, one per variable; or the blocks of the Hessian, one per pair.
        blocks: the pairs of variables of the blocks; empty for gradients.
        part: the whole block, or its ``outer`` or ``functional`` part; see :func:`lemmax.hessian_split`.
        middle: the tensor through which the scalar depends on the variables, for a part.
        psd_reason: of an outer part, why the curvature and with it the part is positive semidefinite;
            ``None`` if that was not shown.  Replay reads it off the derived curvature again.
        linear_in: of a functional part, the tensor in which it is linear, the slope or what the slope is a
            multiple of.  Replay reads it off the derived slope again.
        directions: of a Hessian-vector product, the direction of each variable; the results are then the
            products, one per variable.
    """

    f: Tensor
    variables: tuple[Tensor, ...]
    nonsmooth: Smoothness
    steps: tuple[Step, ...]
    results: tuple[Tensor, ...] = field(default=())
    blocks: tuple[tuple[Tensor, Tensor], ...] = field(default=())
    part: Part = "total"
    middle: Tensor | None = None
    psd_reason: str | None = None
    linear_in: Tensor | None = None
    directions: tuple[Tensor, ...] = field(default=())

    @property
    def order(self) -> int:
        """The order of the derivatives: 1 or 2."""
        return 2 if self.blocks or self.directions else 1

    @property
    def result(self) -> Tensor:
        """The gradient in the only (or first) variable, or the first block, as ``lx.gradient`` returns it.

        It is undefined where the function is not differentiable; ``results`` are the bare formulas.
        """
        variables = self.blocks[0] if self.blocks else self.variables
        return with_guards(self.results[:1], self.f, variables, self.nonsmooth)[0]

    @property
    def loss(self) -> Tensor:
        """The scalar with unnamed products inlined, on which the sweep runs."""
        return next(step.after for step in self.steps if step.rule == "inline_definitions")

    def replay(self, seed: int = 0, instances: int = 2) -> Derivation:
        """Check every step twice, by its rule and numerically; return self if all is well.

        Raises:
            ReplayError: a step was altered or removed, or a rule is wrong; the message names the step.
        """
        from lemmax.derivation.replay import replay

        replay(self, seed=seed, instances=instances)
        return self

    def without(self, position: int) -> Derivation:
        """Return the derivation without one step (its replay fails)."""
        return replace(self, steps=self.steps[:position] + self.steps[position + 1 :])

    def latex(
        self, notation: Literal["matrix", "index"] = "matrix", vec: Literal["row", "column"] = "row"
    ) -> str:
        """Return a complete LaTeX document; ``vec`` is the order of rows and columns of Hessian blocks."""
        from lemmax.derivation.export import derivation_document
        from lemmax.typeset.document import render_document

        return render_document(derivation_document(self, notation, vec))

    def pdf(
        self,
        out: Path | str,
        notation: Literal["matrix", "index"] = "matrix",
        vec: Literal["row", "column"] = "row",
    ) -> None:
        """Write the document as a PDF file, by the LaTeX engine that is installed.

        Raises:
            ToolMissing: there is none; the message says what to install.
            LatexError: the engine reports an error; an existing file is kept.
        """
        from lemmax.typeset.pdf import compile_pdf

        compile_pdf(self.latex(notation, vec), out)

    def fragment(
        self, notation: Literal["matrix", "index"] = "matrix", vec: Literal["row", "column"] = "row"
    ) -> str:
        r"""Return LaTeX to ``\input`` into one's own paper."""
        from lemmax.derivation.export import derivation_document
        from lemmax.typeset.document import render_fragment

        return render_fragment(derivation_document(self, notation, vec))

    def _repr_latex_(self) -> str:
        from lemmax.typeset import latex

        if self.blocks:
            names = [
                [rf"\operatorname{{vec}}({latex(v)})" if v.ndim > 1 else f"({latex(v)})" for v in pair]
                for pair in self.blocks
            ]
            left = [rf"\frac{{\partial^2 f}}{{\partial {a} \, \partial {b}^\top}}" for a, b in names]
        else:
            along = ", ".join(latex(u) for u in self.directions)
            before = rf"\mathrm{{D}}_{{{along}}} " if along else ""
            left = [rf"{before}\frac{{\partial f}}{{\partial {latex(v)}}}" for v in self.variables]
        shown = [f"{a} = {latex(g, where=True)}" for a, g in zip(left, self.results, strict=True)]
        return r"$\displaystyle " + r",\quad ".join(shown) + "$"

    def __str__(self) -> str:
        """Show the loss, the numbered steps with their rules, and the result, in LaTeX."""
        from lemmax.derivation.listing import listing

        return listing(self)

    def __repr__(self) -> str:
        """Show variables and number of steps."""
        if self.blocks:
            blocks = "; ".join(f"{a.label()}, {b.label()}" for a, b in self.blocks)
            part = "" if self.part == "total" else f" ({self.part} part)"
            return f"<Derivation of the Hessian in {blocks}{part}: {len(self.steps)} steps>"
        variables = ", ".join(v.label() for v in self.variables)
        if self.directions:
            along = ", ".join(u.label() for u in self.directions)
            return f"<Derivation of the Hessian in {variables} times {along}: {len(self.steps)} steps>"
        return f"<Derivation of the gradient in {variables}: {len(self.steps)} steps>"


def is_input(t: Tensor) -> bool:
    """Is the tensor a variable?"""
    return isinstance(t, Input)


def local(of: Tensor, wrt: Tensor) -> Derivative:
    """Return the formal partial derivative of the definition of ``of`` in its operand ``wrt``."""
    return Derivative(of, wrt, "local")
