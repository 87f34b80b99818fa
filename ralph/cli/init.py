"""``ralph init``: the first files of a repository."""

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
    from ralph.services.init import PLAN, PROMPT, write_templates

    made = write_templates(root_of(Path.cwd()), force=force)
    for name in made.written:
        sys.stdout.write(f"wrote {name}\n")
    for name, reason in made.kept:
        sys.stdout.write(f"kept {name}: {reason}\n")
    if PROMPT in made.written or PLAN in made.written:
        sys.stderr.write(f"next: describe the work in {PROMPT} and {PLAN}, then: ralph run\n")
