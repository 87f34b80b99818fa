"""Deliberate errors: each names the thing, says the next move and knows its exit status."""

from __future__ import annotations


class RalphError(Exception):
    """An error that a person can act on; shown as ``error:`` and ``hint:``, no traceback."""

    exit_code = 2

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(RalphError):
    """A flag, argument or file named on the command line cannot be used (exit 2)."""


class ConfigError(RalphError):
    """A configuration file, variable or value is not valid (exit 2)."""


class TreeLocked(RalphError):
    """Another live ralph works in this tree (exit 2, fault F1)."""


class JournalDamaged(RalphError):
    """A line in the middle of a journal cannot be read (exit 2, X-5)."""


class StorageError(RalphError):
    """A file of ralph's own cannot be written; the message names the path (exit 3)."""

    exit_code = 3

    def __init__(self, message: str, *, hint: str = "", full: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.full = full


class NothingToDo(RalphError):
    """There is no run to resume, show or stop (exit 2)."""
