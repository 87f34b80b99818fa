"""The configuration during a run: what applies now, is held, or waits for the next run (B-20)."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis
from hypothesis import strategies as st

from ralph.core.leash import loosens
from ralph.core.live import PolicyNews
from ralph.core.policy import Policy
from ralph.services import places, settings
from ralph.services.settings import LiveSettings


class Run:
    """One run's view of the configuration in ``root``."""

    def __init__(self, root: Path, flags: dict[str, object] | None = None) -> None:
        self.root = root
        loaded = settings.load(root, prompt=None, flags=flags or {}, environ={})
        self.policy, self.live = loaded.policy, LiveSettings(loaded)

    def beat(
        self, text: str | None = None, *, agent: bool = False, accept: bool = False
    ) -> PolicyNews:
        """Write ralph.toml, look, and follow what the look says."""
        if text is not None:
            (self.root / "ralph.toml").write_text(text)
        news = self.live.reread(self.policy, agent_ran=agent, accept=accept)
        self.policy = news.policy or self.policy
        return news


@pytest.fixture
def run(tmp_path: Path) -> Run:
    (tmp_path / "PROMPT.md").write_text("Do it.\n")
    (tmp_path / "ralph.toml").write_text("[stall]\nno_progress = 3\n")
    return Run(tmp_path)


NO_NEWS = PolicyNews()


def test_nothing_changed_is_no_news(run: Run) -> None:
    assert run.beat() == NO_NEWS
    assert run.beat(agent=True) == NO_NEWS
    assert run.beat(accept=True) == NO_NEWS


def test_f6_a_persons_change_applies_at_once_with_old_and_new_value(run: Run) -> None:
    news = run.beat('[stall]\nno_progress = 5\n[rate]\nmax_wait = "2h"\n')
    assert news.applied == {"stall.no_progress": [3, 5], "rate.max_wait": ["0", "2h"]}
    assert (news.held, news.fixed, news.problem) == ({}, {}, "")
    assert (run.policy.stall.no_progress, run.policy.rate.max_wait) == (5, 7200.0)
    assert run.beat() == NO_NEWS


def test_b20_a_tightening_applies_even_while_an_agent_ran(run: Run) -> None:
    news = run.beat("[stall]\nno_progress = 2\n", agent=True)
    assert news.applied == {"stall.no_progress": [3, 2]}


def test_f11_a_loosening_while_an_agent_ran_is_held_until_a_person_accepts(run: Run) -> None:
    news = run.beat("[stall]\nno_progress = 30\nsame_error = 4\n", agent=True)
    assert news.held == {"stall.no_progress": [3, 30]}
    assert news.applied == {"stall.same_error": [5, 4]}
    assert run.policy.stall.no_progress == 3
    assert run.beat(agent=True) == NO_NEWS
    assert run.beat() == NO_NEWS
    accepted = run.beat(accept=True)
    assert accepted.applied == {"stall.no_progress": [3, 30]}
    assert run.policy.stall.no_progress == 30
    assert run.beat() == NO_NEWS


def test_b20_a_held_change_stays_held_when_a_person_changes_something_else(run: Run) -> None:
    run.beat("[stall]\nno_progress = 30\n", agent=True)
    news = run.beat("[stall]\nno_progress = 30\nsame_error = 9\n")
    assert news.applied == {"stall.same_error": [5, 9]}
    assert news.held == {}
    assert run.policy.stall.no_progress == 3


def test_b20_accept_is_for_what_was_shown_and_for_nothing_newer(run: Run) -> None:
    run.beat("[stall]\nno_progress = 30\n", agent=True)
    news = run.beat("[stall]\nno_progress = 99\n", agent=True, accept=True)
    assert news.held == {"stall.no_progress": [3, 99]}
    assert run.policy.stall.no_progress == 3


def test_b20_a_held_change_that_is_taken_back_is_forgotten(run: Run) -> None:
    run.beat("[stall]\nno_progress = 30\n", agent=True)
    assert run.beat("[stall]\nno_progress = 3\n") == NO_NEWS
    assert run.beat(accept=True) == NO_NEWS
    assert run.beat("[stall]\nno_progress = 30\n").applied == {"stall.no_progress": [3, 30]}


def test_f11_removing_the_file_is_a_loosening_too(tmp_path: Path) -> None:
    (tmp_path / "ralph.toml").write_text("max = 5\n")
    run = Run(tmp_path)
    (tmp_path / "ralph.toml").unlink()
    assert run.beat(agent=True).held == {"max": [5, None]}
    assert run.policy.max == 5


def test_f11_the_users_own_file_is_watched_like_the_projects(run: Run) -> None:
    path = places.user_config()
    path.parent.mkdir(parents=True)
    path.write_text("[rate]\ncalls_per_hour = 900\n")
    assert run.beat(agent=True).held == {"rate.calls_per_hour": [100, 900]}


FIXED = """
prompt = "other.md"
work = "w"
[agent]
timeout = "3h"
[agents.mine]
command = ["x"]
[plan]
file = "x.md"
[completion]
required = 1
[verify]
commands = ["true"]
[progress]
policy = "tree"
[breaker.constrain]
delay = "0"
[hooks]
on_task_done = "x"
"""


@pytest.mark.parametrize("agent", [False, True])
def test_b20_fixed_tables_are_told_once_and_kept(run: Run, agent: bool) -> None:
    before = run.policy
    news = run.beat(f"{FIXED}[stall]\nno_progress = 3\n", agent=agent)
    assert set(news.fixed) == {
        *("prompt", "work", "agent.timeout", "plan.file", "completion.required"),
        *("agents.mine.command", "agents.mine.prompt", "agents.mine.output"),
        *("verify.commands", "progress.policy", "breaker.constrain.delay", "hooks.on_task_done"),
    }
    assert news.fixed["agent.timeout"] == ["1h", "3h"]
    assert (news.policy, news.applied, news.held) == (None, {}, {})
    assert run.policy == before
    again = run.beat(f"{FIXED}[stall]\nno_progress = 2\n", agent=agent)
    assert again.fixed == {}
    assert again.applied == {"stall.no_progress": [3, 2]}


def test_b20_a_preset_is_fixed_but_max_churn_is_not(run: Run) -> None:
    news = run.beat('preset = "trusting"\n[stall]\nno_progress = 3\n[progress]\nmax_churn = 9\n')
    assert news.fixed == {"preset": ["default", "trusting"]}
    assert news.applied == {"progress.max_churn": [15, 9]}


def test_b20_accept_does_not_unfix(run: Run) -> None:
    run.beat("[verify]\ncommands = ['true']\n[stall]\nno_progress = 30\n", agent=True)
    run.beat(accept=True)
    assert run.policy.verify.commands == ()
    assert run.policy.stall.no_progress == 30


@pytest.mark.parametrize(
    "text",
    [
        "[stall\n",
        "[stall]\nno_progres = 4\n",
        "[stall]\nno_progress = -4\n",
        "[agent]\nuse = 'x'\n",
    ],
)
def test_f6_an_invalid_file_keeps_the_old_values_and_is_told_once(run: Run, text: str) -> None:
    before = run.policy
    news = run.beat(text)
    assert news.problem.startswith(f"{run.root / 'ralph.toml'}:")
    assert (news.policy, run.policy) == (None, before)
    assert run.beat() == NO_NEWS
    assert run.beat("[stall]\nno_progress = 4\n").applied == {"stall.no_progress": [3, 4]}


def test_f6_a_file_that_is_not_utf8_or_not_a_file_is_told_once(run: Run) -> None:
    path = run.root / "ralph.toml"
    path.write_bytes(b"\xff")
    assert run.beat().problem == f"{path}: is not UTF-8 text"
    path.unlink()
    path.mkdir()
    assert "cannot be read" in run.beat().problem
    assert run.beat() == NO_NEWS


def test_f11_a_loosening_behind_an_invalid_state_is_held_all_the_same(run: Run) -> None:
    assert run.beat("[stall\n", agent=True).problem
    assert run.beat("[stall]\nno_progress = 30\n").held == {"stall.no_progress": [3, 30]}


# L-4
def test_l4_flags_stay_above_the_file(tmp_path: Path) -> None:
    run = Run(tmp_path, {"stall.no_progress": 7})
    assert run.beat("[stall]\nno_progress = 4\n") == NO_NEWS
    assert run.policy.stall.no_progress == 7


def test_b20_front_matter_is_for_the_next_run(run: Run) -> None:
    prompt = run.root / "PROMPT.md"
    prompt.write_text("---\nralph:\n  stall: {no_progress: 9}\n---\nDo it.\n")
    for agent in (True, False):
        news = run.beat(agent=agent)
        assert news.fixed == ({"stall.no_progress": [3, 9]} if agent else {})
        assert (news.policy, news.held) == (None, {})
    assert run.beat("[stall]\nno_progress = 2\n").applied == {"stall.no_progress": [3, 2]}


def test_b20_front_matter_at_the_start_stays_in_force(tmp_path: Path) -> None:
    prompt = tmp_path / "PROMPT.md"
    prompt.write_text("---\nralph:\n  max: 3\n---\nDo it.\n")
    run = Run(tmp_path)
    prompt.write_text("Do it.\n")
    assert run.beat("[stall]\nsame_error = 4\n").fixed == {"max": [3, None]}
    assert (run.policy.max, run.policy.stall.same_error) == (3, 4)


def test_b20_broken_front_matter_is_told_once_and_does_not_stop_the_file(run: Run) -> None:
    (run.root / "PROMPT.md").write_text("---\nralph: [\n---\nDo it.\n")
    news = run.beat("[stall]\nno_progress = 4\n")
    assert news.problem.startswith(f"{run.root / 'PROMPT.md'}:")
    assert news.applied == {"stall.no_progress": [3, 4]}
    assert run.beat("[stall]\nno_progress = 5\n").problem == ""


def test_the_text_of_the_prompt_is_no_setting(run: Run) -> None:
    (run.root / "PROMPT.md").write_text("Do something else.\n")
    assert run.beat(agent=True) == NO_NEWS


@hypothesis(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    steps=st.lists(
        st.tuples(
            st.one_of(st.just("off"), st.integers(0, 40).map(str), st.just("broken")), st.booleans()
        ),
        max_size=8,
    )
)
def test_f11_no_agent_ever_lengthens_its_own_leash(
    tmp_path: Path, steps: list[tuple[str, bool]]
) -> None:
    """Whatever is written while agents run: without a person's hand nothing gets looser."""
    (tmp_path / "ralph.toml").write_text("[stall]\nno_progress = 5\n")
    run = Run(tmp_path)
    for value, ran in steps:
        text = f'[stall]\nno_progress = "{value}"\n' if ran else None
        before: Policy = run.policy
        run.beat(text, agent=ran)
        now = run.policy.stall.no_progress
        assert not loosens("stall.no_progress", before.stall.no_progress, now)
