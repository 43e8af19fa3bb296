"""Which problems are solved in one kernel, and what comes of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...certificate.gap import Certificate, certify_point, floor_of, relative
from ...engines.ledger import Ledger
from ...kernel.jit import clock
from ...losses import Hinge, Logistic, Squared, SquaredHinge
from ...problem import Problem
from ...result import Progress
from ..newton.tuning import FEW_ROWS, WIDE
from ..tuning import FEW_LINES, SQUARE, VERY_TALL
from .ascent import LOOKS
from .tuning import (
    CHEAP_DENSE,
    CHEAP_SPARSE,
    EASY_LOGISTIC,
    EASY_MUCH,
    EASY_NET,
    EASY_SQUARE,
    EASY_TALL,
    EASY_VERY_TALL,
    ENTRIES_A_CALL,
    ENTRIES_OF_MUCH,
    FEW_A_ROW,
    FEW_ENTRIES,
    FEWEST_OF_MUCH,
    FEWEST_PASSES,
    MANY_DIGITS,
    MOST_EASY_ENTRIES,
    MOST_ENTRIES,
    MUCH_DATA,
    NEARLY_PROVEN,
    SAFE,
    SMALL_COPY,
    SMALL_SHARE,
)
from .workers import AscentWorker, DescentWorker

__all__ = ["REASONS", "Dash", "Sprint", "kind_of", "sprint"]

#: Losses that most fits are about: a kernel takes seconds to compile.
WORTH_A_KERNEL = (Logistic, Hinge, SquaredHinge, Squared)


REASONS = {
    "ascent": "row by row in one kernel, x tied to y",
    "descent": "column by column in one kernel",
}


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
        "ascent" or "descent".
    """

    x: np.ndarray
    certificate: Certificate
    rows: list[Progress]
    status: str
    kind: str

    @property
    def reason(self) -> str:
        """Why this kernel, in a few words."""
        return REASONS[self.kind]


def kind_of(problem: Problem, tol: float = 1e-3) -> str:
    """Which kernel takes the problem: "ascent" or "descent"; "" if none does.

    Examples
    --------
    >>> import numpy as np, spd1
    >>> kind_of(spd1.Problem(np.eye(3), [1.0, 2.0, 3.0], "squared", spd1.L1(0.1)))
    'descent'
    """
    p = problem
    if p.grid.shape != (1, 1) or not 0 < p.stored <= MOST_EASY_ENTRIES:
        return ""
    if type(p.loss) not in WORTH_A_KERNEL:
        return ""
    if p.stored > MOST_ENTRIES:
        return "ascent" if very_easy(p) else ""
    if p.grid.dense and p.n <= FEW_ROWS and WIDE * p.n <= p.d and factors_settle(p, tol):
        return ""
    if p.loss.quadratic and p.grid.dense and p.reg.plain:
        return ""  # and so do factors of dense least squares
    small = p.stored <= SMALL_COPY  # else nothing is copied to have lines of the other kind
    if short_rows(p) and not DescentWorker.objection(p) and (small or not p.grid.row_major):
        return "descent"
    if not AscentWorker.objection(p) and rows_are_easy(p):
        return "ascent" if small or p.grid.row_major else ""
    if DescentWorker.objection(p) or p.reg.l1 == 0.0 or gram_is_cheap(p):
        return ""
    return "descent" if small or not p.grid.row_major else ""


def factors_settle(problem: Problem, tol: float) -> bool:
    """Whether few dense rows are best left to small Gram matrices: l1 alone, or many digits."""
    p = problem
    if np.any(p.reg.l1):
        return p.mu < SMALL_SHARE * p.grid.square_sum / (p.n * p.d)
    return tol < MANY_DIGITS


def very_easy(problem: Problem) -> bool:
    """Whether l2 holds every row of much sparse data back: a few visits to each will do.

    Smooth losses, that is: Newton's method on the dual took two thirds of the time with hinges.
    """
    p = problem
    rows = p.grid.row_major and not p.grid.dense and p.gamma > 0.0
    if not rows or AscentWorker.objection(p) or p.reg.l1 > 0.0:
        return False
    return row_ratio(p) <= EASY_MUCH


def row_ratio(problem: Problem) -> float:
    """Mean of c_i |a_i|^2 / (l2 gamma): how much a row's own square is, beside l2."""
    p = problem
    smooth = p.gamma if p.gamma > 0.0 else 1.0
    return float(p.grid.square_sum / p.n / (p.n * p.mu * smooth))


def short_rows(problem: Problem) -> bool:
    """Whether tall data has so few entries a row that columns hardly feel each other."""
    p = problem
    return p.n > SQUARE * p.d and p.d > FEW_LINES and p.stored <= FEW_A_ROW * p.n


def gram_is_cheap(problem: Problem) -> bool:
    """Whether least squares on tall data had better add up a Gram matrix once and for all."""
    p = problem
    if not p.loss.quadratic or p.n <= SQUARE * p.d or p.stored <= MUCH_DATA:
        return False
    products = p.d if p.grid.dense else p.stored / p.n  # of an entry
    return products <= (CHEAP_DENSE if p.grid.dense else CHEAP_SPARSE)


def rows_are_easy(problem: Problem) -> bool:
    """Whether a few dozen visits to every row will do.

    Rows that share few columns hardly feel each other. On tall data they do, unless l2 holds each
    back: the number of passes grows with the mean of c_i |a_i|^2 / (l2 gamma).
    """
    p = problem
    ratio = row_ratio(p)
    if p.reg.l1 > 0.0:
        return p.n <= p.d and ratio <= EASY_NET
    if p.n <= SQUARE * p.d:
        return p.n <= p.d or ratio <= EASY_SQUARE or p.stored <= FEW_ENTRIES
    if p.n < VERY_TALL * p.d:
        return ratio <= EASY_TALL
    # an exponential and a logarithm a visit
    return ratio <= (EASY_LOGISTIC if p.loss.probabilities else EASY_VERY_TALL)


class Keeps(Protocol):
    """Who keeps a run that goes on for long; see ``loop/checkpoint.py``."""

    def pause(self, part: Any) -> None:
        """Keep it, if it is time."""

    def write(self, part: Any) -> None:
        """Keep it now."""


class Dash:
    """Where a sprint stands between two calls of its kernel."""

    def __init__(self, problem: Problem, kind: str, tol: float, key: np.uint64) -> None:
        self.kind, self.rows = kind, list[Progress]()
        self.runner: AscentWorker | DescentWorker
        self.runner = AscentWorker(problem, key) if kind == "ascent" else DescentWorker(problem)
        self.tol = self.aim = tol
        self.allowed = self.left = self.runner.most_passes  # passes
        self.over = False  # whether it is there, hopeless, or out of passes

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
) -> Sprint | None:
    """Solve a problem in one kernel as far as that is promising; None if it is not of that kind.

    The callback hears of looks when the kernel has returned, and may stop it there. ``begun`` is
    where an earlier process was.
    """
    kind = kind_of(problem, tol) if begun is None else begun.kind
    if not kind:
        return None
    state = begun or Dash(problem, kind, tol, key)
    if not state.rows:
        state.rows.append(at_the_start(problem, ledger))
    state.limit(tol, ledger.max_passes)
    runner = state.runner
    try:
        c, status = dash(state, problem, ledger, callback, keeper)
    except KeyboardInterrupt:
        if not runner.ran:  # all there is, is where it began: no answer
            raise
        c, status = certify_point(runner.x, problem, runner.y), "interrupted"
        if len(state.rows) == 1:
            state.rows.append(noted(ledger, 0.0, 0.0, c.primal, c.dual, c.gap, c.rel_gap))
    settle(state.rows, c)
    status = "converged" if c.rel_gap <= tol else status
    return Sprint(runner.x, c, state.rows, status, kind)


def dash(
    state: Dash,
    problem: Problem,
    ledger: Ledger,
    callback: Callable[[Progress], Any] | None,
    keeper: Keeps | None,
) -> tuple[Certificate, str]:
    """Call the kernel until there is a reason to stop; a call on much data is only a few passes."""
    floor, status = floor_of(problem), ""
    while True:
        if not state.over:
            looks = call(state, problem, ledger, floor)
            if callback is not None and heard(callback, state.rows[-looks:]):
                status = "interrupted"
        near = state.rows[-1].rel_gap <= state.aim
        if state.over or status or ledger.spent:
            if status and not near and keeper is not None:
                keeper.write(state)
            c = state.runner.certificate(state.rows[-1], floor, state.tol)
            wanted = near and state.tol < c.rel_gap < NEARLY_PROVEN * state.tol
            if status or not (wanted and state.left >= 1.0):
                return c, status
            state.aim, state.over = 0.1 * state.aim, False
        if keeper is not None:
            status = ledger.reached
            if status:
                keeper.write(state)
                return state.runner.certificate(state.rows[-1], floor, state.tol), status
            keeper.pause(state)


def call(state: Dash, problem: Problem, ledger: Ledger, floor: float) -> int:
    """Call the kernel once; returns how many looks it took."""
    record = np.empty((LOOKS, 4))
    few, many = FEWEST_PASSES, ENTRIES_A_CALL
    if problem.stored > MOST_ENTRIES:
        few, many = FEWEST_OF_MUCH, ENTRIES_OF_MUCH
    ahead = min(state.left, max(few, many / problem.stored))
    start = clock()
    looks, passes = state.runner.run((SAFE * state.aim, floor, ahead, state.left), record)
    taken = clock() - start
    share = taken / passes
    for at, primal, dual, gap in record[:looks].tolist():
        rel_gap = relative(gap, primal, dual, floor)
        state.rows.append(noted(ledger, at, at * share, primal, dual, gap, rel_gap))
    ledger.entries += passes * problem.stored
    ledger.paper_passes += passes
    ledger.seconds += taken
    state.left -= passes
    near = state.rows[-1].rel_gap <= state.aim
    state.over = near or passes < ahead or state.left < 1.0
    return looks


def at_the_start(problem: Problem, ledger: Ledger) -> Progress:
    """Row of x = 0 and y = 0: no loss of these is negative, so nothing is below D(0) = 0.

    It costs nothing, because the floor of relative gaps needs the same value. Callbacks count looks
    and don't hear of it.
    """
    start = problem.value_at_zero
    rel_gap = relative(start, start, 0.0, floor_of(problem))
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


def heard(callback: Callable[[Progress], Any], rows: list[Progress]) -> bool:
    """Tell a callback of some looks, until it asks to stop."""
    return any(callback(row) for row in rows)


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
