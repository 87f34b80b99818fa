"""``ralph rescue``: bring files of a kept snapshot back into another folder (L-33)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def rescue(
    to: Annotated[Path, typer.Option("--to", help="New folder for the files.")],
    run: Annotated[str | None, typer.Argument(help="Run id, or last [default: last].")] = None,
    paths: Annotated[list[str] | None, typer.Argument(help="Only these paths.")] = None,
    iteration: Annotated[
        int, typer.Option("--iteration", min=0, help="State after it; 0 is the start.")
    ] = 0,
) -> None:
    """Write the files of a kept snapshot into a new folder; nothing else is touched."""
    from ralph.cli.roots import root_of
    from ralph.core.units import several
    from ralph.services import rescue as room
    from ralph.services import runs

    root = root_of(Path.cwd())
    found = runs.find(root, run)
    count = room.bring_back(root, found.path.name, iteration, tuple(paths or ()), to.absolute())
    sys.stdout.write(f"{several(count, 'file')} written to {to}\n")
    for path in room.not_kept(*room.find(root, found.path.name, iteration), tuple(paths or ())):
        sys.stderr.write(f"not kept, too large or unreadable: {path}\n")
