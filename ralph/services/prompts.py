"""The prompt of an iteration: blocks of our own, then the prompt file as it is (X-1, L-30)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from ralph.core.completion import find_claim
from ralph.core.events import Note
from ralph.core.facts import ClaimKind
from ralph.core.markdown import visible
from ralph.errors import ConfigError, UsageError
from ralph.services import disk
from ralph.services.assets import asset
from ralph.services.front_matter import below, split

TITLE = 120  # characters of a heading
_PLACE = re.compile(r"\{(\w+)\}")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(?P<text>.*?)[ \t]*#*[ \t]*")


class PromptFile:
    """One prompt file, read anew for every iteration and never written."""

    def __init__(self, path: Path, markers: Sequence[str]) -> None:
        self._path = path
        self._markers = tuple(markers)

    def compose(self, notes: Sequence[Note]) -> str:
        """Return the blocks of ``notes`` in order, how to claim, and the text of the file (X-1).

        How to claim is told when neither the file nor a block tells it (L-30). The file's text
        comes without its ``ralph:`` front matter; bytes that are not UTF-8 are lone surrogates, to
        be written back with ``surrogateescape``. Without a block it is the file's text alone.

        Raises:
            UsageError: if the file is gone or cannot be read.
            RalphError: if this installation lacks the text of a block.
        """
        prompt = self._text()
        told = _named(prompt, self._markers) or any("marker" in note.values for note in notes)
        how = () if told else (Note(name="how_to_claim", values={"marker": self._markers[0]}),)
        texts = [block(note, self._markers) for note in (*notes, *how)]
        if not texts:
            return prompt
        return "\n\n".join(("<ralph>", *texts, "</ralph>", prompt))

    def _text(self) -> str:
        hint = "put it back, then ralph resume"
        try:
            if not self._path.is_file():
                raise UsageError(f"no prompt file at {self._path}", hint=hint)
            raw = disk.contents(self._path)
        except OSError as error:
            raise UsageError(f"cannot read {self._path}: {error.strerror}", hint=hint) from None
        return without_settings(raw.decode("utf-8", "surrogateescape"))


def without_settings(text: str) -> str:
    """The prompt ``text`` as the agent gets it: no byte order mark, no ``ralph:`` mapping.

    Front matter that became invalid while the run lasts is sent as it is: what it says was fixed
    at the start (B-20), and a night is not lost for it.
    """
    text = text.removeprefix("\ufeff")
    try:
        return split(text).rest
    except ConfigError:
        return text


def block(note: Note, markers: Sequence[str]) -> str:
    """The text of ``note``, from ``prompts/blocks/NAME.md`` with its values put in.

    Values are taken literally, whatever braces they have. A paragraph with a place for an empty or
    absent value is left out. No line is a completion marker alone (C-8).

    Raises:
        RalphError: if this installation has no such block.
    """
    template = asset(f"prompts/blocks/{note.name}.md").read_text("utf-8").strip()
    values = {name: _plain(value) for name, value in note.values.items()}
    kept = [part for part in template.split("\n\n") if all(map(values.get, _PLACE.findall(part)))]
    text = _PLACE.sub(lambda place: values[place[1]], "\n\n".join(kept))
    return "\n".join(_defused(line, markers) for line in text.splitlines())


def _plain(value: str) -> str:
    """``value`` without outer white space and without halves of surrogate pairs."""
    return value.encode("utf-8", "replace").decode().strip()


def _defused(line: str, markers: Sequence[str]) -> str:
    alone = find_claim(line, markers).kind is ClaimKind.SIGNAL
    return f"> {line}" if alone else line


def _named(text: str, markers: Sequence[str]) -> bool:
    return find_claim(text, markers).kind is not ClaimKind.NONE


def heading(text: str) -> str:
    """The first Markdown heading of ``text``, else its first line with words; "" without any.

    Front matter, code and comments do not count; at most 120 characters.
    """
    lines = list(_worded(text))
    found = (_HEADING.fullmatch(line) for line in lines)
    titles = (title["text"] for title in found if title and title["text"])
    return next(titles, next(iter(lines), "")).strip()[:TITLE]


def _worded(text: str) -> Iterator[str]:
    body = below(text.removeprefix("\ufeff"))
    return (line for line in visible(body) if re.search(r"\w", line))
