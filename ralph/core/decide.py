"""What happens next: the order of evaluation before a launch (X-1) and around a verdict."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from ralph.core import judge as judging
from ralph.core import retry
from ralph.core.events import Level, Note, WaitReason
from ralph.core.live import Slot
from ralph.core.outcome import Ending, fallback, follow_up
from ralph.core.rate import next_sleep
from ralph.core.state import RunState
from ralph.core.steering import notes_for
from ralph.core.units import several


class Judge(msgspec.Struct, frozen=True):
    """An observation waits for its verdict."""


class Verify(msgspec.Struct, frozen=True):
    """The judge's commands have to run first (T-17)."""

    commands: tuple[str, ...]


class Wait(msgspec.Struct, frozen=True):
    """Nothing may be launched before ``until``."""

    until: datetime
    reason: WaitReason
    detail: str = ""
    probe: bool = False


class Pause(msgspec.Struct, frozen=True):
    """A person asked for a pause; it lasts until a continue or stop request."""


class Launch(msgspec.Struct, frozen=True):
    """Launch the agent once (C-2)."""

    iteration: int
    attempt: int
    agent: str
    constrained: bool
    read_only: bool
    notes: tuple[Note, ...]


class End(msgspec.Struct, frozen=True):
    """The one place from which a run ends."""

    ending: Ending
    also: tuple[str, ...] = ()


Step = Judge | Verify | Wait | Pause | Launch | End


def next_step(
    state: RunState, *, now: datetime, slot: Slot, resets_at: datetime | None = None
) -> Step:
    """Return the next step of a run that has not ended (X-1).

    ``slot``: the call window as it is now, ``taken`` meaning that a call is free. ``resets_at``:
    a usage limit of this agent that another run has met (A-5).

    Raises:
        ValueError: if the run has ended or an attempt is in flight.
    """
    if state.ended is not None or state.flight is not None:
        raise ValueError("no next step: the run has ended or an attempt is in flight")
    if state.pending is not None:
        if state.verified is None and judging.wants_verify(state, state.pending):
            return Verify(state.policy.verify.commands)
        return Judge()
    if state.verdict is not None and state.verdict.ending is not None:
        return End(state.verdict.ending, state.verdict.also)
    return _before_launch(state, now, slot, resets_at)


def _before_launch(state: RunState, now: datetime, slot: Slot, resets_at: datetime | None) -> Step:
    asked = judging.stop_ending(state)
    if asked is not None:
        return End(asked)
    if state.pause_wanted or state.paused:
        return Pause()
    used_up = _used_up(state, now)
    if used_up is not None:
        return End(used_up)
    held = _outside(state, now, resets_at) or _delay(state, now) or _rate(state, now, slot)
    return held if held is not None else _launch(state)


def _used_up(state: RunState, now: datetime) -> Ending | None:
    cap, completion = state.cap, state.counters.completion
    if state.retry is None and cap is not None and state.iteration >= cap:
        near = f"completion {completion}/{state.policy.completion.required}" if completion else ""
        ending = follow_up("iteration_cap", near or f"{several(cap, 'iteration')} used")
        return ending if _something_came_of_it(state) or completion else _nothing(state, ending)
    deadline = deadline_of(state)
    if deadline is not None and now >= deadline:
        ending = follow_up("budget_exhausted", "the time given to this run is over")
        return ending if _something_came_of_it(state) or completion else _nothing(state, ending)
    return None


def deadline_of(state: RunState) -> datetime | None:
    """The instant after which nothing is launched (L-34); None without one."""
    seconds = state.policy.budget.duration
    by_budget = state.started.at + timedelta(seconds=seconds) if seconds else None
    known = [when for when in (state.started.deadline, by_budget) if when is not None]
    return min(known) if known else None


def _something_came_of_it(state: RunState) -> bool:
    counters = state.counters
    return bool(counters.ticks or counters.tree_changes or counters.verifies)


def _nothing(state: RunState, otherwise: Ending) -> Ending:
    """nothing_verified, when there was something to show and nothing was shown (T-1)."""
    had_plan = state.plan is not None and bool(state.plan.tasks)
    if not had_plan and not state.policy.verify.commands:
        return otherwise
    return fallback("nothing_verified", f"{otherwise.detail}; nothing changed and nothing passed")


def _outside(state: RunState, now: datetime, resets_at: datetime | None) -> Step | None:
    deadline = deadline_of(state)
    if state.retry is not None:
        worked = state.started.agent in state.worked
        salt = f"{state.started.run_id}/{state.iteration}"
        move = retry.next_move(state.retry, state.policy, worked=worked, salt=salt)
        if isinstance(move, Ending):
            return End(move)
        if state.retry.waited or now >= move.until:
            return None
        return _bounded(Wait(move.until, move.reason, move.detail, move.probe), deadline)
    if resets_at is None or resets_at <= now or not state.policy.rate.wait_for_reset:
        return None
    longest = state.policy.rate.max_reset_wait
    if longest and resets_at > now + timedelta(seconds=longest):
        return End(follow_up("limit_reset_too_far", f"resets at {resets_at.isoformat()}"))
    detail = "usage limit of this agent"
    return _bounded(Wait(resets_at, WaitReason.RESET, detail), deadline)


def _bounded(wait: Wait, deadline: datetime | None) -> Step:
    if deadline is None or wait.until <= deadline:
        return wait
    if wait.reason is WaitReason.RESET:
        detail = f"{wait.detail}; the reset is after the end of this run's time"
        return End(follow_up("limit_reset_too_far", detail))
    return Wait(deadline, wait.reason, wait.detail, wait.probe)


def _delay(state: RunState, now: datetime) -> Step | None:
    level, since = state.counters.level, state.idle_since
    if state.retry is not None or since is None or level.rank < Level.CONSTRAINED.rank:
        return None
    until = since + timedelta(seconds=state.policy.breaker.constrain.delay)
    if until <= now:
        return None
    return _bounded(Wait(until, WaitReason.DELAY, "constrained: slowed down"), deadline_of(state))


def _rate(state: RunState, now: datetime, slot: Slot) -> Step | None:
    if slot.taken or slot.free_at is None:
        return None
    limit, deadline = state.policy.rate.max_wait, deadline_of(state)
    since = state.waiting_for_slot or now
    too_long = bool(limit) and slot.free_at > since + timedelta(seconds=limit)
    if too_long or (deadline is not None and slot.free_at > deadline):
        when = slot.free_at.isoformat(timespec="seconds")
        return End(follow_up("rate_limited", f"the next call is free at {when}"))
    until = now + timedelta(seconds=next_sleep(slot.free_at, now))
    return Wait(until, WaitReason.RATE, f"{several(slot.count, 'launch')} in the last hour")


def _launch(state: RunState) -> Launch:
    again = state.retry is not None
    constrained = state.counters.level.rank >= Level.CONSTRAINED.rank
    profile = state.policy.breaker.constrain
    return Launch(
        iteration=state.iteration if again else state.iteration + 1,
        attempt=state.attempt + 1 if again else 1,
        agent=state.started.agent,
        constrained=constrained,
        read_only=constrained and profile.read_only and not state.last_read_only,
        notes=notes_for(state),
    )
