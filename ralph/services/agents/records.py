"""JSON that agents print: one record a line, an array of them, or one document (A4)."""

from __future__ import annotations

import json
import re
from itertools import islice

import msgspec

from ralph.services.agents.fields import Json

_ATTEMPTS = 20  # places at which a document may begin
_LINE_START = re.compile(r"^[\[{]", re.MULTILINE)


def looks_like_json(raw: bytes) -> bool:
    """True for a line that begins as an object or an array does."""
    return raw.lstrip()[:1] in (b"{", b"[")


def parse(raw: bytes) -> list[Json] | None:
    """The records in one line: an object, or an array of objects; None when it is neither."""
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        try:
            value = json.loads(raw.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return None
    if isinstance(value, dict):
        return [value]
    if isinstance(value, list):
        return [one for one in value if isinstance(one, dict)] or None
    return None


def document(text: str) -> list[Json]:
    """Records of one JSON document that was printed over several lines, noise before it."""
    decoder = json.JSONDecoder()
    for found in islice(_LINE_START.finditer(text), _ATTEMPTS):
        try:
            value, _ = decoder.raw_decode(text, found.start())
        except (ValueError, RecursionError):
            continue
        records = value if isinstance(value, list) else [value]
        return [one for one in records if isinstance(one, dict)]
    return []
