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


BEGINNINGS = [
    "sk-",
    "sk-ant-",
    "sk-proj-",
    "sk-or-",
    "sk-svcacct-",
    "sk-admin-",
    "sk_live_",
    "sk_test_",
    "rk_live_",
    "pk_test_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "glptt-",
    "gldt-",
    "glrt-",
    "xoxa-",
    "xoxb-",
    "xoxe-",
    "xoxo-",
    "xoxp-",
    "xoxr-",
    "xoxs-",
    "xapp-",
    "AIza",
    "ya29.",
    "npm_",
    "pypi-",
    "hf_",
    "gsk_",
    "xai-",
]


@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_f8_a_token_is_known_by_its_beginning(beginning: str) -> None:
    assert mask(f"x {beginning}{LONG} y") == f"x {MASK} y"


@pytest.mark.parametrize(
    "token",
    [
        "AKIAIOSFODNN7EXAMPLE",
        "ASIAIOSFODNN7EXAMPLE",
        f"SG.{LONG}.{LONG}",
        f"eyJ{LONG}.eyJ{LONG}.x9x9x",
    ],
)
def test_f8_a_token_is_known_by_its_shape(token: str) -> None:
    assert mask(f"x {token} y") == f"x {MASK} y"


@pytest.mark.parametrize(
    "name",
    [
        "API_KEY",
        "apiKey",
        "secret",
        "secret_access_key",
        "access-key",
        "auth_token",
        "accessToken",
        "refresh_token",
        "id_token",
        "bot-token",
        "token",
        "PASSWORD",
        "passwd",
        "passphrase",
        "client_secret",
        "PRIVATE_KEY",
    ],
)
def test_f8_a_value_is_known_by_its_name(name: str) -> None:
    assert mask(f"{name}=p4ssw0rd99") == f"{name}={MASK}"


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
