"""The smallest l1 that leaves every coefficient at zero."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .data.convert import as_scipy
from .data.matrix import Dense
from .errors import IncompatibleError, ParameterError
from .problem import Problem

__all__ = ["lambda_max"]

KINK_STEP = 8.0 * float(np.finfo(float).eps)  # to either side of zero, relative to the target
TINIEST = 5e-324


def lambda_max(problem: Problem) -> float:
    """Smallest ``l1`` at which ``x = 0`` is optimal.

    It is where a path of lassos begins: with ``l1`` at this value or above no feature is used, just
    below it the first one is. The ``l1`` that the problem has is left aside; ``l2``, bounds, sample
    weights and the loss are as they are. With an intercept, ``spd1.linear_model.path`` finds the
    first alpha.

    Parameters
    ----------
    problem : Problem

    Returns
    -------
    float
        ``max_j |A'(c y)|_j`` with ``y = phi'(0)``; of columns with a bound at zero, only the
        direction that is open counts. Where a loss has a corner at zero for some rows, such as the
        absolute loss for a target of zero, y is the subgradient for which the maximum is least.

    Examples
    --------
    >>> import numpy as np, spd1
    >>> rng = np.random.default_rng(0)
    >>> A = rng.normal(size=(50, 20)); b = A[:, 0]
    >>> largest = spd1.lambda_max(spd1.Problem(A, b, "squared"))
    >>> at, below = (
    ...     spd1.solve(A, b, loss="squared", l1=share * largest) for share in (1.0, 0.99)
    ... )
    >>> at.x.any(), below.x.nonzero()[0]
    (np.False_, array([0]))
    """
    if not isinstance(problem, Problem):
        raise ParameterError(f"lambda_max takes a spd1.Problem, not {type(problem).__name__}")
    if np.ndim(problem.reg.l1):
        raise ParameterError(
            "lambda_max is one number for all features, and this problem has an l1 a feature: use "
            "problem.with_regularizer(...)"
        )
    lower, upper = (
        np.broadcast_to(v, (problem.d,)) for v in (problem.reg.lower, problem.reg.upper)
    )
    if np.any(lower > 0) or np.any(upper < 0):
        raise IncompatibleError(
            "bounds forbid x = 0: no l1 makes it optimal. Bounds must have zero between them"
        )
    up, down = upper > 0, lower < 0
    low, high = _subgradients_at_zero(problem)
    open_rows = np.flatnonzero(low < high)
    if len(open_rows):
        return _least_of_all(problem, low, high, open_rows, up, down)
    return _largest(-problem.adjoint(problem.c * low), up, down)


def _subgradients_at_zero(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the interval of subgradients of each row's loss at zero."""
    values, inverse = np.unique(problem.b, return_inverse=True)
    ends = []
    for b in values.tolist():
        step = KINK_STEP * abs(b) or TINIEST
        if problem.gamma > 0 or problem.label_kind == "count":
            step = 0.0
        ends.append((problem.loss.derivative(-step, b), problem.loss.derivative(step, b)))
    low, high = np.array(ends, dtype=float)[inverse.ravel()].T
    return low, high


def _least_of_all(
    problem: Problem,
    low: np.ndarray,
    high: np.ndarray,
    open_rows: np.ndarray,
    up: np.ndarray,
    down: np.ndarray,
) -> float:
    """Least largest pull over all subgradients: a linear program in y of the open rows.

    The optimal y is put into the formula again: what is returned is the pull of a subgradient.
    """
    from scipy.optimize import linprog

    settled = np.where(low < high, 0.0, low)
    base = -problem.adjoint(problem.c * settled)
    rows = _rows_of(problem, open_rows)
    added = sp.csr_array(-rows.T * problem.c[open_rows])  # d x k: what y adds to the pull
    sides = np.concatenate([-base[up], base[down]])
    pulls = sp.vstack([added[up], -added[down]])
    inequalities = sp.hstack([pulls, sp.csr_array(-np.ones((len(sides), 1)))], format="csr")
    cost = np.append(np.zeros(len(open_rows)), 1.0)
    bounds = [*zip(low[open_rows], high[open_rows], strict=True), (0.0, None)]
    found = linprog(cost, A_ub=inequalities, b_ub=sides, bounds=bounds, method="highs")
    if not found.success:
        raise IncompatibleError(f"the linear program behind lambda_max failed: {found.message}")
    settled[open_rows] = np.clip(found.x[:-1], low[open_rows], high[open_rows])
    return _largest(-problem.adjoint(problem.c * settled), up, down)


def _largest(pull: np.ndarray, up: np.ndarray, down: np.ndarray) -> float:
    """Largest pull in a direction that is open."""
    return float(max(np.max(pull, where=up, initial=0.0), np.max(-pull, where=down, initial=0.0)))


def _rows_of(problem: Problem, which: np.ndarray) -> sp.csr_array:
    """Some rows of data in memory."""
    if problem.grid.shape != (1, 1) or not problem.grid.at_hand:
        raise IncompatibleError(
            f"{type(problem.loss).__name__} has a corner at zero for {len(which)} rows, and "
            "lambda_max then needs data in memory, in one piece"
        )
    A = problem.A
    return sp.csr_array(A.values[which] if isinstance(A, Dense) else as_scipy(A).tocsr()[which])
