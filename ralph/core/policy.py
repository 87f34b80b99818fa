"""Every threshold of a run in one frozen value, spelled as in ralph.toml (section 11).

Durations are seconds, 0 switches the thing off unless said otherwise. Values arrive here already
parsed (units, presets, layers: services.settings) and validated.
"""

from __future__ import annotations

import msgspec


class Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of every section: unknown keys are refused."""


class AgentPolicy(Section, frozen=True, kw_only=True):
    """Which agent, and how long it may take (L-34, A-11)."""

    use: str = "claude"
    model: str = ""
    args: tuple[str, ...] = ()
    timeout: float = 3600.0
    idle_timeout: float = 900.0
    max_outage: float = 21600.0
    autonomy: str = "full"  # full | edit
    env: dict[str, str] = {}
    unset: tuple[str, ...] = ()
    leave: tuple[str, ...] = ()


class CustomAgent(Section, frozen=True, kw_only=True):
    """[agents.NAME]: any command as an agent."""

    command: tuple[str, ...]
    prompt: str = "stdin"  # stdin | file | argument
    output: str = "text"  # text | claude


class PlanPolicy(Section, frozen=True, kw_only=True):
    """Where the plan is and which sections never block a claim (L-11)."""

    file: str = "IMPLEMENTATION_PLAN.md"
    optional_sections: tuple[str, ...] = ("Optional", "Low priority", "Nice to have")


class CompletionPolicy(Section, frozen=True, kw_only=True):
    """What counts as a claim (L-5 to L-9)."""

    markers: tuple[str, ...] = (
        "IMPLEMENTATION_COMPLETE",
        "ALL_TASKS_COMPLETE",
        "RALPH_COMPLETE",
    )
    required: int = 2
    match: str = "line"  # line | word
    require_plan_done: bool = True


class VerifyPolicy(Section, frozen=True, kw_only=True):
    """The judge's commands (T-17, M-2)."""

    commands: tuple[str, ...] = ()
    every: str = "claim"  # claim | change | iteration
    timeout: float = 1800.0
    may_write: tuple[str, ...] = ()


class ProgressPolicy(Section, frozen=True, kw_only=True):
    """What counts as progress (L-13 to L-18)."""

    policy: str = "plan_or_tree"  # plan_or_tree | plan | tree
    require_evidence: bool = True
    ignore: tuple[str, ...] = ("progress.txt", "progress.md", "*.log")
    max_churn: int = 15
    tree_memory: int = 10


class StallPolicy(Section, frozen=True, kw_only=True):
    """When the loop ends for lack of movement (L-16, L-20, L-35)."""

    no_progress: int = 3
    exploring: bool = True
    same_error: int = 5
    failing_streak: int = 15


class Constrain(Section, frozen=True, kw_only=True):
    """The profile of level constrained (B-17)."""

    delay: float = 60.0
    args: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    read_only: bool = False


class BreakerPolicy(Section, frozen=True, kw_only=True):
    """The ladder's conditions (B-6 to B-21)."""

    enabled: bool = True
    hard_stop: bool = True
    repeated_tool_limit: int = 8
    error_storm_limit: int = 5
    token_velocity_per_min: int = 60_000
    no_progress_beats: int = 2
    same_error_steer: int = 3
    agent_token_caps: dict[str, int] = {}
    live_repeat: int = 50
    waiting_tools: tuple[str, ...] = ("BashOutput", "TaskOutput", "wait")
    constrain: Constrain = Constrain()


class RatePolicy(Section, frozen=True, kw_only=True):
    """The hourly call window and provider resets (L-21 to L-23, A-5)."""

    calls_per_hour: int = 100
    scope: str = "user"  # user | project
    count: str = "launches"  # launches | turns
    max_wait: float = 0.0  # 0 = no bound
    wait_for_reset: bool = True
    max_reset_wait: float = 86400.0


class BudgetPolicy(Section, frozen=True, kw_only=True):
    """What a run may use up (L-34)."""

    duration: float = 0.0


class HookPolicy(Section, frozen=True, kw_only=True):
    """Shell commands of a person's own (L-28)."""

    on_task_done: str = ""


class Policy(Section, frozen=True, kw_only=True):
    """The whole of ralph.toml, effective."""

    prompt: str = "PROMPT.md"
    max: int | None = None
    work: str = ""
    preset: str = "default"  # cautious | default | trusting
    phase: str = ""
    agent: AgentPolicy = AgentPolicy()
    agents: dict[str, CustomAgent] = {}
    plan: PlanPolicy = PlanPolicy()
    completion: CompletionPolicy = CompletionPolicy()
    verify: VerifyPolicy = VerifyPolicy()
    progress: ProgressPolicy = ProgressPolicy()
    stall: StallPolicy = StallPolicy()
    breaker: BreakerPolicy = BreakerPolicy()
    rate: RatePolicy = RatePolicy()
    budget: BudgetPolicy = BudgetPolicy()
    hooks: HookPolicy = HookPolicy()
