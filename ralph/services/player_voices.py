"""How the scripted agent speaks: plain text, or the records of Claude Code's stream-json."""

from __future__ import annotations

import json
import os
import sys
import uuid
from datetime import datetime
from typing import Protocol

from ralph.services.clock import SystemClock


class Voice(Protocol):
    """What an agent can tell of what it does. Nothing is printed before the first call."""

    def say(self, text: str) -> None:
        """Assistant text."""
        ...

    def call(self, name: str, given: dict[str, object]) -> None:
        """A tool call begins."""
        ...

    def answer(self, output: str, *, ok: bool) -> None:
        """The tool call that began last is over."""
        ...

    def usage(self, *, given: int, output: int, cost: float) -> None:
        """Tokens in and out, and dollars, of the next message."""
        ...

    def retry(self, *, attempt: int, most: int, delay: float, status: int, error: str) -> None:
        """The provider failed and is asked again after ``delay`` seconds."""
        ...

    def limit(self, resets_at: datetime) -> None:
        """A usage limit was met; the launch is over."""
        ...

    def result(self, text: str, *, failed: bool) -> None:
        """The final text."""
        ...

    def close(self) -> None:
        """The steps are over: what a real agent would still print now."""
        ...


def put(raw: bytes, fd: int = 1) -> None:
    """Write ``raw`` as it is, unbuffered; ``fd`` 1 is stdout, 2 stderr."""
    stream = sys.stdout if fd == 1 else sys.stderr
    stream.buffer.write(raw)
    stream.buffer.flush()


def encode(text: str) -> bytes:
    """UTF-8, in which half of a surrogate pair stays what it is: wrong."""
    return text.encode("utf-8", "surrogatepass")


class TextVoice:
    """Everything as lines of plain text; usage cannot be told in it."""

    def say(self, text: str) -> None:
        """The text, on lines of its own."""
        put(encode(text if text.endswith("\n") else f"{text}\n"))

    def call(self, name: str, given: dict[str, object]) -> None:
        """One line that names what is done."""
        what = given.get("command") or given.get("file_path") or ""
        self.say(f"$ {what}" if name == "Bash" else f"[{name}] {what}".rstrip())

    def answer(self, output: str, *, ok: bool) -> None:
        """The output; a failure without one is named."""
        if output.strip() or not ok:
            self.say(output if output.strip() else "failed")

    def usage(self, *, given: int, output: int, cost: float) -> None:
        """Nothing: plain text has no place for it."""

    def retry(
        self,
        *,
        attempt: int,
        most: int,
        delay: float,  # noqa: ARG002
        status: int,
        error: str,
    ) -> None:
        """A line on stderr."""
        why = f"HTTP {status}" if status else error or "no response"
        put(encode(f"Reconnecting... {attempt}/{most} ({why})\n"), 2)

    def limit(self, resets_at: datetime) -> None:
        """The sentence, with the instant as epoch seconds."""
        self.say(f"Claude AI usage limit reached|{round(resets_at.timestamp())}")

    def result(self, text: str, *, failed: bool) -> None:  # noqa: ARG002
        """The text."""
        self.say(text)

    def close(self) -> None:
        """Nothing."""


class ClaudeVoice:
    """One JSON record a line, in the shape of ``claude -p --output-format stream-json``."""

    def __init__(self, *, session: str, model: str, clock: SystemClock) -> None:
        self._session = session
        self._model = model
        self._clock = clock
        self._began = clock.monotonic()
        self._opened = self._closed = False
        self._turns = self._calls = 0
        self._tool = ""
        self._said = ""
        self._cost = 0.0
        self._next = (0, 0)  # tokens of the next message
        self._sum = (0, 0)

    def say(self, text: str) -> None:
        """An assistant record with a text block."""
        self._said = text
        self._assistant({"type": "text", "text": text})

    def call(self, name: str, given: dict[str, object]) -> None:
        """An assistant record with a tool_use block."""
        self._calls += 1
        self._tool = f"toolu_{self._session[:8]}{self._calls:04d}"
        self._assistant({"type": "tool_use", "id": self._tool, "name": name, "input": given})

    def answer(self, output: str, *, ok: bool) -> None:
        """A user record with the tool_result block."""
        block = {
            "type": "tool_result",
            "tool_use_id": self._tool,
            "content": output,
            "is_error": not ok,
        }
        self._record(
            "user",
            message={"role": "user", "content": [block]},
            parent_tool_use_id=None,
            tool_use_result=output if ok else f"Error: {output}",
        )

    def usage(self, *, given: int, output: int, cost: float) -> None:
        """Kept for the next message and for the result."""
        self._next = (self._next[0] + given, self._next[1] + output)
        self._sum = (self._sum[0] + given, self._sum[1] + output)
        self._cost += cost

    def retry(self, *, attempt: int, most: int, delay: float, status: int, error: str) -> None:
        """A system record of subtype api_retry."""
        self._record(
            "system",
            subtype="api_retry",
            attempt=attempt,
            max_retries=most,
            retry_delay_ms=round(delay * 1000),
            error_status=status or None,
            error=error or "server_error",
        )

    def limit(self, resets_at: datetime) -> None:
        """A rate_limit_event, the sentence as a synthetic message, and a failed result."""
        epoch = round(resets_at.timestamp())
        told = {"status": "rejected", "resetsAt": epoch, "rateLimitType": "five_hour"}
        self._record("rate_limit_event", rate_limit_info=told)
        clock = resets_at.strftime("%I:%M%p").lstrip("0").lower()
        sentence = f"You've hit your 5-hour limit · resets {clock} (UTC)"
        self._assistant(
            {"type": "text", "text": sentence},
            model="<synthetic>",
            error="rate_limit",
            api_error="usage_limit_reached",
        )
        self._result(sentence, failed=True, api_error_status=429)

    def result(self, text: str, *, failed: bool) -> None:
        """The result record; a failed one says what a provider's error would say."""
        self._result(text, failed=failed)

    def close(self) -> None:
        """The result record with what was said last, if anything was printed and none was yet."""
        if self._opened and not self._closed:
            self._result(self._said, failed=False)

    def _assistant(self, block: dict[str, object], *, model: str = "", **more: object) -> None:
        self._turns += 1
        given, output = self._next
        self._next = (0, 0)
        message = {
            "id": f"msg_{self._session[:8]}{self._turns:04d}",
            "type": "message",
            "role": "assistant",
            "model": model or self._model,
            "content": [block],
            "stop_reason": None,
            "usage": _counts(given, output),
        }
        self._record("assistant", message=message, parent_tool_use_id=None, **more)

    def _result(self, text: str, *, failed: bool, **more: object) -> None:
        self._closed = True
        spent = round((self._clock.monotonic() - self._began) * 1000)
        given, output = self._sum
        model = {
            "inputTokens": given,
            "outputTokens": output,
            "cacheReadInputTokens": 0,
            "cacheCreationInputTokens": 0,
            "costUSD": round(self._cost, 6),
        }
        self._record(
            "result",
            subtype="success",
            is_error=failed,
            duration_ms=spent,
            duration_api_ms=spent,
            num_turns=max(1, self._turns),
            result=text,
            stop_reason="end_turn",
            terminal_reason="api_error" if failed else "completed",
            total_cost_usd=round(self._cost, 6),
            usage=_counts(given, output),
            modelUsage={self._model: model},
            permission_denials=[],
            **more,
        )

    def _record(self, kind: str, **fields: object) -> None:
        if not self._opened:
            self._opened = True
            self._record(
                "system",
                subtype="init",
                cwd=os.getcwd(),  # noqa: PTH109
                model=self._model,
                tools=["Bash", "Edit", "Read", "Write"],
                mcp_servers=[],
                permissionMode="acceptEdits",
            )
        mark = str(uuid.uuid4())
        whole = {"type": kind, **fields, "session_id": self._session, "uuid": mark}
        put(json.dumps(whole).encode() + b"\n")


def _counts(given: int, output: int) -> dict[str, object]:
    return {
        "input_tokens": given,
        "output_tokens": output,
        "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": 0,
    }
