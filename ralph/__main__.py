"""Console script ``ralph`` and ``python -m ralph``; the quickest questions are answered here."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line; ``--version`` and ``status`` do not load the command library."""
    _fill_gaps()
    words = sys.argv[1:]
    if words == ["--version"]:
        from ralph import __version__

        sys.stdout.write(f"ralph {__version__}\n")
        return
    from ralph.cli.front import guarded

    if words[:1] == ["status"] and all(word in ("--json",) for word in words[1:]):
        from ralph.cli.status import show

        guarded(lambda: show(run=None, as_json="--json" in words))
        return
    from ralph.cli.front import parsed

    guarded(parsed)


def _fill_gaps() -> None:
    """Open the null device where a standard stream is closed, so that no file of ours gets it."""
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


if __name__ == "__main__":
    main()
