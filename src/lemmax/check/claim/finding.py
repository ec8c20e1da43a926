"""What was found out about a claim."""

from __future__ import annotations

from dataclasses import dataclass

from lemmax.check.diagnosis import Repair
from lemmax.expr.tensor import Tensor
from lemmax.statement.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found out about a claim.

    Attributes:
        verdict: is the claim equal to what was derived?
        right: what was derived, in the shape in which the claim is read.
        words: what was derived, such as "gradient in W^Q".
        repair: the one change that makes the claim right, if one was found and proved.
        note: how the claim was read, where that is not evident.
    """

    verdict: Verdict
    right: Tensor
    words: str
    repair: Repair | None = None
    note: str = ""

    def __bool__(self) -> bool:
        """Refuse, as a verdict does: there are more outcomes than two."""
        return bool(self.verdict)

    def __str__(self) -> str:
        """Show the verdict and the repair."""
        lines = [f"{self.words}: the claim is {self.verdict}"]
        lines += [self.note] if self.note else []
        lines += [f"{self.repair.kind}: {self.repair.text}"] if self.repair else []
        return "\n".join(lines)
