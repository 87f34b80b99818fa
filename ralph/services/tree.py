"""The working tree as content: snapshots, their difference, and what is kept for rescue."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from ralph.core.events import AnyEvent, IterationObserved, RunStarted
from ralph.core.facts import PlanRead, Tree, TreeDelta
from ralph.services.capped import Capped
from ralph.services.git import GitFailed, installed, pattern
from ralph.services.identity import Excluded, progress_id
from ralph.services.planfile import read_plan
from ralph.services.private_index import PrivateIndex
from ralph.services.repository import Repository, keep_out, locate
from ralph.services.snapshots import Store, store_folder
from ralph.services.treediff import Change, changes, only, printable, seal, summed

_MOST_PROBLEMS = 20
_MOST_BARE = 100  # newest snapshots that are known to leave nothing out


def prepare(root: Path) -> None:
    """Keep ``.ralph/`` out of the repository at ``root`` by its private exclude file (10.1).

    Harmless without git, without a repository, and where the file cannot be written.
    """
    keep_out(root)


class WorkTree:
    """Satisfies the loop's ``Workspace``: the tree below ``root`` and its plan (L-14, L-33).

    Nothing is written inside the repository: index and objects live below ``state``. No git is
    started and no file read before the first call.
    """

    def __init__(
        self,
        root: Path,
        *,
        state: Path,
        plan: Path,
        ignore: Sequence[str] = (),
        optional_sections: Sequence[str] = (),
    ) -> None:
        self.root = root
        self._state = state
        self._plan = plan
        self._ignore = tuple(ignore)
        self._optional = tuple(optional_sections)
        self._problems: list[str] = []
        self._repository: Repository | None = None
        self._store: Store | None = None
        self._index: PrivateIndex | None = None
        self._excluded = Excluded(self._ignore)
        self._last: Tree | None = None
        self._last_capped: dict[bytes, str] = {}
        self._capped: Capped | None = None
        self._dropped: set[bytes] = set()
        self._bare: deque[str] = deque(maxlen=_MOST_BARE)
        self._run_id = ""

    @property
    def problems(self) -> tuple[str, ...]:
        """What does not work as it should, one line each; the same line comes once."""
        if not self._problems:
            try:
                self._opened()
            except OSError as error:
                self._fault(error)
        return tuple(self._problems)

    @property
    def folder(self) -> Path:
        """The store of this tree's snapshots, as ``rescue.restore`` takes it."""
        return self._opened().folder

    def snapshot(self) -> Tree | None:
        """Content of the tree now; None when no check is possible at this moment (L-14).

        Never raises for what git or the disk do: the reason is added to ``problems``, and the
        next call starts afresh.
        """
        if not installed():
            return None
        try:
            return self._taken()
        except (GitFailed, OSError) as error:
            self._fault(error)
            self._index = self._store = None
            return None

    def delta(self, before: Tree, after: Tree) -> TreeDelta:
        """What of the progress-relevant content differs; empty when it cannot be read any more."""
        if before.id == after.id:
            return TreeDelta()
        found = self._changes(before, after, renames=True)
        return summed(only(found, lambda path: not self._excluded(path)))

    def changed(self, before: Tree, after: Tree) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Paths changed or deleted that existed before, and paths that are new (M-2).

        The plan file counts here; ralph's own files and ``progress.ignore`` do not.
        """
        found = self._changes(before, after, renames=False)
        wanted = only(found, lambda path: not self._excluded.noise(path))
        existed = tuple(printable(change.path) for change in wanted if change.before)
        return existed, tuple(printable(change.path) for change in wanted if not change.before)

    def plan(self, known: str = "") -> PlanRead:
        """Read the plan; ``plan.plan`` is left None when its digest equals ``known``."""
        return read_plan(self._plan, known, self._optional)

    def dirty(self) -> bool:
        """True when there is work that no commit holds, or when git cannot tell.

        Without a repository that is any file at all.
        """
        try:
            store = self._opened()
            if self._repository is not None:
                return self._listed(self._repository)
            tree = self.snapshot()
            return tree is not None and bool(store.git.run("ls-tree", tree.full))
        except (GitFailed, OSError) as error:
            self._fault(error)
            return False

    def keep(self, run_id: str, iteration: int, tree: Tree) -> None:
        """Keep ``tree`` for rescue; 0 is the start, of the others the last 50 stay (L-33)."""
        try:
            self._opened().keep(run_id, iteration, tree)
        except OSError as error:
            self._fault(error)

    def event(self, event: AnyEvent) -> None:
        """Keep the snapshots that a run's events carry, so that each can be rescued (L-33)."""
        if isinstance(event, RunStarted):
            self._run_id = event.run_id
            if event.started_tree is not None:
                self.keep(self._run_id, 0, event.started_tree)
        elif isinstance(event, IterationObserved) and event.seen.tree is not None:
            self.keep(self._run_id, event.seen.iteration, event.seen.tree)

    def close(self) -> None:
        """Remove the working index; kept snapshots stay. A later call would start afresh."""
        if self._index is not None:
            self._index.remove()
            self._index = None

    def _listed(self, repository: Repository) -> bool:
        try:
            return repository.dirty()
        except GitFailed as error:
            self._say([f"git status does not work, so the tree is taken for dirty: {error}"])
            return True

    def _taken(self) -> Tree:
        store, index = self._opened(), self._indexed()
        moved = index.refresh()
        self._say(index.problems)
        head, branch = self._repository.head() if self._repository else ("", "")
        last, left_out = self._last, index.capped.entries
        if last is not None and not moved and left_out == self._last_capped:
            return Tree(id=last.id, full=last.full, head=head, branch=branch)
        tree = index.write_tree()
        self._dropped.update(path for path in index.entered() if self._excluded(path))
        counted = [(p, sign) for p, sign in left_out.items() if not self._excluded(p)]
        name = progress_id(store.git, tree, self._dropped, counted)
        full = seal(store.git, tree, left_out)
        if not left_out:
            self._bare.append(full)
        self._last = Tree(id=name, full=full, head=head, branch=branch)
        self._last_capped = dict(left_out)
        return self._last

    def _changes(self, before: Tree, after: Tree, *, renames: bool) -> list[Change]:
        if before.full == after.full:
            return []
        try:
            git = self._opened().git
            return changes(git, before.full, after.full, renames=renames, bare=self._bare)
        except (GitFailed, OSError) as error:
            self._fault(error)
            return []

    def _opened(self) -> Store:
        if self._store is not None and not self._store.there():
            self._store = self._index = None
        if self._store is None:
            if self._repository is None:
                self._repository, reason = locate(self.root)
                self._say([reason] if reason else [])
            top = self._repository.top if self._repository else self.root
            folder = store_folder(self._state, top)
            self._excluded = Excluded(self._ignore, _inside(top, self._plan))
            store = Store(folder, top, self._repository)
            store.prepare(pattern(path) + "/" for path in _inside(top, self._state))
            self._store = store
        return self._store

    def _indexed(self) -> PrivateIndex:
        store = self._opened()
        if self._index is None:
            # What was left out stays out, or the same content would get another id.
            self._capped = self._capped or Capped(store.top)
            index = PrivateIndex(store, self._capped)
            index.seed()
            self._index, self._last = index, None
        self._index.unlock()
        return self._index

    def _fault(self, error: GitFailed | OSError) -> None:
        self._say([f"no look at the tree: {error}"])

    def _say(self, reasons: list[str]) -> None:
        for reason in reasons:
            if reason not in self._problems and len(self._problems) < _MOST_PROBLEMS:
                self._problems.append(reason)


def _inside(top: Path, path: Path) -> set[bytes]:
    """``path`` and what it links to, relative to ``top``, as far as they lie below it."""
    real = top.resolve()
    named = path.parent.resolve() / path.name
    found = {place for place in (named, path.resolve()) if place.is_relative_to(real)}
    return {os.fsencode(place.relative_to(real)) for place in found}
