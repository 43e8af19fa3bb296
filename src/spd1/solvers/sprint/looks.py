"""What comes of a sprint: where it ended, and the rows of its trace."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ...certificate.gap import Certificate, floor_of, relative
from ...engines.ledger import Ledger
from ...problem import Problem
from ...result import Progress, Result, Trace
from .choice import REASONS, THEN

__all__ = ["Sprint", "at_the_start", "heard", "noted", "settle"]


class Sprint(NamedTuple):
    """Where a sprint ended.

    Attributes
    ----------
    x : ndarray
        Its end, and where others go on from.
    certificate : Certificate
        What is proven of x, by the same sums as everywhere.
    rows : list of Progress
        The start, then looks on the way; the last is that of the certificate.
    status : str
        "converged", "interrupted" by the callback, a limit if the run is kept to go on later,
        or "" if others have to go on.
    kind : str
        A key of ``REASONS``, or two of them, the second after ", then ".
    """

    x: np.ndarray
    certificate: Certificate
    rows: list[Progress]
    status: str
    kind: str

    def result(self, ledger: Ledger, trace: Trace | None = None) -> Result:
        """The same as what a run hands back."""
        c = self.certificate
        if trace is None:
            trace = Trace()
            trace.rows = self.rows
        return Result.made_of(
            x=self.x, y=c.y, primal=c.primal, dual=c.dual, gap=c.gap, rel_gap=c.rel_gap,
            status=self.status, passes=ledger.passes, seconds=ledger.seconds, trace=trace,
            method=label_of(self.kind), steps={}, floor=c.floor, reach=c.reach, staleness=None,
        )  # fmt: skip


@cache
def label_of(kind: str) -> str:
    """Which kernels, and why the last of them, in a few words."""
    return f"auto: {kind} ({REASONS[kind.rpartition(THEN)[2]]})"


def at_the_start(problem: Problem, ledger: Ledger, floor: float | None = None) -> Progress:
    """Row of x = 0 and y = 0: no loss of these is negative, so nothing is below D(0) = 0.

    It costs nothing, because the floor of relative gaps needs the same value. Callbacks count looks
    and don't hear of it.
    """
    start = problem.value_at_zero
    rel_gap = relative(start, start, 0.0, floor_of(problem) if floor is None else floor)
    return noted(ledger, 0.0, 0.0, start, 0.0, start, rel_gap)


def noted(
    ledger: Ledger, passes: float, seconds: float, primal: float, dual: float, gap: float,
    rel_gap: float,
) -> Progress:  # fmt: skip
    """A row of the trace, some passes and seconds from where the ledger stands."""
    return Progress(
        ledger.passes + passes, ledger.paper_passes + passes, ledger.seconds + seconds, primal,
        dual, gap, rel_gap,
    )  # fmt: skip


def heard(callback: Callable[[Progress], Any], rows: list[Progress]) -> Progress | None:
    """Tell a callback of some looks, until it asks to stop: at which one it did, if any."""
    return next((row for row in rows if callback(row)), None)


def settle(rows: list[Progress], c: Certificate) -> None:
    """Let rows have the best bound so far, and the last what is certified."""
    best = -math.inf
    for k, row in enumerate(rows):
        best = min(max(best, row.dual), c.dual)
        if best != row.dual:
            gap = max(row.primal - best, 0.0)
            rel_gap = relative(gap, row.primal, best, c.floor)
            rows[k] = row._replace(dual=best, gap=gap, rel_gap=rel_gap)
    rows[-1] = rows[-1]._replace(primal=c.primal, dual=c.dual, gap=c.gap, rel_gap=c.rel_gap)
