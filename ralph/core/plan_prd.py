"""prd.json as a plan: ``userStories[].passes`` and its common variants (C7)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ralph.core.facts import Plan, Task
from ralph.core.plan_words import is_optional, number_duplicates, plain

_LISTS = ("userStories", "user_stories", "stories", "tasks", "items", "features", "requirements")
_DONE = ("passes", "passed", "done", "completed", "complete")
_DONE_WORDS = frozenset({"done", "complete", "completed", "passed", "passes", "closed"})
_TITLES = ("title", "project", "projectName", "name")
_TEXTS = ("title", "name", "story", "description", "text", "task")
_SECTIONS = ("section", "epic", "phase", "category", "group")
_TEXT_LIMIT = 2000


def parse_prd(text: str, optional_sections: Sequence[str]) -> Plan:
    """Read a prd.json: one task a story, done when its ``passes`` is true.

    Also read: a bare list, ``stories``/``tasks``/``items``/``features``, ``done``/``completed``,
    a ``status`` word, ``blocked`` and ``optional`` flags, a section by ``epic``, ``phase`` or
    ``category``. A story without any such mark is open.

    Raises:
        ValueError: naming the place that cannot be read.
    """
    try:
        root = json.loads(text.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno} column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    place, stories = _stories(root)
    names = frozenset(plain(name) for name in optional_sections)
    tasks = [_task(story, f"{place}[{index}]", names) for index, story in enumerate(stories)]
    title = _first(root, _TITLES) if isinstance(root, dict) else ""
    return Plan(title=title, tasks=tuple(number_duplicates(tasks)))


def _stories(root: object) -> tuple[str, list[object]]:
    if isinstance(root, list):
        return "", root
    if not isinstance(root, dict):
        raise ValueError("neither an object nor a list of stories")  # noqa: TRY004
    for name in _LISTS:
        if name in root:
            found = root[name]
            if not isinstance(found, list):
                raise ValueError(f"{name} is not a list")
            return name, found
    raise ValueError("no userStories list")


def _task(story: object, place: str, names: frozenset[str]) -> Task:
    if not isinstance(story, dict):
        raise ValueError(f"{place} is not an object")  # noqa: TRY004
    text, name = _first(story, _TEXTS), _first(story, ("id", "key"))
    if not (text or name):
        raise ValueError(f"{place} has neither an id nor a title")
    done, section = _done(story, place), _first(story, _SECTIONS)
    status = _first(story, ("status", "state")).casefold()
    blocked = status == "blocked" or story.get("blocked") is True or text.startswith("BLOCKED")
    return Task(
        id=name or text[:200],
        text=text or name,
        section=section,
        done=done,
        blocked=blocked and not done,
        optional=story.get("optional") is True or is_optional(plain(section), names),
    )


def _done(story: dict[str, Any], place: str) -> bool:
    for name in _DONE:
        value = story.get(name)
        if isinstance(value, bool):
            return value
        if value is not None:
            raise ValueError(f"{place}.{name} is neither true nor false")
    return _first(story, ("status", "state")).casefold() in _DONE_WORDS


def _first(mapping: dict[str, Any], names: Sequence[str]) -> str:
    """First of ``names`` that holds a text or number, as one line that can be encoded."""
    for name in names:
        value = mapping.get(name)
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
            line = " ".join(str(value)[:_TEXT_LIMIT].split())
            return line.encode("utf-8", "replace").decode()
    return ""
