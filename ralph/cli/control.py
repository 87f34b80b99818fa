"""``ralph stop``, ``pause``, ``continue``: ask something of the run in this repository."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ralph.core.events import RequestKind
from ralph.errors import NothingToDo


def stop(
    now: Annotated[bool, typer.Option("--now", help="End the running agent at once.")] = False,
) -> None:
    """Stop the run here: after this iteration, or now."""
    ask(RequestKind.STOP_NOW if now else RequestKind.STOP_AFTER)


def pause() -> None:
    """Pause the run here after this iteration."""
    ask(RequestKind.PAUSE)


def go_on(
    now: Annotated[bool, typer.Option("--now", help="Also end a wait for a limit.")] = False,
) -> None:
    """Continue a paused run; with --now also end a wait."""
    ask(RequestKind.SKIP_WAIT if now else RequestKind.CONTINUE)


def ask(kind: RequestKind) -> None:
    """Put ``kind`` into the control file of the live run of this repository.

    Raises:
        NothingToDo: if no run is alive here.
    """
    from ralph.cli.roots import root_of
    from ralph.services import inbox, runs

    live = next((run for run in runs.all_runs(root_of(Path.cwd())) if run.live()), None)
    if live is None:
        raise NothingToDo("no run is alive here", hint="ralph status shows how the last one ended")
    inbox.post(live.path, kind, "command")
    sys.stdout.write(f"asked run {live.path.name}: {kind.value.replace('_', ' ')}\n")
