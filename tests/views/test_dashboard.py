"""The dashboard on a real pseudo-terminal: few frames, no harm, never in the way (F3, L-26)."""

from __future__ import annotations

import os
import pty
import re
import termios
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import pytest

from ralph.core.live import Live
from ralph.views.dashboard import KEPT, Dashboard, Words
from ralph.views.guard import Guarded
from ralph.views.terminal import Looks, Screen
from tests.support.world import eventually
from tests.views.story import FakeClock, Reports, attempt, ended, judged, started, waiting

COLOUR = re.compile(r"\x1b\[(?:\d+;)*(?:3[0-7]|38;[\d;]+)m")
MARK = b"\x00mark"
FULL = Looks(terminal=True, utf8=True, colour=True)


class Tty:
    """Both ends of a pseudo-terminal."""

    def __init__(self, columns: int = 80, rows: int = 24) -> None:
        self.got = b""
        self.master, slave = pty.openpty()
        os.set_blocking(self.master, False)
        self.stream = open(slave, "w", encoding="utf-8")  # noqa: PTH123, SIM115
        self.resize(columns, rows)
        self.screen = Screen(self.stream)

    def resize(self, columns: int, rows: int) -> None:
        termios.tcsetwinsize(self.stream.fileno(), (rows, columns))

    def read(self) -> str:
        """What has been written since the last read; a mark behind it says that all is here."""
        self._take()
        os.write(self.stream.fileno(), MARK)
        assert eventually(lambda: self._take().endswith(MARK))
        text, self.got = self.got.removesuffix(MARK).decode(), b""
        return text

    def _take(self) -> bytes:
        with suppress(BlockingIOError):
            while True:
                self.got += os.read(self.master, 65_536)
        return self.got

    def hang_up(self) -> None:
        os.close(self.master)
        self.master = -1

    def close(self) -> None:
        if self.master >= 0:
            self.read()
        self.screen.close()
        self.stream.close()
        if self.master >= 0:
            os.close(self.master)


@pytest.fixture
def tty() -> Iterator[Tty]:
    made = Tty()
    yield made
    made.close()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def frames(text: str) -> int:
    return text.count("RALPH LOOP")


def test_at_most_four_frames_a_second_and_none_without_a_change(tty: Tty, clock: FakeClock) -> None:
    view = Dashboard(tty.screen, FULL, clock)
    view.event(started())
    assert frames(tty.read()) == 1
    for n in range(100):  # one second, much to say
        view.say(f"line {n}\n")
        clock.forward(0.01)
        view.tick()
    assert 3 <= frames(tty.read()) <= 5
    clock.forward(0.25)
    view.tick()
    tty.read()
    for _ in range(200):  # ten seconds, nothing to say: only the clock moves
        clock.forward(0.05)
        view.tick()
    assert 9 <= frames(tty.read()) <= 11


def test_saying_and_living_draw_nothing_by_themselves(tty: Tty, clock: FakeClock) -> None:
    view = Dashboard(tty.screen, FULL, clock)
    view.event(started())
    tty.read()
    clock.forward(60)
    view.say("words\n" * 100)
    view.live(Live(tool="Bash: make"))
    assert tty.read() == ""
    view.tick()
    text = tty.read()
    assert frames(text) == 1
    assert "  words" in text


def test_what_the_agent_does_and_says_is_shown_and_a_new_attempt_begins_empty(
    tty: Tty, clock: FakeClock
) -> None:
    view = Dashboard(tty.screen, FULL, clock)
    view.event(started())
    view.event(attempt())
    clock.forward(1)
    view.live(Live(tool="Bash: make", tail=("from the tail",)))
    view.tick()
    text = tty.read()
    assert "Bash: make" in text
    assert "from the tail" in text
    view.say("said words\n")
    clock.forward(1)
    view.tick()
    assert "said words" in tty.read()
    clock.forward(1)
    view.event(attempt(13))
    text = tty.read()
    assert "said words" not in text
    assert "Bash: make" in text


def test_a22_a_rogue_agent_sends_no_sequence_to_the_terminal(tty: Tty, clock: FakeClock) -> None:
    view = Dashboard(tty.screen, FULL, clock)
    view.event(started(title="T\x1b[2Jitle", started_plan=None))
    view.event(attempt(task="do\x1b]0;x\x07it"))
    view.say("\x1b[2J\x1b[?1049h\x1b]0;owned\x07\x9b5Arogue\n")
    clock.forward(1)
    view.tick()
    text = tty.read()
    assert "rogue" in text
    for sequence in ("\x1b[2J", "\x1b[?1049h", "\x1b]0;", "\x9b"):
        assert sequence not in text


def test_f8_secrets_are_not_shown(tty: Tty, clock: FakeClock) -> None:
    secret = "sk-ant-api03-" + "aB3dE5fG7hJ9" * 3
    view = Dashboard(tty.screen, FULL, clock)
    view.event(started())
    view.say(f"key {secret}\n")
    clock.forward(1)
    view.tick()
    assert secret not in tty.read()


def test_f3_no_color_and_no_utf8_are_respected(tty: Tty, clock: FakeClock) -> None:
    view = Dashboard(tty.screen, replace(FULL, colour=False, utf8=False), clock)
    view.event(started())
    text = tty.read()
    assert not COLOUR.search(text)
    assert text.isascii()
    assert "+- " in text
    coloured = Dashboard(Screen(tty.stream), FULL, clock)
    coloured.event(started())
    assert COLOUR.search(tty.read())


def test_f3_a_new_size_is_seen_at_the_next_tick(tty: Tty, clock: FakeClock) -> None:
    view = Dashboard(tty.screen, FULL, clock)
    view.event(started())
    tty.read()
    for columns, rows in ((40, 12), (20, 5), (1, 1), (200, 50)):
        tty.resize(columns, rows)
        clock.forward(0.3)
        view.tick()
        text = tty.read()
        assert "\x1b[2J" in text
        assert text.count("\n") <= rows


def test_f3_a_terminal_that_takes_nothing_costs_frames_but_no_time(
    tty: Tty, clock: FakeClock
) -> None:
    view = Dashboard(tty.screen, FULL, clock)
    view.event(started())
    for n in range(200):  # nobody reads: the buffer of the terminal is full soon
        view.say(f"line {n}\n")
        clock.forward(1)
        view.tick()
    assert tty.screen.busy
    assert frames(tty.read()) < 100
    clock.forward(1)
    view.tick()
    tty.read()
    clock.forward(1)
    view.tick()
    assert "line 199" in tty.read()


def test_f3_a_closed_terminal_drops_the_view(tty: Tty, clock: FakeClock) -> None:
    reports = Reports()
    view = Guarded(Dashboard(tty.screen, FULL, clock), reports)
    view.event(started())
    tty.hang_up()
    for _ in range(3):
        clock.forward(1)
        view.tick()
    view.close()
    assert len(reports.lines) == 1
    assert reports.lines[0].startswith("Dashboard is off after an error: ")


def test_the_last_frame_stays_and_the_cursor_comes_back(tty: Tty, clock: FakeClock) -> None:
    view = Dashboard(tty.screen, FULL, clock)
    for event in (started(), attempt(), judged(), waiting()):
        view.event(event)
    view.event(ended())
    view.close()
    text = tty.read()
    assert "ESCALATED_TO_HUMAN (no_progress)" in text
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")
    assert text.rindex("\x1b[?7h") > text.rindex("\x1b[?7l")
    assert "\x1b[?1049" not in text
    assert text.rstrip("\x1b[?257hl").endswith("\n")


def test_a_shell_gets_its_cursor_while_ralph_is_stopped(tty: Tty, clock: FakeClock) -> None:
    view = Dashboard(tty.screen, FULL, clock)
    view.event(started())
    tty.read()
    view.suspend()
    assert tty.read() == "\x1b[?25h"
    view.resume()
    clock.forward(1)
    view.tick()
    text = tty.read()
    assert text.startswith("\x1b[?25l")
    assert "\x1b[2J" in text


@pytest.mark.parametrize("piece", [1, 7, 1000, KEPT, 3 * KEPT])
def test_words_keep_the_last_lines_whatever_the_pieces(piece: int) -> None:
    text = "".join(f"line {n}\n" for n in range(20_000))
    words = Words()
    for at in range(0, len(text), piece):
        words.add(text[at : at + piece])
    lines = words.last(50)
    assert lines == [f"line {n}" for n in range(19_950, 20_000)]
    assert sum(map(len, words._pieces)) <= 2 * KEPT
    words.clear()
    assert words.last(5) == []


def test_words_show_an_endless_line() -> None:
    words = Words()
    for _ in range(100):
        words.add("x" * 1000)
    assert len(words.last(3)) == 1
