"""Where an exactly feasible dual point is: the proof behind columns without penalty.

See ``balance`` for what such columns ask, and for the bounds that are computed here.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from ..problem import ROUNDED
from .spread import Spread, spread_of
from .tuning import BEYOND_PROOF, REFINEMENTS
from .twofold import twofold_products

if TYPE_CHECKING:
    from ..problem import Problem
    from .free_columns import FreeColumns

__all__ = ["Vicinity", "vicinity"]


class Vicinity(NamedTuple):
    """An exactly feasible dual point lies within ``rows`` of y and ``columns`` of v.

    ``open`` of a column without penalty is zero if it is proved to balance there, and otherwise
    bounds what is left of it; None if there are no such columns.
    """

    rows: np.ndarray
    columns: np.ndarray
    open: np.ndarray | None = None

    def scaled(self, theta: float) -> Vicinity:
        """That of theta y."""
        left = None if self.open is None else theta * self.open
        return Vicinity(theta * self.rows, theta * self.columns, left)

    def mixed(self, theta: float, other: Vicinity) -> Vicinity:
        """That of (1 - theta) y + theta z, the other being that of z."""
        one, two = self.scaled(1.0 - theta), other.scaled(theta)
        left = one.open if two.open is None else two.open
        if one.open is not None and two.open is not None:
            left = one.open + two.open
        return Vicinity(one.rows + two.rows, one.columns + two.columns, left)


def vicinity(
    problem: Problem, y: np.ndarray, free: FreeColumns
) -> tuple[np.ndarray, Vicinity | None]:
    """Return y, mended a last time, and where an exactly feasible dual point near it is.

    None if y does not balance.
    """
    w = problem.c * y
    if not np.any(w):
        return y, None
    v, rounding = free.residual(w)
    noise = max(float(rounding.max()), ROUNDED * float(np.abs(w).max()))
    if np.any(np.abs(free.excess(v)) + rounding > BEYOND_PROOF * noise):
        return y, None
    active = (free.up & free.down) | (free.up & (v > -rounding)) | (free.down & (v < rounding))
    for _ in range(3):
        around = _around(problem, y, free, active, v, rounding)
        y, v, rounding = around.y, around.v, around.rounding
        left = free.size.T @ (problem.c * around.rows)
        crossing = (free.up & (v + rounding + left > 0.0)) | (
            free.down & (v - rounding - left < 0.0)
        )
        if not np.any(crossing & ~active):
            break
        active |= crossing
    off, proved, rows = np.abs(free.excess(v)) + rounding, around.proved, around.rows
    if np.any(~proved & crossing & (off > 2.0 * noise)):
        return y, None  # a column that nothing can balance
    columns = np.sqrt(problem.column_norms_squared) * float(np.linalg.norm(problem.c * rows))
    columns[problem.free_columns] = 0.0
    sided = ~(free.up & free.down)  # with a bound on the other side: v may be anything beyond 0
    columns[free.which] = np.where(sided, (off + left) * free.unit, 0.0)
    still = np.where(proved | ~crossing, 0.0, (off + left) * free.unit)
    return y, Vicinity(rows, columns, still)


class Around(NamedTuple):
    """Bounds of the rows' moves that make independent active columns exact, and which those are."""

    y: np.ndarray
    v: np.ndarray
    rounding: np.ndarray  # bounds of the error of v
    rows: np.ndarray
    proved: np.ndarray


def _around(
    problem: Problem,
    y: np.ndarray,
    free: FreeColumns,
    active: np.ndarray,
    v: np.ndarray,
    rounding: np.ndarray,
) -> Around:
    """Solve for the move, or bound it."""
    proved = ~np.any(free.M != 0.0, axis=0)  # columns of zeros
    chosen = np.flatnonzero(active & ~proved)
    nothing = Around(y, v, rounding, np.zeros(problem.n), proved)
    if not len(chosen):
        return nothing
    spread = spread_of(problem, y, free, chosen)
    if not spread.rank:
        return nothing
    inverse = np.abs(solve_triangular(spread.R, np.eye(spread.rank), check_finite=False)).T
    shaky = spread.error * inverse.sum(axis=1)  # what rounding of R adds
    while spread.rank and not np.linalg.norm(shaky) <= 0.5:
        spread = spread.cut(spread.rank - 1)
        inverse = inverse[: spread.rank, : spread.rank]  # R is triangular, and so is its inverse
        shaky = spread.error * inverse.sum(axis=1)
    picked = chosen[spread.independent]
    scale = spread.scale[spread.independent]
    if not spread.pivoted:  # the columns are so different that signs do not matter
        known = np.zeros(spread.rank)
        unknown = inverse @ ((np.abs(free.excess(v)) + rounding)[picked] / scale)
    else:
        y, v, rounding = refined(problem, y, free, spread, picked, v, rounding)
        known = spread.parts(free.excess(v)[picked])
        unknown = inverse @ (rounding[picked] / scale)
    size = float(np.linalg.norm(np.abs(known) + unknown))
    unknown += shaky * size / (1.0 - float(np.linalg.norm(shaky)))
    proved[picked] = True
    rows = np.abs(spread.Q @ known) + np.abs(spread.Q) @ (unknown + 0.01 * np.abs(known))
    return Around(y, v, rounding, 1.01 * spread.gain * rows, proved)


def refined(
    problem: Problem,
    y: np.ndarray,
    free: FreeColumns,
    spread: Spread,
    picked: np.ndarray,
    v: np.ndarray,
    rounding: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return y mended by two-fold sums, its v, and bounds of the error of v.

    Columns that are nearly alike make what is left of them count dearly, but what the rounding of y
    leaves is itself a combination of rows: the move that takes it away is as small as rounding.
    """
    best = y, v, rounding
    least = math.inf
    for _ in range(REFINEMENTS):
        sums, error = twofold_products(free.M, problem.c, y)
        if not np.all(np.isfinite(error)):
            break
        parts = spread.parts(free.excess(-sums)[picked])
        size = float(np.linalg.norm(parts))
        if not size < least:
            break
        best, least = (y, -sums, error), size
        y = np.clip(y + spread.gain * (spread.Q @ parts), *free.ends)
    return best
