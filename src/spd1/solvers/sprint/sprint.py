"""Which problems are solved in one kernel, and what comes of it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...certificate.gap import Certificate, certificate_of, floor_of, relative
from ...certificate.points import pair_of
from ...certificate.segments import shrunk_pair
from ...data.matrix import Dense
from ...engines.ledger import Ledger
from ...kernel.jit import clock
from ...problem import Problem
from ...result import Progress
from ..base import tied_drift
from ..tuning import BLOCK, SQUARE, VERY_TALL
from .ascent import LOOKS, ascend
from .descent import descend
from .tuning import (
    EASY_LOGISTIC,
    EASY_NET,
    EASY_SQUARE,
    EASY_TALL,
    ENTRIES_A_CALL,
    FEW_ENTRIES,
    FEWEST_PASSES,
    HARMLESS,
    IN_BLOCKS,
    MOST_ASCENT,
    MOST_DESCENT,
    MOST_STORED,
    SAFE,
)

__all__ = ["Sprint", "kind_of", "sprint"]

PACKAGE = __name__.partition(".")[0]


class Sprint(NamedTuple):
    """Where a sprint ended.

    Attributes
    ----------
    x, y : ndarray
        Its end, and where others go on from.
    certificate : Certificate
        What is proven of x, by the same sums as everywhere.
    rows : list of Progress
        Looks on the way; the last is that of the certificate.
    label : str
        "ascent" or "descent".
    """

    x: np.ndarray
    y: np.ndarray
    certificate: Certificate
    rows: list[Progress]
    label: str


def kind_of(problem: Problem) -> str:
    """Which kernel takes the problem: "ascent" for l2 alone, "descent" for l1; "" if none does.

    Examples
    --------
    >>> import numpy as np, spd1
    >>> kind_of(spd1.Problem(np.eye(3), [1.0, 2.0, 3.0], "squared", spd1.L1(0.1)))
    'descent'
    """
    p, reg = problem, problem.reg
    if p.grid.shape != (1, 1) or not reg.scalar or p.stored > MOST_STORED or p.stored == 0:
        return ""
    if reg.lower > -math.inf or reg.upper < math.inf or p.label_kind == "count":
        return ""
    if type(p.loss).__module__.partition(".")[0] != PACKAGE:
        return ""  # a class of the user's: compiled in every process
    if reg.l2 > p.most_faint_l2 and rows_are_easy(p):
        return "ascent"
    return "descent" if reg.l1 > 0.0 and p.gamma > 0.0 else ""


def rows_are_easy(problem: Problem) -> bool:
    """Whether a few dozen visits to every row will do.

    Rows that share few columns hardly feel each other. On tall data they do, unless l2 holds each
    back: the number of passes grows with the mean of c_i |a_i|^2 / (l2 gamma).
    """
    p = problem
    smooth = p.gamma if p.gamma > 0.0 else 1.0
    ratio = p.grid.square_sum / p.n / (p.n * p.mu * smooth)
    if p.reg.l1 > 0.0:
        return p.n <= p.d and ratio <= EASY_NET
    if p.n <= SQUARE * p.d:
        return p.n <= p.d or ratio <= EASY_SQUARE or p.stored <= FEW_ENTRIES
    if p.loss.probabilities and p.n >= VERY_TALL * p.d:
        return ratio <= EASY_LOGISTIC  # an exponential and a logarithm a visit
    return ratio <= EASY_TALL


def sprint(problem: Problem, tol: float, key: np.uint64, ledger: Ledger) -> Sprint | None:
    """Solve a problem in one kernel as far as that is promising; None if it is not of that kind."""
    kind = kind_of(problem)
    if not kind:
        return None
    runner = Ascent(problem, key) if kind == "ascent" else Descent(problem)
    rows: list[Progress] = []
    floor = floor_of(problem)
    left = min(runner.most_passes, ledger.max_passes)
    aim = tol
    while True:
        ahead = min(left, max(FEWEST_PASSES, ENTRIES_A_CALL / problem.stored))
        record = np.empty((LOOKS, 4))
        start, entries = clock(), ledger.entries
        looks, passes, hopeless = runner.run((SAFE * aim, floor, ahead), record)
        taken = clock() - start
        for at, primal, dual, gap in record[:looks].tolist():
            rows.append(
                Progress(
                    (entries + at * problem.stored) / ledger.stored,
                    ledger.paper_passes + at,
                    ledger.seconds + taken * at / passes,
                    primal,
                    dual,
                    gap,
                    relative(gap, primal, dual, floor),
                )
            )
        ledger.entries += passes * problem.stored
        ledger.paper_passes += passes
        ledger.seconds += taken
        left -= passes
        near = rows[-1].rel_gap <= aim
        if near or hopeless or left < 1.0 or ledger.spent:
            c = runner.certificate(rows[-1], floor, tol)
            again = near and c.rel_gap > tol and c.rel_gap < 3.0 * tol and left >= 1.0
            if not again:
                break
            aim *= 0.1
    rows[-1] = rows[-1]._replace(primal=c.primal, dual=c.dual, gap=c.gap, rel_gap=c.rel_gap)
    return Sprint(runner.x, c.y, c, rows, kind)


class Ascent:
    """The kernel of l2 alone, and its state."""

    most_passes = MOST_ASCENT

    def __init__(self, problem: Problem, key: np.uint64) -> None:
        p = self.problem = problem
        self.A = p.grid.by_rows.matrix
        self.key, self.updates = key, 0.0
        self.y, self.u, self.G = np.zeros(p.n), np.zeros(p.n), np.zeros(p.d)
        self.kinks = not (p.loss.quadratic or p.loss.probabilities)
        self.block = BLOCK if p.stored > IN_BLOCKS and not p.grid.dense else 1

    def run(self, limits: Any, record: np.ndarray) -> tuple[int, float, bool]:
        """Call the kernel once: looks, passes, and whether there is no hope."""
        p = self.problem
        looks, passes, self.square = ascend(
            self.A, p.b, p.c, float(p.reg.l1), p.mu, p.loss, self.kinks, self.block, self.key,
            limits, self.y, self.G, self.u, record,
        )  # fmt: skip
        self.updates += passes * p.n
        return looks, passes, passes < limits[2]

    def certificate(self, last: Progress, floor: float, tol: float) -> Certificate:
        """What is proven: the kernel's sums where rounding in G can't matter, or new ones.

        With x tied to y the columns' brackets are zero, and the rows' are what the kernel adds up.
        """
        del tol
        p = self.problem
        self.x = self.G * (-1.0 / p.mu) if p.reg.l1 == 0.0 else soft(self.G, p.reg.l1, p.mu)
        drift = tied_drift(p, self.square, self.updates)
        gap, dual = last.gap + drift, last.dual - drift
        if drift <= HARMLESS * last.gap and gap >= last.primal - last.dual:
            rel_gap = relative(gap, last.primal, dual, floor)
            return Certificate(last.primal, dual, gap, rel_gap, self.y, floor)
        v = -p.adjoint(p.c * self.y)
        return certificate_of(p, pair_of(p, self.x, self.u, self.y, v))


def soft(G: np.ndarray, l1: float, l2: float) -> np.ndarray:
    """Argmax_t {-G t - l1 |t| - l2/2 t^2}."""
    return np.asarray((np.minimum(l1 - G, 0.0) - np.minimum(l1 + G, 0.0)) / l2)


class Descent:
    """The kernel of l1, and its state."""

    most_passes = MOST_DESCENT

    def __init__(self, problem: Problem) -> None:
        p = self.problem = problem
        A = p.grid.by_columns.matrix
        self.L = A.transposed() if isinstance(A, Dense) else A
        self.flat = float(p.c[0]) if p.loss.quadratic and p.uniform_weights else 0.0
        self.x, self.G, self.best_G = np.zeros(p.d), np.zeros(p.d), np.zeros(p.d)
        self.u, self.y, self.best_y = np.zeros(p.n), np.zeros(p.n), np.zeros(p.n)

    def run(self, limits: Any, record: np.ndarray) -> tuple[int, float, bool]:
        """Call the kernel once: looks, passes, and whether there is no hope."""
        p = self.problem
        looks, passes = descend(
            self.L, p.b, p.c, float(p.reg.l1), float(p.reg.l2), p.loss, p.gamma, self.flat, limits,
            self.x, self.u, self.y, self.G, self.best_y, self.best_G, record,
        )  # fmt: skip
        return looks, passes, passes < limits[2]

    def certificate(self, last: Progress, floor: float, tol: float) -> Certificate:
        """What is proven of x and the best y."""
        del last, floor
        p = self.problem
        return certificate_of(p, shrunk_pair(p, self.x, self.u, self.best_y, -self.best_G, tol))
