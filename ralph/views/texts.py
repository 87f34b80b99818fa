"""Small pure pieces of text that all views share: clean, short, plain enough for any terminal."""

from __future__ import annotations

from datetime import datetime, timedelta

from ralph.core.cleaning import clean

_JOINERS = dict.fromkeys([0x200B, 0x200C, 0x200D, 0x2060, *range(0xFE00, 0xFE10)])
_PLAIN = str.maketrans(
    {
        "⚠": "!",
        "\ufe0f": "!",
        "✓": "OK",
        "→": "->",
        "—": "-",
        "–": "-",
        "−": "-",
        "×": "x",
        "…": "...",
        "·": "-",
        "“": '"',
        "”": '"',
        "‘": "'",
        "’": "'",
    }
)


def one_line(text: str) -> str:
    """``text`` clean, on one line, and made of characters whose width terminals agree on."""
    return " ".join(clean(text).translate(_JOINERS).split())


def display_lines(text: str) -> list[str]:
    """The non-empty lines of ``text``, clean, tabs as blanks; for a screen of fixed cells."""
    lines = clean(text).translate(_JOINERS).expandtabs(4).split("\n")
    return [line.rstrip() for line in lines if line.strip()]


def ascii_only(text: str) -> str:
    """``text`` for a terminal without UTF-8: known signs spelled out, others as ``?``."""
    return text.translate(_PLAIN).encode("ascii", "replace").decode("ascii")


def span(seconds: float) -> str:
    """Seconds as ``12s``, ``3m 12s`` or ``1h 02m 03s``; negative is 0 (C-7)."""
    whole = max(0, int(seconds))
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h {minutes:02d}m {rest:02d}s"
    return f"{minutes}m {rest:02d}s" if minutes else f"{rest}s"


def local_time(when: datetime, now: datetime) -> str:
    """Local ``14:05``; with weekday and date when it is more than 20 hours away."""
    local = when.astimezone()
    if abs(when - now) > timedelta(hours=20):
        return f"{local:%a %Y-%m-%d %H:%M}"
    return f"{local:%H:%M}"


def dollars(micro: int) -> str:
    """Micro-dollars as ``$3.42``; four digits below one cent, so that little is not nothing."""
    amount = micro / 1_000_000
    return f"${amount:,.2f}" if micro == 0 or amount >= 0.01 else f"${amount:.4f}"


def short_count(number: int) -> str:
    """``950``, ``12.3k``, ``1.2M``: at most five characters below a thousand million."""
    if number < 1_000:
        return str(number)
    if number < 999_950:
        return f"{number / 1_000:.1f}k"
    return f"{number / 1_000_000:.1f}M"


def out_of(count: int, limit: int) -> str:
    """``1 / 3``, or ``1 / off`` when a limit of 0 switches the check off (B-22)."""
    return f"{count} / {limit or 'off'}"
