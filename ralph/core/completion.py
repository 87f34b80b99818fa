"""What an agent's final text says: claims, mentions, a last question (C-8, L-6, L-15)."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping, Sequence

from ralph.core.facts import Claim, ClaimKind
from ralph.core.failure import asks
from ralph.core.markdown import without_code

ECHO_LINES = 3  # equal lines in a row that make an echo
SUMMARY = 300  # characters
_ROOM = 120  # characters of decoration around a marker at most

_LIST = re.compile(r"(?:[-*+•]|\d{1,9}[.)])\s+")
_TAG = re.compile(r"<([A-Za-z][\w.-]*)>(.*)</\1>")
_WRAPPED = frozenset("*_`")
_CLOSING = frozenset(".!…。！")
_DENIALS = frozenset("❌❎🚫⛔✖✗✘👎🛑🚧⏳⌛🔜⚠")  # what takes a claim back
_DENYING_TAGS = frozenset({"not", "no", "never"})
_EMOJI = frozenset({"So", "Sk", "Mn", "Cf"})


def find_claim(final_text: str, markers: Sequence[str], match: str = "line") -> Claim:
    """Tell whether the final text signals completion, mentions a marker, or neither (L-6).

    ``final_text`` has lost its echo already (C-8). ``match`` is ``line`` (a marker alone on a line,
    but for emphasis, backticks, a list mark, a tag, emoji and closing punctuation) or ``word``
    (also a whole word anywhere outside code). Several markers are one claim.
    """
    alone = {found for line in final_text.splitlines() if (found := _alone(line, markers))}
    if match == "word":
        prose = without_code(final_text)
        alone |= {marker for marker in markers if _named(marker, prose)}
    if alone:
        return Claim(kind=ClaimKind.SIGNAL, markers=tuple(m for m in markers if m in alone))
    named = tuple(marker for marker in markers if _named(marker, final_text))
    return Claim(kind=ClaimKind.MENTION, markers=named) if named else Claim()


def without_echo(text: str, prompt: str) -> str:
    """``text`` without what repeats the prompt (C-8).

    An echo is at least three consecutive lines, blank ones not counted, that are consecutive lines
    of the prompt, or the whole of a shorter prompt. One equal line of a longer prompt is none.
    """
    asked = [line.strip() for line in prompt.splitlines() if line.strip()]
    size = min(ECHO_LINES, len(asked))
    if not size:
        return text
    lines = text.splitlines(keepends=True)
    full = [number for number, line in enumerate(lines) if line.strip()]
    said = [lines[number].strip() for number in full]
    echoed: set[int] = set()
    blocks = _windows(said, size)
    known = blocks.keys() & _windows(asked, size, blocks).keys()
    for at in (start for block in known for start in blocks[block]):
        echoed.update(full[at : at + size])
    return "".join(line for number, line in enumerate(lines) if number not in echoed)


def _windows(
    lines: list[str], size: int, among: Mapping[tuple[str, ...], object] | None = None
) -> dict[tuple[str, ...], list[int]]:
    """Where each block of ``size`` lines begins; with ``among`` only those that are in it."""
    found: dict[tuple[str, ...], list[int]] = {}
    for at, block in enumerate(zip(*(lines[start:] for start in range(size)), strict=False)):
        if among is None or block in among:
            found.setdefault(block, []).append(at)
    return found


def last_question(final_text: str) -> str:
    """The question that the text ends with, at most 300 characters; "" when it asks nothing."""
    if not asks(final_text):
        return ""
    lines = [line.strip() for line in final_text.splitlines() if line.strip()]
    asked = next((line for line in reversed(lines) if "?" in line or "？" in line), "")
    return asked.strip("*_`#> ")[-SUMMARY:]


def summary_line(final_text: str) -> str:
    """The last line of the text that has a word in it, at most 300 characters."""
    for line in reversed(final_text.splitlines()):
        if re.search(r"\w", line):
            return line.strip()[:SUMMARY]
    return ""


def text_digest(final_text: str) -> str:
    """16 hex digits of the text with spaces collapsed; "" for a text without words (L-15)."""
    words = " ".join(final_text.split())
    if not words:
        return ""
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _alone(line: str, markers: Sequence[str]) -> str:
    """The marker that stands alone on ``line``; "" when none does."""
    body = line.strip()
    if not any(marker in body for marker in markers):
        return ""
    if len(body) > max(map(len, markers)) + _ROOM:
        return ""
    while body and body not in markers:
        body = _peel(body)
    return body


def _peel(body: str) -> str:
    """``body`` without one layer of decoration; "" when there is none to take off."""
    if tagged := _TAG.fullmatch(body):
        return "" if tagged[1].lower() in _DENYING_TAGS else tagged[2].strip()
    if body[0] == body[-1] and body[0] in _WRAPPED:
        return body[1:-1].strip()
    if body[-1] in _CLOSING or _is_emoji(body[-1]):
        return "" if body[-1] in _DENIALS else body[:-1].strip()
    if _is_emoji(body[0]):
        return "" if body[0] in _DENIALS else body[1:].strip()
    listed = _LIST.match(body)
    return body[listed.end() :] if listed else ""


def _is_emoji(sign: str) -> bool:
    return unicodedata.category(sign) in _EMOJI


def _named(marker: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(marker)}(?!\w)", text) is not None
