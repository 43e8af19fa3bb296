"""Solves in one kernel, to the certificate, and on from one kernel to another."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...certificate.gap import Certificate, certify_point, floor_of, relative
from ...engines.ledger import Ledger
from ...kernel.jit import clock
from ...problem import Problem
from ...result import Progress
from .ascent import LOOKS
from .choice import BY_MATRIX, FROM_ANYWHERE, REASONS, THEN, kind_of, next_kind
from .free import lifted
from .looks import Sprint, at_the_start, heard, noted, settle
from .short import Left, by_matrix, sprint_free
from .squeezed import SqueezedAscentWorker
from .tuning import (
    CALLS_BACK,
    DENSE_OF_MUCH,
    ENTRIES_A_CALL,
    ENTRIES_OF_MUCH,
    FEWEST_OF_MUCH,
    LESS_PROVEN,
    MOST_ENTRIES,
    NEARLY_PROVEN,
    SAFE,
    TO_ROUNDING,
    UNTIL_EXACTLY,
)
from .workers import NewtonCGWorker, NewtonGramWorker, sweeps_of

__all__ = [
    "FROM_ANYWHERE",
    "REASONS",
    "Call",
    "Dash",
    "Sprint",
    "called",
    "entered",
    "kind_of",
    "row_of",
    "sprint",
]

WORKERS: dict[str, Any] = {
    "ascent": SqueezedAscentWorker,
    "descent": sweeps_of,
    "newton-cg": NewtonCGWorker,
    "newton-gram": NewtonGramWorker,
}


class Keeps(Protocol):
    """Who keeps a run that goes on for long; see ``loop/checkpoint.py``."""

    def pause(self, part: Any) -> None:
        """Keep it, if it is time."""

    def write(self, part: Any) -> None:
        """Keep it now."""


class Dash:
    """Where a sprint stands between two calls of its kernel."""

    def __init__(self, problem: Problem, kind: str, tol: float, key: np.uint64) -> None:
        self.kind, self.key = kind, key
        self.rows: list[Progress] = []
        self.runner: Any = WORKERS[kind](problem, key)
        self.tol = self.aim = tol
        self.allowed = self.left = self.runner.most_passes  # passes
        self.over = False  # whether it is there, hopeless, or out of passes
        self.asked = math.inf  # relative gap of the look at which the callback asked to stop

    def take_over(self, found: Sprint) -> None:
        """Go on with what another sprint has found."""
        c, self.rows, self.kind = found.certificate, found.rows, f"{found.kind}{THEN}{self.kind}"
        self.runner.start_from(found.x, c.y, c.dual)

    def go_on_by(self, kind: str, problem: Problem, c: Certificate, max_passes: float) -> None:
        """Leave the rest to Newton's steps, from where another kernel has ended."""
        x, self.kind = self.runner.x, f"{self.kind}{THEN}{kind}"
        if not c.primal <= problem.value_at_zero:  # visits to rows may be far away yet
            x = np.zeros(problem.d)
        self.runner = WORKERS[kind](problem, self.key)
        self.runner.start_from(x, c.y, c.dual)
        self.aim, self.over = self.tol, False
        self.allowed = self.left = min(self.runner.most_passes, max_passes)

    def settled(self, last: Progress) -> bool:
        """Whether the kernel is at its aim, which is a reason to stop calling it."""
        near = last.rel_gap <= self.aim
        self.over = self.over or near
        return near

    def limit(self, tol: float, max_passes: float) -> None:
        """Go for a gap, within so many passes; both may change where a sprint goes on."""
        if tol != self.tol:
            self.tol = self.aim = tol
            self.over = self.over and tol > self.rows[-1].rel_gap
        allowed = min(self.runner.most_passes, max_passes)
        if allowed != self.allowed:
            self.allowed, self.left = allowed, allowed - (self.allowed - self.left)


@np.errstate(all="ignore")  # what overflows is infinite, and certified as such
def sprint(
    problem: Problem,
    tol: float,
    key: np.uint64,
    ledger: Ledger,
    callback: Callable[[Progress], Any] | None = None,
    keeper: Keeps | None = None,
    begun: Dash | None = None,
    x0: np.ndarray | None = None,
) -> Sprint | None:
    """Solve a problem in one kernel as far as that is promising; None if it is not of that kind.

    The callback hears of looks when the kernel has returned, and may stop it there. ``begun`` is
    where an earlier process was. An ``x0`` is for kernels of ``FROM_ANYWHERE``.
    """
    state, begun_with, left = begun, None, None
    if state is None:
        kind = kind_of(problem, tol)
        if not kind:
            return None
        if kind in BY_MATRIX:
            by_one = by_matrix(problem, kind, tol, ledger, callback)
            if not isinstance(by_one, Left):
                return by_one
            kind, left = "descent", by_one
        near = lifted(problem)
        if kind == "ascent" and near is not None:
            if keeper is not None:  # its centre is not kept
                return None
            first = first_aim(kind, tol, problem)
            begun_with = sprint_free(problem, near, first, key, ledger, callback)
            over = begun_with.status and (first == tol or begun_with.status != "converged")
            if over or ledger.spent:
                return begun_with
            kind = next_kind(kind, problem)
            if not kind:
                return begun_with
        state = Dash(problem, kind, tol, key)
        if left is not None:
            state.rows = left.rows
            state.runner.start_from(left.x)
        elif begun_with is not None:
            state.take_over(begun_with)
        elif x0 is not None:
            state.runner.start_from(x0)
    if not state.rows and x0 is None:
        state.rows.append(at_the_start(problem, ledger))
    first_of_all = begun_with is None and left is None
    taken = 0.0 if first_of_all else ledger.passes  # by whom it goes on after
    first = first_aim(state.kind, tol, problem)
    state.limit(first, ledger.max_passes - taken)
    try:
        c, status = dash(state, problem, ledger, callback, keeper)
        while not status and (c.rel_gap > tol or state.tol > tol):
            kind = next_kind(state.kind, problem)
            if not kind or ledger.spent:
                break
            if kind in BY_MATRIX:
                return followed(state, problem, kind, tol, ledger, callback)
            state.tol = tol
            state.go_on_by(kind, problem, c, ledger.max_passes - ledger.passes)
            c, status = dash(state, problem, ledger, callback, keeper)
        if status == "interrupted" and keeper is None:  # else it goes on from there later
            c = come_back(state, problem, ledger, c)
    except KeyboardInterrupt:
        c, status = interrupted(state, problem, ledger), "interrupted"
    settle(state.rows, c)
    status = "converged" if c.rel_gap <= tol else status
    return Sprint(state.runner.x, c, state.rows, status, state.kind)


def followed(
    state: Dash,
    problem: Problem,
    kind: str,
    tol: float,
    ledger: Ledger,
    callback: Callable[[Progress], Any] | None,
) -> Sprint:
    """Leave the rest to a matrix of columns."""
    last = by_matrix(problem, kind, tol, ledger, callback, state.runner.x.copy())
    assert isinstance(last, Sprint)  # from an x it does not ask others
    rows = state.rows + last.rows[1:]
    settle(rows, last.certificate)
    return last._replace(rows=rows, kind=f"{state.kind}{THEN}{kind}")


def come_back(state: Dash, problem: Problem, ledger: Ledger, c: Certificate) -> Certificate:
    """Go on until the gap is what it was when the callback asked to stop.

    It hears of looks when the kernel has returned, and momentum may have gone farther by then: who
    stops where a gap is small enough gets one that is.
    """
    floor = floor_of(problem)
    for _ in range(CALLS_BACK):
        if c.rel_gap <= state.asked or ledger.spent or state.left < 1.0:
            break
        kind = next_kind(state.kind, problem) if state.over else ""
        if kind:
            state.go_on_by(kind, problem, c, ledger.max_passes - ledger.passes)
        state.aim = max(state.aim, state.asked)
        begun = noted(ledger, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        state.rows += entered(begun, called(state, problem, ledger, floor), floor)
        c = state.runner.certificate(state.rows[-1], floor, state.tol)
    return c


def interrupted(state: Dash, problem: Problem, ledger: Ledger) -> Certificate:
    """What is proven where Ctrl-C has stopped it."""
    runner = state.runner
    if not runner.ran and len(state.rows) <= 1:  # all there is, is where it began: no answer
        raise KeyboardInterrupt
    c = certify_point(runner.x, problem, runner.y)
    if len(state.rows) <= 1:
        state.rows.append(noted(ledger, 0.0, 0.0, c.primal, c.dual, c.gap, c.rel_gap))
    return c


def first_aim(kind: str, tol: float, problem: Problem) -> float:
    """The gap that the first kernel goes for.

    Who asks for a gap below rounding asks for x, which visits to rows settle to half of the digits
    of the gap. They begin, and steps of Newton's go on.
    """
    rows_first = tol < TO_ROUNDING and kind == "ascent" and next_kind(kind, problem) != ""
    return UNTIL_EXACTLY if rows_first else tol


def dash(
    state: Dash,
    problem: Problem,
    ledger: Ledger,
    callback: Callable[[Progress], Any] | None,
    keeper: Keeps | None,
) -> tuple[Certificate, str]:
    """Call the kernel until there is a reason to stop; a call on much data is only a few passes."""
    floor, status, proven = floor_of(problem), "", math.inf
    while True:
        if not state.over:
            begun = noted(ledger, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
            looks = entered(begun, called(state, problem, ledger, floor), floor)
            told = looks if state.rows else looks[1:]  # the first is at the caller's x0
            state.rows += looks
            state.settled(looks[-1])
            asked = None if callback is None else heard(callback, told)
            if asked is not None:
                state.asked, status = asked.rel_gap, "interrupted"
        near = state.rows[-1].rel_gap <= state.aim
        if state.over or status or ledger.spent:
            if status and not near and keeper is not None:
                keeper.write(state)
            c = state.runner.certificate(state.rows[-1], floor, state.tol)
            steps = isinstance(state.runner, NewtonCGWorker)  # one more costs little
            far = math.inf if steps else NEARLY_PROVEN * state.tol
            wanted = near and state.tol < c.rel_gap < min(far, LESS_PROVEN * proven)
            if status or not (wanted and state.left >= 1.0):
                return c, status
            if steps:
                state.runner.believe(c)
            state.aim, state.over, proven = 0.1 * state.aim, False, c.rel_gap
        if keeper is not None:
            status = ledger.reached
            if status:
                keeper.write(state)
                return state.runner.certificate(state.rows[-1], floor, state.tol), status
            keeper.pause(state)


class Call(NamedTuple):
    """What a call of a kernel has told.

    Attributes
    ----------
    record : ndarray
        Passes, primal, dual and gap of each look, see ``ascend``.
    looks : int
    passes, seconds : float
    """

    record: np.ndarray
    looks: int
    passes: float
    seconds: float


def called(state: Dash, problem: Problem, ledger: Ledger, floor: float) -> Call:
    """Call the kernel once, and let the ledger know."""
    record = np.empty((LOOKS, 4))
    few, many = state.runner.fewest_passes, ENTRIES_A_CALL
    if problem.stored > MOST_ENTRIES:
        few, many = FEWEST_OF_MUCH, ENTRIES_OF_MUCH
        many *= DENSE_OF_MUCH if problem.grid.dense else 1.0
    ahead = min(state.left, max(few, many / problem.stored))
    start = clock()
    looks, passes = state.runner.run((SAFE * state.aim, floor, ahead, state.left), record)
    taken = clock() - start
    ledger.entries += passes * problem.stored
    ledger.paper_passes += passes
    ledger.seconds += taken
    state.left -= passes
    state.over = passes < ahead or state.left < 1.0
    return Call(record, looks, passes, taken)


def entered(begun: Progress, call: Call, floor: float) -> list[Progress]:
    """Rows of the trace for the looks of a call; ``begun``: before it."""
    return [row_of(begun, call, floor, k) for k in range(call.looks)]


def row_of(begun: Progress, call: Call, floor: float, look: int) -> Progress:
    """One of them."""
    at, primal, dual, gap = call.record[look].tolist()
    seconds = at * call.seconds / call.passes if call.passes > 0.0 else 0.0
    return Progress(
        begun.passes + at, begun.paper_passes + at, begun.seconds + seconds, primal, dual, gap,
        relative(gap, primal, dual, floor),
    )  # fmt: skip
