"""``ralph config``: which values are in force, where they came from, and what is wrong."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="Show and check the configuration.", no_args_is_help=True, rich_markup_mode=None
)

Prompt = Annotated[Path | None, typer.Argument(help="Prompt file whose front matter counts.")]


@app.command()
def show(
    prompt: Prompt = None,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Print every value in force and where it came from."""
    from ralph.cli.roots import root_of
    from ralph.core.keys import flatten
    from ralph.services.settings import load, spelled

    loaded = load(root_of(Path.cwd()), prompt=prompt, flags={}, environ=os.environ)
    values = {name: spelled(name, value) for name, value in flatten(loaded.policy).items()}
    if as_json:
        rows = {name: {"value": values[name], "source": loaded.sources[name]} for name in values}
        sys.stdout.write(json.dumps(rows, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(_table(values, loaded.sources))
    _tell(loaded.notes)


@app.command()
def check(prompt: Prompt = None) -> None:
    """Read every layer; exit 2 and name each mistake with its file and line."""
    from ralph.cli.front import complain
    from ralph.cli.roots import root_of
    from ralph.services import settings

    root = root_of(Path.cwd())
    problems = settings.check(root, prompt=prompt, environ=os.environ)
    for problem in problems:
        complain(problem.error())
    if problems:
        raise typer.Exit(2)
    _tell(settings.load(root, prompt=prompt, flags={}, environ=os.environ).notes)
    sys.stdout.write("The configuration is valid.\n")


@app.command()
def schema() -> None:
    """Print a JSON Schema of ralph.toml, for editors."""
    from ralph.core.schema import schema as whole

    sys.stdout.write(json.dumps(whole(), indent=2, ensure_ascii=False) + "\n")


@app.command()
def path() -> None:
    """Print the configuration files that are read, lowest first; absent ones are marked."""
    from ralph.cli.roots import root_of
    from ralph.services.stack import config_files

    for file, present in config_files(root_of(Path.cwd())).items():
        sys.stdout.write(f"{file}{'' if present else '  (absent)'}\n")


def _table(values: Mapping[str, object], sources: Mapping[str, str]) -> str:
    lines = {name: f"{name} = {_toml(value)}" for name, value in values.items()}
    width = min(60, max(map(len, lines.values())))
    return "".join(f"{line:<{width}}  # {sources[name]}\n" for name, line in lines.items())


def _toml(value: object) -> str:
    """``value`` as ralph.toml spells it; what has no spelling there says what it means."""
    if value is None:
        return "no cap"
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{_key(name)} = {_toml(each)}" for name, each in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    return json.dumps(value, ensure_ascii=False)


def _key(name: str) -> str:
    bare = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return name if bare else json.dumps(name, ensure_ascii=False)


def _tell(notes: tuple[str, ...]) -> None:
    for note in notes:
        sys.stderr.write(f"note: {note}\n")
