"""Sprints that need no dash: one matrix, and ascent around a centre that follows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...certificate.gap import Certificate, certify_point, floor_of, relative
from ...engines.blas import one_thread
from ...engines.ledger import Ledger
from ...kernel.jit import clock
from ...problem import Problem
from ...result import Progress
from .ascent import LOOKS
from .factor import by_factor
from .free import FreeAscentWorker
from .gram import by_gram
from .looks import Sprint, at_the_start, heard, noted, settle
from .tuning import ENTRIES_A_CALL, FIRST_CENTRE, NEARLY_THERE, NEXT_CENTRE, SAFE, SHARPER_CENTRE

__all__ = ["Left", "by_matrix", "sprint_free"]


class Left(NamedTuple):
    """Where a matrix of columns has left the rest to sweeps, and the trace so far."""

    x: np.ndarray
    rows: list[Progress]


def by_matrix(
    problem: Problem,
    kind: str,
    tol: float,
    ledger: Ledger,
    callback: Callable[[Progress], Any] | None,
    x: np.ndarray | None = None,
) -> Sprint | Left | None:
    """The solution by a matrix of columns, or where sweeps go on; None if it is of no use."""
    rows, status, start = [at_the_start(problem, ledger)], "", clock()

    def told(c: Certificate) -> bool:
        nonlocal status, start
        now = clock()
        ledger.seconds, start = ledger.seconds + now - start, now
        rows.append(noted(ledger, 0.0, 0.0, c.primal, c.dual, c.gap, c.rel_gap))
        if callback is not None and heard(callback, rows[-1:]) is not None:
            status = "interrupted"
        return bool(status) or ledger.spent

    found: tuple[np.ndarray, Certificate | None] | None
    with one_thread():
        found = by_gram(problem, tol, x, told) if kind == "gram" else by_factor(problem)
    ledger.seconds, start = ledger.seconds + clock() - start, clock()
    if found is None:
        return None
    x, c = found
    if c is None:
        return Left(x, rows)
    if len(rows) == 1:  # one matrix, and one look
        told(c)
    settle(rows, c)
    return Sprint(x, c, rows, "converged" if c.rel_gap <= tol else status, kind)


def sprint_free(
    problem: Problem,
    near: Problem,
    tol: float,
    key: np.uint64,
    ledger: Ledger,
    callback: Callable[[Progress], Any] | None,
) -> Sprint:
    """The same where a column has no penalty: ascent around a centre that follows."""
    worker, rows = FreeAscentWorker(problem, near, key), [at_the_start(problem, ledger)]
    left = min(worker.most_passes, ledger.max_passes)
    aim, best, status = max(tol, FIRST_CENTRE), math.inf, ""
    try:
        while True:
            at_aim, passes = centred(worker, SAFE * aim, left, ledger)
            left -= passes
            if at_aim and aim > tol and left >= 1.0 and not ledger.spent:
                worker.follow()
                aim = max(tol, NEXT_CENTRE * aim)
                continue
            c = worker.proof()
            ledger.entries += problem.stored  # for v of the y that is mended
            rows.append(noted(ledger, 0.0, 0.0, c.primal, c.dual, c.gap, c.rel_gap))
            if callback is not None and heard(callback, rows[-1:]) is not None:
                status = "interrupted"
            slow = not at_aim or c.rel_gap > NEARLY_THERE * best or left < 1.0
            if c.rel_gap <= tol or status or slow or ledger.spent:
                break
            best, aim = c.rel_gap, max(tol, aim) * SHARPER_CENTRE
            worker.follow()
    except KeyboardInterrupt:
        if not worker.ran:  # all there is, is where it began: no answer
            raise
        c, status = certify_point(worker.x, problem, worker.y), "interrupted"
        rows.append(noted(ledger, 0.0, 0.0, c.primal, c.dual, c.gap, c.rel_gap))
    settle(rows, c)
    status = "converged" if c.rel_gap <= tol else status
    return Sprint(worker.x, c, rows, status, "ascent")


def centred(
    worker: FreeAscentWorker, aim: float, left: float, ledger: Ledger
) -> tuple[bool, float]:
    """Ascend around the centre: whether the gap of that problem is reached, and the passes."""
    near, record = worker.problem, np.empty((LOOKS, 4))
    floor, taken = floor_of(near), 0.0
    while True:
        ahead = min(left - taken, max(worker.fewest_passes, ENTRIES_A_CALL / near.stored))
        start = clock()
        looks, passes = worker.run((aim, floor, ahead, left - taken), record)
        ledger.seconds += clock() - start
        ledger.entries += passes * near.stored
        ledger.paper_passes += passes
        taken += passes
        _, primal, dual, gap = record[looks - 1].tolist()
        near_enough = relative(gap, primal, dual, floor) <= aim
        if near_enough or passes < ahead or left - taken < 1.0 or ledger.spent:
            return near_enough, taken
