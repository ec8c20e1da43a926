r"""The report on an instance: where the theory of attention applies, what it promises, what is observed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lemmax.campaign.instance.descent import Path as Descent
from lemmax.campaign.instance.descent import Trend, descend_all, descend_values
from lemmax.campaign.instance.features import Features, measure, rank_bound, rows_of
from lemmax.campaign.instance.local import LocalConvergence, read_local
from lemmax.campaign.instance.setup import KERNELS, Instance, Options
from lemmax.campaign.instance.subsample import Found, largest_subsample
from lemmax.campaign.instance.theorems import Reading, read_theorem
from lemmax.campaign.instance.tokens import Tokens, read_tokens
from lemmax.models.attention import Kernel
from lemmax.statement.theorem import Theorem

STEP_ENTRIES = 10_000_000  # entries of attention matrices or features computed by a descent, about
FEWEST_STEPS = 20


@dataclass(frozen=True, slots=True)
class SetReading:
    """One set of samples under one kernel.

    Attributes:
        label: why this set is shown.
        features: B_0 there.
        values: descent on W^V with step 1/L.
        kept: did each observed factor keep to the bound (1 - mu/L)^2?  ``None`` where nothing is promised.
        everything: descent on all weights, where it was run.
        local: the hypotheses of local convergence, where that was run.
        kept_locally: did each factor keep to 1 - eta alpha^2?
    """

    label: str
    features: Features
    values: Descent
    kept: Trend | None
    everything: Descent | None = None
    local: LocalConvergence | None = None
    kept_locally: Trend | None = None

    def to_json(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        f = self.features
        data = asdict(f) | {"label": self.label, "applies": f.applies, "step": 1 / f.L if f.L else None}
        data["value_descent"] = _descent_json(self.values) | {
            "bound": f.rate if f.applies else None,
            "kept": self.kept,
        }
        if self.everything is not None and self.local is not None:
            hypotheses = [asdict(h) | {"holds": h.holds, "factor": h.factor} for h in self.local.hypotheses]
            data["full_descent"] = _descent_json(self.everything) | {"kept": self.kept_locally}
            data["local_convergence"] = asdict(self.local) | {
                "applies": self.local.applies,
                "hypotheses": hypotheses,
            }
        return data


@dataclass(frozen=True, slots=True)
class KernelReading:
    """What one kernel makes of an instance.

    Attributes:
        kernel: ``softmax`` or ``gaussian``.
        sets: the sets of samples shown, all samples first.
        search: how the largest set was found (positions).
        heads_needed: heads that would carry all samples without equal tokens, as far as sizes go.
    """

    kernel: Kernel
    sets: tuple[SetReading, ...]
    search: Found
    heads_needed: int | None

    def to_json(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        return {
            "kernel": self.kernel,
            "sets": [s.to_json() for s in self.sets],
            "largest": {**asdict(self.search), "is_largest": self.search.is_largest},
            "heads_needed": self.heads_needed,
        }


@dataclass(frozen=True, slots=True)
class InstanceReport:
    """All that is said about an instance.

    Attributes:
        file: where the tokens are from.
        sizes: by symbol.
        origin: where each array is from.
        tokens: what the tokens alone decide.
        kernels: a reading per kernel.
        theorems: a reading per theorem.
    """

    file: str
    sizes: Mapping[str, int]
    origin: Mapping[str, str]
    tokens: Tokens
    kernels: tuple[KernelReading, ...]
    theorems: tuple[Reading, ...]

    @property
    def as_expected(self) -> bool:
        """Did no promise break and no true theorem fail?"""
        kept = all(
            "broken" not in (s.kept, s.kept_locally if s.local and s.local.applies else None)
            for k in self.kernels
            for s in k.sets
        )
        return kept and all(reading.as_expected for reading in self.theorems)

    def to_json(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        return {
            "file": self.file,
            "sizes": dict(self.sizes),
            "origin": dict(self.origin),
            "tokens": asdict(self.tokens),
            "kernels": [k.to_json() for k in self.kernels],
            "theorems": [t.to_json() for t in self.theorems],
            "as_expected": self.as_expected,
        }


def read_instance(
    file: Path,
    instance: Instance,
    options: Options,
    theorems: Sequence[Theorem],
    tell: Callable[[int, str], None] = lambda done, what: None,
) -> InstanceReport:
    """Read an instance: both kernels, and each theorem.

    Args:
        file: where the tokens are from, for the report.
        instance: the instance.
        options: seed and number of steps.
        theorems: what else to read on it.
        tell: is called with the number of readings done, and what comes next.
    """
    tokens = read_tokens(instance.arrays["X"])
    kernels: list[KernelReading] = []
    readings: list[Reading] = []
    chains = {}
    for kernel in KERNELS:
        tell(len(kernels), f"{kernel} kernel")
        kernels.append(read_kernel(kernel, instance, tokens, options))
        chains[kernel] = chain_of(instance, tokens, kernels[-1].search)
    for theorem in theorems:
        tell(len(kernels) + len(readings), theorem.name)
        readings.append(read_theorem(theorem, instance, chains, options.seed))
    return InstanceReport(str(file), instance.sizes, instance.origin, tokens, tuple(kernels), tuple(readings))


def read_kernel(kernel: Kernel, instance: Instance, tokens: Tokens, options: Options) -> KernelReading:
    """Find the largest set of samples to which the theory applies, and read it beside others."""
    total = instance.sizes["N"]
    clean = [i for i in range(total) if i not in tokens.samples_with_equal]
    bound = rank_bound(instance, tokens)
    found = largest_subsample(rows_of(kernel, instance), clean, bound)
    chosen: dict[tuple[int, ...], str] = {tuple(range(total)): "all samples"}
    largest = tuple(sorted(found.samples))
    if largest and len(largest) < total:
        chosen.setdefault(largest, "largest found" if not found.is_largest else "largest")
        chosen.setdefault(found.samples[:1], "best sample")
        extra = next((i for i in clean if i not in largest), None)
        if extra is not None:
            chosen.setdefault(tuple(sorted((*largest, extra))), "one sample more")
    if tokens.samples_with_equal and total > 1:
        chosen.setdefault(tokens.samples_with_equal[:1], "equal tokens")
    fully_read = {tuple(range(total)), largest}
    sets = tuple(
        read_set(kernel, label, instance.only(positions), options, positions in fully_read)
        for positions, label in chosen.items()
    )
    return KernelReading(kernel, sets, found, heads_needed(instance, tokens, len(clean)))


def heads_needed(instance: Instance, tokens: Tokens, samples: int) -> int | None:
    """Return the number of heads at which sizes and stacked rank allow all these samples."""
    if not (tokens.rank and samples):
        return None
    rank = tokens.rank if tokens.exact else instance.sizes["D"]
    return -(-samples * instance.sizes["n"] // rank)


def read_set(kernel: Kernel, label: str, part: Instance, options: Options, fully: bool) -> SetReading:
    """Measure a set of samples and run gradient descent on it."""
    features = measure(kernel, part, read_tokens(part.arrays["X"]))
    steps = affordable_steps(part, options.steps)
    values = descend_values(kernel, part, 1 / features.L if features.L else 0.0, steps)
    bound = [features.rate] * len(values.steps)
    kept = values.against(bound) if features.applies else None
    if not fully:
        return SetReading(label, features, values, kept)
    everything = descend_all(kernel, part, steps)
    local = read_local(part, features, everything.losses[0])
    promised = [1 - step * local.alpha**2 for step in everything.steps]
    return SetReading(label, features, values, kept, everything, local, everything.against(promised))


def affordable_steps(part: Instance, wanted: int) -> int:
    """Return the number of steps to take: fewer on large instances, always at least :data:`FEWEST_STEPS`."""
    s = part.sizes
    entries = s["N"] * s["H"] * s["n"] * max(s["n"], s["D"], s["v"])
    return min(wanted, max(FEWEST_STEPS, STEP_ENTRIES // entries))


def chain_of(instance: Instance, tokens: Tokens, found: Found) -> list[tuple[int, ...]]:
    """Return sets of samples with independent rows of B_0 or of X, to fall back on, the largest first."""
    X = instance.arrays["X"]
    clean = [i for i in range(len(X)) if i not in tokens.samples_with_equal]
    independent = largest_subsample(X, clean, tokens.rank if tokens.exact else X.shape[-1]).samples
    chain = {
        tuple(sorted(samples[:count])): None
        for samples in (found.samples, independent)
        for count in range(len(samples), 0, -1)
        if count < len(X)
    }
    return sorted(chain, key=lambda positions: (-len(positions), positions))


def _descent_json(path: Descent) -> dict[str, Any]:
    return {
        "first_loss": path.losses[0],
        "last_loss": path.losses[-1],
        "steps": len(path.steps),
        "worst_factor": path.worst,
        "mean_factor": path.mean,
        "distance": path.distance,
    }
