"""Small and read-only file systems that only one process and its children see."""

from __future__ import annotations

import functools
import shutil
import subprocess

import pytest


@functools.cache
def own_mounts() -> tuple[str, ...]:
    """The command under which a shell may mount; the test is skipped where nothing allows it."""
    if shutil.which("unshare"):
        for prefix in (("unshare", "-m"), ("unshare", "-rm")):
            argv = [*prefix, "mount", "-t", "tmpfs", "-o", "size=1m", "none", "/mnt"]
            if subprocess.run(argv, capture_output=True, check=False).returncode == 0:
                return prefix
    pytest.skip("mounting a small file system is not allowed here")
