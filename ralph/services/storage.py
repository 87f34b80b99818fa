"""Turn a failed write into an error that names the path and the way out (F2)."""

from __future__ import annotations

import errno
from pathlib import Path

from ralph.errors import StorageError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def storage_error(path: Path, error: OSError) -> StorageError:
    """Return the StorageError for ``error`` at ``path``; ``full`` when space is what is missing."""
    full = error.errno in _FULL
    hint = "free some space, then: ralph resume" if full else "make the folder writable for you"
    return StorageError(f"cannot write {path}: {error.strerror or error}", hint=hint, full=full)
