"""Points with everything known about them: x with its margins, a feasible y with its v, pairs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..terms import dual_guess, loss_terms, net_terms
from .feasible import made_feasible

if TYPE_CHECKING:
    from ..problem import Problem

__all__ = [
    "DualPoint",
    "Pair",
    "PrimalPoint",
    "dual_from_margins",
    "dual_of",
    "feasible_dual",
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
    """A feasible y with v = -A'(c y) and its objective."""

    y: np.ndarray
    v: np.ndarray
    value: float


class Pair(NamedTuple):
    """x and a feasible y with everything known about them: the gap is ``rows + columns``."""

    point: PrimalPoint
    dual: DualPoint
    rows: float
    columns: float

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


@np.errstate(all="ignore")
def primal_of(problem: Problem, x: np.ndarray, u: np.ndarray) -> PrimalPoint:
    """Evaluate P at x, its margins u = A x known."""
    loss = loss_terms(u, np.zeros(problem.n), problem.b, problem.c, problem.loss)[0]
    value = float(loss + net_terms(x, np.zeros(problem.d), problem.net)[0])
    return PrimalPoint(x, u, value if math.isfinite(value) else math.inf)


def dual_from_margins(problem: Problem, u: np.ndarray) -> np.ndarray:
    """The dual point that any x offers: phi'(u)."""
    y = np.empty(problem.n)
    dual_guess(u, problem.b, problem.loss, y)
    return y


@np.errstate(all="ignore")
def feasible_dual(problem: Problem, y: np.ndarray) -> DualPoint:
    """Make y feasible for the regularizer, see ``made_feasible``, and evaluate D there."""
    return dual_of(problem, y, -problem.adjoint(problem.c * y))


@np.errstate(all="ignore")
def dual_of(problem: Problem, y: np.ndarray, v: np.ndarray) -> DualPoint:
    """The same, v = -A'(c y) known."""
    return dual_here(problem, *made_feasible(problem, y, v))


@np.errstate(all="ignore")
def dual_here(problem: Problem, y: np.ndarray, v: np.ndarray) -> DualPoint:
    """Evaluate D at a feasible y; a sum that overflowed counts as minus infinity."""
    zero_u, zero_x = np.zeros(problem.n), np.zeros(problem.d)
    value = -float(
        loss_terms(zero_u, y, problem.b, problem.c, problem.loss)[1]
        + net_terms(zero_x, v, problem.net)[1]
    )
    return DualPoint(y, v, value if math.isfinite(value) else -math.inf)


def zero_dual(problem: Problem) -> DualPoint:
    """Y = 0: feasible for most losses, the bound that is always there."""
    return dual_here(problem, np.zeros(problem.n), np.zeros(problem.d))


def pair_of(problem: Problem, x: np.ndarray, u: np.ndarray, y: np.ndarray, v: np.ndarray) -> Pair:
    """Evaluate x and y where u = A x and v = -A'(c y) are known; y is made feasible first."""
    if problem.dual_bounds[0] is not None:
        y, v = made_feasible(problem, y, v)
    loss, conjugate, rows = loss_terms(u, y, problem.b, problem.c, problem.loss)
    g, g_star, columns = net_terms(x, v, problem.net)
    primal, dual = loss + g, -(conjugate + g_star)
    point = PrimalPoint(x, u, primal if math.isfinite(primal) else math.inf)
    finite = math.isfinite(dual)
    return Pair(point, DualPoint(y, v, dual if finite else -math.inf), float(rows), float(columns))


def paired(problem: Problem, point: PrimalPoint, dual: DualPoint) -> Pair:
    """Any x and any feasible y, evaluated already: they need not come from the same iteration."""
    if not (math.isfinite(point.value) and math.isfinite(dual.value)):
        return Pair(point, dual, math.inf, math.inf)
    rows = loss_terms(point.u, dual.y, problem.b, problem.c, problem.loss)[2]
    columns = net_terms(point.x, dual.v, problem.net)[2]
    return Pair(point, dual, float(rows), float(columns))
