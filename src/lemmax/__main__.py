r"""``python -m lemmax``."""

from __future__ import annotations

from lemmax.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
