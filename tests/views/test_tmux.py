"""What a person sees: a real terminal program draws the dashboard (F3, A22)."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.world import eventually

REQUIRED = "tmux" in os.environ.get("RALPH_TEST_REQUIRE", "")
pytestmark = [
    pytest.mark.tmux,
    pytest.mark.skipif(not shutil.which("tmux") and not REQUIRED, reason="needs tmux"),
]
PATH = [str(Path(__file__).parents[2]), *filter(None, sys.path)]
ROWS = ["Iteration", "Tasks", "No Progress", "Same Error", "API Calls", "Status"]


class Tmux:
    """A tmux server of our own with one window."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.orders = folder / "orders"

    def tmux(self, *args: str) -> str:
        argv = ["tmux", "-f", "/dev/null", "-S", str(self.folder / "s"), *args]
        env = {k: v for k, v in os.environ.items() if k not in ("TMUX", "TMUX_PANE")}
        env |= {"LANG": "C.UTF-8", "SHELL": "/bin/sh"}
        return subprocess.run(argv, env=env, capture_output=True, text=True, check=True).stdout

    def start(self, columns: int, rows: int, **environ: str) -> None:
        environ = {"PYTHONPATH": os.pathsep.join(PATH), "LANG": "C.UTF-8"} | environ
        words = ["env", "-u", "LC_ALL", "-u", "LC_CTYPE", "-u", "NO_COLOR"]
        words += [f"{name}={value}" for name, value in environ.items()]
        words += [sys.executable, "-m", "tests.views.driver", str(self.orders)]
        line = f"{shlex.join(words)}; echo finished with $?; exec cat"
        size = ["-x", str(columns), "-y", str(rows)]
        self.tmux("new-session", "-d", *size, line)

    def order(self, letters: str) -> None:
        with self.orders.open("a") as file:
            file.write(letters)

    def lines(self, *flags: str) -> list[str]:
        return self.tmux("capture-pane", "-p", *flags).rstrip("\n").split("\n")

    def shows(self, *words: str) -> list[str]:
        """The screen once it shows all of ``words``."""
        assert eventually(lambda: all(w in "\n".join(self.lines()) for w in words), 30), (
            words,
            self.lines(),
        )
        return self.lines()


@pytest.fixture
def tmux() -> Iterator[Tmux]:
    folder = Path(tempfile.mkdtemp(prefix="rv-", dir="/tmp"))  # a socket's path has to be short
    made = Tmux(folder)
    yield made
    subprocess.run(
        ["tmux", "-S", str(folder / "s"), "kill-server"], capture_output=True, check=False
    )
    shutil.rmtree(folder)


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (40, 12), (200, 50)])
def test_a_run_looks_right_from_start_to_end(tmux: Tmux, columns: int, rows: int) -> None:
    tmux.start(columns, rows)
    tmux.order("srt")
    screen = tmux.shows("last words", "Running (claude)", "steering")
    width = min(columns, 100)
    assert screen[0] == "╭─ RALPH LOOP - Invoice service " + "─" * (width - 33) + "╮"
    assert [line[2:15].strip() for line in screen[1:7]] == ROWS
    box = [line for line in screen if line.startswith("│")]
    assert {line[-1] for line in box} == {"│"}
    assert screen[-1] == " p pause  q stop after this  Q stop now"
    assert len(screen) == rows
    if rows > 12:
        assert "  red title" in screen
        assert "  progress 100%" in screen
        assert any(line.startswith("  wide 日本語 e\u0301 ") for line in screen)
    tmux.order("w")
    tmux.shows("Waiting (rate limit) - 3m " if columns > 40 else "Waiting - 3m ")
    tmux.order("ex")
    tmux.shows("ESCALATED_TO_HUMAN", "finished with 0")
    screen = tmux.lines("-S", "-")
    assert sum(line.startswith("╭─ RALPH LOOP") for line in screen) == 1
    assert screen[-1] == "finished with 0"
    assert "pause" not in "\n".join(screen)


def test_f3_a_resized_pane_is_drawn_anew_without_leftovers(tmux: Tmux) -> None:
    tmux.start(80, 24)
    tmux.order("srt")
    tmux.shows("last words")
    for columns, rows in ((40, 12), (20, 5), (100, 30), (80, 24)):
        tmux.tmux("resize-window", "-x", str(columns), "-y", str(rows))

        def fits(columns: int = columns, rows: int = rows) -> bool:
            screen = tmux.lines()
            if columns < 24:
                return len(screen) == rows and screen[0] == "Iteration   12 / 20"
            titles = [line for line in screen if "RALPH LOOP" in line]
            return titles == screen[:1] and (len(titles[0]), len(screen)) == (columns, rows)

        assert eventually(fits, 20), tmux.lines()


def test_f3_what_was_on_the_screen_before_stays_above(tmux: Tmux) -> None:
    tmux.start(80, 24)
    tmux.order("sex")
    tmux.shows("finished with 0")
    history = "\n".join(tmux.lines("-S", "-100"))
    assert history.count("RALPH LOOP") == 1


def test_keys_reach_the_run(tmux: Tmux) -> None:
    tmux.start(80, 24)
    tmux.order("sr")
    tmux.shows("Running (claude)")
    asked = tmux.orders.with_suffix(".keys")
    for key, request in (("p", "pause"), ("Up", ""), ("Q", "stop_now"), ("q", "stop_after")):
        before = asked.read_text() if asked.exists() else ""
        tmux.tmux("send-keys", key)
        if request:
            wanted = f"{before}{request}\n"
            assert eventually(lambda w=wanted: asked.exists() and asked.read_text() == w, 20)
    tmux.order("x")
    tmux.shows("finished with 0")


def test_f3_no_color_means_no_colour(tmux: Tmux) -> None:
    tmux.start(80, 24, NO_COLOR="1")
    tmux.order("srt")
    tmux.shows("last words")
    coloured = "\n".join(tmux.lines("-e"))
    for number in (31, 32, 33, 34, 35, 36):
        assert f"[{number}m" not in coloured


def test_f3_a_locale_without_utf8_gets_ascii(tmux: Tmux) -> None:
    tmux.start(80, 24, LANG="C")
    tmux.order("srt")
    screen = tmux.shows("last words")
    assert all(line.isascii() for line in screen)
    assert screen[0].startswith("+- RALPH LOOP - Invoice service ---")
    assert screen[-1] == " p pause  q stop after this  Q stop now"


def test_f3_a_dumb_terminal_gets_lines(tmux: Tmux) -> None:
    tmux.start(80, 24, TERM="dumb")
    tmux.order("srtwex")
    screen = "\n".join(tmux.shows("finished with 0"))
    assert "RALPH LOOP" not in screen
    assert "Iteration 12 / 20: tasks 18 / 24 (75%)" in screen
    assert "Run ended: ESCALATED_TO_HUMAN" in screen
