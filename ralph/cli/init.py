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
    from ralph.services.init import PLAN, PROMPT, look_around, write_templates
    from ralph.services.stack import PROJECT_FILE

    root = root_of(Path.cwd())
    found = look_around(root)
    made = write_templates(root, force=force, found=found)
    for name in made.written:
        sys.stdout.write(f"wrote {name}\n")
    if PROJECT_FILE in made.written and found.test:
        sys.stdout.write(f"the work must pass: {found.test}\n")
    for name, reason in made.kept:
        sys.stdout.write(f"kept {name}: {reason}\n")
    if PROMPT in made.written or PLAN in made.written:
        sys.stderr.write(f"next: describe the work in {PROMPT} and {PLAN}, then: ralph run\n")
