"""All methods on colon-cancer, rcv1-subset and synthetic data: docs/laboratory/family.md's tables.

    SPD1_DATA=FOLDER python benchmarks/compare_family.py --out FOLDER [--only colon-cancer]
    ... --max-seconds 5     # a look at the pages; methods that take longer are cut off

Runs ``spd1 compare`` on each, as a user would, with --methods all, tol 1e-6, automatic steps and
seed 0; writes NAME.html (table and picture), NAME.png and NAME.md (the table of the docs) into the
folder. The synthetic data are the paper's, n = 1000 and d = 100 and 1000, divided by sqrt(d) so
that rows have length one; l2 is 1/n there, the paper's own for colon-cancer, and a hundred times
smaller besides. Kernels that are not on disk are compiled while the clock runs: run it twice.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

from spd1.datasets import make_synthetic


class Run(NamedTuple):
    """A file (or the number of columns of synthetic data), l2, and limits of each method."""

    data: str | int
    l2: float
    passes: float
    seconds: float


RUNS = {
    "colon-cancer": Run("colon-cancer.svm.bz2", 1.0, 30_000, 60),
    "colon-cancer-small-l2": Run("colon-cancer.svm.bz2", 0.01, 30_000, 60),
    "rcv1-subset": Run("rcv1-subset.svm.bz2", 1e-4, 10_000, 60),
    "synthetic-100": Run(100, 1e-3, 10_000, 60),
    "synthetic-1000": Run(1000, 1e-3, 10_000, 60),
}


def file_of(run: Run, folder: Path) -> Path:
    """Where the data are; synthetic data are written first."""
    if isinstance(run.data, str):
        return Path(os.environ.get("SPD1_DATA", ".")) / run.data
    A, b = make_synthetic(1000, run.data)
    path = folder / f"synthetic-1000x{run.data}.npz"
    np.savez(path, X=A / math.sqrt(run.data), y=b)
    return path


def table(found: dict[str, dict[str, float | str]]) -> str:
    """Markdown: those that converged first, by passes; then the others by their gap."""

    def place(name: str) -> tuple[bool, float]:
        one = found[name]
        done = one["status"] == "converged"
        return not done, float(one["passes"] if done else one["rel_gap"])

    lines = [
        "| method | status | proven gap | passes | entries read | seconds |",
        "|---|---|---|---|---|---|",
    ]
    for name in sorted(found, key=place):
        one = found[name]
        lines.append(
            f"| `{name}` | {one['status']} | {one['rel_gap']:.1e} | {one['passes']:,.0f} | "
            f"{one['entries']:.2e} | {one['seconds']:.3f} |"
        )
    return "\n".join(lines) + "\n"


def compare(name: str, out: Path, most_seconds: float) -> None:
    """One data set: the page and the picture by one call, the table from what it prints."""
    run = RUNS[name]
    seconds = min(run.seconds, most_seconds)
    command = [
        sys.executable, "-m", "spd1", "compare", str(file_of(run, out)), "--methods", "all",
        "--l2", str(run.l2), "--max-passes", str(run.passes), "--max-seconds", str(seconds),
        "--page", str(out / f"{name}.html"), "--plot", str(out / f"{name}.png"), "--json",
        "--force",
    ]  # fmt: skip
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = json.loads(told)
    refused = found.pop("refused")
    (out / f"{name}.md").write_text(table(found), encoding="utf-8")
    print(name, table(found), refused, sep="\n", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", choices=RUNS, action="append")
    parser.add_argument("--max-seconds", type=float, default=math.inf, help="of each method")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for name in args.only or RUNS:
        compare(name, args.out, args.max_seconds)


if __name__ == "__main__":
    main()
