"""Words of a plan: section names and numbered duplicates (L-11)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from ralph.core.facts import Task

_LEAD = re.compile(
    r"(?:\d+(?:\.\d+)*[.):]?\s+|(?:phase|step|part|stage|section)\s+\w+\s*[-–—:.]\s*)+"
)
_WORD = re.compile(r"[^\W_]+")
_ORDINAL = re.compile(r" \(\d+\)$")


def plain(name: str) -> str:
    """Section name for comparison: words alone, lower case, no number, no trailing parentheses."""
    text = name.casefold().strip()
    while text.endswith(")") and (start := text.rfind("(")) > 0:
        text = text[:start].rstrip()
    text = text[len(found[0]) :] if (found := _LEAD.match(text)) else text
    return " ".join(_WORD.findall(text))


def is_optional(word: str, names: frozenset[str]) -> bool:
    """True when the ``plain`` section name is one of ``names``, also with "tasks" or "items"."""
    shorter = word.removesuffix(" tasks").removesuffix(" items").removesuffix("s")
    return word in names or shorter in names


def number_duplicates(tasks: Iterable[Task]) -> Iterator[Task]:
    """Yield ``tasks`` with unique ids: the second one of a name gets " (2)" and so on."""
    taken: set[str] = set()
    counts: dict[str, int] = {}
    for task in tasks:
        name = task.id
        while name in taken:
            counts[task.id] = counts.get(task.id, 1) + 1
            name = f"{task.id} ({counts[task.id]})"
        taken.add(name)
        yield task if name == task.id else replace(task, id=name)


def base_id(task: Task) -> str:
    """Id without the number that ``number_duplicates`` gave it."""
    return _ORDINAL.sub("", task.id)
