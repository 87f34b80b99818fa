"""On which line of a TOML text a key stands; the standard reader does not tell."""

from __future__ import annotations

import re
from collections.abc import Mapping

_PART = r"""(?:[A-Za-z0-9_-]+|"(?:\\.|[^"\\\n])*"|'[^'\n]*')"""
_PATH = rf"{_PART}(?:[ \t]*\.[ \t]*{_PART})*"
_HEADER = re.compile(rf"[ \t]*\[\[?[ \t]*(?P<path>{_PATH})[ \t]*\]")
_ASSIGNMENT = re.compile(rf"[ \t]*(?P<path>{_PATH})[ \t]*=")
_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}' + r"|'''.*?'{3,5}"
    r'|"(?:\\.|[^"\\\n])*"' + r"|'[^'\n]*'|\#[^\n]*|[^\[\]{}\n'\"\#]+|.",
    re.DOTALL,
)


def key_lines(text: str) -> dict[str, int]:
    """Line, from 1, of every key and table of ``text`` by its dotted name.

    Keys inside an inline table are not listed: ask for them with ``line_of``.
    """
    found: dict[str, int] = {}
    table, at = "", 0
    while at < len(text):
        number = text.count("\n", 0, at) + 1
        header, assignment = _HEADER.match(text, at), _ASSIGNMENT.match(text, at)
        if header is not None:
            table = _dotted(header["path"])
            found.setdefault(table, number)
        elif assignment is not None:
            name = _dotted(assignment["path"])
            found.setdefault(f"{table}.{name}" if table else name, number)
            at = assignment.end()
        at = _end_of_value(text, at)
    return found


def line_of(lines: Mapping[str, int], name: str) -> int:
    """Line of ``name``, else of the nearest table around it, else 1."""
    while name and name not in lines:
        name = name.rpartition(".")[0]
    return lines.get(name, 1)


def _end_of_value(text: str, at: int) -> int:
    """Start of the line after the value at ``at``, which may span lines by brackets or quotes."""
    depth = 0
    for token in _TOKEN.finditer(text, at):
        mark = token.group()
        if mark in ("[", "{"):
            depth += 1
        elif mark in ("]", "}"):
            depth -= 1
        elif mark == "\n" and depth <= 0:
            return token.end()
    return len(text)


def _dotted(path: str) -> str:
    return ".".join(part.strip("\"'") for part in re.findall(_PART, path))
