"""One folder an attempt: prompt.md, output.log, stderr.log, never overwritten (10.1)."""

from __future__ import annotations

import os
from pathlib import Path

from ralph.services import disk


class IterationFolders:
    """Folders below one run's folder."""

    def __init__(self, run_folder: Path) -> None:
        self.base = run_folder

    def open(self, name: str, prompt: str) -> Path:
        """Make ``iterations/NNNN`` and write its prompt.md (mode 0600).

        Raises:
            StorageError: if the folder or the file cannot be written; it names the path.
        """
        folder = self.base / name
        path = folder / "prompt.md"
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            disk.set_aside(folder)
            folder.mkdir()
            with os.fdopen(
                os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb"
            ) as file:
                file.write(prompt.encode("utf-8", "surrogateescape"))
        except OSError as error:
            raise disk.failure(path, error) from error
        return folder
