r"""Claims about derivatives as people write them: is the formula right, and if not, what mends it?"""

from __future__ import annotations

from lemmax.check.claim.api import check_formula
from lemmax.check.claim.finding import Finding
from lemmax.check.diagnosis import Repair

__all__ = ["Finding", "Repair", "check_formula"]
