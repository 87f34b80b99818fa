"""What one invocation of an agent came to: class, outcome, and what contradicts it (A-3, A-4)."""

from __future__ import annotations

import re

import msgspec

from ralph.core import wording
from ralph.core.facts import AgentResult, EndedBy, FailureClass, Outcome

EMPTY_FAST_SECONDS = 2.0
_DETAIL = 300

_BY_US = {
    EndedBy.HARD: (FailureClass.TIMEOUT, "ended at agent.timeout"),
    EndedBy.IDLE: (FailureClass.IDLE, "no output and no CPU"),
    EndedBy.STOP: (FailureClass.KILLED, "stopped on request"),
    EndedBy.REPEAT: (FailureClass.KILLED, "repeats itself"),
}
_OUTCOMES = {
    FailureClass.OK: Outcome.OK,
    FailureClass.NEEDS_INPUT: Outcome.OK,
    FailureClass.USAGE_LIMIT: Outcome.INFRA_ERROR,
    FailureClass.OVERLOADED: Outcome.INFRA_ERROR,
    FailureClass.NETWORK: Outcome.INFRA_ERROR,
    FailureClass.TIMEOUT: Outcome.TIMEOUT,
    FailureClass.IDLE: Outcome.TIMEOUT,
    FailureClass.KILLED: Outcome.KILLED,
    FailureClass.LAUNCH_ERROR: Outcome.LAUNCH_ERROR,
}
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_ASKS = re.compile(r"[?？][\s*_`\"'”’)\]]*$")
_QUESTION_LINES = 6


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """The agent's own last word on this invocation, where its format has one.

    ``klass`` is what structured fields say of a failure; None leaves it to ``message``.
    """

    failed: bool
    klass: FailureClass | None = None
    message: str = ""


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of an invocation before the tree is looked at."""

    ended_by: EndedBy
    exit_code: int | None = None
    signal: int | None = None
    record: Record | None = None
    promised: bool = False  # the format always ends with a record
    errors: str = ""  # the error channel, clean: stderr, a text agent's last lines
    trust_zero: bool = True  # exit code 0 rules out a failure named in the error channel
    problem: str = ""  # why it could not be started or supervised, how it repeats itself


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """Class, one line of detail, the vendor's sentence if one was found, contradictions."""

    klass: FailureClass
    detail: str = ""
    sentence: str = ""
    contradictions: tuple[str, ...] = ()


def classify(evidence: Evidence) -> Verdict:
    """Judge in the order of A-3; a higher kind of evidence wins over a lower one.

    Ended by us before a record of success was seen, the record, a missing record where one is
    promised, the exit status, a sentence in the error channel. What needs the tree is left to
    ``settle``: ``empty_fast``, ``needs_input``, denied commands, ``max_turns``.
    """
    record = evidence.record
    if evidence.ended_by is EndedBy.LAUNCH:
        return Verdict(klass=FailureClass.LAUNCH_ERROR, detail=_line(evidence.problem))
    succeeded = record is not None and not record.failed
    if evidence.ended_by in _BY_US and not succeeded:
        klass, detail = _BY_US[evidence.ended_by]
        return Verdict(klass=klass, detail=_line(evidence.problem) or detail)
    if record is not None:
        return _by_record(evidence, record)
    failed = evidence.promised or _status(evidence) != "exit 0"
    if not failed and evidence.trust_zero:
        return Verdict(klass=FailureClass.OK)
    found = None if evidence.signal else wording.recognise(evidence.errors)
    if found:
        return Verdict(klass=found.klass, detail=_line(found.sentence), sentence=found.sentence)
    if not failed:
        return Verdict(klass=FailureClass.OK)
    missing = "no result record" if evidence.promised else ""
    return Verdict(
        klass=FailureClass.CRASH,
        detail=_line(", ".join(filter(None, (missing, _status(evidence), evidence.problem)))),
        contradictions=("exit 0 without a result record",) if _clean(evidence) else (),
    )


def settle(
    result: AgentResult, *, changed: bool, progressed: bool, claimed: bool
) -> tuple[FailureClass, Outcome]:
    """Finish the class with what the tree and plan say, and give the outcome (A-4, L-31).

    ``changed``: plan or tree differ; ``progressed``: something of it may count; ``claimed``: the
    final text signals completion.
    """
    klass = result.klass
    if klass is FailureClass.OK and not claimed:
        klass = _unclaimed(result, changed=changed, progressed=progressed)
    return klass, outcome_of(klass, progressed=progressed)


def outcome_of(klass: FailureClass, *, progressed: bool = False) -> Outcome:
    """Outcome of one attempt with this class (A-4); ``max_turns`` is ok when it progressed.

    ``auth``, ``billing`` and ``bad_invocation`` are agent errors here; whether the same iteration
    is tried again is the loop's business.
    """
    if klass is FailureClass.MAX_TURNS and progressed:
        return Outcome.OK
    return _OUTCOMES.get(klass, Outcome.AGENT_ERROR)


def asks(text: str) -> bool:
    """True when a text ends by asking: one of its last lines outside code is a question."""
    lines, fenced = [], False
    for line in text.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        elif line.strip() and not fenced:
            lines.append(line.strip())
    return any(_ASKS.search(line) for line in lines[-_QUESTION_LINES:])


def _unclaimed(result: AgentResult, *, changed: bool, progressed: bool) -> FailureClass:
    text = result.final_text.strip()
    if result.denied and not progressed:
        return FailureClass.REFUSED
    if changed:
        return FailureClass.OK
    if not text and result.exit_code == 0 and result.seconds < EMPTY_FAST_SECONDS:
        return FailureClass.EMPTY_FAST
    return FailureClass.NEEDS_INPUT if asks(text) else FailureClass.OK


def _by_record(evidence: Evidence, record: Record) -> Verdict:
    notes = _contradictions(evidence, record)
    if not record.failed:
        return Verdict(klass=FailureClass.OK, contradictions=notes)
    found = wording.recognise(record.message)
    klass = record.klass or (found.klass if found else FailureClass.CRASH)
    return Verdict(
        klass=klass,
        detail=_line(record.message) or klass.value,
        sentence=found.sentence if found else record.message,
        contradictions=notes,
    )


def _contradictions(evidence: Evidence, record: Record) -> tuple[str, ...]:
    if evidence.ended_by is not EndedBy.EXIT:
        why = "lingered" if evidence.ended_by is EndedBy.LINGER else evidence.ended_by.value
        return (f"ended by us after its result: {why}",)
    if record.failed and _clean(evidence):
        return ("exit 0, but its record says that it failed",)
    if not record.failed and not _clean(evidence):
        return (f"{_status(evidence)}, but its record says success",)
    return ()


def _clean(evidence: Evidence) -> bool:
    return evidence.exit_code == 0 and not evidence.signal


def _status(evidence: Evidence) -> str:
    if evidence.signal:
        return f"died by signal {evidence.signal}"
    return "no exit code" if evidence.exit_code is None else f"exit {evidence.exit_code}"


def _line(text: str) -> str:
    return next((line.strip()[:_DETAIL] for line in text.splitlines() if line.strip()), "")
