"""L-14 as a law: the id moves exactly when the content does, whatever the history."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ralph.services.tree import WorkTree
from tests.support.trees import seen
from tests.support.world import Repo

NAMES = st.sampled_from(["a.py", "d/b.py", "d/e/c.py", "x.log", "PLAN.md"])
TEXTS = st.sampled_from(["", "1\n", "2\n", "22\n"])
STEPS = st.one_of(
    st.tuples(st.just("write"), NAMES, TEXTS),
    st.tuples(st.just("delete"), NAMES, TEXTS),
    st.tuples(st.just("commit"), NAMES, TEXTS),
    st.tuples(st.just("stage"), NAMES, TEXTS),
    st.tuples(st.just("mode"), NAMES, TEXTS),
)


def act(repo: Repo, step: tuple[str, str, str]) -> None:
    kind, name, text = step
    path = repo.root / name
    if kind == "write":
        repo.write(name, text)
    elif kind == "delete":
        path.unlink(missing_ok=True)
    elif kind == "mode" and path.exists():
        path.chmod(0o644 if path.stat().st_mode & 0o100 else 0o755)
    elif kind == "commit":
        repo.commit()
    elif kind == "stage":
        repo.git("add", "-A")


def content(root: Path) -> dict[str, tuple[bytes, bool]]:
    """What counts, by reading every file."""
    return {
        str(path.relative_to(root)): (path.read_bytes(), bool(path.stat().st_mode & 0o100))
        for path in root.rglob("*")
        if path.is_file()
        and ".git" not in path.parts
        and path.suffix != ".log"
        and path.name != "PLAN.md"
    }


# L-14
@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(STEPS, min_size=1, max_size=8))
def test_l14_the_id_is_the_content(own_world: Path, steps: list[tuple[str, str, str]]) -> None:
    base = Path(tempfile.mkdtemp(dir=own_world))
    root = base / "repo"
    subprocess.run(["git", "init", "-q", root], check=True)
    repo = Repo(root)
    tree = WorkTree(root, state=base / "state", plan=root / "PLAN.md", ignore=["*.log"])
    ids = {seen(tree).id: content(root)}
    for step in steps:
        act(repo, step)
        now, taken = content(root), seen(tree).id
        assert ids.setdefault(taken, now) == now
        assert list(ids.values()).count(now) == 1
    shutil.rmtree(base)
