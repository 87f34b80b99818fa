"""Events as JSON lines and back; a line that is not an event is an error with its number (X-5)."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from ralph.core.events import JOURNAL_VERSION, AnyEvent
from ralph.errors import JournalDamaged

_decoder: msgspec.json.Decoder[AnyEvent] = msgspec.json.Decoder(AnyEvent)


class NewerJournal(JournalDamaged):
    """The journal was written in a later format than this ralph reads."""


class _Versioned(msgspec.Struct):
    v: int = JOURNAL_VERSION


def encode(event: AnyEvent) -> tuple[bytes, AnyEvent]:
    """One line with its newline, and the event as any reader will decode it.

    What is no character (half of a file name that is not UTF-8) becomes a question mark.

    Raises:
        ValueError: if the line could not be decoded again.
    """
    try:
        line = msgspec.json.encode(event)
    except UnicodeEncodeError:
        line = msgspec.json.encode(_clean(msgspec.to_builtins(event)))
    return line + b"\n", _decoder.decode(line)


def decode(raw: bytes, path: Path, *, first: int | None = None) -> list[AnyEvent]:
    """Events of the whole lines in ``raw``, numbered from ``first`` (None: any) without a gap.

    What follows the last newline is ignored. ``path`` is named in errors; their line number
    counts from the start of ``raw``.

    Raises:
        JournalDamaged: if a line is no event or a number is missing.
        NewerJournal: if a line has a later format.
    """
    lines = raw[: raw.rfind(b"\n") + 1]
    try:
        events = _decoder.decode_lines(lines)
    except (ValueError, RecursionError):
        events = []
    if len(events) != lines.count(b"\n"):
        raise _bad_line(lines, path)
    start = first if first is not None else events[0].seq if events else 0
    for number, event in enumerate(events, start):
        if event.v > JOURNAL_VERSION:
            raise _newer(path, event.v)
        if event.seq != number:
            raise damaged(path, number - start + 1, f"event {number} is missing")
    return events


def damaged(path: Path, line: int, why: str) -> JournalDamaged:
    """The error for a bad line."""
    return JournalDamaged(
        f"{path}, line {line} is damaged: {why}",
        hint="nothing was changed; start a new run with `ralph run`",
    )


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    return [_clean(item) for item in value] if isinstance(value, list | tuple) else value


def _bad_line(lines: bytes, path: Path) -> JournalDamaged:
    for number, line in enumerate(lines.split(b"\n")[:-1], 1):
        try:
            _decoder.decode(line)
        except (ValueError, RecursionError) as error:
            return _newer_or_damaged(line, path, number, str(error))
    return damaged(path, 1, "lines do not match events")


def _newer_or_damaged(line: bytes, path: Path, number: int, why: str) -> JournalDamaged:
    with suppress(ValueError, RecursionError):
        version = msgspec.json.decode(line, type=_Versioned).v
        if version > JOURNAL_VERSION:
            return _newer(path, version)
    return damaged(path, number, why)


def _newer(path: Path, version: int) -> NewerJournal:
    message = f"{path} was written by a newer ralph (format {version}, known: {JOURNAL_VERSION})"
    return NewerJournal(message, hint="upgrade ralph to read this run")
