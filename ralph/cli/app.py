"""The command tree; commands parse and wire, nothing more."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ralph.cli import config, control, show
from ralph.cli import demo as demo_room
from ralph.cli import init as init_room
from ralph.cli import rescue as rescue_room
from ralph.cli.asks import Ask, given
from ralph.errors import UsageError

app = typer.Typer(
    name="ralph",
    help="Run a coding agent in a loop until the plan is done or progress stops.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    add_completion=True,
)
app.add_typer(config.app, name="config")
app.command("init")(init_room.init)
app.command("status")(show.status)
app.command("runs")(show.runs)
app.command("logs")(show.logs)
app.command("stop")(control.stop)
app.command("pause")(control.pause)
app.command("continue")(control.go_on)
app.command("rescue")(rescue_room.rescue)
app.command("demo")(demo_room.demo)

Prompt = Annotated[Path | None, typer.Argument(help="Prompt file [default: PROMPT.md].")]
Cap = Annotated[int | None, typer.Argument(min=1, help="Iteration cap, like --max.")]
Max = Annotated[
    int | None, typer.Option("--max", "-n", min=1, help="Iteration cap; without one, no cap.")
]
Agent = Annotated[
    str | None, typer.Option("--agent", help="Agent name, or a whole command line in quotes.")
]
Model = Annotated[str | None, typer.Option("--model", help="Model, passed to the agent.")]
Plan = Annotated[str | None, typer.Option("--plan", help="Plan file: Markdown or prd.json.")]
WorkName = Annotated[str | None, typer.Option("--work", help="Name of the work.")]
Preset = Annotated[str | None, typer.Option("--preset", help="cautious, default or trusting.")]
Phase = Annotated[str | None, typer.Option("--phase", help="Phase, told to the agent.")]
For = Annotated[str | None, typer.Option("--for", help="No launch after this long: 8h, 90m.")]
Until = Annotated[str | None, typer.Option("--until", help="No launch after this time: 07:00.")]
Set = Annotated[list[str] | None, typer.Option("--set", help="Any configuration value: key=value.")]
NoTasks = Annotated[bool, typer.Option("--allow-no-tasks", help="Run with a plan without tasks.")]
Nested = Annotated[bool, typer.Option("--allow-nested", help="Run inside an agent of a run.")]
Plain = Annotated[bool, typer.Option("--plain", help="One line an iteration, no dashboard.")]


@app.command()
def run(
    prompt: Prompt = None,
    cap: Cap = None,
    max_iterations: Max = None,
    agent: Agent = None,
    model: Model = None,
    plan: Plan = None,
    work: WorkName = None,
    preset: Preset = None,
    phase: Phase = None,
    for_: For = None,
    until: Until = None,
    set_: Set = None,
    allow_no_tasks: NoTasks = False,
    allow_nested: Nested = False,
    plain: Plain = False,
) -> None:
    """Run the agent in a loop until the plan is done or progress stops.

    Exit codes: 0 RESOLVED, 1 nothing could be started or shown, 2 refused (usage, configuration,
    locked tree), 3 a person is needed, 4 work remains, 130/143/129 ended by a signal, 70 a bug.
    """
    if cap is not None and max_iterations is not None and cap != max_iterations:
        raise UsageError(f"two iteration caps: {cap} and --max {max_iterations}")
    flags: dict[str, object] = {
        "max": max_iterations or cap,
        "agent.use": agent,
        "agent.model": model,
        "plan.file": plan,
        "work": work,
        "preset": preset,
        "phase": phase,
        "budget.duration": for_,
    }
    _start(
        Ask(
            prompt=prompt.absolute() if prompt else None,
            flags=given(flags, set_),
            until=until,
            allow_no_tasks=allow_no_tasks,
            allow_nested=allow_nested,
            plain=plain,
        )
    )


@app.command()
def resume(
    run_id: Annotated[str | None, typer.Argument(help="Run to go on from [default: last].")] = None,
    prompt: Annotated[Path | None, typer.Option("--prompt", help="If it has moved.")] = None,
    max_iterations: Max = None,
    agent: Agent = None,
    model: Model = None,
    plan: Plan = None,
    for_: For = None,
    until: Until = None,
    set_: Set = None,
    force: Annotated[bool, typer.Option("--force", help="Also after RESOLVED.")] = False,
    now: Annotated[bool, typer.Option("--now", help="Do not wait for a usage limit.")] = False,
    allow_no_tasks: NoTasks = False,
    allow_nested: Nested = False,
    plain: Plain = False,
) -> None:
    """Go on after a person fixed the blocker: a new run of the same work."""
    from ralph.cli.roots import root_of
    from ralph.cli.start import resumable
    from ralph.services.clock import SystemClock
    from ralph.services.runs import close_crashed

    root = root_of(Path.cwd())
    close_crashed(root, SystemClock().now())
    parent = resumable(root, run_id, force=force)
    if prompt is None and not (root / parent.prompt).is_file():
        raise UsageError(
            f"the prompt of run {parent.run_id} is gone: {root / parent.prompt}",
            hint="ralph resume --prompt FILE goes on with another",
        )
    flags: dict[str, object] = {
        "max": max_iterations or parent.max,
        "agent.use": agent,
        "agent.model": model,
        "plan.file": plan,
        "budget.duration": for_,
    }
    carried = dict(parent.command_line)
    was = carried.pop("until", None)
    _start(
        Ask(
            prompt=(prompt or root / parent.prompt).absolute(),
            flags=carried | given(flags, set_),
            until=until or (str(was) if was else None),
            allow_no_tasks=allow_no_tasks,
            allow_nested=allow_nested,
            plain=plain,
            parent=parent.run_id,
            forget_reset=now,
        )
    )


def _start(ask: Ask) -> None:
    from ralph.cli.roots import root_of
    from ralph.cli.start import start

    raise typer.Exit(start(ask, root_of(Path.cwd())))
