"""``ralph config``: what is in force, where it comes from, and whether it is right."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="Show and check the configuration.", no_args_is_help=True, rich_markup_mode=None
)
PromptOption = Annotated[
    Path | None, typer.Option("--prompt", help="Prompt file whose front matter counts.")
]


@app.command()
def show(
    prompt: PromptOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Print every value in force and where it comes from."""
    from ralph.cli.roots import root_of
    from ralph.core.keys import flatten
    from ralph.services.settings import load, spelled

    loaded = load(root_of(Path.cwd()), prompt=prompt, flags={}, environ=os.environ)
    rows = {
        name: {"value": spelled(name, value), "source": loaded.sources.get(name, "built-in")}
        for name, value in flatten(loaded.policy).items()
    }
    if as_json:
        sys.stdout.write(json.dumps(rows, indent=2, ensure_ascii=False) + "\n")
        return
    width = max(map(len, rows))
    for name, row in rows.items():
        value = json.dumps(row["value"], ensure_ascii=False)
        sys.stdout.write(f"{name:<{width}}  {value}  ({row['source']})\n")
    for note in loaded.notes:
        sys.stderr.write(f"note: {note}\n")


@app.command()
def check(prompt: PromptOption = None) -> None:
    """Read every layer; exit code 2 and one line for each thing that is wrong."""
    from ralph.cli.roots import root_of
    from ralph.services.settings import check as find_problems

    found = find_problems(root_of(Path.cwd()), prompt=prompt, environ=os.environ)
    for problem in found:
        sys.stderr.write(f"error: {problem.text}\n")
        if problem.hint:
            sys.stderr.write(f"hint: {problem.hint}\n")
    if found:
        raise typer.Exit(2)
    sys.stdout.write("the configuration is right\n")


@app.command()
def schema() -> None:
    """Print a JSON Schema of ralph.toml."""
    import msgspec

    from ralph.core.policy import Policy

    written = msgspec.json.schema(Policy)
    sys.stdout.write(json.dumps(written, indent=2) + "\n")


@app.command()
def path() -> None:
    """Print the configuration files that are read, strongest last."""
    from ralph.cli.roots import root_of
    from ralph.services.stack import read_files

    for name in read_files(root_of(Path.cwd())).texts:
        sys.stdout.write(f"{name}\n")
