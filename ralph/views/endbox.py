"""The last thing on the screen: how the run ended and what a person does next (10.3, L-24)."""

from __future__ import annotations

from ralph.core.events import RunEnded
from ralph.core.outcome import TerminalState
from ralph.core.units import several
from ralph.views.texts import dollars, one_line, span

TRIPPED = "⚠️  CIRCUIT BREAKER TRIGGERED"
STOPPED = "RALPH STOPPED"
CONFIRMED = "✓ Confirmed complete (2+ signals)"
REVIEW = "Review the logs and fix the blocking issue before resuming."
STEPS = (
    "Read the end of the log: what did the agent try, and what came back?",
    "Find the one thing that blocks it: a failing test, a missing right, an unclear task.",
    "Fix that thing, or change the plan or the prompt so that the way around it is clear.",
    "Look at the work tree (git status, git diff) and keep only what you want.",
    "Resume.",
)


def endbox(ended: RunEnded) -> list[str]:
    """The lines of the end, heading first; in UTF-8, for ``ascii_only`` where that is no use."""
    if ended.ending.resolved:
        return _resolved(ended)
    tripped = ended.ending.state is TerminalState.ESCALATED
    return [
        TRIPPED if tripped else STOPPED,
        f"   Reason: {one_line(ended.ending.detail) or ended.ending.reason}",
        f"   Last task attempted: {one_line(ended.last_task) or 'none'}",
        f"   Iterations completed: {_iterations(ended)}",
        "",
        f"   {REVIEW}",
        f"   Terminal state: {_state(ended)}",
        f"   Log: {ended.log or 'none'}",
        f"   Resume: {ended.resume or 'not possible'}",
        *_more(ended),
        "",
        *(f"   {number}. {step}" for number, step in enumerate(STEPS, 1)),
    ]


def style_of(ended: RunEnded) -> str:
    """Colour of the heading: green, red for an escalation, yellow for the rest."""
    if ended.ending.resolved:
        return "green"
    return "red" if ended.ending.state is TerminalState.ESCALATED else "yellow"


def _resolved(ended: RunEnded) -> list[str]:
    counters = ended.counters
    tasks = f"{counters.tasks_done}/{counters.tasks_total}" if counters.tasks_total else "n/a"
    return [
        CONFIRMED,
        f"   Tasks: {tasks}",
        f"   Iterations completed: {_iterations(ended)}",
        f"   Took: {_totals(ended)}",
        f"   Terminal state: {_state(ended)}",
        f"   Log: {ended.log or 'none'}",
        *_more(ended),
    ]


def _iterations(ended: RunEnded) -> str:
    done = ended.counters.iterations
    return str(done) if ended.max is None else f"{done}/{ended.max}"


def _state(ended: RunEnded) -> str:
    return f"{ended.ending.state} / {ended.ending.reason} (exit {ended.ending.exit_code})"


def _totals(ended: RunEnded) -> str:
    usage = ended.counters.usage
    parts = [span(ended.seconds), several(ended.counters.calls, "launch")]
    if usage.billed is not None:
        parts.append(f"{usage.billed:,} tokens")
    if usage.cost is not None:
        parts.append(dollars(usage.cost))
    return ", ".join(parts)


def _more(ended: RunEnded) -> list[str]:
    """What is worth a line only when it is there."""
    lines = []
    if ended.also:
        lines.append(f"   Also: {', '.join(ended.also)}")
    if ended.interrupted_iteration is not None:
        lines.append(f"   Interrupted: iteration {ended.interrupted_iteration} was in flight")
    if ended.blocked:
        lines += ["   Blocked tasks:", *(f"     - {one_line(text)}" for text in ended.blocked)]
    if ended.question and not ended.ending.resolved:
        lines.append(f"   The agent asked: {one_line(ended.question)}")
    if ended.actions and not ended.ending.resolved:
        lines += ["   Last actions:", *(f"     - {one_line(action)}" for action in ended.actions)]
    return lines
