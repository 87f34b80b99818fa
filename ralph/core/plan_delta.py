"""Two plans to what changed between them (L-11, L-13, C5, C8)."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from difflib import SequenceMatcher

import msgspec

from ralph.core.facts import Plan, PlanDelta, Task
from ralph.core.plan_words import base_id

SIMILARITY = 0.7
_ALL_PAIRS = 5_000  # above this many pairs of a section only neighbours are compared
_NEIGHBOURS = 8
_LENGTH = 200
_EXPLICIT = re.compile(r"[A-Z][A-Z0-9]+-\d+$")
_LEADING_ID = re.compile(r"[\W_]*(?:BLOCKED\b[\W_]*)?[A-Z][A-Z0-9]+-\d+[\W_]*")
_NOISE = re.compile(r"[\W_]+")


class _Side(msgspec.Struct):
    """One task with everything it may be recognised by."""

    task: Task
    base: str
    words: str
    index: int


_Key = Callable[[_Side], object]
_BY_ID: tuple[_Key, ...] = (
    lambda s: (s.base, s.words, s.task.section, s.task.done, s.task.id),
    lambda s: (s.base, s.words, s.task.section, s.task.done),
    lambda s: (s.base, s.words, s.task.section),
    lambda s: (s.base, s.words, s.task.done),
    lambda s: (s.base, s.words),
    lambda s: (s.base, s.task.section, s.task.done),
    lambda s: (s.base, s.task.section),
    lambda s: (s.base, s.task.done),
    lambda s: s.base,
)
_BY_TEXT: tuple[_Key, ...] = (
    lambda s: (s.words, s.task.section, s.task.done),
    lambda s: (s.words, s.task.section),
    lambda s: (s.words, s.task.done),
    lambda s: s.words,
)


def compare(before: Plan, after: Plan) -> PlanDelta:
    """Match the tasks of two plans by id, text, then similarity, and tell what changed.

    Copies of one text are told apart by section and by being done, so that moving a done copy
    never looks like work. A task of the earlier plan without a match is removed, never done; one
    of the later plan without a match is new, and new and ticked is never progress (L-13, C8).
    """
    old, new = _sides(before), _sides(after)
    pairs: list[tuple[Task, Task]] = []
    for key in (*_BY_ID, *_BY_TEXT):
        if not old or not new:
            break
        old, new = _pair(old, new, key, pairs)
    close = _similar(old, new)
    pairs += [(one.task, two.task) for one, two in close]
    old = _without(old, {one.index for one, _ in close})
    new = _without(new, {two.index for _, two in close})
    return PlanDelta(
        completed=_in_order(after, {b.id for a, b in pairs if b.done and not a.done}),
        unticked=_in_order(after, {b.id for a, b in pairs if a.done and not b.done}),
        added=tuple(side.task.id for side in new if not side.task.done),
        added_done=tuple(side.task.id for side in new if side.task.done),
        removed=tuple(side.task.id for side in old),
        renamed={a.id: b.id for a, b in pairs if a.id != b.id},
    )


def _sides(plan: Plan) -> list[_Side]:
    return [
        _Side(task, base_id(task), _words(task), index) for index, task in enumerate(plan.tasks)
    ]


def _words(task: Task) -> str:
    """The words of a task without its id; falls back to the id of a task that has no others."""
    base = base_id(task)
    if not _EXPLICIT.match(base):
        return _NOISE.sub(" ", base).strip().casefold() or base
    found = _LEADING_ID.match(task.text)
    text = task.text[found.end() :] if found else task.text
    return _NOISE.sub(" ", text).strip().casefold() or base


def _in_order(plan: Plan, ids: set[str]) -> tuple[str, ...]:
    return tuple(task.id for task in plan.tasks if task.id in ids) if ids else ()


def _pair(
    old: list[_Side], new: list[_Side], key: _Key, pairs: list[tuple[Task, Task]]
) -> tuple[list[_Side], list[_Side]]:
    """Pair tasks with equal keys, in order; return what is left on both sides."""
    waiting: defaultdict[object, deque[_Side]] = defaultdict(deque)
    for side in new:
        waiting[key(side)].append(side)
    left, taken = [], set()
    for side in old:
        queue = waiting.get(key(side))
        if queue:
            match = queue.popleft()
            taken.add(match.index)
            pairs.append((side.task, match.task))
        else:
            left.append(side)
    return left, _without(new, taken)


def _without(sides: list[_Side], gone: set[int]) -> list[_Side]:
    return [side for side in sides if side.index not in gone] if gone else sides


def _similar(old: list[_Side], new: list[_Side]) -> list[tuple[_Side, _Side]]:
    """Best pairs of one section with a similarity of at least 0.7, each task once."""
    found = sorted(_rated(old, new), key=lambda hit: (-hit[0], hit[1].index, hit[2].index))
    used_old: set[int] = set()
    used_new: set[int] = set()
    best = []
    for _, one, two in found:
        if one.index not in used_old and two.index not in used_new:
            used_old.add(one.index)
            used_new.add(two.index)
            best.append((one, two))
    return best


def _rated(old: list[_Side], new: list[_Side]) -> Iterator[tuple[float, _Side, _Side]]:
    sections: defaultdict[str, list[_Side]] = defaultdict(list)
    for side in old:
        sections[side.task.section].append(side)
    seen: defaultdict[str, int] = defaultdict(int)
    sizes: defaultdict[str, int] = defaultdict(int)
    for side in new:
        sizes[side.task.section] += 1
    for side in new:
        section = side.task.section
        rivals, at = sections.get(section, []), seen[section]
        seen[section] += 1
        if len(rivals) * sizes[section] > _ALL_PAIRS:
            rivals = rivals[max(0, at - _NEIGHBOURS) : at + _NEIGHBOURS + 1]
        yield from _against(side, rivals)


def _against(side: _Side, rivals: list[_Side]) -> Iterator[tuple[float, _Side, _Side]]:
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(side.words[:_LENGTH])
    explicit = _EXPLICIT.match(side.base)
    for rival in rivals:
        if explicit and _EXPLICIT.match(rival.base):
            continue
        matcher.set_seq1(rival.words[:_LENGTH])
        if matcher.real_quick_ratio() < SIMILARITY or matcher.quick_ratio() < SIMILARITY:
            continue
        ratio = matcher.ratio()
        if ratio >= SIMILARITY:
            yield ratio, rival, side
