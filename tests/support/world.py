"""Small real things that tests stand on: repositories, programs, processes."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path


class Repo:
    """A git repository on disk."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def git(self, *args: str) -> str:
        done = subprocess.run(
            ["git", *args], cwd=self.root, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def commit(self, message: str = "change") -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")


class Script:
    """Makes programs: ``script("print(1)")`` returns an argv."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.count = 0

    def __call__(self, source: str) -> list[str]:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.count += 1
        path = self.folder / f"program_{self.count}.py"
        path.write_text(textwrap.dedent(source))
        return [sys.executable, str(path)]


def alive(pid: int) -> bool:
    """True while the process runs (a zombie does not)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def eventually(true: Callable[[], object], seconds: float = 10.0) -> bool:
    """Poll until ``true()`` holds; False when the deadline passes first."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if true():
            return True
        time.sleep(0.02)
    return bool(true())


def marked(mark: str) -> list[int]:
    """Live processes whose environment contains ``mark``."""
    found = []
    for entry in (path.name for path in Path("/proc").iterdir()):
        if entry.isdigit():
            try:
                environ = Path(f"/proc/{entry}/environ").read_bytes()
            except OSError:
                continue
            if mark.encode() in environ and alive(int(entry)):
                found.append(int(entry))
    return found
