"""The sentences in which agents and providers say that they failed, by class (A-4).

Only for the error channel of a failed invocation: the agent's error record, its stderr, the last
lines of a plain-text agent. A sentence must begin its line and be the vendor's whole phrase; the
same words inside prose, code or tool output say nothing (E1, E2).
"""

from __future__ import annotations

import json
import re

import msgspec

from ralph.core.facts import FailureClass

_LAST_LINES = 60
_LONGEST_LINE = 4_000

# What may stand before the sentence: log time, "Error:", an exception's name, an HTTP status.
_BEFORE = re.compile(
    r"(?:\[?\d{4}-\d\d-\d\d[T ][\d:.,]+(?:Z|[+-]\d\d:?\d\d)?\]?\s+)?(?:[✗✘×■▲⎿●❌⚠]\ufe0f?\s*)?"
    r"(?:(?:API Error|Fatal error|Execution failed"
    r"|Error during droid execution|Error when talking to \w+ API"
    r"|[\w./-]+(?=: (?:error|fatal): )|error|Error|ERROR|fatal|Fatal|FATAL|panic"
    r"|(?:[\w.]+\.)?\w*(?:API|Auth|RateLimit|Connection|InternalServer|ServiceUnavailable"
    r"|BadRequest|Context|Permission|NotFound|Timeout|Provider)\w*(?:Error|Exception)"
    r"|provider\.\w+|failed to run prompt)\s*:\s*|\w+Exception - )*(?:\[API Error:\s*)?"
)
_STATUS = re.compile(r"(?:status )?[45]\d\d\s+(?!\d)")

_SENTENCES: tuple[tuple[FailureClass, tuple[str, ...]], ...] = (
    (
        FailureClass.BILLING,
        (
            r"(?:Your )?credit balance is too low\b.*",
            r"You've (?:hit|reached) your (?:\S+ )?(?:monthly )?spend(?:ing)? limit\b.*",
            r"You(?:'ve)? hit your spend cap\b.*",
            r"Your (?:workspace|organization|team|account) is out of credits\b.*",
            r"(?:Your )?(?:\w+ )?usage allocation has been disabled by your admin\b.*",
            r"Quota exceeded\. Check your plan and billing details\b.*",
            r"You exceeded your current quota, please check your plan and billing details\b.*",
            r"insufficient[_ ](?:quota|balance|credits?|funds)\b[.!]?(?: .{0,200})?",
            r"To use Codex with your ChatGPT plan, upgrade to\b.*",
            r"Your account is not active, please check your billing details\b.*",
            r"This organization has been disabled\b.*",
            r"Your (?:account|organization) (?:is|has been) (?:on hold|suspended)\b.*",
            r"Payment Required[.!]?",
        ),
    ),
    (
        FailureClass.OVERLOADED,
        (
            r"Request rejected \(429\)(?: · .*)?",
            r"Server is temporarily limiting requests \(not your usage limit\).*",
            r"Repeated 529 Overloaded errors\b.*",
            r"(?:5\d\d|429) \{.*\}",
            r"Too Many Requests[.!]?",
            r"(?:Internal Server Error|Bad Gateway|Service Unavailable"
            r"|Gateway Time-?out)[.!]?(?:, .*)?",
            r"exceeded retry limit, last status: (?:429|5\d\d)\b.*",
            r"unexpected status (?:429|5\d\d)\b.*",
            r"We're currently experiencing high demand\b.*",
            r"Selected model is at capacity\b.*",
            r"(?:overloaded_error|Overloaded)[.!]?",
            r"Rate limit reached for \S+ (?:in organization|on (?:tokens|requests))\b.*",
            r"rate_limit(?:_error|_exceeded)?[.!]?",
            r"The server had an error while processing your request\b.*",
            r"An internal error has occurred\b.*",
            r"The API provider has rate limited you\b.*",
            r"(?:RESOURCE_EXHAUSTED:? ?)?Resource has been exhausted \(e\.g\. check quota\)\.?",
            r"The (?:model|service) is (?:currently )?overloaded\b.*",
            r"5\d\d .{0,200}This is a server-side issue, usually temporary\b.*",
        ),
    ),
    (
        FailureClass.USAGE_LIMIT,
        (
            r"You've (?:hit|reached|exceeded) your usage limit\b.*",
            r"You've (?:hit|reached|exceeded) (?:your|the) (?:[\w'-]+ ){0,4}limit"
            r"(?:[.!]|$| · .*| for .{1,80}|[.,;] .*)",
            r"(?:Claude AI |Claude )?usage limit reached(?:\|\d+|[.!]| · .*|[.,] .*| for .*)?",
            r"(?:Session|Weekly|Daily|Monthly|Hourly|\d+-hour|Opus|Sonnet|Haiku|Fable)"
            r"(?: usage)? limit reached(?: · .*|[.!]|[.,] .*)?",
            r"The usage limit has been reached\b.*",
            r"You're out of extra usage\b.*",
            r"You have exhausted your (?:daily quota on|capacity on) this model\b.*",
            r"(?:Qwen OAuth|Free allocated) quota exceeded\b.*",
            r"You (?:have|'ve) exceeded your premium request allowance\b.*",
        ),
    ),
    (
        FailureClass.AUTH,
        (
            r"Invalid API key(?: · .*|[.!])?",
            r"(?:You are )?Not (?:logged|signed) in(?: · .*|[.!].*|, .*)?",
            r"(?:Please )?run /login[.!]?",
            r"Please (?:log|sign) in(?: (?:first|again|using|with)\b.{0,80})?[.!]?",
            r"Failed to authenticate(?:[.!]|[.:] .*)?",
            r"Authentication (?:failed|error|required)(?:[.!]|[.:,;] .{0,200}| · .*)?",
            r"authentication_error[.!]?",
            r"Invalid (?:authentication credentials|x-api-key|bearer token)\b.{0,200}",
            r"(?:Your )?OAuth token (?:has expired|has been revoked|revoked|expired)\b.*",
            r"Incorrect API key provided\b.*",
            r"unexpected status 40[13]\b.*",
            r"Unauthorized[.!]?",
            r"API key not valid\. Please pass a valid API key\b.*",
            r"Missing environment variable: `[A-Z0-9_]+`\.?",
            r"No (?:authentication information|API key) found\b.*",
            r"(?:Please )?set an Auth method\b.*",
            r"No auth type is selected\b.*",
            r"No model configured\. Run `?kimi\b.*",
            r"Login to OpenRouter or create a free account\?.*",
            r"The api_key client option must be set\b.*",
        ),
    ),
    (
        FailureClass.CONTEXT_FULL,
        (
            r"Prompt is too long(?: · .*|[.!]|: .*)?",
            r"Request too large \(max \d+ ?MB\)\..*",
            r"Codex ran out of room in the model's context window\b.*",
            r"(?:Context length exceeded: .*|.{0,80}maximum context length is \d[\d,]* tokens\b.*)",
            r"(?:The )?(?:input|request|prompt)\b.{0,60} exceeds? the (?:maximum number of tokens"
            r" allowed|model's context window|context (?:window|limit))\b.*",
            r"input length and `max_tokens` exceed context limit\b.*",
            r"Claude's response exceeded the \d+ output token maximum\b.*",
            r"Incomplete response returned, reason: max_output_tokens\b.*",
        ),
    ),
    (
        FailureClass.REFUSED,
        (
            r"[\w. ()/-]{1,60}'s safeguards flagged this message\b.*",
            r"Claude Code is unable to respond to this request\b.*",
        ),
    ),
    (
        FailureClass.MAX_TURNS,
        (
            r"Reached (?:max turns|maximum number of turns) \(\d+\)",
            r"Exceeded USD budget \(.*\)",
            r"Reached maximum budget \(.*\)",
        ),
    ),
    (
        FailureClass.BAD_INVOCATION,
        (
            r"unknown (?:option|argument|command|flag|switch)s?(?:: \S| ['\"`-]).{0,200}",
            r"unexpected argument '.*' found\b.*",
            r"unrecognized arguments?: .*",
            r"No such option:? .*",
            r"the following arguments are required: .*",
            r"option '.*' (?:argument missing|argument '.*' is invalid)\b.*",
            r"invalid (?:value|choice):? '.*' .*",
            r"There's an issue with the selected model \(.*",
            r"The model `.*` does not exist\b.*",
            r"models?/\S+ is not found for API version\b.*",
            r"Invalid model(?: name)?: .*",
            r"Input must be provided either through stdin or as a prompt argument\b.*",
            r"No prompt provided via stdin\.?",
            r"--dangerously-skip-permissions cannot be used with root\b.*",
            r"Not inside a trusted directory\b.*",
            r"No conversation found with session ID\b.*",
            r"Session ID \S+ is already in use\.?",
            r"thread/resume: thread/resume failed\b.*",
            r"Error loading config\.toml: .*",
            r"(?:JSON output mode requires|Output format is only supported in) .*prompt\b.*",
        ),
    ),
    (
        FailureClass.NETWORK,
        (
            r"Connection error[.!]?",
            r"Cannot connect to API\b.*",
            r"Unable to connect(?: to API\b.*|\. Is the computer able to access the url\?.*)",
            r"Could not connect to local model provider\b.*",
            r"Connection (?:refused|reset|closed|timed out|aborted)(?: — .*| by peer.*|[.!]"
            r"| \(\w+\).*)?",
            r"stream disconnected before completion\b.*",
            r"Request timed out(?:\. .*|[.!])?",
            r"(?:TypeError: )?fetch failed[.!]?",
            r"(?:connect )?(?:ECONNREFUSED|ECONNRESET|ETIMEDOUT|EHOSTUNREACH)\b.{0,120}",
            r"getaddrinfo (?:ENOTFOUND|EAI_AGAIN)\b.*",
            r"error sending request for url\b.*",
            r"The socket connection was closed unexpectedly\b.*",
        ),
    ),
)

_TABLE = tuple(
    (klass, re.compile("(?:" + "|".join(sentences) + r")\]?", re.IGNORECASE | re.DOTALL))
    for klass, sentences in _SENTENCES
)
_RETRY = re.compile(
    r"(?:ERROR: |error: )?(?:Reconnecting\.\.\. |Retrying (?:in|after) \d|Retry(?:ing)? \d+/\d+"
    r"|Attempt \d+ failed\b.*\bretry|Rate limited?[.,;:]? (?:retrying|waiting))",
    re.IGNORECASE,
)
_MAYBE = ("reconnecting", "retry", "attempt", "limit")  # each retry line has one of them
_KIND = re.compile(
    r"(?:your|the) ((?:[\w'-]+ ){1,4})limit|^((?:\S+ )?)(?:usage )?limit reached", re.IGNORECASE
)


class Found(msgspec.Struct, frozen=True):
    """A vendor's sentence as it was printed, and the class it stands for."""

    klass: FailureClass
    sentence: str


def recognise(text: str) -> Found | None:
    """Return the last complete failure sentence in ``text``; None when there is none.

    ``text`` is clean (no escape sequences); lines are looked at from the end, at most 60. A line
    that is a JSON object is searched by its error message.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line in reversed(lines[-_LAST_LINES:]):
        sentence = _message(line[:_LONGEST_LINE])
        klass = _class_of(plain(sentence))
        if klass:
            return Found(klass, sentence)
    return None


def is_retry(line: str) -> bool:
    """True for a line in which an agent says that it tries again (A-6)."""
    return may_retry(line) and bool(_RETRY.match(plain(line.strip())))


def may_retry(text: str) -> bool:
    """False when no line of ``text`` can be a retry line; quick where ``is_retry`` is exact."""
    lowered = text.lower()
    return any(word in lowered for word in _MAYBE)


def limit_kind(sentence: str) -> str:
    """Name of the limit in a usage-limit sentence, such as ``5-hour``; ``usage`` without one."""
    found = _KIND.search(plain(sentence))
    name = ((found[1] or found[2] or "") if found else "").strip().lower()
    return name if name and name != "claude" else "usage"


def plain(sentence: str) -> str:
    """One spelling for typographic apostrophes, bullets and spaces."""
    table = {"’": "'", "‘": "'", "∙": "·", "•": "·", "\u00a0": " ", "\u202f": " "}
    return " ".join("".join(table.get(char, char) for char in sentence).split())


def _class_of(sentence: str) -> FailureClass | None:
    starts = {0}
    for prefix in (_BEFORE, _STATUS):
        found = prefix.match(sentence, max(starts))
        starts.add(found.end() if found else 0)
    for klass, pattern in _TABLE:
        if any(pattern.fullmatch(sentence, start) for start in starts):
            return klass
    return None


def _message(line: str) -> str:
    if not line.startswith("{"):
        return line
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return line
    error = record.get("error", record)
    message = error.get("message") if isinstance(error, dict) else error
    return message if isinstance(message, str) else line
