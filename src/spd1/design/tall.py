"""Least squares with an intercept on few columns of tall dense data, without a centred copy.

With means m of the columns, and targets whose mean is zero,

    G = A'A / n - m m',    A'b / n

are all that coefficients depend on, and the data is read where it lies. What is proven is the
problem of centred columns: margins A x - m'x and v = -(A'(c y) - m sum c y) are computed from the
data, and what rounding in G has spoilt shows in the gap. Columns whose means are far beyond their
deviations, where that would be much, are left to a centred copy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..certificate.gap import Certificate, certificate_of
from ..certificate.segments import shrunk_pair
from ..engines.blas import one_thread
from ..engines.ledger import Ledger
from ..kernel.jit import clock
from ..problem import Problem
from ..regularizers import ElasticNet
from ..result import Result, Trace
from ..solvers.newton.linalg.cholesky import damped_cholesky, solve_by
from ..solvers.newton.tuning import FEW_COLUMNS, TALL_GRAM
from ..solvers.sprint.gram import on_gram
from ..solvers.sprint.looks import at_the_start, heard, noted
from .tuning import FEWEST_READINGS, LEAST_DEVIATION, LOOSE_TOL, SHARP_TOL

__all__ = ["Sums", "solved", "suits"]

ASKED = ("tol", "method", "max_passes", "max_seconds", "random_state", "callback", "verbose")
BY_SUMS = "auto: newton (least squares on few columns: one small matrix)"
BY_FACTOR = "auto: factor (least squares with l2 on few columns: one factor)"


class Sums(NamedTuple):
    """Means of the columns and the Gram matrix of centred ones, over n."""

    mean: np.ndarray
    gram: np.ndarray


def suits(X: np.ndarray, reg: ElasticNet, options: dict[str, Any]) -> bool:
    """Whether the shape of the data, the penalty and what is asked for are of that kind.

    Examples
    --------
    >>> suits(np.zeros((90, 3)), ElasticNet(l1=0.1), {"tol": 1e-6})
    True
    >>> suits(np.zeros((90, 3)), ElasticNet(l1=0.1), {"tol": 1e-6, "checkpoint": "a file"})
    False
    """
    n, d = X.shape
    if not (TALL_GRAM * d <= n and d <= FEW_COLUMNS and reg.scalar):
        return False
    if reg.l1 <= 0.0 and (not reg.plain or reg.mu <= 0.0):
        return False
    if any(name not in ASKED and value is not None for name, value in options.items()):
        return False
    readings = options.get("max_passes")
    enough = readings is None or readings >= FEWEST_READINGS
    return bool(enough and options.get("tol", 1e-6) >= SHARP_TOL and not options.get("verbose"))


def sums_of(problem: Problem) -> Sums | None:
    """The sums of a problem's data; None where rounding would show in them."""
    p = problem
    mean = p.adjoint(p.c)
    gram = p.grid.gram(None)
    squares = np.einsum("ii->i", gram).copy()
    gram -= np.outer(mean, mean)
    if not np.all(np.einsum("ii->i", gram) > LEAST_DEVIATION * squares):
        return None
    return Sums(mean, gram)


def solved(
    X: np.ndarray, b: np.ndarray, reg: ElasticNet, sums: Sums | None, options: dict[str, Any]
) -> tuple[Result | None, Sums | None]:
    """The result for centred columns and targets, and the sums of the data.

    No result where rounding shows, or a gap is not reached.
    """
    problem = Problem(X, b, "squared", reg)
    ledger = Ledger(problem.stored, options.get("max_passes"), options.get("max_seconds"))
    p, tol, start = problem.watched(ledger), options.get("tol", 1e-6), clock()
    if reg.plain and not reg.mu > p.most_faint_l2:
        return None, sums
    with one_thread(), np.errstate(all="ignore"):
        sums = sums_of(p) if sums is None else sums
        found = None if sums is None else minimised(p, sums, tol)
    ledger.seconds += clock() - start
    if found is None:
        return None, sums
    x, c = found
    rows = [at_the_start(p, ledger), noted(ledger, 0.0, 0.0, c.primal, c.dual, c.gap, c.rel_gap)]
    callback: Callable[[Any], Any] | None = options.get("callback")
    if callback is not None:
        heard(callback, rows[1:])
    trace = Trace()
    trace.rows = rows
    result = Result(
        x, c.y, c.primal, c.dual, c.gap, c.rel_gap, "converged", ledger.passes, ledger.seconds,
        trace, BY_FACTOR if reg.plain else BY_SUMS, {}, c.floor, c.reach,
    )  # fmt: skip
    return result, sums


def minimised(p: Problem, sums: Sums, tol: float) -> tuple[np.ndarray, Certificate] | None:
    """Coefficients and what is proven of them; None if that is not the gap asked for."""
    weighted = p.c * p.b
    pull = p.adjoint(weighted) - sums.mean * float(weighted.sum())
    if p.reg.plain:
        factor = damped_cholesky(sums.gram.copy(), p.mu)
        if factor is None:
            return None
        x = solve_by(factor, pull)
        c = proof(p, sums.mean, x, tol)[0]
        return (x, c) if c.rel_gap <= tol else None
    x, slope = np.clip(np.zeros(p.d), p.reg.lower, p.reg.upper), -pull
    slope += sums.gram @ x
    goal = min(tol, LOOSE_TOL) ** 2 * abs(p.start_value)
    x, c = on_gram(sums.gram, p.reg, x, slope, tol, goal, lambda x: proof(p, sums.mean, x, tol))
    return (x, c) if c.rel_gap <= tol else None


def proof(
    p: Problem, mean: np.ndarray, x: np.ndarray, tol: float
) -> tuple[Certificate, np.ndarray]:
    """The certificate of x on centred columns, and the slope there, from the data."""
    u = p.margins(x) - float(mean @ x)
    y = u - p.b
    weighted = p.c * y
    slope = p.adjoint(weighted) - mean * float(weighted.sum())
    return certificate_of(p, shrunk_pair(p, x.copy(), u, y, -slope, tol)), slope
