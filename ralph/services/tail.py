"""An ear for commands of which only the last words matter."""

from __future__ import annotations

from ralph.core.cleaning import clean

_ROOM = 4  # raw bytes kept for each byte of text: colours and progress bars fall away


class Tail:
    """Keeps the end of what a process says, both streams together; memory stays flat.

    ``size`` is in bytes of cleaned UTF-8 text.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._kept = b""

    def hear(self, stream: str, chunk: bytes) -> bool:  # noqa: ARG002
        """Every byte is life."""
        self._kept = (self._kept + chunk)[-self.size * _ROOM :]
        return True

    def settled(self) -> bool:
        """There is no result record."""
        return False

    @property
    def text(self) -> str:
        """The last words as a person would see them, without blank lines around them."""
        text = clean(self._kept.decode("utf-8", "replace")).strip("\n")
        return text.encode()[-self.size :].decode("utf-8", "ignore")
