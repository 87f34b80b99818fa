"""``ralph init`` writes what is missing and overwrites nothing unasked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ralph.cli.app import app
from ralph.core.facts import PlanStatus
from ralph.core.policy import Policy
from ralph.errors import StorageError
from ralph.services import settings
from ralph.services.init import FILES, untouched, write_templates
from ralph.services.planfile import read_plan
from ralph.services.prompts import PromptFile
from tests.support.world import Repo


# L-2
def test_l2_what_init_writes_is_ready_to_run_with_a_cap_of_20(repo: Repo) -> None:
    made = write_templates(repo.root, force=False)
    assert tuple(made.written) == FILES
    loaded = settings.load(repo.root, prompt=None, flags={}, environ={})
    assert loaded.policy.max == 20
    assert loaded.sources["max"].startswith(f"{repo.root / 'ralph.toml'}:")
    plan = read_plan(repo.root / loaded.policy.plan.file, "", Policy().plan.optional_sections)
    assert plan.status is PlanStatus.OK
    assert plan.plan is not None
    assert plan.plan.open


# L-30
def test_l30_the_prompt_that_init_writes_tells_how_to_claim(repo: Repo) -> None:
    write_templates(repo.root, force=False)
    path = repo.root / "PROMPT.md"
    composed = PromptFile(path, Policy().completion.markers).compose(())
    assert composed == path.read_text()


def test_a_prompt_that_nobody_has_filled_in_is_known(repo: Repo) -> None:
    prompt = repo.root / "PROMPT.md"
    assert not untouched(prompt)
    write_templates(repo.root, force=False)
    assert untouched(prompt)
    prompt.write_text(prompt.read_text() + "\nThe project is a ledger in Go.\n")
    assert not untouched(prompt)


def test_nothing_that_is_there_is_overwritten(repo: Repo) -> None:
    repo.write("PROMPT.md", "mine\n")
    made = write_templates(repo.root, force=False)
    assert [name for name, _ in made.kept] == ["PROMPT.md"]
    assert (repo.root / "PROMPT.md").read_text() == "mine\n"
    assert (repo.root / "IMPLEMENTATION_PLAN.md").exists()


def test_a_link_that_leads_nowhere_is_there_too(repo: Repo) -> None:
    (repo.root / "PROMPT.md").symlink_to("elsewhere.md")
    made = write_templates(repo.root, force=False)
    assert "PROMPT.md" not in made.written
    assert not (repo.root / "elsewhere.md").exists()


def test_force_overwrites_through_a_link_and_keeps_the_mode(repo: Repo) -> None:
    target = repo.write("elsewhere.md", "mine\n")
    target.chmod(0o640)
    (repo.root / "PROMPT.md").symlink_to("elsewhere.md")
    assert tuple(write_templates(repo.root, force=True).written) == FILES
    assert (repo.root / "PROMPT.md").is_symlink()
    assert target.read_text().startswith("# ")
    assert target.stat().st_mode & 0o777 == 0o640


def test_settings_in_pyproject_get_no_rival(repo: Repo) -> None:
    repo.write("pyproject.toml", "[tool.ralph]\nmax = 7\n")
    for force in (False, True):
        made = write_templates(repo.root, force=force)
        assert "ralph.toml" not in made.written
    assert settings.load(repo.root, prompt=None, flags={}, environ={}).policy.max == 7


def test_f2_a_file_that_cannot_be_written_is_named(repo: Repo) -> None:
    (repo.root / "PROMPT.md").mkdir()
    with pytest.raises(StorageError, match=r"PROMPT\.md"):
        write_templates(repo.root, force=True)


def test_the_command_writes_at_the_top_of_the_repository_and_says_so(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = repo.root / "src"
    below.mkdir()
    monkeypatch.chdir(below)
    first = CliRunner().invoke(app, ["init"])
    again = CliRunner().invoke(app, ["init"])
    forced = CliRunner().invoke(app, ["init", "--force"])
    assert (first.exit_code, again.exit_code, forced.exit_code) == (0, 0, 0)
    for name in FILES:
        assert (repo.root / name).is_file()
        assert f"wrote {name}" in first.stdout
        assert f"kept {name}" in again.stdout
        assert f"wrote {name}" in forced.stdout


def test_a_full_disk_leaves_no_empty_file_behind(tmp_path: Path) -> None:
    program = (
        "import resource, signal\n"
        "from pathlib import Path\n"
        "from ralph.errors import StorageError\n"
        "from ralph.services.init import write_templates\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))\n"
        "try:\n    write_templates(Path('.'), force=False)\n"
        "except StorageError as error:\n    raise SystemExit(43 if error.full else 1)\n"
    )
    root = Path(settings.__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(root)}
    )
    assert done.returncode == 43
    assert list(tmp_path.iterdir()) == []
