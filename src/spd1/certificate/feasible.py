"""Making a dual point feasible for the regularizer: scaling it, or moving it where it has room."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..problem import Problem

MEND_ROUNDS = 20
MEND_LIMIT = 20_000_000  # entries of the unpenalised columns that mending may copy
BALANCED = 1e-13  # |sum| below this times the sum of absolute values counts as zero


def balanced(
    problem: Problem,
    y: np.ndarray,
    v: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    free: np.ndarray,
) -> np.ndarray:
    """Whether each unpenalised column is feasible up to rounding."""
    scale = np.sqrt(problem.column_norms_squared[free]) * np.linalg.norm(problem.c * y)
    over = np.maximum(v[free] - high[free], low[free] - v[free])
    return np.asarray(np.isfinite(scale) & (over <= BALANCED * scale))


def mend(
    problem: Problem, y: np.ndarray, low: np.ndarray, high: np.ndarray, free: np.ndarray
) -> np.ndarray:
    """Move y so that unpenalised columns balance: weighted least squares, a few rounds.

    Rows move in proportion to the room they have inside the domain of phi*, so that rows at its
    ends stay there. If this does not succeed, y = 0 is the last resort: feasible, but weak.
    """
    from ..terms import loss_domain

    if problem.n * len(free) <= MEND_LIMIT:
        columns = _columns(problem, free)
        ends = np.empty(problem.n), np.empty(problem.n)
        loss_domain(problem.b, problem.loss, *ends)
        mended, touched = y, np.zeros(len(free), dtype=bool)
        for _ in range(MEND_ROUNDS):
            v = -(columns.T @ (problem.c * mended))
            over = np.maximum(v - high[free], 0.0) + np.minimum(v - low[free], 0.0)
            scale = np.sqrt(problem.column_norms_squared[free]) * np.linalg.norm(problem.c * mended)
            touched |= np.abs(over) > BALANCED * scale
            if np.all(np.isfinite(scale) & (np.abs(over) <= BALANCED * scale)):
                return mended
            room = np.minimum(np.minimum(mended - ends[0], ends[1] - mended), 1.0)
            active = columns[:, touched]
            normal = active.T @ ((problem.c * room)[:, None] * active)
            if not (np.all(np.isfinite(normal)) and np.all(np.isfinite(v))):
                break
            shift = np.linalg.lstsq(normal, v[touched], rcond=1e-12)[0]
            mended = np.clip(mended + room * (active @ shift), *ends)
        if len(free) == 1:  # scale one sign's part down: 0 is in the domain of most losses
            terms = columns[:, 0] * problem.c * y
            plus, minus = terms[terms > 0].sum(), -terms[terms < 0].sum()
            if 0.0 < plus < math.inf and 0.0 < minus < math.inf:
                down = np.where(terms > 0, min(1.0, minus / plus), min(1.0, plus / minus))
                return np.where(terms == 0, y, y * down)
    return np.zeros(problem.n)


def _columns(problem: Problem, free: np.ndarray) -> np.ndarray:
    """Copy the unpenalised columns."""
    from ..data.matrix import Dense, as_scipy

    A = problem.A
    if isinstance(A, Dense):
        return np.asarray(A.values[:, free], dtype=float)
    return np.asarray(as_scipy(A)[:, free].toarray(), dtype=float)
