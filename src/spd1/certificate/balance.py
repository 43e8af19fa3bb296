"""Columns without penalty: they ask a dual point for v_j = 0, which rounding never grants.

A column without l1, l2 and bounds has g_j*(v) = 0 at v = 0 and infinity elsewhere. No y of doubles
makes a_j'(c y) exactly zero, so three things are done:

1. y is *mended*: moved by weighted least squares, rows in proportion to the room they have inside
   the domain of phi*, until |v_j| is a rounding error, eps sum_i |a_ij c_i y_i|.
2. A *vicinity* is found: bounds E_i so that some exactly feasible dual point lies in y +- E. With
   B = diag(sqrt(c w)) A_free, w the room of each row, B = Q R and e_j a bound of |v_j| and its
   rounding, the move diag(sqrt(w / c)) Q R^-T v makes the columns exact, and
   E = sqrt(w / c) |Q| |R^-T| e, and a bit more because Q and R are rounded. Columns that are
   nearly alike make R^-T, and so E, large.
3. The gap is that of the worst point of the vicinity: see ``terms.loss_terms_near``.

Columns that are combinations of others *to within rounding* can't be proved zero in this way, nor
can those that only rows without room touch. What is left of them, h_k, no more than the rounding of
other columns, stays in the gap as h_k |x_k| for every |x_k| within ``REACH`` times the size of what
is known; the certificate says so.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from .free_columns import FreeColumns
from .spread import room_of, spread_of
from .tuning import MEND_ROUNDS, NEARLY, NOTHING

if TYPE_CHECKING:
    from ..problem import Problem

__all__ = ["mended"]


def mended(problem: Problem, y: np.ndarray, free: FreeColumns) -> np.ndarray:
    """Move y so that unpenalised columns balance: weighted least squares, a few rounds."""
    best, least, exact = y, math.inf, False
    active = free.up & free.down
    for _ in range(MEND_ROUNDS):
        v, rounding = free.residual(problem.c * y)
        excess = free.excess(v)
        over = np.abs(excess) - rounding
        worst = float(np.sum(np.abs(excess)))
        if not worst < 0.5 * least:
            if exact or worst > NEARLY * float(rounding.sum()):
                return best  # the ends of the domain are in the way, and not rounding
            exact, y, least = True, best, math.inf
            continue
        best, least = y, worst
        if np.all(over <= 0.0):
            return best
        active = active | (over > 0.0)
        move = None if exact else roughly_moved(problem, y, free, active, excess)
        if move is None:
            move = moved(problem, y, free, active, excess)
        if move is None:
            return best
        y = y + move
        gone = np.abs(y) <= NOTHING * float(np.abs(y).max())  # some columns ask for exactly zero
        y = np.clip(np.where(gone, 0.0, y), *free.ends)
        if not np.all(np.isfinite(y)):
            return best
    return best


def roughly_moved(
    problem: Problem, y: np.ndarray, free: FreeColumns, active: np.ndarray, excess: np.ndarray
) -> np.ndarray | None:
    """The move that takes the excess away, by normal equations: fast, and right to few digits."""
    room = room_of(problem, y, free)
    M = free.M[:, active]
    normal = M.T @ ((problem.c * room)[:, None] * M)
    scale = np.sqrt(np.maximum(np.diagonal(normal), 1e-300))
    normal /= np.outer(scale, scale)
    normal[np.diag_indices_from(normal)] += 1e-13
    try:
        factor = cho_factor(normal, check_finite=False)
    except (LinAlgError, ValueError):
        return None
    move = room * (M @ (cho_solve(factor, excess[active] / scale, check_finite=False) / scale))
    return move if np.all(np.isfinite(move)) else None


def moved(
    problem: Problem, y: np.ndarray, free: FreeColumns, active: np.ndarray, excess: np.ndarray
) -> np.ndarray | None:
    """The same by orthogonal factors."""
    spread = spread_of(problem, y, free, active)
    if spread.rank == 0:
        return None
    parts = spread.parts(excess[active][spread.independent])
    return np.asarray(spread.gain * (spread.Q @ parts))
