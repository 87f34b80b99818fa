"""Run every benchmark and print one table of ratios: ``python -m tests.bench [NAME...]``."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path


def main() -> None:
    wanted = sys.argv[1:]
    names = sorted(path.stem for path in Path(__file__).parent.glob("bench_*.py"))
    print(f"{'measure':60} {'ours':>12} {'baseline':>12} {'ratio':>8}  goal")
    for name in names:
        if wanted and name.removeprefix("bench_") not in wanted:
            continue
        for row in importlib.import_module(f"tests.bench.{name}").rows():
            ours, base = f"{row.ours:,.2f} {row.unit}", f"{row.baseline:,.2f} {row.unit}"
            met = "met" if row.met else "MISSED"
            print(f"{row.name:60} {ours:>12} {base:>12} {row.ratio:8.2f}  {row.goal} ({met})")


if __name__ == "__main__":
    main()
