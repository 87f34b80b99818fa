"""What will run, what ends it and where the log is, in at most eight lines (L-34, L-2)."""

from __future__ import annotations

import shlex
from datetime import timedelta
from enum import Enum

import msgspec

from ralph.core.events import RunStarted
from ralph.core.policy import Policy
from ralph.core.units import spell
from ralph.views.texts import local_time, one_line

LONGEST = 160  # characters of the agent's command line


class Watched(Enum):
    """Whether a person can be expected to look at the run."""

    YES = "yes"
    NO = "no"  # the output is not a terminal


def banner(started: RunStarted, watched: Watched = Watched.YES) -> list[str]:
    """The start banner; the command line of the agent is shortened, paths never are."""
    policy = msgspec.convert(started.policy, Policy)
    lines = [
        _run(started),
        f"  Agent:  {_agent(started, policy)}",
        f"  Ends:   {_ends(started, policy)}",
        f"  Stops:  {_stops(policy)}",
        f"  Log:    {started.log or 'none'}",
    ]
    if started.dirty:
        lines.append(
            "  Tree:   has uncommitted changes; to have them as they are now: "
            f"ralph rescue {started.run_id} --to DIR"
        )
    carried = _carried(started)
    lines += [f"  From:   {carried}"] if carried else []
    uncapped = _uncapped(started, policy, watched)
    return [*lines, uncapped] if uncapped else lines


def _run(started: RunStarted) -> str:
    plan = started.started_plan.plan if started.started_plan else None
    tasks = f"{plan.done} of {len(plan.tasks)} tasks done" if plan and plan.tasks else "no tasks"
    title = f" - {one_line(started.title)}" if started.title else ""
    name = f"{started.run_id}{title}"
    return f"ralph run {name} ({started.prompt}, {started.plan_path}: {tasks})"


def _agent(started: RunStarted, policy: Policy) -> str:
    argv = one_line(shlex.join(started.argv))
    command = argv if len(argv) <= LONGEST else f"{argv[: LONGEST - 3]}..."
    parts = [started.agent]
    if started.agent not in policy.agents:  # of a person's own command neither is known
        parts.append(started.model or policy.agent.model or "its default model")
        parts.append(f"autonomy {policy.agent.autonomy}")
    return ", ".join(parts) + (f": {command}" if command else "")


def _ends(started: RunStarted, policy: Policy) -> str:
    cap = _cap(started, policy)
    deadline = started.deadline
    if policy.budget.duration:
        by_budget = started.at + timedelta(seconds=policy.budget.duration)
        deadline = min(deadline, by_budget) if deadline else by_budget
    parts = [
        f"after {cap} iteration{'s' * (cap != 1)}" if cap else "no iteration cap",
        f"no launch after {local_time(deadline, started.at)}" if deadline else "no deadline",
        "no money limit",
        f"{policy.completion.required} completion markers in a row",
    ]
    return ", ".join(parts)


def _stops(policy: Policy) -> str:
    stall = policy.stall
    parts = [
        f"no progress {stall.no_progress or 'off'}",
        f"same error {stall.same_error or 'off'}",
        f"failing streak {stall.failing_streak or 'off'}",
        f"iteration timeout {spell(policy.agent.timeout) if policy.agent.timeout else 'off'}",
        f"{policy.rate.calls_per_hour or 'any number of'} launches an hour",
    ]
    return ", ".join(parts)


def _carried(started: RunStarted) -> str:
    if started.parent_run_id is None:
        return ""
    values = [f"{key} {_spelled(value)}" for key, value in started.command_line.items()]
    why = f", which ended with {one_line(started.carried.stop_reason)}"
    given = f"; carried over: {', '.join(values)}" if values else ""
    return f"{started.parent_run_id}{why if started.carried.stop_reason else ''}{given}"


def _spelled(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _cap(started: RunStarted, policy: Policy) -> int | None:
    return policy.max if policy.max is not None else started.max


def _uncapped(started: RunStarted, policy: Policy, watched: Watched) -> str:
    if _cap(started, policy) is not None:
        return ""
    if watched is Watched.YES:
        return "  Note:   no iteration cap is meant for attended use; --max N sets one"
    return (
        "WARNING: NO ITERATION CAP AND NOBODY IS WATCHING: this run ends only when it is "
        "done or a breaker trips. Give --max N."
    )
