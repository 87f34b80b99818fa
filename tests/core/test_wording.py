"""The sentences by which a failed agent says what failed it (A-4); anything else is prose."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.core.facts import FailureClass
from ralph.core.wording import is_retry, limit_kind, recognise

SENTENCES = {
    FailureClass.USAGE_LIMIT: [
        "You've hit your 5-hour limit · resets 10:16pm (UTC)",
        "You've hit your weekly limit · resets Dec 3, 8:30pm (UTC)",
        "You've hit your Opus limit · resets 8pm (Europe/Berlin)",
        "You've hit your limit · resets 11pm (UTC)",
        "You've hit your session limit · resets 10:38pm (UTC)",
        "Session limit reached ∙ resets 10:45pm",
        "Claude AI usage limit reached|1796078729",
        "You've hit your org's monthly usage limit",
        "You're out of extra usage · resets 3am (UTC)",
        "You’ve hit your usage limit. Upgrade to Pro or try again at 9:44 PM.",
        "ERROR: You've hit your usage limit for gpt-9 or try again later.",
        "5-hour limit reached",
    ],
    FailureClass.OVERLOADED: [
        "API Error: Request rejected (429) · the server says you hit your limit",
        "API Error: Server is temporarily limiting requests (not your usage limit) · later",
        "API Error: Repeated 529 Overloaded errors. The API is at capacity — try later",
        "API Error: 500 boom. This is a server-side issue, usually temporary — try later",
        'API Error: 529 {"type":"error","error":{"type":"overloaded_error"}}',
        "exceeded retry limit, last status: 429 Too Many Requests",
        "We’re currently experiencing high demand, which may cause temporary errors.",
        "unexpected status 529 <unknown status code>: Overloaded, url: http://x",
        "Selected model is at capacity. Please try a different model.",
        "Error: 503 Service Unavailable",
    ],
    FailureClass.NETWORK: [
        "API Error: Connection refused — a firewall or proxy may be blocking it (ECONNREFUSED)",
        "API Error: Connection error.",
        "stream disconnected before completion: idle timeout waiting for SSE",
        "TypeError: fetch failed",
        "Error: connect ECONNREFUSED 127.0.0.1:1",
        "getaddrinfo ENOTFOUND api.example.invalid",
    ],
    FailureClass.AUTH: [
        "Invalid API key · Fix external API key",
        "Invalid API key",
        "Not logged in · Please run /login",
        "Failed to authenticate. API Error: 401 nope",
        "Missing environment variable: `FAKE_KEY`.",
        "unexpected status 401 Unauthorized: no, url: http://x",
    ],
    FailureClass.BILLING: [
        "Credit balance is too low",
        "You've hit your monthly spend limit",
        "Quota exceeded. Check your plan and billing details.",
        "Your workspace is out of credits. Ask an admin.",
        "You hit your spend cap set by an admin",
    ],
    FailureClass.CONTEXT_FULL: [
        "Prompt is too long · the request is ~213462 tokens (limit 200000)",
        "Request too large (max 32MB). Try a smaller file.",
        "API Error: Claude's response exceeded the 128000 output token maximum. Set a higher one.",
        "Codex ran out of room in the model's context window. Start a new thread.",
        "Incomplete response returned, reason: max_output_tokens",
    ],
    FailureClass.REFUSED: ["API Error: Some Model's safeguards flagged this message for review"],
    FailureClass.MAX_TURNS: ["Error: Reached max turns (1)", "Error: Exceeded USD budget (0.5)"],
    FailureClass.BAD_INVOCATION: [
        "error: unknown option '--x'",
        "There's an issue with the selected model (nope). It may not exist.",
        "Error: Input must be provided either through stdin or as a prompt argument when needed",
        "--dangerously-skip-permissions cannot be used with root/sudo privileges for security",
        "Not inside a trusted directory and --skip-git-repo-check was not specified.",
        "No conversation found with session ID: 1-2-3",
        "error: unexpected argument '--nope' found",
    ],
}
ALL = [(klass, text) for klass, texts in SENTENCES.items() for text in texts]


@pytest.mark.parametrize(("klass", "sentence"), ALL)
def test_a4_a_complete_vendor_sentence_has_its_class(klass: FailureClass, sentence: str) -> None:
    found = recognise(f"starting up\n\n{sentence}\n")
    assert found is not None
    assert (found.klass, found.sentence) == (klass, sentence)


@pytest.mark.parametrize(("klass", "sentence"), ALL)
def test_e1_the_same_words_inside_prose_say_nothing(klass: FailureClass, sentence: str) -> None:
    assert recognise(f"The old test expected the words: {sentence}") is None
    assert recognise(f'assert shown == "{sentence}"') is None


@pytest.mark.parametrize(
    "prose",
    [
        "added rate limit middleware, returns 429 Too Many Requests",
        "I fixed the Unauthorized page and the network layer.",
        "usage limits are now documented",
        "The billing page says that the credit balance is too low when it is.",
        "connection errors are retried",
        "- [ ] T-4 show 'Session limit reached' in the banner",
        "429",
        "",
    ],
)
def test_e1_prose_about_failures_is_no_failure(prose: str) -> None:
    assert recognise(prose) is None


def test_the_last_sentence_counts() -> None:
    found = recognise("Invalid API key\nsome line\nCredit balance is too low\nbye")
    assert found is not None
    assert found.klass is FailureClass.BILLING


def test_a_json_line_is_searched_by_its_message() -> None:
    for record in (
        {"type": "error", "error": {"message": "Invalid API key"}},
        {"error": "Invalid API key"},
        {"message": "Invalid API key", "text": "Credit balance is too low"},
    ):
        found = recognise(json.dumps(record))
        assert found is not None
        assert (found.klass, found.sentence) == (FailureClass.AUTH, "Invalid API key")


@pytest.mark.parametrize(
    ("line", "retry"),
    [
        ("Reconnecting... 2/5 (stream closed)", True),
        ("ERROR: Reconnecting... waiting for network", True),
        ("Retrying in 4 seconds", True),
        ("Retry 3/10", True),
        ("Attempt 2 failed with status 429. Will retry", True),
        ("I am retrying the tests now", False),
        ("Retrying the build", False),
        ("", False),
    ],
)
def test_a6_retry_lines_are_known(line: str, *, retry: bool) -> None:
    assert is_retry(line) is retry


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("You've hit your 5-hour limit · resets 10:16pm (UTC)", "5-hour"),
        ("You’ve hit your weekly limit", "weekly"),
        ("Session limit reached ∙ resets 10:45pm", "session"),
        ("Claude AI usage limit reached|1796078729", "usage"),
        ("You've hit your limit · resets 11pm (UTC)", "usage"),
        ("", "usage"),
    ],
)
def test_a_limit_is_named(sentence: str, kind: str) -> None:
    assert limit_kind(sentence) == kind


@given(st.text(max_size=300))
def test_any_text_is_searched_without_raising(text: str) -> None:
    found = recognise(text)
    assert found is None or found.sentence in text
    is_retry(text)
    limit_kind(text)


def test_a_long_error_channel_is_searched_at_once() -> None:
    lines = "\n".join("Error: " * 600 + "x" for _ in range(200))
    assert recognise(lines) is None
