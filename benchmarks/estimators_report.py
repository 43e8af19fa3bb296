"""Rows of ``estimators.py``, as lines, as a table of the docs, and in sum."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from typing import Any, NamedTuple

__all__ = ["HEADER", "Row", "markdown", "merged", "summary"]

SLOW = 0.9  # ratios below are listed
HEADER = (
    f"{'estimator':30s} {'data':10s} {'target':6s} {'spd1 ms':>9s} {'gap':>8s}"
    f" {'sklearn ms':>10s} {'solver, tol':>20s} {'gap':>8s} {'ratio':>7s}  method"
)


class Row(NamedTuple):
    """One estimator on one set of data, to one gap."""

    data: str
    name: str
    gap: float
    ms: float = math.nan
    proven: float = math.nan
    method: str = ""
    peer_ms: float = math.nan
    peer: str = ""
    peer_gap: float = math.nan
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """scikit-learn's time over ours, if both reach the gap."""
        bad = math.isnan(self.peer_ms) or self.note.startswith(("OURS", "FAILED"))
        return None if bad else self.peer_ms / self.ms

    def line(self) -> str:
        """The row as text."""
        start = f"{self.name:30s} {self.data:10s} {self.gap:6.0e} {self.ms:9.1f} {self.proven:8.1e}"
        if math.isnan(self.peer_ms):
            return f"{start}   {self.peer} {self.note}  {self.method}"
        return (
            f"{start} {self.peer_ms:10.1f} {self.peer:>20s} {self.peer_gap:8.1e}"
            f" {self.peer_ms / self.ms:7.2f}  {self.method} {self.note}"
        )


def merged(pieces: Iterable[list[Any]]) -> list[Row]:
    """Rows of several pieces; of the same row the last counts."""
    rows: dict[tuple[str, str, float], Row] = {}
    for piece in pieces:
        for one in piece:
            row = Row(*one)
            rows[row.data, row.name, row.gap] = row
    return list(rows.values())


def markdown(rows: list[Row]) -> str:
    """A line for every data and estimator, gaps side by side; ratios below 0.9 in bold."""
    gaps = sorted({row.gap for row in rows if not math.isnan(row.gap)}, reverse=True)
    heads = " | ".join(f"{gap:.0e}: spd1 | scikit-learn | ratio" for gap in gaps)
    lines = [f"| data | estimator | {heads} |", "|---|---|" + "---:|---:|---:|" * len(gaps)]
    of = {(row.data, row.name, row.gap): row for row in rows}
    for data, name in dict.fromkeys((row.data, row.name) for row in rows):
        cells = [cell(of.get((data, name, gap))) for gap in gaps]
        lines.append(f"| {data} | {name} | {' | '.join(cells)} |")
    return "\n".join(lines).replace("1e-0", "1e-")


def cell(row: Row | None) -> str:
    if row is None:
        return "| |"
    if row.ratio is None:
        return f"{row.ms:.1f} | {row.note or 'not reached'} |"
    ratio = f"**{row.ratio:.2f}**" if row.ratio < SLOW else f"{row.ratio:.2f}"
    return f"{row.ms:.1f} | {row.peer_ms:.1f} | {ratio}"


def summary(rows: list[Row]) -> None:
    """Print the geometric mean, what is missing, and the rows that are lost."""
    ratios = [row.ratio for row in rows if row.ratio is not None]
    if ratios:
        mean = math.exp(statistics.fmean(math.log(ratio) for ratio in ratios))
        print(f"\ngeometric mean of {len(ratios)} ratios scikit-learn / spd1: {mean:.2f}")
    missed = sum(row.peer.startswith("not reached") for row in rows)
    print(f"rows where scikit-learn does not reach the gap: {missed} (not in the mean)")
    failed = sum(row.note.startswith("FAILED") for row in rows)
    if failed:
        print(f"races that failed: {failed}")
    slow = sorted(
        (row for row in rows if row.ratio is not None and row.ratio < SLOW),
        key=lambda row: row.ratio or 0.0,
    )
    print(f"rows below {SLOW}: {len(slow)}", *(row.line() for row in slow), sep="\n")
