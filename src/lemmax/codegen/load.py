r"""Stage 5: generated text becomes a function.

Only text that lemmax itself has written comes here.  It runs in a namespace of its own, and is
registered with :mod:`linecache`, so that tracebacks and debuggers show its lines.
"""

from __future__ import annotations

import hashlib
import linecache
from collections.abc import Callable
from typing import Any


def load(source: str, function: str) -> Callable[..., Any]:
    """Return the function called ``function`` that ``source`` defines."""
    digest = hashlib.blake2b(source.encode(), digest_size=8).hexdigest()
    filename = f"<lemmax {function} {digest}>"
    namespace: dict[str, Any] = {"__name__": f"lemmax_generated_{digest}"}
    exec(compile(source, filename, "exec"), namespace)
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    loaded: Callable[..., Any] = namespace[function]
    return loaded
