"""When an attempt failed for reasons outside the work: try again, and when (A-4, A-5, C-6)."""

from __future__ import annotations

import zlib
from datetime import datetime, timedelta

import msgspec

from ralph.core.events import WaitReason
from ralph.core.facts import FailureClass, Observation
from ralph.core.outcome import Ending, escalated, fallback, follow_up
from ralph.core.policy import Policy

OUTAGE_WAITS = (5.0, 15.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0)
PROBE_WAITS = (300.0, 600.0, 1200.0, 1800.0)
SECOND_CHANCES = (60.0, 600.0)  # for auth and bad invocations after work was done
AFTER_RESET = 60.0

OUTAGES = frozenset({FailureClass.OVERLOADED, FailureClass.NETWORK})
UNAVAILABLE = frozenset({FailureClass.BAD_INVOCATION, FailureClass.LAUNCH_ERROR})
NOT_THE_WORK = OUTAGES | UNAVAILABLE | {FailureClass.USAGE_LIMIT, FailureClass.AUTH}


class Retry(msgspec.Struct, frozen=True, kw_only=True):
    """A failure outside the work that is being waited out; None of it moves a counter (C-6)."""

    klass: FailureClass
    since: datetime  # end of the first failure of this kind in a row
    last: datetime  # end of the latest one
    failures: int = 1
    resets_at: datetime | None = None
    detail: str = ""
    waited: bool = False  # the wait for the latest failure is over


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Wait until ``until`` and launch the same iteration again."""

    until: datetime
    reason: WaitReason
    detail: str
    probe: bool = False


def after_failure(previous: Retry | None, seen: Observation) -> Retry:
    """Add one failed attempt; another kind of failure starts its own count."""
    limit = seen.result.limit
    same = previous is not None and _kind(previous.klass) == _kind(seen.result.klass)
    return Retry(
        klass=seen.result.klass,
        since=previous.since if same and previous else seen.ended_at,
        last=seen.ended_at,
        failures=previous.failures + 1 if same and previous else 1,
        resets_at=limit.resets_at if limit else None,
        detail=seen.result.detail or seen.error,
    )


def next_move(retry: Retry, policy: Policy, *, worked: bool, salt: str) -> Plan | Ending:
    """Say how long to wait for the provider or the person, or how the run ends (A-4, A-5).

    ``worked``: an earlier iteration of this run with this agent was ok. ``salt`` makes the jitter
    of at most ten percent; the same salt gives the same wait, so that a replay agrees.
    """
    if retry.klass is FailureClass.USAGE_LIMIT:
        return _reset(retry, policy)
    if retry.klass in OUTAGES:
        return _outage(retry, policy, salt)
    if not worked or retry.failures > len(SECOND_CHANCES):
        return _give_up(retry, worked=worked)
    seconds = SECOND_CHANCES[retry.failures - 1]
    return Plan(
        until=retry.last + timedelta(seconds=seconds),
        reason=WaitReason.BACKOFF,
        detail=f"{retry.klass}: {retry.detail}; trying again",
    )


def _reset(retry: Retry, policy: Policy) -> Plan | Ending:
    bound = retry.since + timedelta(seconds=policy.rate.max_reset_wait)
    unbounded = policy.rate.max_reset_wait == 0
    if not policy.rate.wait_for_reset:
        return follow_up("limit_reset_too_far", f"{retry.detail}; waiting for resets is off")
    if retry.resets_at is not None:
        until = max(retry.resets_at, retry.last) + timedelta(seconds=AFTER_RESET)
        if not unbounded and until > retry.last + timedelta(seconds=policy.rate.max_reset_wait):
            when = retry.resets_at.isoformat(timespec="minutes")
            return follow_up("limit_reset_too_far", f"{retry.detail}; resets at {when}")
        return Plan(until=until, reason=WaitReason.RESET, detail=retry.detail)
    until = retry.last + timedelta(seconds=_step(PROBE_WAITS, retry.failures))
    if not unbounded and until > bound:
        return follow_up("limit_reset_too_far", f"{retry.detail}; no reset time was given")
    return Plan(until=until, reason=WaitReason.RESET, detail=retry.detail, probe=True)


def _outage(retry: Retry, policy: Policy, salt: str) -> Plan | Ending:
    bound = retry.since + timedelta(seconds=policy.agent.max_outage)
    bounded = policy.agent.max_outage > 0
    if bounded and retry.last >= bound:
        return follow_up("provider_unavailable", f"{retry.klass}: {retry.detail}")
    spread = 1 + (zlib.crc32(f"{salt}/{retry.failures}".encode()) % 1000) / 10_000
    until = retry.last + timedelta(seconds=_step(OUTAGE_WAITS, retry.failures) * spread)
    return Plan(
        until=min(until, bound) if bounded else until,
        reason=WaitReason.BACKOFF,
        detail=f"{retry.klass}: {retry.detail}",
    )


def _give_up(retry: Retry, *, worked: bool) -> Ending:
    if retry.klass is FailureClass.AUTH:
        return escalated("agent_auth", retry.detail)
    if worked:
        return escalated("agent_unavailable", retry.detail)
    return fallback("agent_unavailable", retry.detail)


def _step(waits: tuple[float, ...], failures: int) -> float:
    return waits[min(failures, len(waits)) - 1]


def _kind(klass: FailureClass) -> str:
    return "outage" if klass in OUTAGES else klass.value
