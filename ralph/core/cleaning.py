"""Text as a person would see it on a terminal (A22)."""

from __future__ import annotations

import re

_STRING = r"[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c|(?=[\x1b\n])|\Z)"
_SEQUENCES = re.compile(
    rf"\x1b(?:[\]PX^_]{_STRING}"  # OSC, DCS, SOS, PM, APC
    r"|\[[0-?]*[ -/]*[@-~]?"  # CSI
    r"|[ -/]+[0-~]?"
    r"|[0-~]?)"
    r"|\x9b[0-?]*[ -/]*[@-~]?"
    rf"|[\x90\x98\x9d-\x9f]{_STRING}"
)
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]"
)
_SURROGATES = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """``text`` without escape sequences, control and direction characters.

    Newlines and tabs stay. What a carriage return would have overwritten is gone, what a backspace
    rubs out too. Lone surrogates become the replacement character, so that the result can always
    be encoded. Cleaning twice changes nothing.
    """
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    text = _SEQUENCES.sub("", text)
    if "\r" in text or "\x08" in text:
        text = "\n".join(_overwritten(line) for line in text.split("\n"))
    return _SURROGATES.sub("\ufffd", _CONTROLS.sub("", text))


def _overwritten(line: str) -> str:
    if "\r" in line:
        line = next((part for part in reversed(line.split("\r")) if part.strip()), "")
    if "\x08" not in line:
        return line
    kept: list[str] = []
    for char in line:
        if char != "\x08":
            kept.append(char)
        elif kept:
            kept.pop()
    return "".join(kept)
