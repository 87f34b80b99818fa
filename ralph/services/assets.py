"""Files that travel with ralph: prompt texts, templates, examples."""

from __future__ import annotations

from pathlib import Path

from ralph.errors import RalphError

_PACKAGE = Path(__file__).resolve().parent.parent


def asset(name: str) -> Path:
    """Return the path of ``name`` (such as ``prompts/steering.md``) in the wheel or the checkout.

    Raises:
        RalphError: if this installation lacks the file.
    """
    for base in (_PACKAGE / "_assets", _PACKAGE.parent):
        path = base / name
        if path.exists():
            return path
    raise RalphError(f"this installation of ralph lacks {name}", hint="install ralph again")
