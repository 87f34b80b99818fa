"""Did this iteration move the work? Plan, tree, evidence, exploring, counters (L-12 to L-20)."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from ralph.core.events import Counters
from ralph.core.facts import ClaimKind, EndedBy, FailureClass, Observation, Outcome, VerifyResult
from ralph.core.state import RunState, tally

EXPLORING_CALLS = 10
EXPLORING_SHARE = 0.35
EXPLORING_ROW = 3


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """What one iteration achieved, and which ticks are proven."""

    counted: tuple[str, ...] = ()  # ticks that count now (L-13, L-18)
    unproven: tuple[str, ...] = ()  # all that are unproven after this iteration
    newly_unproven: tuple[str, ...] = ()
    proven: tuple[str, ...] = ()  # were unproven, are proven now; still not progress
    tree: bool | None = None  # tree progress; None when unknown (C-5)
    tree_since_tick: bool = False
    moved: bool = False  # by the policy in force (L-15)

    @property
    def plan(self) -> bool:
        """Plan progress (L-13)."""
        return bool(self.counted)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of progress made, for the record."""
        return ("plan",) * self.plan + ("tree",) * bool(self.tree)


def measure(
    state: RunState, seen: Observation, verified: tuple[VerifyResult, ...] | None
) -> Progress:
    """Weigh one observation (L-13 to L-15, L-18)."""
    tree = tree_progress(state, seen)
    passed = bool(verified) and all(result.passed for result in verified or ())
    rules = state.policy.progress
    proof = tree is None or tree or state.tree_since_tick or passed or not rules.require_evidence
    delta = seen.plan_delta
    old = {delta.renamed.get(task, task) for task in state.unproven} - set(delta.unticked)
    was_counted = state.counted | {delta.renamed.get(task, task) for task in state.counted}
    ticks = tuple(task for task in delta.completed if task not in was_counted and task not in old)
    counted = ticks if proof else ()
    proven = tuple(sorted(old)) if tree or passed or tree is None else ()
    fresh = () if proof else ticks
    since = bool(tree) or state.tree_since_tick
    return Progress(
        counted=counted,
        newly_unproven=fresh,
        proven=proven,
        unproven=tuple(sorted((old - set(proven)) | set(fresh))),
        tree=tree,
        tree_since_tick=False if counted else since,
        moved=_moved(state, seen, plan=bool(counted), tree=tree),
    )


def tree_progress(state: RunState, seen: Observation) -> bool | None:
    """True for content not seen before the iteration nor in recent snapshots (L-14)."""
    if seen.tree is None or state.before is None:
        return None
    return seen.tree.id != state.before.id and seen.tree.id not in state.trees


def _moved(state: RunState, seen: Observation, *, plan: bool, tree: bool | None) -> bool:
    has_plan = state.plan is not None and bool(state.plan.tasks)
    policy = state.policy.progress.policy
    if not has_plan and tree is None:
        return not seen.text_digest or seen.text_digest != state.text_digest
    if not has_plan or policy == "tree":
        return bool(tree) if tree is not None else plan
    if policy == "plan" or tree is None:
        return plan
    return plan or tree


def exploring(state: RunState, seen: Observation) -> bool:
    """True for an iteration of research that is left uncounted (L-16)."""
    tools = seen.result.tools
    if not state.policy.stall.exploring or tools is None:
        return False
    if seen.result.klass is not FailureClass.OK or tools.calls < EXPLORING_CALLS:
        return False
    fresh = state.keys.unseen(tools.keys)
    enough = bool(tools.keys) and len(fresh) >= EXPLORING_SHARE * len(set(tools.keys))
    return enough and state.counters.exploring < EXPLORING_ROW


def signalled(seen: Observation) -> bool:
    """True when the iteration claims completion (L-6, L-7)."""
    return seen.claim.kind is ClaimKind.SIGNAL and seen.outcome is Outcome.OK


def count(state: RunState, seen: Observation, made: Progress) -> tuple[Counters, bool]:
    """Every counter after this iteration, and whether it was an uncounted exploring one.

    What a person ended is counted and blamed on nobody (X-2).
    """
    before = state.counters
    signal = signalled(seen)
    after = replace(
        before,
        iterations=before.iterations + 1,
        completion=before.completion + 1 if signal else 0,
        ticks=before.ticks + len(made.counted),
        tree_changes=before.tree_changes + bool(made.tree),
        contradictions=before.contradictions + len(seen.result.contradictions),
        usage=state.spent,
        turns=state.turns,
        calls=state.calls,
    )
    explored = False
    if seen.result.ended_by is not EndedBy.STOP:
        explored = not (made.moved or signal or seen.read_only) and exploring(state, seen)
        after = _erring(after, state, seen, made)
        after = _stagnant(after, seen, made, signal=signal, explored=explored)
    if made.plan:
        after = replace(after, refuted=0, refuted_passing=0, verdicts=0, told=())
    return tally(after, state.plan), explored


def _erring(after: Counters, state: RunState, seen: Observation, made: Progress) -> Counters:
    before, signature = state.counters, error_signature(seen, made)
    return replace(
        after,
        same_error=_same_error(before, signature, plan=made.plan),
        signature=signature,
        error_text=seen.error if signature else "",
        failing_streak=before.failing_streak + 1 if signature and not made.plan else 0,
        churn=_churn(state, made),
        refusals=before.refusals + 1 if seen.result.klass is FailureClass.REFUSED else 0,
    )


def error_signature(seen: Observation, made: Progress) -> str | None:
    """The signature that counts: a timeout has one only without progress (L-19)."""
    late = seen.result.klass in (FailureClass.TIMEOUT, FailureClass.IDLE)
    return None if late and made.moved else seen.signature


def _same_error(before: Counters, signature: str | None, *, plan: bool) -> int:
    if signature is None or plan:
        return 0
    return before.same_error + 1 if signature == before.signature else 1


def _churn(state: RunState, made: Progress) -> int:
    before = state.counters.churn
    if made.plan or state.plan is None or not state.plan.tasks:
        return 0
    return before + 1 if made.tree else before


def _stagnant(
    after: Counters, seen: Observation, made: Progress, *, signal: bool, explored: bool
) -> Counters:
    if made.moved:
        return replace(after, no_progress=0, exploring=0, beats=0)
    if signal or seen.read_only:
        return after
    if explored:
        return replace(after, exploring=after.exploring + 1)
    spoke = seen.had_text or bool(seen.result.usage and seen.result.usage.output)
    return replace(after, no_progress=after.no_progress + 1, beats=after.beats + spoke)
