"""Read the plan file, whatever state it is in (C6, C7, L-11)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from ralph.core.facts import Plan, PlanRead, PlanStatus
from ralph.core.plan import parse_markdown, parse_prd
from ralph.services import disk

MAX_BYTES = 5_000_000


def read_plan(path: Path, known: str = "", optional_sections: Sequence[str] = ()) -> PlanRead:
    """One look at the plan at ``path``; never raises for what is found there.

    ``plan`` is left None when the digest equals ``known``, and unless the status is OK or
    NO_TASKS. A name that ends in ``.json`` is read as ``prd.json``, everything else as Markdown;
    bytes that are not UTF-8 are replaced.
    """
    try:
        raw = disk.contents(path, MAX_BYTES)
    except FileNotFoundError:
        return PlanRead(status=PlanStatus.MISSING, detail=f"no plan at {path}")
    except OSError as error:
        return PlanRead(status=PlanStatus.UNREADABLE, detail=f"{path}: {_why(error)}")
    except ValueError as error:
        return PlanRead(status=PlanStatus.UNREADABLE, detail=f"no file has this name: {error}")
    digest = hashlib.sha256(raw).hexdigest()
    text = raw.decode("utf-8-sig", "replace")
    if not text.strip("\0 \t\r\n\f\v\ufeff"):
        return PlanRead(status=PlanStatus.BLANK, digest=digest, detail=f"{path} is blank")
    detail = "" if _is_utf8(raw) else f"{path} is not UTF-8: some characters are replaced"
    try:
        plan = _parsed(path, text, optional_sections)
    except (ValueError, RecursionError) as error:
        return PlanRead(status=PlanStatus.BROKEN, digest=digest, detail=f"{path}: {error}")
    status = PlanStatus.OK if plan.tasks else PlanStatus.NO_TASKS
    kept = None if digest == known else plan
    return PlanRead(status=status, digest=digest, plan=kept, detail=detail)


def _parsed(path: Path, text: str, optional_sections: Sequence[str]) -> Plan:
    parse = parse_prd if path.suffix.lower() == ".json" else parse_markdown
    return parse(text, optional_sections)


def _why(error: OSError) -> str:
    if isinstance(error, NotADirectoryError):
        return "a part of the path is not a folder"
    return "is a folder" if isinstance(error, IsADirectoryError) else error.strerror or str(error)


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
