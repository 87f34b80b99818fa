"""One frame of the dashboard as styled lines that fit the terminal exactly (L-26)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from rich.cells import cell_len, set_cell_size

from ralph.core.events import WaitReason
from ralph.core.live import Live
from ralph.views.board import Board, Doing
from ralph.views.rows import Row, optional_rows, required_rows
from ralph.views.texts import ascii_only, one_line

Span = tuple[str, str]  # text, style
Line = list[Span]

LABEL = 13  # cells from the start of a label to its value
BAR_AT = 18  # cells from the start of a value to its bar
BAR = 30  # longest bar
WIDEST = 100  # the box; what the agent says may use the whole width
BOXED = 24  # narrowest terminal that gets a box
FIXED = 9  # required rows, borders and footer
# What a row of space is used for, most wanted first; what is left goes to the agent's words.
WANTED = ("Ladder", "say", "Task", "Elapsed", "say", "Tool", "Completion", "Tokens", "gap", "gap")
SACRIFICE = ("API Calls", "Same Error", "No Progress", "Tasks", "Iteration")


@dataclass(frozen=True)
class Signs:
    """The characters of the box and its bars."""

    corners: tuple[str, str, str, str]  # in the order of reading
    side: str
    rule: str
    full: str
    empty: str
    more: str


UTF8 = Signs(corners=("╭", "╮", "╰", "╯"), side="│", rule="─", full="━", empty="─", more="…")
ASCII = Signs(corners=("+", "+", "+", "+"), side="|", rule="-", full="#", empty=".", more="...")


@dataclass(frozen=True)
class Scene:
    """Everything a frame shows."""

    board: Board
    live: Live
    said: Sequence[str]  # clean lines, newest last
    elapsed: float  # seconds
    now: datetime
    width: int
    height: int
    utf8: bool = True
    keys: bool = True  # whether keys are read


def frame(scene: Scene) -> list[Line]:
    """At most ``height`` lines of at most ``width`` cells; as many while the run goes on."""
    signs = UTF8 if scene.utf8 else ASCII
    required = required_rows(scene.board, scene.live, scene.now)
    boxed = scene.height >= FIXED - 1 and scene.width >= BOXED
    if not boxed:
        kept = _most_important(required, scene.height)
        return [_fit(_row(row, scene.width, scene, signs), scene.width, signs) for row in kept]
    footer = _footer(scene) if scene.height >= FIXED else []
    notes = _notes(scene)[: max(0, scene.height - FIXED)]
    spare = max(0, scene.height - FIXED - len(notes))
    optional = optional_rows(scene.board, scene.live, scene.elapsed)
    chosen, gaps, room = _share(spare, {row.label for row in optional})
    inside = [*required, *(row for row in optional if row.label in chosen)]
    width = min(scene.width, WIDEST)
    lines = _box(inside, width, scene, signs, gap=gaps > 1 and len(inside) > len(required))
    lines += [_fit(note, scene.width, signs) for note in notes]
    lines += _said(scene, room, signs)
    lines += [[("", "")]] * (gaps > 0 and bool(footer))
    return lines + [_fit(line, scene.width, signs) for line in footer]


def _most_important(rows: Sequence[Row], height: int) -> list[Row]:
    dropped = set(SACRIFICE[: max(0, len(rows) - max(1, height))])
    return [row for row in rows if row.label not in dropped]


def _share(spare: int, labels: set[str]) -> tuple[set[str], int, int]:
    """Rows to show, blank lines, and lines for the agent's words, out of ``spare`` lines."""
    wanted = [want for want in WANTED if want in labels or want in ("say", "gap")]
    given = wanted[:spare]
    room = given.count("say") + max(0, spare - len(wanted))
    return set(given) & labels, given.count("gap"), room


def _box(rows: Sequence[Row], width: int, scene: Scene, signs: Signs, *, gap: bool) -> list[Line]:
    left, right, low_left, low_right = signs.corners
    title = f"RALPH LOOP - {one_line(scene.board.title)}"
    title = _crop(_plain(title, scene), width - 6, signs)
    rest = signs.rule * (width - 5 - cell_len(title))
    lines: list[Line] = [
        [(f"{left}{signs.rule} ", "dim"), (title, "bold"), (f" {rest}{right}", "dim")]
    ]
    inner = width - 4
    for number, row in enumerate(rows):
        if gap and number == 6:
            lines.append(_framed([("", "")], inner, signs))
        lines.append(_framed(_row(row, inner, scene, signs), inner, signs))
    lines.append([(f"{low_left}{signs.rule * (width - 2)}{low_right}", "dim")])
    return lines


def _framed(line: Line, inner: int, signs: Signs) -> Line:
    fitted = _fit(line, inner, signs)
    blank = " " * (inner - sum(cell_len(text) for text, _ in fitted))
    return [(f"{signs.side} ", "dim"), *fitted, (blank, ""), (f" {signs.side}", "dim")]


def _row(row: Row, width: int, scene: Scene, signs: Signs) -> Line:
    """Label and the longest of the row's texts that fits, with a bar where there is room."""
    narrow = width < LABEL + 12
    label = row.label.ljust(LABEL - 1 if narrow else LABEL)
    room = width - len(label)
    texts = [_plain(text, scene) for text in row.texts]
    text = next((t for t in texts if cell_len(t) <= room), texts[-1])
    line: Line = [(label, "dim"), (text, row.style)]
    bar = min(BAR, room - BAR_AT)
    if row.share is not None and bar >= 10 and cell_len(text) < BAR_AT:
        done = round(bar * min(1.0, row.share))
        line.append((" " * (BAR_AT - cell_len(text)), ""))
        line += [(signs.full * done, "cyan"), (signs.empty * (bar - done), "dim")]
    return line


def _said(scene: Scene, room: int, signs: Signs) -> list[Line]:
    lines = scene.said[-room:] if room else []
    shown = [_fit([(f"  {_plain(line, scene)}", "")], scene.width, signs) for line in lines]
    running = scene.board.doing is not Doing.ENDED
    blank: Line = [("", "")]
    return shown + [blank] * (room - len(shown) if running else 0)


def _notes(scene: Scene) -> list[Line]:
    board, notes = scene.board, []
    if board.held:
        changes = ", ".join(f"{key} {old} → {new}" for key, (old, new) in board.held.items())
        text = f"config changed by the agent? press a to accept: {changes}"
        notes.append([(f"  {_plain(one_line(text), scene)}", "yellow")])
    if board.warning:
        notes.append([(f"  ! {_plain(one_line(board.warning), scene)}", "yellow")])
    return notes


def _footer(scene: Scene) -> list[Line]:
    """The keys that do something now, in the longest wording that fits."""
    board = scene.board
    if not scene.keys or board.doing is Doing.ENDED:
        return []
    paused = board.pause_wanted or board.doing is Doing.PAUSED
    go_on = "continue" if paused else "pause"
    keys = [("p", go_on, go_on), ("q", "stop after this", "stop after"), ("Q", "stop now", "stop")]
    if board.wait is not None and board.wait.reason is not WaitReason.RATE:
        keys.append(("n", "skip the wait", "skip"))
    if board.held:
        keys.append(("a", "accept", "accept"))
    long, short = ([(key, text[form]) for key, *text in keys] for form in (0, 1))
    fits = sum(len(key) + len(text) + 3 for key, text in long) - 1 <= scene.width
    line: Line = []
    for key, what in long if fits else short:
        line += [(f"  {key}" if line else f" {key}", "bold"), (f" {what}", "dim")]
    return [line]


def _plain(text: str, scene: Scene) -> str:
    return text if scene.utf8 else ascii_only(text)


def _fit(line: Line, width: int, signs: Signs) -> Line:
    """``line`` cut to ``width`` cells, with a sign where something is cut away."""
    if sum(cell_len(text) for text, _ in line) <= width:
        return line
    fitted: Line = []
    left = width
    for text, style in line:
        cells = cell_len(text)
        if cells >= left:
            return [*fitted, (_crop(text + " " * (cells == left), left, signs), style)]
        fitted.append((text, style))
        left -= cells
    return fitted


def _crop(text: str, width: int, signs: Signs) -> str:
    if cell_len(text) <= width:
        return text
    more = signs.more[: max(0, width)]
    return set_cell_size(text, max(0, width - len(more))) + more
