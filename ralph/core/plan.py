"""Plan text to ``Plan``: Markdown checkboxes and prd.json (L-11, L-32, C7)."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Sequence

import msgspec

from ralph.core.facts import Plan, Task
from ralph.core.markdown import visible
from ralph.core.plan_delta import compare as compare
from ralph.core.plan_prd import parse_prd as parse_prd
from ralph.core.plan_words import is_optional, number_duplicates, plain

_BOX = re.compile(
    r"[ \t]*(?:(#{1,6})[ \t]+)?(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)+\[([ xX!])\][ \t]+(\S.*)"
)
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_BLOCKED = re.compile(r"[\W_]*BLOCKED\b(?!-\d)[\W_]*")
_ID = re.compile(r"[\s*_~`\[(]*([A-Z][A-Z0-9]+-\d+)(?![A-Za-z0-9_]|-\w)")
_EMPHASIS = re.compile(r"\*+|~~|(?<!\w)_+|_+(?!\w)")
_DATE = re.compile(r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?Z?)?\b|[✅✔☑]\ufe0f?")
_EDGES = " \t-–—:·|,.;"
_TEXT_LIMIT = 2000
_ID_LIMIT = 200
_STARTS = frozenset("-*+0123456789#=")
_REPORT, _ACTIONS = "circuit breaker triggered", "suggested actions"


class _Section(msgspec.Struct):
    level: int
    name: str
    optional: bool
    report: bool = False  # inside a kill report (10.5)
    hidden: bool = False  # its boxes are advice to a person, not tasks


def parse_markdown(text: str, optional_sections: Sequence[str]) -> Plan:
    """Read tasks and title of a Markdown plan (L-11).

    A task is a list item with ``[ ]``, ``[x]``, ``[X]`` or ``[!]``, at any indent, also behind a
    heading mark. Fenced code, quotes, comments and the boxes of a kill report (10.5) are skipped.
    Tasks below a heading named in ``optional_sections``, subsections included, are optional. Any
    text is accepted; cost grows linearly with its length.
    """
    return _Reader(optional_sections).read(visible(text))


class _Reader:
    def __init__(self, optional_sections: Sequence[str]) -> None:
        self._names = frozenset(plain(name) for name in optional_sections)
        self._sections: list[_Section] = []
        self._tasks: list[Task] = []
        self._title = ""
        self._paragraph = ""  # of plain text at the margin: may turn out to be a heading

    def read(self, shown: Iterable[str]) -> Plan:
        for line in shown:
            body = line.lstrip()
            if not body:
                self._paragraph = ""
            elif body[0] in _STARTS:
                self._structure(line)
            elif self._paragraph or line[0] == body[0]:
                self._paragraph = f"{self._paragraph} {body}".strip()[:_TEXT_LIMIT]
        return Plan(title=self._title, tasks=tuple(number_duplicates(self._tasks)))

    def _structure(self, line: str) -> None:
        before, self._paragraph = self._paragraph, ""
        if found := _BOX.match(line):
            self._box(found)
        elif found := _HEADING.match(line):
            self._heading(len(found[1]), _closed(found[2] or ""))
        elif before and (found := _UNDERLINE.match(line)):
            self._heading(1 if found[1][0] == "=" else 2, before)
        elif before and line[0] not in " \t" and not re.match(r"[-*+#]|\d+[.)]", line):
            self._paragraph = f"{before} {line}"[:_TEXT_LIMIT]

    def _heading(self, level: int, text: str) -> None:
        name = _EMPHASIS.sub("", text[:_TEXT_LIMIT]).strip()
        self._title = self._title or name
        self._enter(level, name)

    def _enter(self, level: int, name: str) -> None:
        while self._sections and self._sections[-1].level >= level:
            self._sections.pop()
        above = self._sections[-1] if self._sections else _Section(0, "", optional=False)
        word = plain(name)
        self._sections.append(
            _Section(
                level,
                name,
                optional=above.optional or is_optional(word, self._names),
                report=above.report or word == _REPORT,
                hidden=above.hidden or (above.report and word == _ACTIONS),
            )
        )

    def _box(self, found: re.Match[str]) -> None:
        mark, box, text = found[1], found[2], found[3].rstrip()
        if mark:
            while self._sections and self._sections[-1].level >= len(mark):
                self._sections.pop()
        section = self._sections[-1] if self._sections else _Section(0, "", optional=False)
        if not section.hidden:
            done = box in "xX"
            blocked = not done and (box == "!" or _BLOCKED.match(text[:99]) is not None)
            self._tasks.append(
                Task(
                    id=task_id(text),
                    text=text[:_TEXT_LIMIT],
                    section=section.name,
                    done=done,
                    blocked=blocked,
                    optional=section.optional,
                )
            )
        if mark:
            self._enter(len(mark), _EMPHASIS.sub("", text[:_TEXT_LIMIT]))


def task_id(text: str) -> str:
    """Id of a task before duplicates are numbered (L-11).

    A leading token such as ``AQU-103``, else the text without emphasis, the word BLOCKED, dates,
    ticks and trailing parentheses.
    """
    line = text[:_TEXT_LIMIT]
    if found := _BLOCKED.match(line):
        line = line[found.end() :] or line
    if found := _ID.match(line):
        return found[1]
    line = " ".join(_DATE.sub("", _EMPHASIS.sub("", line)).split()).strip(_EDGES)
    while line.endswith(")") and (start := line.rfind("(")) > 0:
        line = line[:start].rstrip(_EDGES)
    if not re.search(r"\w", line):
        line = " ".join(text[:_TEXT_LIMIT].split())
    if len(line) <= _ID_LIMIT and len(text) <= _TEXT_LIMIT:
        return line
    return f"{line[:_ID_LIMIT]}…{zlib.crc32(text.encode('utf-8', 'replace')):08x}"


def _closed(text: str) -> str:
    """Heading text without a closing run of ``#``."""
    bare = text.rstrip()
    cut = bare.rstrip("#")
    return cut.rstrip() if not cut or cut[-1] in " \t" else bare
