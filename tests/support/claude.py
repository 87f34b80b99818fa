"""Streams in the shape of Claude Code's ``stream-json``, made up line by line."""

from __future__ import annotations

import json
from typing import Any

from ralph.core.facts import EndedBy
from ralph.core.failure import Evidence, Verdict, classify
from ralph.services.agents.base import Reading, Session
from ralph.services.agents.claude_stream import ClaudeReader
from ralph.services.clock import SystemClock

Json = dict[str, Any]
USAGE = {
    "input_tokens": 100,
    "output_tokens": 1,
    "cache_read_input_tokens": 1_000,
    "cache_creation_input_tokens": 10,
}


class Frozen(SystemClock):
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.at = 0.0

    def monotonic(self) -> float:
        return self.at


def init(**fields: Any) -> Json:
    made = {"type": "system", "subtype": "init", "session_id": "s-1", "model": "m-1"}
    return {**made, **fields}


def says(text: str, ident: str = "msg", *, parent: str | None = None, **fields: Any) -> Json:
    return _assistant([{"type": "text", "text": text}], ident, parent, fields)


def calls(
    ident: str, name: str, arguments: Json, *, parent: str | None = None, message: str = ""
) -> Json:
    block = {"type": "tool_use", "id": ident, "name": name, "input": arguments}
    return _assistant([block], message or f"m-{ident}", parent, {})


def answers(ident: str, text: Any, *, failed: bool = False, **fields: Any) -> Json:
    block: Json = {"type": "tool_result", "tool_use_id": ident, "content": text}
    if failed:
        block["is_error"] = True
    return {"type": "user", "message": {"role": "user", "content": [block]}, **fields}


def api_error(text: str, error: str, **fields: Any) -> Json:
    content = [{"type": "text", "text": text}]
    message = {"id": "e", "model": "<synthetic>", "content": content, "usage": {}}
    return {"type": "assistant", "message": message, "error": error, **fields}


def retry(attempt: int, status: int | None = 529) -> Json:
    return {
        "type": "system",
        "subtype": "api_retry",
        "attempt": attempt,
        "max_retries": 10,
        "retry_delay_ms": 600,
        "error_status": status,
        "error": "overloaded",
    }


def limit(epoch: float | None, status: str = "rejected", **fields: Any) -> Json:
    told = {"status": status, "rateLimitType": "five_hour", **fields}
    if epoch is not None:
        told["resetsAt"] = epoch
    return {"type": "rate_limit_event", "rate_limit_info": told}


def result(text: str | None = "All done.", **fields: Any) -> Json:
    made: Json = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "session_id": "s-1",
        "num_turns": 3,
        "total_cost_usd": 0.0125,
        "usage": {**USAGE, "output_tokens": 50},
        "permission_denials": [],
    }
    if text is not None:
        made["result"] = text
    return {**made, **fields}


def fails(text: str, **fields: Any) -> Json:
    return result(text, is_error=True, **{"terminal_reason": "api_error", **fields})


def stream(*records: Json | str | bytes) -> bytes:
    """One record a line; text and bytes go through as they are."""
    return b"".join(_line(record) for record in records)


def reader(*, waiting: tuple[str, ...] = (), resumed: bool = False) -> ClaudeReader:
    return ClaudeReader(session(waiting=waiting, resumed=resumed))


def session(prompt: str = "", *, waiting: tuple[str, ...] = (), resumed: bool = False) -> Session:
    return Session(
        prompt=prompt,
        say=lambda _: None,
        clock=Frozen(),
        waiting_tools=waiting,
        resumed=resumed,
    )


def read(*records: Json | str | bytes, stderr: bytes = b"", resumed: bool = False) -> Reading:
    listener = reader(resumed=resumed)
    listener.hear("stdout", stream(*records))
    if stderr:
        listener.hear("stderr", stderr)
    return listener.reading()


def verdict(reading: Reading, exit_code: int = 0) -> Verdict:
    return classify(
        Evidence(
            ended_by=EndedBy.EXIT,
            exit_code=exit_code,
            record=reading.record,
            promised=True,
            errors=reading.errors,
        )
    )


def _assistant(content: list[Json], ident: str, parent: str | None, fields: Json) -> Json:
    message = {"id": ident, "model": "m-1", "content": content, "usage": USAGE}
    made = {"type": "assistant", "message": message, "parent_tool_use_id": parent}
    return {**made, **fields}


def _line(record: Json | str | bytes) -> bytes:
    if isinstance(record, bytes):
        return record + b"\n"
    return (record if isinstance(record, str) else json.dumps(record)).encode() + b"\n"


HAPPY = (
    init(),
    says("I look first.", "m1"),
    calls("t1", "Bash", {"command": "pytest -q"}, message="m1"),
    answers("t1", "3 passed"),
    calls("t2", "Edit", {"file_path": "a.py", "old_string": "a", "new_string": "b"}),
    answers("t2", [{"type": "text", "text": "ok"}]),
    says("All done.\nRALPH_COMPLETE", "m3"),
    result("All done.\nRALPH_COMPLETE"),
)
