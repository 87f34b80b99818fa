"""The ladder: four levels, one step a beat, and the conditions it listens to (B-1 to B-21)."""

from __future__ import annotations

import msgspec

from ralph.core.events import Counters, Level
from ralph.core.facts import EndedBy, Observation, Outcome
from ralph.core.policy import Policy
from ralph.core.units import several

FEW_DISTINCT_LIMIT = 20


class Trip(msgspec.Struct, frozen=True, kw_only=True):
    """One true condition: its letter, the reason for people, the level it may raise to (B-13)."""

    letter: str
    reason: str
    ceiling: Level


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """The ladder's one decision of a beat (B-2, B-5)."""

    level: Level
    action: str
    reason: str
    changed: bool


_ACTIONS = {Level.STEERING: "steer", Level.CONSTRAINED: "constrain", Level.STOPPED: "stop"}


def climb(level: Level, trips: tuple[Trip, ...], *, fresh: bool, hard_stop: bool) -> Step:
    """Return the ladder after one beat (B-3).

    A true condition raises by one, at most to the highest level that any true one may raise to,
    and never lowers. A clear beat lowers by one; a beat without ``fresh`` evidence leaves the
    level. ``STOPPED`` absorbs (B-4). Without ``hard_stop`` the top is ``CONSTRAINED`` (B-21).
    """
    if level is Level.STOPPED:
        return Step(level=level, action="none", reason="stopped", changed=False)
    if trips:
        top = max(trip.ceiling.rank for trip in trips)
        if not hard_stop:
            top = min(top, Level.CONSTRAINED.rank)
        after = Level.of(max(level.rank, min(level.rank + 1, top)))
        rose = after is not level
        return Step(
            level=after,
            action=_ACTIONS[after] if rose else "none",
            reason=trips[0].reason,
            changed=rose,
        )
    after = Level.of(level.rank - 1) if fresh else level
    fell = after is not level
    return Step(
        level=after,
        action="none",
        reason="recovering — signals cleared" if fell else "",
        changed=fell,
    )


def fresh_evidence(seen: Observation, *, changed: bool) -> bool:
    """False for a beat that says nothing: not launched, mute without a change, read-only (B-3)."""
    if seen.outcome is Outcome.LAUNCH_ERROR or seen.read_only:
        return False
    spoke = seen.had_text or bool(seen.result.tools and seen.result.tools.calls)
    return spoke or changed


def trips(
    seen: Observation,
    before: Counters,
    after: Counters,
    policy: Policy,
    *,
    plan_progress: bool,
    storm_carried: int,
) -> tuple[Trip, ...]:
    """All true conditions of this beat in the order R, E, T, V, N, S (B-6 to B-14).

    ``storm_carried`` is the count of API errors that repeated attempts handed to this one (B-7).
    """
    rules = policy.breaker
    found = [
        None if plan_progress else _repeat(seen, policy),
        _storm(seen, storm_carried, rules.error_storm_limit),
        _agent_cap(seen, after, policy),
        _velocity(seen, rules.token_velocity_per_min),
        _stagnation(before, after, policy),
        _same_error(seen, after, rules.same_error_steer),
    ]
    return tuple(trip for trip in found if trip)


def storm_after(seen: Observation, carried: int) -> int:
    """API errors in a row that the next attempt starts with (B-7); 0 after an ok attempt."""
    if seen.outcome is Outcome.OK:
        return 0
    api = seen.result.api
    return api.at_end if api.succeeded else carried + api.before_success


def _repeat(seen: Observation, policy: Policy) -> Trip | None:
    tools, limit = seen.result.tools, policy.breaker.repeated_tool_limit
    if seen.result.ended_by is EndedBy.REPEAT:
        return Trip(letter="R", reason=seen.result.detail or "looping", ceiling=Level.STOPPED)
    if tools is None:
        return None
    if limit and tools.longest_run >= limit:
        reason = f"looping: {tools.longest_run}× identical tool call ({tools.longest_run_name})"
        return Trip(letter="R", reason=reason, ceiling=Level.STOPPED)
    if limit and tools.few_distinct >= FEW_DISTINCT_LIMIT:
        reason = f"looping: {tools.few_distinct} calls among at most 3 different ones"
        return Trip(letter="R", reason=reason, ceiling=Level.STEERING)
    return None


def _storm(seen: Observation, carried: int, limit: int) -> Trip | None:
    api = seen.result.api
    inside = max(api.before_success, api.peak_after)
    joined = carried + api.before_success if api.before_success else 0
    count = max(inside, joined)
    if not limit or count < limit:
        return None
    ceiling = Level.STOPPED if inside >= limit else Level.STEERING
    return Trip(letter="E", reason=f"error storm: {count} API errors in a row", ceiling=ceiling)


def _agent_cap(seen: Observation, after: Counters, policy: Policy) -> Trip | None:
    cap = policy.breaker.agent_token_caps.get(seen.agent, 0)
    tokens = after.usage.billed
    if not cap or tokens is None or tokens <= cap:
        return None
    reason = f"token cap of {seen.agent}: {tokens:,} > {cap:,}"
    return Trip(letter="T", reason=reason, ceiling=Level.STOPPED)


def _velocity(seen: Observation, limit: int) -> Trip | None:
    speed = seen.result.velocity
    if not limit or speed is None or speed <= limit:
        return None
    reason = f"token velocity: {speed:,.0f} output tokens a minute"
    return Trip(letter="V", reason=reason, ceiling=Level.STOPPED)


def _stagnation(before: Counters, after: Counters, policy: Policy) -> Trip | None:
    limit, churn = policy.breaker.no_progress_beats, policy.progress.max_churn
    if limit and after.beats >= limit and after.beats > before.beats:
        reason = f"no progress in {several(after.no_progress, 'iteration')}"
        return Trip(letter="N", reason=reason, ceiling=Level.CONSTRAINED)
    if churn and after.churn >= churn and after.churn > before.churn:
        reason = f"no task completed in {several(after.churn, 'iteration')} that changed files"
        return Trip(letter="N", reason=reason, ceiling=Level.STEERING)
    return None


def _same_error(seen: Observation, after: Counters, limit: int) -> Trip | None:
    if not limit or after.same_error < limit or seen.signature is None:
        return None
    reason = f"same error in {several(after.same_error, 'iteration')}: {seen.error}"
    return Trip(letter="S", reason=reason, ceiling=Level.CONSTRAINED)
