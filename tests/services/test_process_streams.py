"""The three streams of an agent: all bytes, no waiting, flat memory (A3, A4, A12, A14, A17)."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from ralph.core.facts import EndedBy
from ralph.errors import StorageError
from tests.support.supervised import LONG, Noting, Supervised, stop_when
from tests.support.world import Script

MB = 1 << 20
ODD = b"\xff\xfe half \xc3 NUL \x00 lone \xed\xa0\x80 end\r\n\x1b[31m"


@pytest.fixture
def box(tmp_path: Path) -> Supervised:
    return Supervised(tmp_path)


def test_a3_much_on_stderr_before_any_stdout(box: Supervised, script: Script) -> None:
    left = box.run(script("import sys; sys.stderr.write('e' * 300_000); print('done')"))
    assert (left.exit_code, box.out, box.err) == (0, b"done\n", b"e" * 300_000)
    assert (left.stdout_bytes, left.stderr_bytes) == (5, 300_000)


def test_a4_the_files_keep_the_very_bytes(box: Supervised, script: Script) -> None:
    box.run(script(f"import os\nfor byte in {ODD!r}: os.write(1, bytes([byte]))"))
    assert box.out == ODD
    assert (box.folder / "out").stat().st_mode & 0o777 == 0o600


def test_a4_files_are_appended_to(box: Supervised) -> None:
    for _ in range(2):
        box.run(["echo", "again"])
    assert box.out == b"again\nagain\n"


def test_a12_one_line_of_50_mb_is_kept_whole_in_flat_memory(
    box: Supervised, script: Script
) -> None:
    flood = script("import sys\nfor _ in range(50): sys.stdout.write('x' * (1 << 20))")
    program = """
    import json, resource, sys
    from pathlib import Path
    from tests.support.supervised import Supervised
    def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    box = Supervised(Path(sys.argv[1]))
    box.run(["true"])
    before = peak()
    left = box.run(sys.argv[2:])
    print(json.dumps([left.exit_code, left.stdout_bytes, peak() - before]))
    """
    done = subprocess.run(
        [*script(program), str(box.folder), *flood],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *sys.path]),
        },
        stdout=subprocess.PIPE,
        check=True,
    )
    code, size, grown = json.loads(done.stdout)
    assert (code, size, len(box.out)) == (0, 50 * MB, 50 * MB)
    assert grown < 20 * 1024  # KiB


def test_a12_a_flood_delays_neither_tick_nor_limit(box: Supervised) -> None:
    quiet: list[float] = []

    def tick(seconds: float) -> None:
        quiet.append(seconds)

    left = box.run(["sh", "-c", "yes 2>&1"], tick=tick, hard=1.5, stdout=Path(os.devnull))
    assert left.ended_by is EndedBy.HARD
    assert left.stdout_bytes > MB
    assert len(quiet) >= 4


def test_a12_what_is_still_in_the_pipe_at_the_end_is_not_lost(
    box: Supervised, script: Script
) -> None:
    class Slow(Noting):
        def hear(self, _stream: str, chunk: bytes) -> bool:
            threading.Event().wait(0.3)  # the agent is long gone after the first part
            return super().hear(_stream, chunk)

    left = box.run(script("import os; os.write(1, b'x' * 1_000_000)"), Slow())
    assert (left.exit_code, len(box.out)) == (0, 1_000_000)


@pytest.mark.parametrize("program", ["pass", "import os, time; os.close(0); time.sleep(0.3)"])
def test_a14_an_agent_that_reads_no_stdin_blocks_nothing(
    box: Supervised, script: Script, program: str
) -> None:
    left = box.run(script(program), stdin=b"p" * 5 * MB)
    assert (left.ended_by, left.exit_code, left.problem) == (EndedBy.EXIT, 0, "")


def test_a14_a_sleeper_with_a_full_stdin_meets_its_limit(box: Supervised) -> None:
    assert box.run(["sleep", "300"], stdin=b"p" * 5 * MB, hard=0.5).ended_by is EndedBy.HARD


@pytest.mark.parametrize("size", [0, 200_000, 5 * MB])
def test_a8_a_prompt_of_any_size_arrives_whole(box: Supervised, script: Script, size: int) -> None:
    prompt = os.urandom(size)
    program = "import hashlib, sys; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())"
    assert box.run(script(program), stdin=prompt).exit_code == 0
    assert box.out.decode().strip() == hashlib.sha256(prompt).hexdigest()


def test_a17_without_a_prompt_stdin_is_empty_and_there_is_no_terminal(
    box: Supervised, script: Script
) -> None:
    program = """
    import os, sys
    assert sys.stdin.read() == "" and os.path.samestat(os.fstat(0), os.stat("/dev/null"))
    try:
        open("/dev/tty")
    except OSError:
        print("none")
    """
    assert box.run(script(program)).exit_code == 0
    assert box.out == b"none\n"


def test_a19_an_output_file_deleted_on_the_way_comes_back_whole_while_it_runs(
    box: Supervised,
) -> None:
    command = "echo one; while [ ! -e back ]; do sleep 0.02; done; echo two"

    deleted = False

    def tick(_: float) -> None:
        nonlocal deleted
        if deleted and (box.folder / "out").exists():
            (box.folder / "back").touch()
        elif not deleted and box.out:
            (box.folder / "out").unlink()
            deleted = True

    assert box.run(["sh", "-c", command], tick=tick, hard=30.0).ended_by is EndedBy.EXIT
    assert box.out == b"one\ntwo\n"


# K-14
def test_k14_a_full_disk_ends_the_agent_before_it_is_told(box: Supervised) -> None:
    start = time.monotonic()
    with pytest.raises(StorageError) as caught:
        box.run(["sh", "-c", "echo out; sleep 300"], stdout=Path("/dev/full"))
    assert time.monotonic() - start < LONG / 2
    assert caught.value.full
    assert not box.left()


# K-14
def test_k14_a_file_that_cannot_be_made_is_told_before_any_start(box: Supervised) -> None:
    (box.folder / "file").touch()
    with pytest.raises(StorageError):
        box.run(["touch", "started"], stdout=box.folder / "file" / "out")
    assert not (box.folder / "started").exists()


def test_the_ear_gets_both_streams_as_they_come(box: Supervised) -> None:
    ear = Noting()
    stop = stop_when(lambda: b"one" in ear.last and b"two" in ear.last)
    left = box.run(["sh", "-c", "printf one; printf two >&2; sleep 300"], ear, stop)
    assert left.ended_by is EndedBy.STOP
