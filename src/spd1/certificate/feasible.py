"""Making a dual point feasible: inside the domain of phi*, and for the regularizer.

A dual point is scaled, or moved where it has room.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..kernel.jit import kernel
from ..problem import ROUNDED, SUBTLE
from ..terms import NO_REACH, loss_terms_near, size_of
from .balance import mended
from .free_columns import FreeColumns, free_columns_of
from .one_column import balanced_alone
from .tuning import SNAPPED
from .vicinity import Vicinity, vicinity

if TYPE_CHECKING:
    from ..problem import Problem

__all__ = ["made_feasible", "replace_infeasible", "scaled_inside"]


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
def scaled_inside(v, reach, low, high, out):
    """Scale v by the largest theta <= 1 with theta (v +- reach) inside the bounds; returns theta.

    Bounds that leave no room around zero are not asked. What rounding leaves outside is cut off,
    so that out +- theta reach is inside; columns with a bound of 0 stay there. reach may be
    ``NO_REACH``: none.
    """
    theta = 1.0
    for j in range(len(v)):
        r = reach[j] if len(reach) > 0 else 0.0
        if high[j] > 0.0 and v[j] + r > high[j]:
            theta = min(theta, high[j] / (v[j] + r))
        if low[j] < 0.0 and v[j] - r < low[j]:
            theta = min(theta, low[j] / (v[j] - r))
    for j in range(len(v)):
        r = theta * reach[j] if len(reach) > 0 else 0.0
        below = low[j] + r if low[j] < 0.0 else low[j]
        above = high[j] - r if high[j] > 0.0 else high[j]
        out[j] = min(max(theta * v[j], below), above)
    return theta


@np.errstate(all="ignore")
def made_feasible(
    problem: Problem, y: np.ndarray, v: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, Vicinity | None]:
    """Mend and scale y, with v = -A'(c y), until v is inside its bounds.

    v may be None where nobody knows it: mending would make it useless.

    y must be inside the domain of phi*. Columns with l2 > 0 or a bounded box ask nothing. Columns
    with l1 > 0 alone need |v_j| <= l1_j: y is scaled down. Columns with no penalty at all need
    v_j = 0 (on their unbounded sides): y is moved where it has room to move, and what rounding
    leaves open is said by a vicinity. If nothing helps, y = 0 is feasible, but weak.
    """
    low, high = problem.dual_bounds
    if v is None and (low is None or len(problem.free_columns) == 0):
        v = -problem.adjoint(problem.c * y)
    if low is None or high is None:
        assert v is not None
        return y, v, None
    near = None
    if len(problem.free_columns):
        moved, near = balanced(problem, y)
        if near is None:
            return np.zeros(problem.n), np.zeros(problem.d), None
        if moved is not y or v is None:
            y, v = moved, -problem.adjoint(problem.c * moved)
        if rounding_shows(problem, y):
            more = np.where(tight(problem), rounded(problem, y).columns, 0.0)
            near = near._replace(columns=near.columns + more)
    elif rounding_shows(problem, y):
        near = rounded(problem, y)
    assert v is not None
    inside = np.empty(problem.d)
    theta = scaled_inside(v, NO_REACH if near is None else near.columns, low, high, inside)
    if theta == 1.0:
        return y, inside, near
    return y * theta, inside, None if near is None else near.scaled(theta)


def balanced(problem: Problem, y: np.ndarray) -> tuple[np.ndarray, Vicinity | None]:
    """The point mended for columns without penalty, and its vicinity; None if that fails."""
    free = free_columns_of(problem)
    if free is None or free.spanned:
        return y, None
    if len(free.which) == 1 and free.up[0] and free.down[0]:
        moved, near = balanced_alone(problem, y, free)
        if near is not None:
            return moved, near
    starts = [lambda: y, lambda: snapped(problem, y, free)]
    if len(free.which) == 1:  # scale one sign's part down: 0 is in the domain of most losses
        starts.append(lambda: evened(problem, y, free.M[:, 0]))
    for k, start in enumerate(starts):
        first = start()
        if k and np.array_equal(first, y):
            continue
        moved, near = vicinity(problem, mended(problem, first, free), free)
        if near is not None and inside_domain(problem, moved, near):
            return moved, near
    return y, None


def snapped(problem: Problem, y: np.ndarray, free: FreeColumns) -> np.ndarray:
    """Y with rows that have next to no room put at the end of their domain.

    What is left of them is all that some columns feel, and it can't be moved away.
    """
    low, high = free.ends
    least = SNAPPED * float(np.abs(y).max())
    y = np.where(y - low <= least, low, y)
    return np.where(high - y <= least, high, y)


def evened(problem: Problem, y: np.ndarray, column: np.ndarray) -> np.ndarray:
    """Y with the terms of one sign scaled down until a column's sum is zero."""
    terms = column * problem.c * y
    plus, minus = terms[terms > 0].sum(), -terms[terms < 0].sum()
    if not (0.0 < plus < math.inf and 0.0 < minus < math.inf):
        return np.zeros(problem.n)
    down = np.where(terms > 0, min(1.0, minus / plus), min(1.0, plus / minus))
    return np.where(terms == 0, y, y * down)


def inside_domain(problem: Problem, y: np.ndarray, near: Vicinity) -> bool:
    """Whether phi* is finite on the whole vicinity."""
    nothing = np.zeros(problem.n)
    p = problem
    return math.isfinite(loss_terms_near(nothing, y, near.rows, p.b, p.c, p.loss)[1])


def rounding_shows(problem: Problem, y: np.ndarray) -> bool:
    """Whether an l1 without l2 is so small that the rounding of v matters beside it."""
    low, high = problem.dual_bounds
    assert low is not None
    assert high is not None
    if problem.reg.scalar and problem.mu == 0.0 and problem.reg.l1 > 0.0:
        least = problem.reg.l1
    else:
        least = min(
            float(np.min(high, where=high > 0.0, initial=math.inf)),
            -float(np.max(low, where=low < 0.0, initial=-math.inf)),
        )
    size = math.sqrt(problem.grid.square_sum) * size_of(problem.c * y)
    return bool(not ROUNDED * size <= SUBTLE * least)


def tight(problem: Problem) -> np.ndarray:
    """Columns with l1 alone, on some side."""
    low, high = problem.dual_bounds
    assert low is not None
    assert high is not None
    return ((high > 0.0) & (high < math.inf)) | ((low < 0.0) & (low > -math.inf))


def rounded(problem: Problem, y: np.ndarray) -> Vicinity:
    """How far rounding may have moved v from -A'(c y)."""
    size = ROUNDED * size_of(problem.c * y)
    return Vicinity(np.zeros(problem.n), size * np.sqrt(problem.column_norms_squared))
