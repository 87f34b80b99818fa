"""A whole run with an agent that floods its output, against ``cat`` into the null device."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from tests.bench.table import Row, installed

MEMORY = 80.0  # MB
BLOCK = 1 << 20
LINE = b"0123456789abcde" * 4 + b"wxy\n"
LINES = LINE * (BLOCK // len(LINE))
FLOODS = (  # MB a second: an agent that talks prints less than one
    ("1 GB of lines, plain text", "text", 1000, LINES, 10.0),
    ("one line of 200 MB, plain text", "text", 200, b"x" * BLOCK, 50.0),
    ("1 GB of lines, Claude's format", "claude", 1000, LINES, 10.0),
    ("one line of 200 MB, Claude's format", "claude", 200, b"x" * BLOCK, 50.0),
)
PROGRAM = """
import os, sys
with open(sys.argv[1], "rb") as file:
    block = file.read()
for _ in range(int(sys.argv[2])):
    rest = block
    while rest:
        rest = rest[os.write(1, rest):]
"""


def _flood(folder: Path, count: int, block: bytes) -> list[str]:
    (folder / "block").write_bytes(block)
    (folder / "flood.py").write_text(PROGRAM)
    return [sys.executable, "-S", str(folder / "flood.py"), str(folder / "block"), str(count)]


def _whole_run(folder: Path, argv: list[str], output: str) -> tuple[float, float]:
    """Seconds, and the peak of memory in MB of the largest process."""
    root = folder / "repo"
    subprocess.run(["git", "init", "-q", root], check=True)
    (root / "PROMPT.md").write_text("Do the work.\n")
    command = ", ".join(f'"{word}"' for word in argv)
    table = f'[agents.flood]\ncommand = [{command}]\noutput = "{output}"\n'
    (root / "ralph.toml").write_text(table)
    ralph = [sys.executable, "-m", "ralph", "run", "--agent", "flood", "--max", "1"]
    begun = perf_counter()
    child = subprocess.Popen(
        ralph, cwd=root, env=installed(folder), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    said = child.stdout.read() if child.stdout else b""
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 4:  # the cap
        raise RuntimeError(said.decode())
    return perf_counter() - begun, used.ru_maxrss / 1024


def _cat(argv: list[str]) -> float:
    begun = perf_counter()
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as flood:
        subprocess.run(["cat"], stdin=flood.stdout, stdout=subprocess.DEVNULL, check=True)
    return perf_counter() - begun


def rows() -> list[Row]:
    """Speed of the whole run, its start and end included, and its memory."""
    found = []
    for name, output, count, block, speed in FLOODS:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            argv = _flood(folder, count, block)
            seconds, memory = _whole_run(folder, argv, output)
            size = count * BLOCK / 1e6
            ours, base = size / seconds, size / _cat(argv)
            goal = f">= {speed:g} MB/s"
            found.append(Row(name, ours, base, "MB/s", goal, ours >= speed))
            goal = f"< {MEMORY:g} MB"
            row = Row(f"{name}: memory", memory, memory, "MB", goal, memory < MEMORY)
            found.append(row)
    return found
