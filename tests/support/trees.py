"""Working trees under watch: a repository, its WorkTree, and what git says of the repository."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from ralph.core.facts import Tree
from ralph.services.places import state_home
from ralph.services.tree import WorkTree

IGNORE = ("progress.txt", "progress.md", "*.log")


def watch(root: Path, *, plan: str = "PLAN.md", ignore: Sequence[str] = IGNORE) -> WorkTree:
    return WorkTree(root, state=state_home(), plan=root / plan, ignore=ignore)


def seen(tree: WorkTree) -> Tree:
    """A snapshot that must be possible."""
    taken = tree.snapshot()
    assert taken is not None, tree.problems
    return taken


def listing(folder: Path) -> dict[str, str]:
    """Every file below ``folder`` with a hash of its content."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        elif path.is_file():
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found
