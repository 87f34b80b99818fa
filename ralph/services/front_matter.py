"""The YAML block at the top of a prompt file, of which only ``ralph:`` is ours (section 11)."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ralph.errors import ConfigError

_BLOCK = re.compile(r"---[ \t]*\r?\n(?P<body>.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.S | re.M)
_HALF = re.compile("[\ud800-\udfff]")  # YAML refuses what stands for bytes that are not UTF-8
_OURS = re.compile(r"""^["']?ralph["']?[ \t]*:(?=\s|$)""", re.M)


class FrontMatter(NamedTuple):
    """``settings`` is our mapping, ``lines`` the line of each dotted key, ``rest`` the prompt.

    ``rest`` is the text without our mapping, and without a block that is then empty.
    """

    settings: Any
    lines: dict[str, int]
    rest: str


def split(text: str, name: str = "prompt") -> FrontMatter:
    """Take the ``ralph:`` mapping out of ``text``; everything else stays as it is.

    A block without it is the person's own and is not even parsed. ``name`` is the file in errors.

    Raises:
        ConfigError: if the block has a ``ralph:`` key and is not valid YAML.
    """
    block = _BLOCK.match(text)
    if block is None or not _OURS.search(block["body"]):
        return FrontMatter({}, {}, text)
    import yaml

    body = _HALF.sub("\ufffd", block["body"])
    try:
        node = yaml.compose(body, Loader=yaml.SafeLoader)
        mapping = yaml.safe_load(body)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 2 if mark else 1
        problem = getattr(error, "problem", None) or "the front matter is not valid YAML"
        raise ConfigError(f"{name}:{line}: {problem}") from None
    if not isinstance(node, yaml.MappingNode) or not isinstance(mapping, dict):
        return FrontMatter({}, {}, text)
    rest = _without(text, block.start("body"), block.end("body"), block.end(), node)
    settings = mapping["ralph"]
    return FrontMatter({} if settings is None else settings, _lines(node), rest)


def below(text: str) -> str:
    """``text`` without a front matter block, whoever's it is."""
    block = _BLOCK.match(text)
    return text[block.end() :] if block else text


def _without(text: str, start: int, end: int, after: int, node: Any) -> str:
    """``text`` without the lines of our key; ``start`` to ``end`` is the block's body."""
    starts = [key.start_mark.line for key, _ in node.value] + [None]
    ours = next(n for n, (key, _) in enumerate(node.value) if key.value == "ralph")
    lines = text[start:end].splitlines(keepends=True)
    kept = lines[: starts[ours]]
    if starts[ours + 1] is not None:
        kept += lines[starts[ours + 1] :]
    if not "".join(kept).strip():
        return text[after:]
    return text[:start] + "".join(kept) + text[end:]


def _lines(node: Any) -> dict[str, int]:
    """Line in the file of each key below ``ralph``, by dotted name; "" is ``ralph`` itself."""
    ours, value = next(pair for pair in node.value if pair[0].value == "ralph")
    found: dict[str, int] = {"": ours.start_mark.line + 2}
    _note_lines(value, "", found)
    return found


def _note_lines(node: Any, prefix: str, found: dict[str, int]) -> None:
    if node.id != "mapping":
        return
    for key, value in node.value:
        name = f"{prefix}{key.value}"
        found[name] = key.start_mark.line + 2
        _note_lines(value, f"{name}.", found)
