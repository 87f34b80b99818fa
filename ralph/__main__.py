"""Console script ``ralph`` and ``python -m ralph``; the quickest questions are answered here."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; ``--version`` and ``status`` do not load the command library."""
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


if __name__ == "__main__":
    main()
