"""Which problems are solved in one kernel, and what comes of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...certificate.gap import Certificate, certify_point, floor_of, relative
from ...engines.blas import one_thread
from ...engines.ledger import Ledger
from ...kernel.jit import clock
from ...losses import EpsilonInsensitive, Hinge, Logistic, Squared, SquaredHinge
from ...problem import Problem
from ...result import Progress
from ..newton.tuning import FEW_ROWS, WIDE
from ..tuning import FEW_LINES, SQUARE, VERY_TALL
from .ascent import LOOKS
from .factor import by_factor, one_factor
from .free import FreeAscentWorker, lifted
from .tuning import (
    CHEAP_DENSE,
    CHEAP_SPARSE,
    EASY_ENOUGH,
    EASY_LOGISTIC,
    EASY_MUCH,
    EASY_NET,
    EASY_SQUARE,
    EASY_TALL,
    EASY_VERY_TALL,
    ENTRIES_A_CALL,
    ENTRIES_OF_MUCH,
    FEW_A_ROW,
    FEW_DENSE_COLUMNS,
    FEW_ENTRIES,
    FEWEST_OF_MUCH,
    FIRST_CENTRE,
    LITTLE_DENSE_DATA,
    MANY_DIGITS,
    MOST_EASY_ENTRIES,
    MOST_ENTRIES,
    MUCH_DATA,
    NEARLY_PROVEN,
    NEARLY_THERE,
    NEXT_CENTRE,
    SAFE,
    SHARPER_CENTRE,
    SHORT_ROW,
    SMALL_COPY,
    SMALL_SHARE,
)
from .workers import WORKERS, AscentWorker, DescentWorker, NewtonCGWorker

__all__ = ["FROM_ANYWHERE", "REASONS", "Dash", "Sprint", "kind_of", "sprint"]

#: Losses that most fits are about: a kernel takes seconds to compile.
WORTH_A_KERNEL = (Logistic, Hinge, SquaredHinge, Squared)
#: On sparse rows the others take four times as long to 1e-3.
WORTH_ON_SPARSE_ROWS = (*WORTH_A_KERNEL, EpsilonInsensitive)


REASONS = {
    "ascent": "row by row in one kernel, x tied to y",
    "descent": "column by column in one kernel",
    "newton-cg": "Newton's steps by conjugate gradients in one kernel",
    "newton-gram": "Newton's steps on few columns in one kernel",
    "factor": "least squares with l2 on few columns: one factor",
}
THEN = ", then "  # between the kernels of a sprint
FROM_ANYWHERE = ("newton-cg", "newton-gram")  # kernels that may begin at any x


class Sprint(NamedTuple):
    """Where a sprint ended.

    Attributes
    ----------
    x : ndarray
        Its end, and where others go on from.
    certificate : Certificate
        What is proven of x, by the same sums as everywhere.
    rows : list of Progress
        Looks on the way; the last is that of the certificate.
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

    @property
    def reason(self) -> str:
        """Why this kernel, in a few words."""
        return REASONS[self.kind.rpartition(THEN)[2]]


def kind_of(problem: Problem, tol: float = 1e-3) -> str:
    """Which kernel takes the problem, a key of ``REASONS``; "" if none does.

    Examples
    --------
    >>> import numpy as np, spd1
    >>> kind_of(spd1.Problem(np.eye(3), [1.0, 2.0, 3.0], "squared", spd1.L1(0.1)))
    'descent'
    """
    p = problem
    if p.grid.shape != (1, 1) or not 0 < p.stored <= MOST_EASY_ENTRIES:
        return ""
    if one_factor(p):
        return "factor"
    if type(p.loss) not in (WORTH_A_KERNEL if p.grid.dense else WORTH_ON_SPARSE_ROWS):
        return newton_kind(p) if p.stored <= MOST_ENTRIES and newton_suits(p) else ""
    near = lifted(p)
    if near is not None and p.grid.row_major and kind_of(near, tol) == "ascent":
        return "ascent"  # an intercept: the other columns decide
    if p.stored > MOST_ENTRIES:
        return "ascent" if very_easy(p) else ""
    if p.grid.dense and p.n <= FEW_ROWS and WIDE * p.n <= p.d and factors_settle(p, tol):
        return ""
    if p.loss.quadratic and p.grid.dense and p.reg.plain:
        return ""  # and so do factors of dense least squares
    if newton_suits(p):
        return newton_kind(p)
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


def newton_suits(problem: Problem) -> bool:
    """Whether tall data had better be solved by Newton's steps than row by row.

    A product with the curvature is two walks along a row and no more; a visit to a row is a prox,
    and with a logistic loss that is as much as twenty entries. Rows that l2 holds back need few
    visits, and long ones cost the same either way.
    """
    p = problem
    if p.n <= SQUARE * p.d or p.loss.quadratic or NewtonCGWorker.objection(p):
        return False
    if p.mu == 0.0:  # a column without penalty is nothing that the others take
        return True
    short = p.stored <= SHORT_ROW * p.n
    if short and p.loss.probabilities and p.n >= VERY_TALL * p.d:
        return True
    if short_rows(p) and not p.loss.probabilities:
        return False
    return AscentWorker.objection(p) != "" or row_ratio(p) > EASY_ENOUGH or not rows_are_easy(p)


def newton_kind(problem: Problem) -> str:
    """How Newton's steps are found at first.

    The matrix of few columns is always right, and costs a few products with the data. On little
    data that is less than to find out that these will not do.
    """
    p = problem
    few = p.grid.dense and p.d <= FEW_DENSE_COLUMNS and p.stored <= LITTLE_DENSE_DATA
    return "newton-gram" if few else "newton-cg"


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
        self.kind, self.rows, self.key = kind, list[Progress](), key
        self.runner: Any = WORKERS[kind](problem, key)
        self.tol = self.aim = tol
        self.allowed = self.left = self.runner.most_passes  # passes
        self.over = False  # whether it is there, hopeless, or out of passes

    def take_over(self, found: Sprint) -> None:
        """Go on with what another sprint has found."""
        c, self.rows, self.kind = found.certificate, found.rows, f"{found.kind}{THEN}{self.kind}"
        self.runner.start_from(found.x, c.y, c.dual)

    def go_on_by(self, kind: str, problem: Problem, c: Certificate, max_passes: float) -> None:
        """Leave the rest to Newton's steps, from where another kernel has ended."""
        x, self.kind = self.runner.x, f"{self.kind}{THEN}{kind}"
        self.runner = WORKERS[kind](problem, self.key)
        self.runner.start_from(x, c.y, c.dual)
        self.aim, self.over = self.tol, False
        self.allowed = self.left = min(self.runner.most_passes, max_passes)

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
    state, begun_with = begun, None
    if state is None:
        kind = kind_of(problem, tol)
        if not kind:
            return None
        if kind == "factor":
            return factored(problem, tol, ledger, callback)
        near = lifted(problem)
        if kind == "ascent" and near is not None:
            if keeper is not None:  # its centre is not kept
                return None
            begun_with = sprint_free(problem, near, tol, key, ledger, callback)
            kind = next_kind(kind, problem)
            if begun_with.status or ledger.spent or not kind:
                return begun_with
        state = Dash(problem, kind, tol, key)
        if begun_with is not None:
            state.take_over(begun_with)
        elif x0 is not None:
            state.runner.start_from(x0)
    state.limit(tol, ledger.max_passes)
    try:
        c, status = dash(state, problem, ledger, callback, keeper)
        while not status and c.rel_gap > tol:
            kind = next_kind(state.kind, problem)
            if not kind or ledger.spent:
                break
            state.go_on_by(kind, problem, c, ledger.max_passes - ledger.passes)
            c, status = dash(state, problem, ledger, callback, keeper)
    except KeyboardInterrupt:
        runner = state.runner
        if not (runner.ran or state.rows):  # all there is, is where it began: no answer
            raise
        c, status = certify_point(runner.x, problem, runner.y), "interrupted"
        state.rows = state.rows or [noted(ledger, 0.0, 0.0, c.primal, c.dual, c.gap, c.rel_gap)]
    settle(state.rows, c)
    status = "converged" if c.rel_gap <= tol else status
    return Sprint(state.runner.x, c, state.rows, status, state.kind)


def next_kind(kind: str, problem: Problem) -> str:
    """Which kernel goes on with what another has given up; "" if none does.

    What ascent leaves are rows that feel each other, and what conjugate gradients leave are
    columns that do: the matrix of few of these costs a few products.
    """
    p, last = problem, kind.rpartition(THEN)[2]
    if p.stored > MOST_ENTRIES or NewtonCGWorker.objection(p):
        return ""
    if last == "ascent" and not (p.grid.dense and p.n < p.d):
        return "newton-cg"
    few = p.grid.dense and p.d <= FEW_DENSE_COLUMNS
    return "newton-gram" if last == "newton-cg" and few else ""


def factored(
    problem: Problem, tol: float, ledger: Ledger, callback: Callable[[Progress], Any] | None
) -> Sprint | None:
    """The solution by one factor; None if there is none."""
    start = clock()
    with one_thread():
        found = by_factor(problem)
    ledger.seconds += clock() - start
    if found is None:
        return None
    x, c = found
    rows = [noted(ledger, 0.0, 0.0, c.primal, c.dual, c.gap, c.rel_gap)]
    stopped = callback is not None and heard(callback, rows)
    status = "converged" if c.rel_gap <= tol else "interrupted" if stopped else ""
    return Sprint(x, c, rows, status, "factor")


def sprint_free(
    problem: Problem,
    near: Problem,
    tol: float,
    key: np.uint64,
    ledger: Ledger,
    callback: Callable[[Progress], Any] | None,
) -> Sprint:
    """The same where a column has no penalty: ascent around a centre that follows."""
    worker, rows = FreeAscentWorker(problem, near, key), list[Progress]()
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
            ledger.entries += 2.0 * problem.stored
            rows.append(noted(ledger, 0.0, 0.0, c.primal, c.dual, c.gap, c.rel_gap))
            if callback is not None and heard(callback, rows[-1:]):
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
    few, many = state.runner.fewest_passes, ENTRIES_A_CALL
    if problem.stored > MOST_ENTRIES:
        few, many = FEWEST_OF_MUCH, ENTRIES_OF_MUCH
    ahead = min(state.left, max(few, many / problem.stored))
    start = clock()
    looks: int
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
