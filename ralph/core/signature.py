"""One name for one error, whatever numbers it carries this time (L-19)."""

from __future__ import annotations

import hashlib
import re

from ralph.core.cleaning import clean

LINES = 20
FIRST_LINE = 300  # characters

_PLACEHOLDERS = tuple(
    (re.compile(pattern), put)
    for pattern, put in (
        (r"(?i)\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "<uuid>"),
        (
            r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?)?(?:Z|[+-]\d\d:?\d\d)?",
            "<time>",
        ),
        (r"\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?(?: ?[AaPp][Mm])?\b", "<time>"),
        (r"\b0[xX][0-9a-fA-F]+\b", "<address>"),
        (r"(?:/private)?(?:/tmp|/var/tmp|/var/folders|/dev/shm)/[^\s\"'`:,;)\]]*", "<temp>"),
        (r"(?i)\b[a-z]:\\(?:[^\s\\]+\\)*te?mp\\[^\s\"'`:,;)\]]*", "<temp>"),
        (r"(?i)\bpid[ =:#]*\d+|\bprocess \d+|\[\d+\](?=[: ])", "<pid>"),
        (
            r"\b\d+(?:\.\d+)?\s?(?:ns|µs|us|ms|s|secs?|seconds?|m|mins?|minutes?|h|hours?)\b",
            "<span>",
        ),
        (r"(?<=[\w.)\]]):\d+(?::\d+)?\b", ":<line>"),
        (r"\b[Ll]ine \d+(?:, column \d+)?", "line <line>"),
    )
)


def signature(error_text: str) -> tuple[str, str] | None:
    """Name an error: 16 hex digits and its first line, or None for a text without words (L-19).

    The last 20 lines count, with escape sequences removed and times, durations, UUIDs, addresses,
    temporary paths, process ids and line numbers replaced, so that the same error of two
    iterations has the same name. The first line keeps its figures, at most 300 characters.
    """
    lines = [line for line in clean(error_text).splitlines() if line.strip()][-LINES:]
    if not re.search(r"\w", "".join(lines)):
        return None
    words = normalised("\n".join(lines))
    name = hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return name, " ".join(lines[0].split())[:FIRST_LINE]


def normalised(text: str) -> str:
    """``text`` with what changes from run to run replaced, and spaces collapsed."""
    for pattern, put in _PLACEHOLDERS:
        text = pattern.sub(put, text)
    return " ".join(text.split())
