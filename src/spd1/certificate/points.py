"""Points with everything known about them: x with its margins, a feasible y with its v, pairs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..data.crew import each, slices
from ..terms import NO_REACH, dual_guess, loss_terms, loss_terms_near, net_terms
from .feasible import made_feasible
from .free_columns import free_columns_of
from .tuning import MANY_ROWS, REACH, ROW_PIECES
from .vicinity import Vicinity

if TYPE_CHECKING:
    from ..problem import Problem

__all__ = [
    "DualPoint",
    "Pair",
    "PrimalPoint",
    "dual_from_margins",
    "dual_here",
    "dual_of",
    "feasible_dual",
    "leaves_open",
    "pair_of",
    "paired",
    "primal_of",
    "primal_point",
    "zero_dual",
]

TINY = float(np.finfo(float).tiny)


class PrimalPoint(NamedTuple):
    """x with its margins u = A x and its objective."""

    x: np.ndarray
    u: np.ndarray
    value: float


class DualPoint(NamedTuple):
    """A feasible y with v = -A'(c y) and its objective.

    Where columns have no penalty, y is feasible only to within rounding: a dual point that is
    exactly so lies in its vicinity, and ``value`` bounds the objective of that one.
    """

    y: np.ndarray
    v: np.ndarray
    value: float
    near: Vicinity | None = None


class Pair(NamedTuple):
    """x and a feasible y with everything known about them: the gap is ``rows + columns``.

    ``open`` is the part of ``columns`` that stands for columns without penalty that are
    combinations of others to within rounding, and ``reach`` what is assumed of these: that each
    adds no more to a prediction. See ``certificate/vicinity.py``.
    """

    point: PrimalPoint
    dual: DualPoint
    rows: float
    columns: float
    open: float = 0.0
    reach: float = math.inf

    @property
    def gap(self) -> float:
        return self.rows + self.columns

    @property
    def lag(self) -> float:
        """Row terms over column terms: above 1 y lags behind x, below 1 x behind y."""
        if not math.isfinite(self.gap):
            return 1.0
        return (self.rows + TINY) / (self.columns + TINY)


def primal_point(problem: Problem, x: np.ndarray) -> PrimalPoint:
    """Evaluate P at x; a sum that overflowed counts as infinite."""
    with np.errstate(all="ignore"):
        return primal_of(problem, x, problem.margins(x))


def row_terms(problem: Problem, u: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    """Sums over all rows, see ``loss_terms``; those of very many by a crew, added in order."""
    p, crew = problem, problem.grid.crew
    if crew is None or p.n < MANY_ROWS:
        return p.row_sums(u, y)

    def work(part: slice) -> tuple[float, float, float]:
        found: tuple[float, float, float] = loss_terms(
            u[part], y[part], p.b[part], p.c[part], p.loss
        )
        return found

    total = (0.0, 0.0, 0.0)
    for sums in crew.map(work, slices(p.n, ROW_PIECES)):
        total = (total[0] + sums[0], total[1] + sums[1], total[2] + sums[2])
    return total


@np.errstate(all="ignore")
def primal_of(problem: Problem, x: np.ndarray, u: np.ndarray) -> PrimalPoint:
    """Evaluate P at x, its margins u = A x known."""
    loss = row_terms(problem, u, np.zeros(problem.n))[0]
    value = float(loss + net_terms(x, np.zeros(problem.d), NO_REACH, problem.net)[0])
    return PrimalPoint(x, u, value if math.isfinite(value) else math.inf)


def dual_from_margins(problem: Problem, u: np.ndarray) -> np.ndarray:
    """The dual point that any x offers: phi'(u)."""
    p, y = problem, np.empty(problem.n)
    crew = None if p.n < MANY_ROWS else p.grid.crew
    each(crew, p.n, p.n, lambda part: dual_guess(u[part], p.b[part], p.loss, y[part]))
    return y


@np.errstate(all="ignore")
def feasible_dual(problem: Problem, y: np.ndarray) -> DualPoint:
    """Make y feasible for the regularizer, see ``made_feasible``, and evaluate D there."""
    return dual_of(problem, y, None)


@np.errstate(all="ignore")
def dual_of(problem: Problem, y: np.ndarray, v: np.ndarray | None) -> DualPoint:
    """The same, v = -A'(c y) known, or None."""
    return dual_here(problem, *made_feasible(problem, y, v))


@np.errstate(all="ignore")
def dual_here(
    problem: Problem, y: np.ndarray, v: np.ndarray, near: Vicinity | None = None
) -> DualPoint:
    """Evaluate D at a feasible y; a sum that overflowed counts as minus infinity."""
    value = -(conjugate_sum(problem, y, near) + net_conjugate_sum(problem, v, near))
    return DualPoint(y, v, value if math.isfinite(value) else -math.inf, near)


def conjugate_sum(problem: Problem, y: np.ndarray, near: Vicinity | None) -> float:
    """Sum of c phi*(y), the largest of the vicinity."""
    p, nothing = problem, np.zeros(problem.n)
    if near is None:
        return float(row_terms(p, nothing, y)[1])
    return float(loss_terms_near(nothing, y, near.rows, p.b, p.c, p.loss)[1])


def net_conjugate_sum(problem: Problem, v: np.ndarray, near: Vicinity | None) -> float:
    """Sum of g*(v), the largest of the vicinity; what is open is left to ``paired``."""
    nothing = np.zeros(problem.d)
    if near is None:
        return float(net_terms(nothing, v, NO_REACH, problem.net)[1])
    sum_near = float(net_terms(nothing, v, penalised(problem, near), problem.net)[1])
    return sum_near + side_terms(problem, near, nothing)


def penalised(problem: Problem, near: Vicinity) -> np.ndarray:
    """The vicinity's columns, zero for those without penalty."""
    reach = near.columns.copy()
    reach[problem.free_columns] = 0.0
    return reach


def side_terms(problem: Problem, near: Vicinity, x: np.ndarray) -> float:
    """What the vicinity adds for columns with a bound on one side and nothing else.

    v_j is on one side of zero there, and g_j* = v_j times the bound: it is not steeper.
    """
    free = problem.free_columns
    if near.open is None or not np.any(near.columns[free]):
        return 0.0
    lower, upper = (np.broadcast_to(end, (problem.d,))[free] for end in _ends(problem))
    bound = np.where(np.isfinite(upper), upper, np.where(np.isfinite(lower), lower, 0.0))
    return float(np.sum(near.columns[free] * np.abs(bound - x[free])))


def _ends(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    return np.asarray(problem.reg.lower), np.asarray(problem.reg.upper)


def zero_dual(problem: Problem) -> DualPoint:
    """Y = 0: feasible for most losses, the bound that is always there."""
    return dual_here(problem, np.zeros(problem.n), np.zeros(problem.d))


def pair_of(
    problem: Problem, x: np.ndarray, u: np.ndarray, y: np.ndarray, v: np.ndarray | None
) -> Pair:
    """Evaluate x and y where u = A x is known; y is made feasible first.

    v = -A'(c y) is None if it is not known: then the data is read once, for the y that is feasible.
    """
    near = None
    if v is None or problem.dual_bounds[0] is not None:
        y, v, near = made_feasible(problem, y, v)
    if near is not None:
        return pair_near(problem, x, u, y, v, near)
    loss, conjugate, rows = row_terms(problem, u, y)
    g, g_star, columns = net_terms(x, v, NO_REACH, problem.net)
    primal, dual = loss + g, -(conjugate + g_star)
    point = PrimalPoint(x, u, primal if math.isfinite(primal) else math.inf)
    finite = math.isfinite(dual)
    return Pair(point, DualPoint(y, v, dual if finite else -math.inf), float(rows), float(columns))


@np.errstate(all="ignore")
def pair_near(
    problem: Problem, x: np.ndarray, u: np.ndarray, y: np.ndarray, v: np.ndarray, near: Vicinity
) -> Pair:
    """The same for a y that is feasible within its vicinity: one walk over rows and columns."""
    p = problem
    loss, conjugate, rows = loss_terms_near(u, y, near.rows, p.b, p.c, p.loss)
    g, g_star, columns = net_terms(x, v, penalised(p, near), p.net)
    primal = float(loss + g)
    dual = -float(conjugate + g_star + side_terms(p, near, np.zeros(p.d)))
    point = PrimalPoint(x, u, primal if math.isfinite(primal) else math.inf)
    bound = DualPoint(y, v, dual if math.isfinite(dual) else -math.inf, near)
    return _with_terms(p, point, bound, near, float(rows), float(columns))


def _with_terms(
    problem: Problem,
    point: PrimalPoint,
    dual: DualPoint,
    near: Vicinity,
    rows: float,
    columns: float,
) -> Pair:
    """The pair, what the vicinity leaves open added."""
    if not (math.isfinite(point.value) and math.isfinite(dual.value)):
        return Pair(point, dual, math.inf, math.inf)
    left, reach = open_terms(problem, point, near)
    columns += side_terms(problem, near, point.x) + left
    return Pair(point, dual, rows, columns, left, reach)


def paired(problem: Problem, point: PrimalPoint, dual: DualPoint) -> Pair:
    """Any x and any feasible y, evaluated already: they need not come from the same iteration."""
    if not (math.isfinite(point.value) and math.isfinite(dual.value)):
        return Pair(point, dual, math.inf, math.inf)
    p, (y, v, _, near) = problem, dual
    if near is None:
        rows = float(row_terms(p, point.u, y)[2])
        columns = float(net_terms(point.x, v, NO_REACH, p.net)[2])
        return Pair(point, dual, rows, columns)
    rows = float(loss_terms_near(point.u, y, near.rows, p.b, p.c, p.loss)[2])
    columns = float(net_terms(point.x, v, penalised(p, near), p.net)[2])
    return _with_terms(p, point, dual, near, rows, columns)


def leaves_open(dual: DualPoint) -> bool:
    """Whether a bound depends on how large coefficients may be."""
    return dual.near is not None and dual.near.open is not None and bool(np.any(dual.near.open))


def open_terms(problem: Problem, point: PrimalPoint, near: Vicinity) -> tuple[float, float]:
    """What columns that are not proved to balance may add to the gap, and within which reach."""
    left = near.open
    if left is None or not np.any(left):
        return 0.0, math.inf
    known = free_columns_of(problem)
    assert known is not None
    adds = float(np.abs(point.x[known.which] * known.unit).max())
    reach = REACH * max(adds, float(np.abs(point.u).max()), float(np.abs(problem.b).max()))
    return float(np.sum(left * reach / known.unit)), reach
