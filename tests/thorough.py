"""How much is tried: everything with LEMMAX_THOROUGH=1, as one step of CI does; else what minutes allow."""

from __future__ import annotations

import os

THOROUGH = os.environ.get("LEMMAX_THOROUGH") == "1"
