"""Named sets of values that lie between the built-in defaults and the user's own (L-29)."""

from __future__ import annotations

from collections.abc import Mapping

_PRESETS: Mapping[str, Mapping[str, object]] = {
    "cautious": {
        "max": 10,
        "progress.max_churn": 5,
        "stall.exploring": False,
        "stall.same_error": 3,
        "breaker.same_error_steer": 2,
        "rate.calls_per_hour": 50,
    },
    "default": {},
    "trusting": {
        "progress.max_churn": 25,
        "stall.no_progress": 5,
        "stall.same_error": 8,
        "rate.calls_per_hour": 200,
    },
}


def names() -> tuple[str, ...]:
    """The presets there are, from the strictest to the loosest."""
    return tuple(_PRESETS)


def preset(name: str) -> Mapping[str, object]:
    """Return the values of the preset ``name`` by dotted key; ``default`` has none (L-29).

    Its steering thresholds are at most its stop limits minus 1 (B-22).

    Raises:
        KeyError: if there is no such preset.
    """
    return _PRESETS[name]
