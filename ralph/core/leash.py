"""Does a changed value let the agent run longer or be judged less? (B-20)"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ralph.core.keys import pattern


def loosens(key: str, old: Any, new: Any) -> bool:
    """True when ``new`` raises or switches off a limit, check or stop, or widens an exemption.

    ``key`` is dotted; values are those of Policy. ``None`` for ``old`` or ``new`` of an
    ``agents.NAME`` key means that there is no such agent.

    Raises:
        KeyError: if no key of Policy has this name.
    """
    rule = _RULES[pattern(key)]
    return old != new and rule(old, new)


def _never(_old: Any, _new: Any) -> bool:
    """Says what to do, not how far to go."""
    return False


def _any(_old: Any, _new: Any) -> bool:
    """Names what runs or what judges: no change of it is known to be harmless."""
    return True


def _limit(old: float | None, new: float | None) -> bool:
    """Bounds something, or is the time between two looks; 0 and None are no bound at all."""
    return bool(old) and (not new or new > (old or 0))


def _effort(old: float, new: float) -> bool:
    """Asks for a number of proofs, steps of memory or seconds of delay: less is looser."""
    return new < old


def _check(old: bool, new: bool) -> bool:
    """A check or stop that can be switched off."""
    return old and not new


def _leave(old: bool, new: bool) -> bool:
    """A permission that can be switched on."""
    return new and not old


def _exempt(old: tuple[str, ...], new: tuple[str, ...]) -> bool:
    """A list of exceptions, or of ways to claim: any new entry widens it."""
    return not set(new) <= set(old)


def _demand(old: tuple[str, ...], new: tuple[str, ...]) -> bool:
    """A list of what has to hold, or of what does not count: any lost entry is looser."""
    return not set(old) <= set(new)


def _caps(old: Mapping[str, int], new: Mapping[str, int]) -> bool:
    """A table of limits: one of them raised, switched off or lost."""
    return any(_limit(cap, new.get(name, 0)) for name, cap in old.items())


def _order(*strict_to_loose: str) -> Callable[[str, str], bool]:
    """Words in an order: a later one is looser."""
    return lambda old, new: strict_to_loose.index(new) > strict_to_loose.index(old)


def _judges(old: str, _new: str) -> bool:
    """Only leaving "either counts" for one of the two is a tightening."""
    return old != "plan_or_tree"


_RULES: Mapping[str, Callable[[Any, Any], bool]] = {
    "prompt": _any,
    "max": _limit,
    "work": _never,
    "preset": _order("cautious", "default", "trusting"),
    "phase": _never,
    "agent.use": _any,
    "agent.model": _never,
    "agent.args": _any,
    "agent.timeout": _limit,
    "agent.idle_timeout": _limit,
    "agent.max_outage": _limit,
    "agent.autonomy": _order("edit", "full"),
    "agent.env": _any,
    "agent.unset": _any,
    "agent.leave": _exempt,
    "agents.*.command": _any,
    "agents.*.prompt": _any,
    "agents.*.output": _any,
    "plan.file": _any,
    "plan.optional_sections": _exempt,
    "completion.markers": _exempt,
    "completion.required": _effort,
    "completion.match": _order("line", "word"),
    "completion.require_plan_done": _check,
    "verify.commands": _demand,
    "verify.every": _order("iteration", "change", "claim"),
    "verify.timeout": _limit,
    "verify.may_write": _exempt,
    "progress.policy": _judges,
    "progress.require_evidence": _check,
    "progress.ignore": _demand,
    "progress.max_churn": _limit,
    "progress.tree_memory": _effort,
    "stall.no_progress": _limit,
    "stall.exploring": _leave,
    "stall.same_error": _limit,
    "stall.failing_streak": _limit,
    "breaker.enabled": _check,
    "breaker.hard_stop": _check,
    "breaker.repeated_tool_limit": _limit,
    "breaker.error_storm_limit": _limit,
    "breaker.token_velocity_per_min": _limit,
    "breaker.no_progress_beats": _limit,
    "breaker.same_error_steer": _limit,
    "breaker.agent_token_caps": _caps,
    "breaker.live_repeat": _limit,
    "breaker.waiting_tools": _exempt,
    "breaker.constrain.delay": _effort,
    "breaker.constrain.args": _any,
    "breaker.constrain.command": _any,
    "breaker.constrain.read_only": _check,
    "rate.calls_per_hour": _limit,
    "rate.scope": _order("user", "project"),
    "rate.count": _order("turns", "launches"),
    "rate.max_wait": _limit,
    "rate.wait_for_reset": _leave,
    "rate.max_reset_wait": _limit,
    "budget.duration": _limit,
    "hooks.on_task_done": _any,
}
