"""Lines for pipes and dumb terminals; views that fail are dropped, never the run (F3)."""

from __future__ import annotations

import io
from datetime import timedelta
from pathlib import Path

import pytest

from ralph.core.events import AnyEvent, Noted
from ralph.core.live import Live
from ralph.views.choose import view_for
from ralph.views.guard import Guarded, Views
from ralph.views.plain import Plain
from ralph.views.terminal import Looks, Printer, looks
from tests.views.story import (
    START,
    FakeClock,
    Reports,
    attempt,
    ended,
    judged,
    observed,
    started,
    steering,
    waiting,
)

BARE = Looks(terminal=False, utf8=True, colour=False)
STORY = (
    started(),
    attempt(11),
    observed(11),
    steering(),
    waiting(),
    attempt(),
    observed(),
    judged(),
)


def printed(*events: AnyEvent, look: Looks = BARE) -> list[str]:
    stream = io.StringIO()
    view = Plain(Printer(stream, look))
    for event in events:
        view.event(event)
        view.say("words\n")
        view.live(Live(tool="Bash"))
        view.tick()
    view.close()
    return stream.getvalue().splitlines()


# L-26
def test_l26_one_line_an_iteration_and_lines_for_waits_levels_and_the_end() -> None:
    lines = printed(*STORY, ended())
    assert len(lines) == 5
    assert lines[0] == (
        "Iteration 12 / 20: tasks 18 / 24 (75%), no progress 2/3 (+1 exploring), same error 0/5, "
        "completion 0/2, ladder steering, 12/100 calls, 1h 05m 01s"
    )
    assert lines[1] == "Breaker: healthy → steering (no progress in 2 iterations)"
    assert lines[2].startswith("Waiting (rate limit) until ")
    assert lines[3].startswith("Iteration 12 / 20: ")
    assert lines[4] == ("Run ended: ESCALATED_TO_HUMAN / no_progress: No progress for 3 iterations")


# L-22
def test_l22_a_nearly_full_window_is_warned_of() -> None:
    assert printed(started(), attempt(calls=89)) == []
    assert printed(started(), attempt(calls=90)) == [
        "Warning: 90 of 100 launches of this hour are used"
    ]


def test_f8_lines_are_clean_and_masked() -> None:
    secret = "sk-ant-api03-" + "aB3dE5fG7hJ9" * 4
    lines = printed(started(), Noted(at=START, text=f"\x1b[2Jhook\nsaid {secret}"))
    assert len(lines) == 1
    assert lines[0].startswith("hook said ")
    assert secret not in lines[0]


def test_f3_without_utf8_lines_are_ascii_and_without_colour_they_are_bare() -> None:
    ascii_look = Looks(terminal=False, utf8=False, colour=False)
    assert all(line.isascii() for line in printed(*STORY, look=ascii_look))
    stream = io.StringIO()
    Printer(stream, Looks(terminal=True, utf8=True, colour=True)).block(["a", "b"], "red")
    assert stream.getvalue() == "\x1b[1;31ma\x1b[0m\nb\n"


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"TERM": "xterm", "LANG": "de_DE.UTF-8"}, (True, True, True)),
        ({"TERM": "xterm", "LC_ALL": "C", "LANG": "de_DE.UTF-8"}, (True, False, True)),
        ({"TERM": "xterm", "LANG": "C", "LC_CTYPE": "C.UTF-8"}, (True, False, True)),
        ({"TERM": "xterm", "LC_CTYPE": "UTF-8"}, (True, True, True)),
        ({"TERM": "xterm", "LANG": "C.UTF-8", "NO_COLOR": "1"}, (True, True, False)),
        ({"TERM": "dumb", "LANG": "C.UTF-8"}, (False, True, False)),
        ({"LANG": "C.UTF-8"}, (False, True, False)),
    ],
)
def test_f3_what_a_terminal_can_show(
    environ: dict[str, str], expected: tuple[bool, bool, bool]
) -> None:
    assert looks(Terminal(), environ) == Looks(*expected)


def test_f3_no_terminal_and_dumb_terminals_get_plain_lines(tmp_path: Path) -> None:
    with (tmp_path / "err").open("w") as stream:
        assert isinstance(view_for(stream, {"TERM": "xterm"}, FakeClock()), Plain)
    assert isinstance(view_for(Terminal(), {"TERM": "dumb"}, FakeClock()), Plain)


class Broken:
    """A view whose terminal has gone."""

    def __init__(self) -> None:
        self.asked = 0

    def event(self, _event: object) -> None:
        self.asked += 1
        raise OSError(5, "Input/output error")

    live = say = event

    def tick(self) -> None:
        raise ValueError("I/O operation on closed file")

    def close(self) -> None:
        raise OSError(5, "Input/output error")


def test_f3_a_failing_view_is_reported_once_and_dropped() -> None:
    broken, reports = Broken(), Reports()
    view = Guarded(broken, reports)
    for event in STORY:
        view.event(event)
        view.live(Live())
        view.say("x")
        view.tick()
    view.close()
    assert broken.asked == 1
    assert reports.lines == ["Broken is off after an error: OSError: [Errno 5] Input/output error"]


def test_f3_one_failing_view_leaves_the_others_alone() -> None:
    stream, reports = io.StringIO(), Reports()
    views = Views([Broken(), Plain(Printer(stream, BARE))], reports)
    for event in STORY:
        views.event(event)
        views.live(Live())
        views.say("x")
        views.tick()
    views.close()
    assert len(stream.getvalue().splitlines()) == 4
    assert len(reports.lines) == 1


def test_a_report_that_shows_itself_in_the_views_does_not_go_round_in_circles() -> None:
    views = Views([Broken()], lambda text: views.event(Noted(at=START, text=text, warning=True)))
    views.event(started())
    views.close()


def test_elapsed_of_a_clock_that_was_set_back_is_zero() -> None:
    late = started(at=START + timedelta(days=1))
    assert printed(late, judged())[0].endswith("0s")
