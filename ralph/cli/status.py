"""The status of one run or all; kept light, it answers without the command library."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec

from ralph.cli.roots import root_of
from ralph.errors import NothingToDo
from ralph.services import runs
from ralph.services.clock import SystemClock
from ralph.views import status as view


def show(*, run: str | None, as_json: bool) -> None:
    """Print the status of ``run``, or of the last one.

    Raises:
        NothingToDo: if there is no such run.
    """
    facts = _facts(runs.find(_closed(root_of(Path.cwd())), run))
    _out(msgspec.json.encode(facts).decode() if as_json else view.status_text(facts))


def show_all(*, as_json: bool) -> None:
    """Print one line, or one JSON object, a run.

    Raises:
        NothingToDo: if there is none.
    """
    found = [_facts(run) for run in runs.all_runs(_closed(root_of(Path.cwd())))]
    if as_json:
        _out(msgspec.json.encode(found).decode())
    elif not found:
        raise NothingToDo("no run here yet", hint="ralph run PROMPT.md --max 20")
    for facts in () if as_json else found:
        _out(view.run_line(facts))


def _closed(root: Path) -> Path:
    """Give runs whose supervisor died their terminal record before anything is told (T-2)."""
    runs.close_crashed(root, SystemClock().now())
    return root


def _facts(run: runs.RunFolder) -> dict[str, Any]:
    now = SystemClock().now()
    live = run.live() or bool(run.elsewhere())  # of another host nothing can be known from here
    facts = view.status(run.started(), run.tail(), live=live, now=now)
    return facts | {"dir": str(run.path)}


def _out(text: str) -> None:
    sys.stdout.write(text.rstrip("\n") + "\n")
