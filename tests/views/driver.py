"""Shows a run on the terminal it is started in; obeys one letter a line from a command file."""

from __future__ import annotations

import os
import sys
from datetime import datetime, timedelta
from pathlib import Path

from ralph.core.live import Live
from ralph.services.clock import SystemClock
from ralph.services.keys import Keys
from ralph.views.choose import view_for
from ralph.views.dashboard import Dashboard
from tests.views.story import attempt, ended, judged, started, steering, waiting

ROGUE = (
    "\x1b[31mred\x1b[0m \x1b]0;owned\x07title\n"
    "progress 10%\rprogress 100%\r\n"
    "wide 日本語 e\u0301 👩\u200d👩\u200d👧 ok\n"
    "\x1b[2J\x1b[H\x1b[?1049h\x9b5A escape\n" + "long " * 200 + "\nlast words\n"
)


def main(orders: Path) -> None:
    clock = SystemClock()
    view = view_for(sys.stderr, os.environ, clock)

    def soon() -> datetime:
        return clock.now() + timedelta(seconds=192)

    act = {
        "s": lambda: view.event(started(title="Invoice service")),
        "r": lambda: (
            view.event(attempt(11, calls=11)),
            view.event(steering()),
            view.event(attempt()),
            view.live(Live(tool="Bash: pytest -q")),
        ),
        "t": lambda: view.say(ROGUE),
        "w": lambda: (
            view.event(judged()),
            view.event(waiting(at=clock.now(), until=soon())),
        ),
        "e": lambda: view.event(ended()),
    }
    done = 0
    suspend = view.suspend if isinstance(view, Dashboard) else lambda: None
    resume = view.resume if isinstance(view, Dashboard) else lambda: None
    with Keys(on_suspend=suspend, on_resume=resume) as keys:
        while True:
            text = orders.read_text() if orders.exists() else ""
            for letter in text[done:]:
                if letter == "x":
                    view.close()
                    return
                act[letter]()
            done = len(text)
            view.tick()
            for request in keys.poll():
                with orders.with_suffix(".keys").open("a") as file:
                    file.write(f"{request.request}\n")
            clock.pause(0.05)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
