r"""Theorems read on an instance: does each apply, by how much do its hypotheses fail, what are its sides?

A theorem that does not apply to all samples together is tried on smaller sets of samples, the largest
first: hypotheses on ranks are met by every part of a set that meets them.  Inputs that a theorem has beyond
those of the model (a perturbation, a step size) are drawn as the theorem says, from the seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lemmax.campaign.instance.archive import Array
from lemmax.campaign.instance.setup import KERNELS, Instance, model_of, shapes
from lemmax.check import check_instance
from lemmax.check.build import concrete_shape
from lemmax.check.generators import default_draw, draw_input, random_of
from lemmax.check.instance import failing_sizes
from lemmax.check.mutations import build_in
from lemmax.errors import EvaluationError
from lemmax.expr.graph import inputs_of, topological_order
from lemmax.expr.nodes import Input
from lemmax.expr.sizes import same_size
from lemmax.expr.tensor import Tensor, identifier
from lemmax.interpret import evaluate
from lemmax.models.attention import Kernel
from lemmax.statement.conditions import tensors_of
from lemmax.statement.report import Report
from lemmax.statement.theorem import Theorem
from lemmax.statement.verdict import Verdict

ANOTHER_MODEL = "belongs to another model"


@dataclass(frozen=True, slots=True)
class Reading:
    """A theorem, read on an instance.

    Attributes:
        theorem: its name.
        expected: ``holds`` or ``refuted``.
        verdict: what came out, on the samples that it was read on.
        samples: the samples that it was read on; empty if it belongs to another model.
        on_all: are these all samples of the file?
        reason_for_all: why it does not apply to all samples, if it was read on a part.
        reason_for_one: why it does not apply to a single sample either, if that is another reason.
        report: the report with both sides, if it was read at all.
        drawn: inputs that were drawn for it.
    """

    theorem: str
    expected: str
    verdict: Verdict
    samples: tuple[int, ...] = ()
    on_all: bool = True
    reason_for_all: str = ""
    reason_for_one: str = ""
    report: Report | None = None
    drawn: tuple[str, ...] = ()

    @property
    def as_expected(self) -> bool:
        """May this instance stand beside the expectation?  A false theorem need not fail everywhere."""
        return self.expected == "refuted" or self.verdict.name in ("survived", "proved", "not applicable")

    def to_json(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        tightest = self.report.evidence.tightest if self.report is not None else None
        return {
            "theorem": self.theorem,
            "expected": self.expected,
            "verdict": self.verdict.name,
            "reason": self.verdict.reason,
            "samples": list(self.samples),
            "on_all": self.on_all,
            "reason_for_all": self.reason_for_all,
            "reason_for_one": self.reason_for_one,
            "drawn": list(self.drawn),
            "lhs": tightest.lhs if tightest else None,
            "rhs": tightest.rhs if tightest else None,
            "slack": tightest.slack if tightest else None,
            "as_expected": self.as_expected,
        }


def read_theorem(
    theorem: Theorem, instance: Instance, chains: Mapping[Kernel, Sequence[tuple[int, ...]]], seed: int
) -> Reading:
    """Read a theorem on an instance.

    Args:
        theorem: the theorem.
        instance: the instance, with all samples.
        chains: by kernel, sets of samples (positions) to fall back on, the largest first.
        seed: seed of the inputs that are drawn.
    """
    needed = needed_inputs(theorem)
    stranger = foreign(needed, instance)
    if stranger:
        verdict = Verdict("not applicable", f"{ANOTHER_MODEL}: {stranger}")
        return Reading(theorem.name, theorem.expected, verdict)
    everything = _read(theorem, needed, instance, seed)
    chain = chains[kernel_of(theorem)]
    if everything.verdict.name != "not applicable" or not chain:
        return everything
    single = _read(theorem, needed, instance.only(chain[-1]), seed)
    if single.verdict.name == "not applicable":
        by_sizes = bool(failing_sizes(theorem, instance.sizes))
        return replace(everything, reason_for_one=single.verdict.reason if by_sizes else "")
    for positions in chain:
        part = _read(theorem, needed, instance.only(positions), seed)
        if part.verdict.name != "not applicable":
            return replace(part, reason_for_all=everything.verdict.reason)
    return everything


def needed_inputs(theorem: Theorem) -> tuple[Input, ...]:
    """Return the inputs of hypotheses and claims."""
    return inputs_of(*[t for part in (*theorem.hypotheses, *theorem.claims) for t in tensors_of(part)])


def foreign(needed: Sequence[Input], instance: Instance) -> str:
    """Say which input shows that a theorem is about another model; empty if none does."""
    expected = shapes()
    own = 0
    for t in needed:
        name = identifier(str(t.name))
        shape = expected.get(name)
        if shape is None:
            strange = [s for s in t.shape if not {str(f) for f in s.free_symbols} <= set(instance.sizes)]
            if strange:
                return f"it has an input {t.label()}"
        elif len(shape) != t.ndim or not all(same_size(a, b) for a, b in zip(shape, t.shape, strict=True)):
            return (
                f"its {name} has shape ({', '.join(map(str, t.shape))}), here ({', '.join(map(str, shape))})"
            )
        else:
            own += 1
    return "" if own else f"it has none of the inputs {', '.join(expected)}"


def kernel_of(theorem: Theorem) -> Kernel:
    """Return the kernel whose attention matrix occurs in a theorem (softmax if none does)."""
    parts = {t.digest for t in topological_order(*theorem.tensors)}
    return next((kernel for kernel in KERNELS if model_of(kernel).S.digest in parts), "softmax")


def _read(theorem: Theorem, needed: Sequence[Input], instance: Instance, seed: int) -> Reading:
    on_all = instance.is_whole
    failing = failing_sizes(theorem, instance.sizes)
    if failing:  # before anything is drawn or evaluated
        verdict = Verdict("not applicable", "; ".join(failing))
        return Reading(theorem.name, theorem.expected, verdict, instance.samples, on_all)
    try:
        arrays, drawn = _complete(theorem, needed, instance, seed)
        report = check_instance(theorem, arrays, sizes=instance.sizes)
    except (EvaluationError, ArithmeticError) as error:
        verdict = Verdict("unknown", f"it cannot be evaluated here: {error}")
        return Reading(theorem.name, theorem.expected, verdict, instance.samples, on_all)
    return Reading(
        theorem.name,
        theorem.expected,
        report.verdict,
        instance.samples,
        on_all,
        report=report,
        drawn=drawn,
    )


def _complete(
    theorem: Theorem, needed: Sequence[Input], instance: Instance, seed: int
) -> tuple[dict[str, Array], tuple[str, ...]]:
    """Return the arrays of the instance with the theorem's further inputs, and the names of those drawn."""
    arrays: dict[str, Array] = dict(instance.arrays)
    drawn: list[str] = []
    spec = theorem.instances

    def supply(t: Input) -> None:
        name = identifier(str(t.name))
        if name in arrays:
            return
        if t in spec.derived:
            value: Tensor = spec.derived[t]
            parts = inputs_of(value)
            for part in parts:
                supply(part)
            names = [identifier(str(part.name)) for part in parts]
            arrays[name] = evaluate(value, {k: arrays[k] for k in names}, sizes=_used(value, instance))
            return
        draw = spec.draw.get(t) or default_draw(t)
        arrays[name] = draw_input(t, draw, concrete_shape(t, instance.sizes), seed)  # type: ignore[arg-type]
        drawn.append(name)

    for t in needed:
        if t not in spec.derived:
            supply(t)
    for structure in spec.structure:  # what is drawn for the theorem has the structure it asks for
        if all(identifier(str(t.name)) in drawn for t in structure.inputs):
            build_in(arrays, structure, random_of(seed, structure.label))
    for t in needed:
        supply(t)
    return arrays, tuple(drawn)


def _used(value: Tensor, instance: Instance) -> dict[str, int]:
    from lemmax.interpret import Evaluator

    return {name: instance.sizes[name] for name in Evaluator([value]).sizes if name in instance.sizes}
