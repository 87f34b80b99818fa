"""``ralph init``: a prompt, a plan and a configuration to begin with."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def init(
    force: Annotated[bool, typer.Option("--force", help="Overwrite what is there.")] = False,
) -> None:
    """Write PROMPT.md, IMPLEMENTATION_PLAN.md and ralph.toml where they are missing."""
    from ralph.cli.roots import root_of
    from ralph.services.init import TEMPLATES, write_templates

    root = root_of(Path.cwd())
    for path in write_templates(root, force=frozenset(TEMPLATES if force else ())):
        sys.stdout.write(f"wrote {path}\n")
    sys.stderr.write("Next: describe the goal in PROMPT.md, list the tasks, then: ralph run\n")
