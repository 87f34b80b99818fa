"""How fast the reader of Claude's stream is, next to decoding the same lines and nothing else."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import msgspec

from tests.bench.table import Row
from tests.support.claude import answers, calls, init, reader, result, says, stream

SIZE = 20_000_000  # bytes of stream
CHUNK = 256 << 10
ROUNDS = 3
SHARE = 0.10  # of what bare msgspec decodes


def rows() -> list[Row]:
    """Two streams, each against ``json.loads`` and ``msgspec.json.decode`` of its lines."""
    found = []
    for name, turn in (("ordinary", _turn), ("large tool results", _heavy_turn)):
        whole = _stream(turn)
        lines = whole.splitlines()
        ours = _speed(len(whole), lambda whole=whole: _read(whole))
        plain = _speed(len(whole), lambda lines=lines: [json.loads(line) for line in lines])
        bare = _speed(len(whole), lambda lines=lines: [msgspec.json.decode(x) for x in lines])
        found += [
            _row(f"claude stream, {name}, against json.loads", ours, plain, "no goal", met=True),
            _row(
                f"claude stream, {name}, against msgspec",
                ours,
                bare,
                f">= {SHARE:.0%} of bare decoding",
                met=ours >= SHARE * bare,
            ),
        ]
    return found


def _row(name: str, ours: float, baseline: float, goal: str, *, met: bool) -> Row:
    return Row(name=name, ours=ours, baseline=baseline, unit="MB/s", goal=goal, met=met)


def _turn(number: int) -> bytes:
    ident = f"t{number}"
    said = "I read the file, then change the function and run its tests again. " * 4
    return stream(
        says(said, f"m{number}"),
        calls(
            ident, "Bash", {"command": f"pytest -q tests/test_{number}.py"}, message=f"m{number}"
        ),
        answers(ident, f"{number} passed in 0.{number}s\n" * 20),
    )


def _heavy_turn(number: int) -> bytes:
    ident = f"t{number}"
    listing = "".join(f"{n:6}  value_{n} = compute(a, b)\n" for n in range(800))
    return stream(calls(ident, "Read", {"file_path": f"a{number}.py"}), answers(ident, listing))


def _stream(turn: Callable[[int], bytes]) -> bytes:
    parts, size, number = [stream(init())], 0, 0
    while size < SIZE:
        parts.append(turn(number))
        size += len(parts[-1])
        number += 1
    return b"".join([*parts, stream(result())])


def _read(whole: bytes) -> None:
    listener = reader()
    for at in range(0, len(whole), CHUNK):
        listener.hear("stdout", whole[at : at + CHUNK])
    assert listener.reading().final_text == "All done."


def _speed(size: int, work: Callable[[], object]) -> float:
    """MB/s, the best of some rounds."""
    best = float("inf")
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begun)
    return size / best / 1e6
