"""A confirmed claim of completion before its judges: plan, evidence, verify commands (L-7, L-9)."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from ralph.core.events import Counters, Note
from ralph.core.facts import Observation, Task, VerifyResult
from ralph.core.outcome import Ending, escalated, follow_up, resolved
from ralph.core.progress import Progress, signalled
from ralph.core.state import RunState

FAILING_VERDICTS = 5
NAMED_TASKS = 20


class Ruling(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a claim: the end, or the counters and notes with which the loop goes on."""

    counters: Counters
    ending: Ending | None = None
    notes: tuple[Note, ...] = ()
    lines: tuple[str, ...] = ()


def confirming(state: RunState, seen: Observation) -> bool:
    """True when this observation completes the row of signals (L-7)."""
    required = state.policy.completion.required
    return signalled(seen) and state.counters.completion + 1 >= required


def rule(
    state: RunState,
    counters: Counters,
    made: Progress,
    verified: tuple[VerifyResult, ...],
) -> Ruling:
    """Judge a confirmed claim (L-9, L-18, T-17).

    Open tasks, unproven ticks and failing verify commands refute it, named in this order. The
    first refutation asks for another round; the same ground again, without plan progress between,
    ends the run.
    """
    silent = next((result for result in verified if result.passed is None), None)
    tasks = _open(state)
    if silent is not None and not tasks:
        detail = silent.detail or f"no verdict from {silent.command}"
        return Ruling(counters=counters, ending=escalated("judge_failed", detail))
    failing = tuple(result for result in verified if result.passed is False)
    grounds = _grounds(tasks, made.unproven, failing)
    if not grounds:
        required = state.policy.completion.required
        return Ruling(
            counters=counters,
            ending=resolved("completed", f"Confirmed complete ({required}+ signals)"),
        )
    passing = sum(result.passed is True for result in verified)
    ending = _refuted_again(counters, tasks, made.unproven, failing, passing)
    after = replace(
        counters,
        completion=0,
        refuted=counters.refuted + 1,
        refuted_passing=passing,
        verdicts=counters.verdicts + bool(failing),
        told=tuple(sorted({*counters.told, *grounds})),
    )
    return Ruling(
        counters=after,
        ending=ending,
        notes=_notes(state, tasks, made.unproven, failing),
        lines=_lines(tasks, made.unproven, failing),
    )


def _open(state: RunState) -> tuple[Task, ...]:
    if not state.policy.completion.require_plan_done or state.plan is None:
        return ()
    return state.plan.open


def _grounds(
    tasks: tuple[Task, ...], unproven: tuple[str, ...], failing: tuple[VerifyResult, ...]
) -> tuple[str, ...]:
    named = {"tasks": tasks, "evidence": unproven, "verify": failing}
    return tuple(name for name, found in named.items() if found)


def _refuted_again(
    counters: Counters,
    tasks: tuple[Task, ...],
    unproven: tuple[str, ...],
    failing: tuple[VerifyResult, ...],
    passing: int,
) -> Ending | None:
    if counters.refuted and tasks:
        return follow_up("claimed_with_open_tasks", f"{len(tasks)} open: {_names(tasks)}")
    if "evidence" in counters.told and unproven:
        return follow_up(
            "claimed_without_evidence", f"ticked without changes: {', '.join(unproven)}"
        )
    if not failing:
        return None
    stuck = counters.verdicts > 0 and passing <= counters.refuted_passing
    if stuck or counters.verdicts + 1 >= FAILING_VERDICTS:
        return escalated("judge_failed", f"verify failed: {failing[0].command}")
    return None


def _notes(
    state: RunState,
    tasks: tuple[Task, ...],
    unproven: tuple[str, ...],
    failing: tuple[VerifyResult, ...],
) -> tuple[Note, ...]:
    marker = state.policy.completion.markers[0]
    notes = []
    if tasks:
        listed = "\n".join(f"- {task.text}" for task in tasks[:NAMED_TASKS])
        more = len(tasks) - NAMED_TASKS
        listed += f"\n- and {more} more" if more > 0 else ""
        notes.append(Note(name="open_tasks", values={"tasks": listed, "marker": marker}))
    if unproven:
        named = "\n".join(f"- {task}" for task in unproven)
        notes.append(Note(name="unproven", values={"tasks": named}))
    if failing:
        notes.append(critique(failing))
    return tuple(notes)


def critique(failing: tuple[VerifyResult, ...]) -> Note:
    """The failing output for the next prompt (T-17)."""
    parts = []
    for result in failing:
        edits = f"\nvoid: it changed {', '.join(result.drafted)}" if result.drafted else ""
        code = "no exit code" if result.exit_code is None else f"exit {result.exit_code}"
        parts.append(f"$ {result.command}   ({code}){edits}\n{result.output.strip()}")
    return Note(name="critique", values={"output": "\n\n".join(parts)})


def _lines(
    tasks: tuple[Task, ...], unproven: tuple[str, ...], failing: tuple[VerifyResult, ...]
) -> tuple[str, ...]:
    lines = []
    if tasks:
        lines.append(f"Claim refuted: {len(tasks)} open: {_names(tasks)}")
    if unproven:
        lines.append(f"Claim refuted: ticked without changes: {', '.join(unproven)}")
    lines.extend(f"Claim refuted: verify failed: {result.command}" for result in failing)
    return tuple(lines)


def _names(tasks: tuple[Task, ...]) -> str:
    names = ", ".join(task.id for task in tasks[:5])
    return f"{names}, …" if len(tasks) > 5 else names
