"""Making a dual point feasible: inside the domain of phi*, and for the regularizer.

A dual point is scaled, or moved where it has room.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..kernel.jit import kernel
from ..terms import loss_domain
from .tuning import BALANCED, MEND_LIMIT, MEND_ROUNDS

if TYPE_CHECKING:
    from ..problem import Problem

__all__ = ["made_feasible", "replace_infeasible", "room_inside"]


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
    if problem.n * len(free) <= MEND_LIMIT:
        columns = problem.grid.dense_columns(free)
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


@kernel
def replace_infeasible(y, guess, b, loss):
    """Where phi*(y_i) is infinite, clip y_i to the domain, or take guess_i; return how often."""
    count = 0
    for i in range(len(y)):
        if not abs(loss.conjugate(y[i], b[i])) < math.inf:
            low, high = loss.domain(b[i])
            y[i] = min(max(y[i], low), high)
            if not abs(loss.conjugate(y[i], b[i])) < math.inf:
                y[i] = guess[i]
            count += 1
    return count


@kernel
def room_inside(v, low, high):
    """Largest theta <= 1 with theta v inside the bounds, where those leave room around zero."""
    theta = 1.0
    for j in range(len(v)):
        if v[j] > high[j]:
            if high[j] > 0.0:
                theta = min(theta, high[j] / v[j])
        elif v[j] < low[j] and low[j] < 0.0:
            theta = min(theta, low[j] / v[j])
    return theta


@kernel
def scaled_inside(theta, v, low, high, out):
    """Scale v by theta; what rounding left outside the bounds is cut off."""
    for j in range(len(v)):
        out[j] = min(max(theta * v[j], low[j]), high[j])


@np.errstate(all="ignore")
def made_feasible(problem: Problem, y: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mend and scale y, with v = -A'(c y), until v is inside its bounds.

    y must be inside the domain of phi*. Columns with l2 > 0 or a bounded box ask nothing. Columns
    with l1 > 0 alone need |v_j| <= l1_j: y is scaled down. Columns with no penalty at all need
    v_j = 0 (on their unbounded sides): y is moved where it has room to move.
    """
    low, high = problem.dual_bounds
    if low is None or high is None:
        return y, v
    free = problem.free_columns
    if len(free) and not balanced(problem, y, v, low, high, free).all():
        y = mend(problem, y, low, high, free)
        v = -problem.adjoint(problem.c * y)
    theta = room_inside(v, low, high)
    inside = np.empty(problem.d)
    scaled_inside(theta, v, low, high, inside)
    return y * theta if theta < 1.0 else y, inside
