"""A model provider on loopback that answers Claude Code from a list of turns."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

Turn = dict[str, Any]  # text, tools: [(name, input)], status, message


class Provider:
    """Serves ``turns`` one a request of the main conversation; the last one repeats.

    A request is of the main conversation when it brings tools; others get one word.
    """

    def __init__(self, turns: list[Turn]) -> None:
        self.turns = turns
        self.served = 0
        self.bodies: list[Any] = []
        provider = self

        class Answer(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers.get("content-length", 0))
                body = json.loads(self.rfile.read(length) or b"{}")
                if "count_tokens" in self.path:
                    self._send(200, "application/json", b'{"input_tokens": 10}')
                    return
                turn = provider.next(body)
                if turn.get("status"):
                    error = {"type": turn.get("type", "api_error"), "message": turn["message"]}
                    whole = json.dumps({"type": "error", "error": error}).encode()
                    self._send(turn["status"], "application/json", whole)
                elif body.get("stream"):
                    sent = "".join(
                        f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
                        for event in events(turn)
                    )
                    self._send(200, "text/event-stream", sent.encode())
                else:
                    self._send(200, "application/json", json.dumps(message(turn)).encode())

            def do_GET(self) -> None:
                self._send(404, "application/json", b"{}")

            def _send(self, status: int, kind: str, body: bytes) -> None:
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: object) -> None:  # noqa: ARG002
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        """Base address."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def next(self, body: Any) -> Turn:
        """The turn that answers ``body``."""
        if not body.get("tools"):
            return {"text": "ok"}
        self.bodies.append(body)
        turn = self.turns[min(self.served, len(self.turns) - 1)]
        self.served += 1
        return turn

    def __enter__(self) -> Provider:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def blocks(turn: Turn) -> list[dict[str, Any]]:
    """Content blocks of a turn."""
    found: list[dict[str, Any]] = []
    if turn.get("text"):
        found.append({"type": "text", "text": turn["text"]})
    for number, (name, given) in enumerate(turn.get("tools", ())):
        found.append({"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": given})
    return found


def message(turn: Turn) -> dict[str, Any]:
    """A whole message."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "scripted-model",
        "content": blocks(turn),
        "stop_reason": "tool_use" if turn.get("tools") else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1200, "output_tokens": 40},
    }


def events(turn: Turn) -> Iterator[dict[str, Any]]:
    """A message as the stream of events in which it comes."""
    whole = message(turn)
    yield {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}
    for index, block in enumerate(whole["content"]):
        if block["type"] == "text":
            start: dict[str, Any] = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        else:
            start = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_start", "index": index, "content_block": start}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ended = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 40}}
    yield {"type": "message_stop"}
