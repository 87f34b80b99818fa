"""F8: secrets are masked; words, code and figures stay."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.core.masking import MASK, mask

LONG = "aB3dE5fG7hJ9" * 4


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"key sk-ant-api03-{LONG} used", LONG),
        (f"OPENAI_API_KEY=sk-proj-{LONG}", LONG),
        (f"remote: ghp_{LONG}", LONG),
        (f"github_pat_{LONG}", LONG),
        (f"glpat-{LONG}", LONG),
        ("aws AKIAIOSFODNN7EXAMPLE", "IOSFODNN7"),
        (f"aws_secret_access_key = {LONG}", LONG),
        (f"AIza{LONG}", LONG),
        (f"Authorization: Bearer {LONG}", LONG),
        (f"curl -H 'Authorization: Basic {LONG}='", LONG),
        ("postgres://me:hunter22secret@db/x", "hunter22secret"),
        ('{"password": "correct-horse-9"}', "correct-horse-9"),
        ("DB_PASSWORD: 'p4ssw0rd99'", "p4ssw0rd99"),
        ("export SLACK_TOKEN=xoxb-1234567890-abc", "xoxb-1234567890"),
        (f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.{LONG}", "eyJzdWIi"),
        (f"-----BEGIN OPENSSH PRIVATE KEY-----\n{LONG}\n-----END OPENSSH PRIVATE KEY-----", LONG),
        (f"-----BEGIN RSA PRIVATE KEY-----\n{LONG}\n", LONG),
    ],
)
def test_f8_a_secret_is_masked(text: str, secret: str) -> None:
    assert secret not in mask(text)


@pytest.mark.parametrize(
    "text",
    [
        "def login(password: str) -> None:",
        "token = self._next_token()",
        "the token is refreshed; tokens: 12,345 used",
        "sk-learn is a library, risk-free-and-simple-to-use-it-is",
        "commit 9c7d3c34aa11bb22cc33dd44ee55ff6677889900",
        "https://example.org/path?page=2",
        "git@example.org:me/repo.git",
        "bearer of bad news",
        "max_tokens: 100000",
        "",
    ],
)
def test_f8_ordinary_text_stays(text: str) -> None:
    assert mask(text) == text


@given(st.text(max_size=200))
def test_f8_masking_twice_changes_nothing(text: str) -> None:
    assert mask(mask(text)) == mask(text)


def test_f8_what_was_masked_is_said() -> None:
    assert mask(f"x ghp_{LONG} y") == f"x {MASK} y"
