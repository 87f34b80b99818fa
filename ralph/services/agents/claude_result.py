"""The result records of one invocation of Claude Code; the last one counts (A-2, A-3, A21)."""

from __future__ import annotations

from msgspec.structs import replace

from ralph.core.cleaning import clean
from ralph.core.facts import FailureClass, Usage
from ralph.core.failure import Record
from ralph.core.wording import recognise
from ralph.services.agents.claude_usage import model_tokens, tokens
from ralph.services.agents.fields import Json, integer, items, mapping, number, string

_MESSAGE = 4_000
_DENIED = 20

_BY_SUBTYPE = {
    "error_max_turns": FailureClass.MAX_TURNS,
    "error_max_budget_usd": FailureClass.MAX_TURNS,
}
_BY_REASON = {
    "max_turns": FailureClass.MAX_TURNS,
    "budget_exhausted": FailureClass.MAX_TURNS,
    "prompt_too_long": FailureClass.CONTEXT_FULL,
}
_BY_ERROR = {
    "authentication_failed": FailureClass.AUTH,
    "oauth_org_not_allowed": FailureClass.AUTH,
    "verification_required": FailureClass.AUTH,
    "cloud_credential_error": FailureClass.AUTH,
    "billing_error": FailureClass.BILLING,
    "account_on_hold": FailureClass.BILLING,
    "model_not_found": FailureClass.BAD_INVOCATION,
    "overloaded": FailureClass.OVERLOADED,
    "max_output_tokens": FailureClass.CONTEXT_FULL,
}
_BY_VAGUE_ERROR = {
    "rate_limit": FailureClass.OVERLOADED,
    "server_error": FailureClass.OVERLOADED,
}
_BY_STATUS = {
    401: FailureClass.AUTH,
    402: FailureClass.BILLING,
    403: FailureClass.AUTH,
    408: FailureClass.NETWORK,
    413: FailureClass.CONTEXT_FULL,
    429: FailureClass.OVERLOADED,
}


class Results:
    """Adds up what is per result, keeps the last of what is cumulative.

    ``resumed``: the cumulative figures include earlier runs of the session, so that only the
    main agent's own tokens are known and the cost is not.
    """

    def __init__(self, *, resumed: bool) -> None:
        self.resumed = resumed
        self.limited = False  # a limit event with its instant was seen
        self.turns: int | None = None
        self._last: Json | None = None
        self._own: Usage | None = None
        self._error: Json = {}

    @property
    def seen(self) -> bool:
        """True once there is one."""
        return self._last is not None

    def note_error(self, record: Json, *, main: bool) -> None:
        """The line in which the agent shows an API error; it says more than the result."""
        if main:
            self._error = record

    def add(self, record: Json) -> None:
        """One more result."""
        self._last = record
        if not self._is_failed(record):
            self._error = {}
        turns = integer(record, "num_turns")
        self.turns = self.turns if turns is None else (self.turns or 0) + turns
        if mapping(record, "usage"):
            self._own = tokens(mapping(record, "usage")).plus(self._own)

    @property
    def text(self) -> str | None:
        """The last result's text; None when it has none or failed, then the last message counts."""
        last = self._last
        if last is None or self._is_failed(last) or not isinstance(last.get("result"), str):
            return None
        return clean(string(last, "result"))

    @property
    def denied(self) -> tuple[str, ...]:
        """Commands, else tools, that the agent was refused; each once."""
        found: dict[str, None] = {}
        for denial in items(self._last or {}, "permission_denials"):
            command = string(mapping(denial, "tool_input"), "command")
            name = clean(command.strip() or string(denial, "tool_name"))
            if name:
                found[name.split("\n")[0][:200]] = None
        return tuple(found)[:_DENIED]

    def record(self) -> Record | None:
        """The last result as the agent's own verdict."""
        last = self._last
        if last is None:
            return None
        if not self._is_failed(last):
            return Record(failed=False)
        return Record(failed=True, klass=self._class(last), message=_message(last))

    def usage(self) -> Usage | None:
        """Tokens of all models and sub-agents, cost in micro-dollars; None when nothing is told."""
        last = self._last
        if last is None:
            return None
        models = [one for one in mapping(last, "modelUsage").values() if isinstance(one, dict)]
        if self.resumed or not models:
            total = self._own
        else:
            total = Usage()
            for one in models:
                total = total.plus(model_tokens(one))
        dollars = number(last, "total_cost_usd")
        if self.resumed or dollars is None or dollars < 0:
            return total
        return replace(total or Usage(), cost=round(dollars * 1_000_000))

    def _is_failed(self, last: Json) -> bool:
        if last.get("is_error") is True:
            return True
        return string(last, "subtype").startswith("error")

    def _class(self, last: Json) -> FailureClass | None:
        """What the fields say that name a cause, then the sentence, then the HTTP status."""
        if self._says_limit(last):
            return FailureClass.USAGE_LIMIT
        if string(last, "stop_reason") == "refusal":
            return FailureClass.REFUSED
        by_name = (
            _BY_SUBTYPE.get(string(last, "subtype"))
            or _BY_REASON.get(string(last, "terminal_reason"))
            or _BY_ERROR.get(string(self._error, "error"))
        )
        found = recognise(_message(last))
        return by_name or (found.klass if found else self._by_status(last))

    def _says_limit(self, last: Json) -> bool:
        told = (string(one, "api_error") for one in (last, self._error))
        return "usage_limit_reached" in told or (self.limited and self._status(last) == 429)

    def _by_status(self, last: Json) -> FailureClass | None:
        status = self._status(last)
        if status is None:
            return _BY_VAGUE_ERROR.get(string(self._error, "error"))
        return FailureClass.OVERLOADED if status >= 500 else _BY_STATUS.get(status)

    def _status(self, last: Json) -> int | None:
        status = integer(last, "api_error_status")
        return integer(self._error, "api_error_status") if status is None else status


def _message(last: Json) -> str:
    """The failure in words: its text, else its list of errors, else its subtype."""
    text = string(last, "result").strip()
    if not text:
        listed = last.get("errors")
        texts = [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else []
        text = "\n".join(texts).strip() or string(last, "subtype")
    return clean(text)[:_MESSAGE]
