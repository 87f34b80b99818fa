"""D9 and F2: what snapshots must never do to the repository, and what must not stop them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ralph.services import git as door
from ralph.services.git import Git, GitFailed
from ralph.services.places import state_home
from ralph.services.snapshots import store_folder
from tests.support.trees import listing, seen, watch
from tests.support.world import Repo


def busy_repository(repo: Repo) -> None:
    for number in range(30):
        repo.write(f"src/f{number}.py", f"{number}\n")
    repo.commit()
    repo.write("app.py", "stashed\n")
    repo.git("stash", "-q")
    repo.git("branch", "side")
    repo.git("tag", "v1")
    repo.write("src/f1.py", "dirty\n")
    repo.write("staged.py", "staged\n")
    repo.git("add", "staged.py")
    repo.write("untracked.py", "untracked\n")


def test_d9_nothing_in_the_repository_is_written(repo: Repo) -> None:
    busy_repository(repo)
    before = listing(repo.root)
    tree = watch(repo.root)

    first = seen(tree)
    tree.keep("run", 0, first)
    tree.dirty()
    (repo.root / "src/f2.py").write_text("agent\n")
    second = seen(tree)
    tree.delta(first, second)
    tree.changed(first, second)
    tree.close()

    (repo.root / "src/f2.py").write_text("2\n")
    assert listing(repo.root) == before


def test_d9_hooks_filters_and_monitors_of_the_repository_do_not_run(repo: Repo) -> None:
    mark = repo.root.parent / "ran"
    program = repo.root.parent / "program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    program.chmod(0o755)
    hooks = repo.root / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    shutil.copy(program, hooks / "post-index-change")
    repo.write(".gitattributes", "*.py filter=evil diff=evil\n")
    for key in ("core.fsmonitor", "filter.evil.clean", "diff.evil.textconv", "diff.external"):
        repo.git("config", key, str(program))
    tree = watch(repo.root)

    before = seen(tree)
    repo.write("app.py", "changed\n")
    tree.delta(before, seen(tree))

    assert not mark.exists()


def test_d9_an_agent_that_commits_all_the_time_is_never_in_our_way_nor_we_in_its(
    repo: Repo,
) -> None:
    busy_repository(repo)
    tree = watch(repo.root)
    stop = threading.Event()
    taken: list[bool] = []

    def look() -> None:
        while not stop.is_set():
            taken.append(tree.snapshot() is not None)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        for number in range(40):
            repo.write("src/f3.py", f"{number}\n")
            repo.commit()
    finally:
        stop.set()
        thread.join(60)
    assert len(taken) > 2
    assert all(taken), tree.problems


def test_f2_a_file_that_cannot_be_read_is_watched_by_its_size(repo: Repo) -> None:
    secret = repo.write("secret", "x\n")
    secret.chmod(0)
    if os.access(secret, os.R_OK):
        pytest.skip("this user reads everything")
    tree = watch(repo.root)
    before = seen(tree)
    secret.unlink()
    assert seen(tree).id != before.id


def test_f2_a_state_folder_that_cannot_be_written_costs_the_check_alone(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    blocker = tmp_path / "blocker"
    blocker.write_text("a file where a folder should be\n")
    monkeypatch.setenv("XDG_STATE_HOME", str(blocker))
    tree = watch(repo.root)

    assert tree.snapshot() is None
    assert str(blocker) in tree.problems[0]
    assert len(tree.problems) == 1
    blocker.unlink()
    seen(tree)


FULL = """
import resource, signal, sys
from pathlib import Path
from tests.support.trees import watch
root = Path(sys.argv[1])
tree = watch(root)
assert tree.snapshot() is not None
(root / "large.bin").write_bytes(bytes(range(256)) * 2000)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
limits = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
assert tree.snapshot() is None
assert len(tree.problems) == 1, tree.problems
resource.setrlimit(resource.RLIMIT_FSIZE, limits)
assert tree.snapshot() is not None
"""


def test_f2_a_full_disk_costs_one_snapshot_and_the_next_one_works(repo: Repo) -> None:
    subprocess.run([sys.executable, "-c", FULL, repo.root], check=True, env=os.environ)


def test_f2_what_a_killed_git_left_behind_does_not_stop_the_next(repo: Repo) -> None:
    tree = watch(repo.root)
    before = seen(tree)
    (tree.folder / "index.lock").touch()
    repo.write("app.py", "changed\n")
    assert seen(tree).id != before.id


def test_f2_a_damaged_store_index_heals(repo: Repo) -> None:
    tree = watch(repo.root)
    before = seen(tree)
    (tree.folder / "index").write_bytes(b"broken")

    assert tree.snapshot() is None
    assert seen(tree).id == before.id


def test_a19_the_agent_deletes_the_store_in_the_middle(repo: Repo) -> None:
    tree = watch(repo.root)
    before = seen(tree)
    shutil.rmtree(store_folder(state_home(), repo.root))
    repo.write("app.py", "changed\n")

    after = seen(tree)
    assert after.id != before.id
    tree.keep("run", 1, after)
    assert tree.problems == ()


def test_a19_the_agent_deletes_the_whole_folder(repo: Repo) -> None:
    tree = watch(repo.root)
    seen(tree)
    shutil.rmtree(repo.root)
    assert tree.snapshot() is None
    assert "folder is gone" in tree.problems[0]


def test_a_git_that_hangs_is_ended_at_its_deadline(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen(watch(repo.root))
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "git").write_text("#!/bin/sh\nexec sleep 300\n")
    (programs / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")

    with pytest.raises(GitFailed, match=r"longer than 0\.3 s"):
        Git(repo.root, timeout=0.3).run("status")
    assert door.installed()


def test_every_git_leaves_locks_alone_and_asks_nobody(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = shutil.which("git")
    log = tmp_path / "calls"
    programs = tmp_path / "bin"
    programs.mkdir()
    wanted = "$GIT_OPTIONAL_LOCKS/$GIT_TERMINAL_PROMPT/$LC_ALL"
    (programs / "git").write_text(f'#!/bin/sh\necho "{wanted}" >> {log}\nexec {real} "$@"\n')
    (programs / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    tree = watch(repo.root)

    before = seen(tree)
    repo.write("app.py", "changed\n")
    monkeypatch.setenv("GIT_OPTIONAL_LOCKS", "1")
    tree.delta(before, seen(tree))
    tree.dirty()

    calls = [line for line in log.read_text().splitlines() if line.startswith("0/0/C")]
    assert len(calls) >= 10


def test_git_is_loaded_on_first_use_only() -> None:
    code = "import sys, ralph.services.tree, ralph.services.rescue; print('git.cmd' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
