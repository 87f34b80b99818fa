"""``ralph status``, ``ralph runs``, ``ralph logs``: read the journal, change nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ralph.cli import status as status_room

Run = Annotated[str | None, typer.Argument(help="Run id, its beginning, or last [default: last].")]
Json = Annotated[bool, typer.Option("--json", help="For programs.")]


def status(run: Run = None, as_json: Json = False) -> None:
    """Show what the last run does or how it ended."""
    status_room.show(run=run, as_json=as_json)


def runs(as_json: Json = False) -> None:
    """List the runs of this repository, newest first."""
    status_room.show_all(as_json=as_json)


def logs(
    run: Run = None,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on as it grows.")] = False,
    iteration: Annotated[
        str | None, typer.Option("--iteration", help="One iteration: 7, or 7.2 for a repeat.")
    ] = None,
    raw: Annotated[bool, typer.Option("--raw", help="The agent's own bytes, unmasked.")] = False,
) -> None:
    """Print the log of a run, or what the agent said in one iteration."""
    from ralph.cli.roots import root_of
    from ralph.services import logs as log_room
    from ralph.services.runs import find

    root = root_of(Path.cwd())
    path = log_room.which(root, run, iteration=iteration, raw=raw)
    log_room.copy(path, follow=find(root, run).live if follow else None)
