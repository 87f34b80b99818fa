"""The one place that turns exceptions into exit codes (house rule, T-1)."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ralph.errors import RalphError, UsageError

BUG = 70


def guarded(command: Callable[[], object]) -> None:
    """Run ``command``; deliberate errors become two lines, bugs a crash file and one line.

    Raises:
        SystemExit: with the error's exit code, or 70 for a bug.
    """
    try:
        command()
    except RalphError as error:
        complain(error)
        raise SystemExit(error.exit_code) from None
    except BrokenPipeError:
        _quiet_stdout()
        raise SystemExit(141) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except Exception as error:  # noqa: BLE001 - the last net: nothing prints a traceback at a user
        path = keep_crash(error, None)
        _tell(f"error: ralph has a bug: {type(error).__name__}: {error}")
        _tell(f"hint: the details are in {path}")
        raise SystemExit(BUG) from None


def parsed() -> None:
    """Run the command line; what it cannot parse is a usage error like any other (F4).

    Raises:
        UsageError: for an unknown command or option, or a value that does not fit.
        SystemExit: with the exit code of the command.
    """
    from typer.exceptions import TyperException

    from ralph.cli.app import app

    try:
        code = app(standalone_mode=False)
    except TyperException as error:
        said = error.format_message().rstrip(".")
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "ralph"
        if not said:  # a group without a command: its help has been printed
            raise SystemExit(2) from None
        raise UsageError(
            said[:1].lower() + said[1:], hint=f"{command} --help shows what it takes"
        ) from None
    raise SystemExit(code if isinstance(code, int) else 0)


def complain(error: RalphError) -> None:
    """Print ``error:`` and, when there is one, ``hint:`` on stderr."""
    _tell(f"error: {error.message}")
    if error.hint:
        _tell(f"hint: {error.hint}")


def _tell(line: str) -> None:
    """One line on stderr; a stream that is closed or gone loses it."""
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(f"{line}\n")


def keep_crash(error: BaseException, folder: Path | None) -> Path:
    """Write the traceback of ``error`` to a crash file and return its path."""
    import tempfile
    import traceback

    from ralph.services.places import state_home

    text = "".join(traceback.format_exception(error))
    name = f"crash-{os.getpid()}.txt"
    for place in (folder, state_home(), Path(tempfile.gettempdir())):
        if place is None:
            continue
        try:
            place.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text)
        except OSError:
            continue
        return place / name
    return Path(name)


def _quiet_stdout() -> None:
    """Point stdout at the null device, so that the interpreter's last flush cannot fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
