"""What Claude Code prints: one JSON record a line, one object, or an array (A-1 to A-10).

Written for versions 1.x to 2.1 and for what comes after: unknown records are a sign of life and
nothing else, a field of another type than expected counts as missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

from ralph.core.cleaning import clean
from ralph.core.facts import Limit
from ralph.core.live import Live
from ralph.core.meters import Storm, Velocity
from ralph.core.reset import from_epoch
from ralph.core.toolcalls import ToolCalls
from ralph.services.agents.base import Listener, Reading, Session
from ralph.services.agents.claude_result import Results
from ralph.services.agents.claude_usage import Meter
from ralph.services.agents.fields import Json, integer, items, mapping, number, string
from ralph.services.agents.lines import KEPT, LineSplitter, Tail, decode
from ralph.services.agents.records import document, looks_like_json, parse

FINAL = 256 << 10  # characters of the final text
_LOOSE = 1 << 20  # characters of lines that are no record
_CHANNEL_LINES = 10
_ARGUMENT = 200


class ClaudeReader(Listener):
    """Reads the records of one invocation; only assistant text can become final text (A-2)."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._tools = ToolCalls(waiting=session.waiting_tools)
        self._storm = Storm()
        self._velocity = Velocity()
        self._meter = Meter()
        self._results = Results(resumed=session.resumed)
        self._loose = Tail(_LOOSE)
        self._said = ("", "")  # id and text of the main agent's latest message
        self._background: set[str] = set()  # sub-agents at work beside the main one
        self._limit: Limit | None = None
        self._doing = ""
        self._cut = self._records = 0
        self._model = self._session_id = ""
        self._kinds: dict[str, Callable[[Json], bool]] = {
            "system": self._system,
            "assistant": self._assistant,
            "user": self._user,
            "result": self._result,
            "rate_limit_event": self._rate_limit,
            "stream_event": self._partial,
        }

    def lines(self, raws: Sequence[bytes]) -> bool:
        """Records, and lines that are none, which are kept as text (A23)."""
        alive = False
        for looks, group in groupby(raws, key=looks_like_json):
            if looks:
                alive = max([self._json(raw) for raw in group]) or alive
            else:
                said = [raw for raw in group if raw and not raw.isspace()]
                alive = (self.plain(said, self._loose) if said else False) or alive
        return alive

    def settled(self) -> bool:
        """A result was seen and none of its sub-agents is at work any more (A-7)."""
        return self._results.seen and not self._background

    def unfinished_is_life(self, splitter: LineSplitter) -> bool:
        """A record is judged when it is whole, for it may be a retry; a long one is life."""
        if splitter is self.out and splitter.pending == b"{":
            return splitter.size > KEPT
        return splitter.size > 0

    def live(self, quiet: float) -> Live:
        """What it says and does."""
        return Live(
            tail=tuple(self.shown),
            tool=self._doing,
            calls=self._tools.calls,
            tokens=self._meter.usage.billed,
            turns=self._meter.messages or None,
            quiet=quiet,
            last_seen=self.last_seen,
        )

    def endless(self, limit: int) -> str:
        """Why the tool calls are a loop, "" when they are none (C-3)."""
        return self._tools.endless(limit)

    def reading(self) -> Reading:
        """Everything that was told."""
        self.flush()
        if not self._records:
            for one in document(self._loose.text()):
                self._record(one)
        text, stderr = self._results.text, self.stderr.text()
        return Reading(
            record=self._results.record(),
            final_text=(self._said[1] if text is None else text)[-FINAL:],
            errors="\n".join([*self._loose.last(_CHANNEL_LINES), stderr]),
            stderr=stderr,
            failing=self._tools.failing[1],
            usage=self._results.usage() or self._meter.usage_without_result(),
            model=self._model,
            session_id=self._session_id,
            turns=self._results.turns if self._results.seen else self._meter.messages or None,
            tools=self._tools.facts(),
            api=self._storm.facts(),
            velocity=self._velocity.highest,
            limit=self._limit,
            denied=self._results.denied,
            last_seen=self.last_seen,
            contradictions=(f"records too long to read: {self._cut}",) if self._cut else (),
        )

    def _json(self, raw: bytes) -> bool:
        records = parse(raw)
        if records is not None:
            return max([self._record(one) for one in records], default=True)
        if raw.lstrip()[:1] == b"[":
            return self.plain([raw], self._loose)
        self._cut += len(raw) > KEPT
        self._loose.add(decode(raw))
        return True

    def _record(self, record: Json) -> bool:
        self._records += 1
        take = self._kinds.get(string(record, "type"))
        try:
            return take(record) if take else True
        except RecursionError:  # nested deeper than anything that means something
            return True

    def _system(self, record: Json) -> bool:
        kind = string(record, "subtype")
        if kind == "init":
            self._model = clean(string(record, "model")) or self._model
            self._session_id = clean(string(record, "session_id")) or self._session_id
        elif kind == "api_retry":
            self._storm.error()
            self.last_seen = _retry(record)
            return False
        elif kind == "background_tasks_changed":
            self._background = {
                string(task, "task_id")
                for task in items(record, "tasks")
                if string(task, "task_type") == "local_agent"
            }
        return True

    def _assistant(self, record: Json) -> bool:
        message = mapping(record, "message")
        main = not record.get("parent_tool_use_id")
        error = string(record, "error")
        if error or record.get("is_api_error_message") is True:
            self._storm.error()
            self._results.note_error(record, main=main)
            return True
        if message.get("model") == "<synthetic>":
            return True
        self._storm.success()
        self._meter.message(message)
        if main and string(message, "content"):
            self._says(string(message, "id"), string(message, "content"))
        for block in items(message, "content"):
            kind = string(block, "type")
            if kind == "text" and main:
                self._says(string(message, "id"), string(block, "text"))
            elif kind == "tool_use":
                self._calls(block, main=main)
        return True

    def _says(self, message: str, raw: str) -> None:
        text = clean(raw)
        same = message and message == self._said[0]
        self._said = (message, f"{self._said[1]}\n{text}" if same else text)
        self._doing = ""
        self.show(text)

    def _calls(self, block: Json, *, main: bool) -> None:
        name = string(block, "name")
        arguments = block.get("input")
        self._tools.call(string(block, "id"), name or None, arguments)
        what = _brief(arguments)
        if main:
            self._doing = clean(f"{name}: {what}" if what else name)
        self.show(clean(f"{'' if main else '  '}[{name or '?'}] {what}".rstrip()))

    def _user(self, record: Json) -> bool:
        for block in items(mapping(record, "message"), "content"):
            if string(block, "type") == "tool_result":
                text = content_text(block.get("content"))
                ok = block.get("is_error") is not True and not _failed(record, text)
                said = text if ok else clean(text)
                self._tools.result(string(block, "tool_use_id"), ok=ok, text=said)
        return True

    def _result(self, record: Json) -> bool:
        self._session_id = clean(string(record, "session_id")) or self._session_id
        self._results.add(record)
        self._doing = ""
        return True

    def _rate_limit(self, record: Json) -> bool:
        told = mapping(record, "rate_limit_info") or record
        kind = clean(string(told, "rateLimitType")) or "usage"
        epoch = number(told, "resetsAt")
        if string(told, "status") == "rejected":
            resets = from_epoch(epoch) if epoch is not None else None
            self._limit = Limit(kind=kind, resets_at=resets)
            self._results.limited = resets is not None
        elif string(told, "status") == "allowed_warning":
            used = number(told, "utilization")
            self.last_seen = f"{kind} limit" + ("" if used is None else f" {used:.0%} used")
        return True

    def _partial(self, record: Json) -> bool:
        event = mapping(record, "event")
        if string(event, "type") == "message_start":
            self._meter.start(mapping(event, "message"))
        elif string(event, "type") == "message_delta":
            self._meter.finish(string(record, "api_message_id"), mapping(event, "usage"))
            self._velocity.sample(self.session.clock.monotonic(), self._meter.output)
        return True


def content_text(content: object) -> str:
    """Text of a tool result: a string, or blocks of which the text ones count."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(string(block, "text") for block in content if isinstance(block, dict))


def _failed(record: Json, text: str) -> bool:
    """A non-zero exit code is a failed call even where nothing says error (A-10)."""
    told = mapping(record, "tool_use_result")
    codes = (number(told, name) for name in ("exitCode", "exit_code", "returnCode"))
    if any(codes) or told.get("interrupted") is True:
        return True
    head, _, rest = text.partition("\n")[0].partition("Exit code ")
    return not head and rest.strip().isdigit() and rest.strip() != "0"


def _retry(record: Json) -> str:
    attempt, most = integer(record, "attempt"), integer(record, "max_retries")
    status = integer(record, "error_status")
    why = f"HTTP {status}" if status else clean(string(record, "error")) or "no response"
    return f"retry {attempt or '?'}/{most or '?'}, {why}"


def _brief(arguments: object) -> str:
    """The one argument that says what a call does."""
    if not isinstance(arguments, dict):
        return ""
    names = ("command", "file_path", "path", "pattern", "url", "query", "description", "prompt")
    text = next((value for name in names if (value := string(arguments, name))), "")
    return " ".join(text[:_ARGUMENT].split())
