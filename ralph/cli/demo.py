"""``ralph demo``: the real supervisor over the scripted agent, in a throw-away repository."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from ralph.errors import UsageError


def demo(
    scenario: Annotated[
        str, typer.Option("--scenario", help="complete, crash, error, liar, silent or stuck.")
    ] = "complete",
    speed: Annotated[float, typer.Option("--speed", min=0.1, help="2 is twice as fast.")] = 1.0,
    folder: Annotated[
        Path | None, typer.Option("--dir", help="Where to put the repository.")
    ] = None,
    plain: Annotated[bool, typer.Option("--plain", help="No dashboard.")] = False,
) -> None:
    """Show a whole run: a real child process, a real repository, under half a minute."""
    from ralph.cli.asks import Ask
    from ralph.cli.screen import Screen
    from ralph.cli.start import start
    from ralph.services import demo as room

    if scenario not in room.scenarios():
        raise UsageError(
            f"no scenario {scenario!r}", hint="there are: " + ", ".join(room.scenarios())
        )
    where = folder or Path(tempfile.mkdtemp(prefix="ralph-demo-"))
    made = room.prepare(scenario, where)
    os.chdir(made.root)
    flags: dict[str, object] = {
        "agent.use": "scripted",
        "agent.args": [*made.args, "--speed", str(speed)],
        **made.settings,
    }
    code = start(Ask(prompt=made.prompt, flags=flags, plain=plain), made.root)
    Screen.say_aloud(f"the repository of this demo: {made.root}")
    raise typer.Exit(code)
