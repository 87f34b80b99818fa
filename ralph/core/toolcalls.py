"""Tool calls of one attempt, condensed as they come: repeats, failures, keys (B-6, L-16, C-3)."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Collection

import msgspec

from ralph.core.facts import Tools
from ralph.core.signature import normalised

MOST_KEYS = 1_000
FEW = 3  # distinct keys that make a few-distinct stretch
ENDLESS = 100  # calls of such a stretch that end the iteration (C-3)
_MOST_OPEN = 1_000
_MOST_IDS = 20_000
_ERROR_TEXT = 16_384
_NORMALISED = 65_536  # longer answers are compared as they are

WRITING = frozenset(
    {
        *("applypatch", "create", "createfile", "edit", "editfile", "editor", "filechange"),
        *("insert", "multiedit", "notebookedit", "patch", "replace", "replaceinfile"),
        *("strreplace", "strreplacebasededittool", "strreplaceeditor"),
        *("write", "writefile", "writetofile"),
    }
)
DISPATCHING = frozenset({"agent", "collabtoolcall", "dispatchagent", "spawnagent", "task"})


class _Open(msgspec.Struct):
    """A call whose result has not come yet."""

    name: str
    key: str


class _Answered:
    """A call with its answer; answers are normalised only when the same call comes again."""

    def __init__(self, key: str, text: str) -> None:
        self.key = key
        self.position = 0
        self._text = text if len(text) <= _NORMALISED else _digest(text)
        self._normal: str | None = None

    def like(self, other: _Answered) -> bool:
        """True for the same call with the same answer, but for times, ids and temporary paths."""
        if self.key != other.key:
            return False
        return self._text == other._text or self.normal() == other.normal()

    def normal(self) -> str:
        """The answer without what changes by itself."""
        if self._normal is None:
            self._normal = normalised(self._text)
        return self._normal


class ToolCalls:
    """Counts calls as they are made and judges repetition as results arrive.

    ``waiting`` names tools whose calls are left out of repetition (``breaker.waiting_tools``);
    with ``results=False`` a format never shows results and every call is judged when made.
    """

    def __init__(self, *, waiting: Collection[str] = (), results: bool = True) -> None:
        self._waiting = {_plain(name) for name in waiting}
        self._results = results
        self._open: OrderedDict[str, _Open] = OrderedDict()
        self._ids: OrderedDict[str, None] = OrderedDict()
        self._keys: dict[str, None] = {}
        self._failing: OrderedDict[str, str] = OrderedDict()  # tool name -> output of its failure
        self._last: _Answered | None = None
        self._run = 0
        self._stretch: list[_Answered] = []
        self._position = 0
        self._start = 0
        self._longest = (0, "")
        self._few = 0
        self.calls = self.failed = self.writes = self.subagents = 0

    def call(self, ident: str, name: object, arguments: object) -> None:
        """One call was made; ``ident`` pairs it with its result, "" when the format has none.

        The same ``ident`` twice is one call. Unknown name or arguments: counted, never compared.
        """
        if ident:
            if ident in self._ids:
                return
            self._remember(ident)
        self.calls += 1
        if not isinstance(name, str) or not name:
            return
        writing = _plain(name) in WRITING
        self.writes += writing
        self.subagents += _plain(name) in DISPATCHING
        key = "" if arguments is None or self._waits(name, arguments) else call_key(name, arguments)
        if key and len(self._keys) < MOST_KEYS:
            self._keys[key[:12]] = None
        if writing:
            self._cut()
        if self._results and ident:
            self._open[ident] = _Open(name, key)
            if len(self._open) > _MOST_OPEN:
                self._judge(self._open.popitem(last=False)[1], "")
        else:
            self._judge(_Open(name, key), "")

    def result(self, ident: str, *, ok: bool, text: str) -> None:
        """The answer to a call; an unknown ``ident`` is ignored. A failure keeps its output."""
        call = self._open.pop(ident, None)
        if call is None:
            return
        self.failed += not ok
        self._failing.pop(call.name, None)
        if not ok:
            self._failing[call.name] = text[-_ERROR_TEXT:]
        self._judge(call, text)

    @property
    def failing(self) -> tuple[str, str]:
        """Name and output of the last failing call that no success of the same tool followed."""
        if not self._failing:
            return "", ""
        name = next(reversed(self._failing))
        return name, self._failing[name]

    def endless(self, limit: int) -> str:
        """Say why the iteration is to be ended now, "" to let it go on (C-3).

        ``limit`` is ``breaker.live_repeat``; 0 switches both conditions off.
        """
        if not limit:
            return ""
        if self._run >= limit and self._last:
            return f"looping: {self._run}× identical tool call ({self._longest[1]})"
        length = self._position - self._start
        if length >= ENDLESS:
            return f"looping: {length} calls among at most {FEW} different ones"
        return ""

    def facts(self) -> Tools:
        """Everything so far; calls without a result count as made."""
        for ident in list(self._open):
            self._judge(self._open.pop(ident), "")
        return Tools(
            calls=self.calls,
            failed=self.failed,
            writes=self.writes,
            subagents=self.subagents,
            keys=tuple(self._keys),
            longest_run=self._longest[0],
            longest_run_name=self._longest[1],
            few_distinct=self._few,
            last_failed=self.failing[0],
        )

    def _remember(self, ident: str) -> None:
        self._ids[ident] = None
        if len(self._ids) > _MOST_IDS:
            self._ids.popitem(last=False)

    def _waits(self, name: str, arguments: object) -> bool:
        if _plain(name) in self._waiting:
            return True
        if _plain(name) != "writestdin" or not isinstance(arguments, dict):
            return False
        return not any(arguments.get(field) for field in ("chars", "input", "text"))

    def _judge(self, call: _Open, answer: str) -> None:
        if not call.key:
            return
        now = _Answered(call.key, answer)
        self._run = self._run + 1 if self._last is not None and now.like(self._last) else 1
        self._last = now
        if self._run > self._longest[0]:
            self._longest = (self._run, call.name)
        if _plain(call.name) not in WRITING:
            self._lengthen(now)

    def _lengthen(self, now: _Answered) -> None:
        known = next((one for one in self._stretch if now.like(one)), None)
        if known is not None:
            self._stretch.remove(known)
        elif len(self._stretch) == FEW:
            self._start = self._stretch.pop(0).position + 1
        now.position = self._position
        self._stretch.append(now)  # the one seen longest ago stays first
        self._position += 1
        self._few = max(self._few, self._position - self._start)

    def _cut(self) -> None:
        self._stretch.clear()
        self._start = self._position


def call_key(name: str, arguments: object) -> str:
    """Hash of the tool's name and the canonical JSON of its input, whole (B-6); hex."""
    return _digest(name + "\0" + json.dumps(arguments, sort_keys=True, separators=(",", ":")))


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]
