r"""Campaigns: the registry of theorem files, runs over many theorems, and the reading of data files.

``registry`` finds theorem files by path or name, ``run`` checks them (in worker processes on request),
``instance`` reads tokens from a file and asks whether the theory of attention holds on them.
"""

from __future__ import annotations
