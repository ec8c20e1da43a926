r"""The command line ``lemmax``: one module per command, and what they share.

``main`` is the entry point and turns errors into messages and exit codes; ``params`` reads options,
``screen`` prints, ``files`` writes.
"""

from __future__ import annotations
