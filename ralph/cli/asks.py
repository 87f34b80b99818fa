"""What a person asks for on the command line, before any file is read."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from ralph.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class Ask:
    """One start of the loop. ``flags`` are dotted configuration keys given by hand (L-4)."""

    prompt: Path | None = None
    flags: dict[str, object] = field(default_factory=dict)
    until: str | None = None  # time of day, such as 07:00
    allow_no_tasks: bool = False
    allow_nested: bool = False
    plain: bool = False
    parent: str | None = None  # run id that a resume goes on from
    forget_reset: bool = False  # launch now although a usage limit was heard of


def clock_time(text: str, now: datetime) -> datetime:
    """Return the next instant at which the local clock shows ``HH:MM`` (L-34).

    Raises:
        UsageError: if ``text`` is not a time of day.
    """
    match = re.fullmatch(r"([01]?\d|2[0-3]):([0-5]\d)", text.strip())
    if match is None:
        raise UsageError(f"--until wants a time of day such as 07:00, got {text!r}")
    local = now.astimezone()
    when = local.replace(hour=int(match[1]), minute=int(match[2]), second=0, microsecond=0)
    return when if when > local else (when + timedelta(days=1))


def given(flags: dict[str, object], pairs: list[str] | None) -> dict[str, object]:
    """The ``flags`` that were given, and ``--set key=value`` pairs, by dotted key.

    Raises:
        UsageError: if a pair has no ``=`` or no key.
    """
    found = {key: value for key, value in flags.items() if value is not None}
    for pair in pairs or ():
        key, sign, value = pair.partition("=")
        if not sign or not key.strip():
            raise UsageError(
                f"--set wants key=value, got {pair!r}", hint="--set stall.no_progress=5"
            )
        found[key.strip()] = value.strip()
    return found
