"""Secrets do not belong in logs (F8)."""

from __future__ import annotations

import re

MASK = "[masked]"

_KEY = re.compile(
    r"(-----BEGIN [A-Z0-9 ]*PRIVATE KEY[^\n]*)(?s:.*?)(-----END [A-Z0-9 ]*PRIVATE KEY[^\n]*|\Z)"
)
_TOKENS = re.compile(
    r"(?<![A-Za-z0-9_-])(?:"
    r"sk-(?:ant-|proj-|or-|svcacct-|admin-)?[A-Za-z0-9_-]{16,}"  # model providers
    r"|(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}"
    r"|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,}"
    r"|gl(?:pat|ptt|dt|rt)-[A-Za-z0-9_-]{16,}"
    r"|xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}"
    r"|AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{20,}"
    r"|npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{30,}"
    r"|hf_[A-Za-z0-9]{20,}|gsk_[A-Za-z0-9]{20,}|xai-[A-Za-z0-9]{20,}"
    r"|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"
    r"|eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}"  # signed web token
    r")"
)
# What a secret begins with or stands behind: a search for these is quick, the patterns are exact.
_BEGINNINGS = (
    *("sk-", "sk_", "rk_", "pk_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    *("glpat-", "glptt-", "gldt-", "glrt-", "xox", "xapp-", "AKIA", "ASIA", "AIza", "ya29."),
    *("npm_", "pypi-", "hf_", "gsk_", "xai-", "SG.", "eyJ"),
)
_SCHEMES = ("bearer", "basic")
_NAMES = ("key", "secret", "token", "passw", "passphrase")
_LOGIN = re.compile(r"(?i)(\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@]{0,100}:)([^\s@/]{1,200})(?=@)")
_BEARER = re.compile(r"(?i)(\b(?:bearer|basic)\s+)([A-Za-z0-9._~+/=-]{16,})")
_NAMED = re.compile(
    r"(?i)((?:\b|_)(?:api[_-]?key|secret(?:[_-]?access)?(?:[_-]?key)?|access[_-]?key|auth[_-]?token"
    r"|access[_-]?token|refresh[_-]?token|id[_-]?token|[a-z]+[_-]token|token|passw(?:or)?d|passphrase"
    r"|client[_-]?secret|private[_-]?key)[\"']?\s{0,4}(?:=>|[:=])\s{0,4}[\"']?)"
    r"([^\s\"',;}\])]{8,})"
)


def mask(text: str) -> str:
    """``text`` with what looks like a secret replaced.

    Keys and tokens of known shape, passwords in addresses, authorisation values, private keys,
    and values of at least eight characters behind a name such as ``API_KEY=`` or ``"password":``.
    Masking twice changes nothing.
    """
    if "PRIVATE KEY" in text:
        text = _KEY.sub(rf"\1 {MASK} \2", text)
    if any(beginning in text for beginning in _BEGINNINGS):
        text = _TOKENS.sub(MASK, text)
    if "://" in text:
        text = _LOGIN.sub(rf"\1{MASK}", text)
    lowered = text.lower()
    if any(scheme in lowered for scheme in _SCHEMES):
        text = _BEARER.sub(rf"\1{MASK}", text)
    return _NAMED.sub(_named, text) if any(name in lowered for name in _NAMES) else text


def _named(found: re.Match[str]) -> str:
    if found[2].startswith(MASK[:-1]) or not _secret(found[2]):
        return found[0]
    return f"{found[1]}{MASK}"


def _secret(value: str) -> bool:
    """Code that names a variable is no secret; a value has figures or odd signs in it."""
    return any(sign.isdigit() for sign in value) or not re.fullmatch(
        r"[A-Za-z_.$<>(){}\[\]/-]+", value
    )
