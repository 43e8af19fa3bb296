"""Columns without penalty: which they are, and what they ask of a dual point. See ``balance``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg import qr

from ..problem import ROUNDED
from ..terms import domain_ends
from .tuning import DEPENDENT, FEW_FREE, MEND_LIMIT

if TYPE_CHECKING:
    from ..problem import Problem

__all__ = ["FreeColumns", "free_columns_of", "independent_columns", "out_of_reach"]


def independent_columns(M: np.ndarray) -> np.ndarray:
    """Columns that the others depend on, to within rounding.

    Examples
    --------
    >>> len(independent_columns(np.array([[1.0, 2.0, 1.0], [0.0, 0.0, 1.0]])))
    2
    """
    R, order = qr(M, mode="r", pivoting=True, check_finite=False)
    pivots = np.abs(np.diagonal(R))
    least = DEPENDENT * math.sqrt(len(M)) * pivots[0]
    return np.asarray(order[: np.count_nonzero(pivots > least)])


class FreeColumns(NamedTuple):
    """The columns without penalty, each divided by a power of two just below its largest entry.

    Of columns that are alike, one.
    """

    which: np.ndarray
    M: np.ndarray
    size: np.ndarray  # absolute values of M
    unit: np.ndarray  # what each was divided by
    up: np.ndarray  # whether v_j > 0 is forbidden
    down: np.ndarray  # whether v_j < 0 is forbidden
    ends: tuple[np.ndarray, np.ndarray]  # of the domain of phi*
    spanned: bool  # whether they leave no row free: only y = 0 balances them

    def residual(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return v = -M'w, and a bound of its rounding.

        NumPy sums in pairs. A sum from the first row to the last of a million, sorted by label,
        is off by a hundred eps, and more if terms are alike.
        """
        v = np.array([-float(np.sum(column * w)) for column in self.M.T])
        return v, ROUNDED * (self.size.T @ np.abs(w))

    def excess(self, v: np.ndarray) -> np.ndarray:
        """The part of v that is forbidden."""
        return np.where(self.up, np.maximum(v, 0.0), 0.0) + np.where(
            self.down, np.minimum(v, 0.0), 0.0
        )


def out_of_reach(problem: Problem) -> bool:
    """Whether the columns without penalty are more than may be copied, see ``Grid.copies``."""
    free = len(problem.free_columns)
    return free > FEW_FREE and 8.0 * problem.n * free > problem.grid.copies


def free_columns_of(problem: Problem) -> FreeColumns | None:
    """The columns without penalty, kept with the problem; None if they are too many to copy."""
    free = problem.free_columns
    if problem.n * len(free) > MEND_LIMIT or out_of_reach(problem):
        return None
    if "free columns" not in problem.notes:
        low, high = problem.dual_bounds
        assert low is not None
        assert high is not None
        M = problem.grid.dense_columns(free)
        largest = np.abs(M).max(axis=0)
        unit = np.where(largest > 0.0, np.ldexp(0.5, np.frexp(largest)[1]), 1.0)
        M = M / unit
        low, high = low[free], high[free]
        if len(free) > 1:
            first = different(M, (low == 0.0) & (high == 0.0))
            free, unit, low, high = free[first], unit[first], low[first], high[first]
            M = M[:, first]
        M = np.asfortranarray(M)
        ends = domain_ends(problem.b, problem.loss)
        up, down = high == 0.0, low == 0.0
        few = int(np.count_nonzero(problem.c)) <= len(free)
        spanned = few and spans(M[problem.c > 0.0][:, up & down])
        problem.notes["free columns"] = FreeColumns(
            free, M, np.abs(M), unit, up, down, ends, spanned
        )
    found: FreeColumns = problem.notes["free columns"]
    return found


def spans(rows: np.ndarray) -> bool:
    """Whether columns reach every row there is."""
    return len(rows) <= rows.shape[1] and len(independent_columns(rows.T)) == len(rows)


def different(M: np.ndarray, both: np.ndarray) -> np.ndarray:
    """One of each set of columns that are alike to the last bit: what holds for it holds for all.

    Of columns that ask the same of both sides, that is; a column and its negative are alike.
    """
    seen: dict[bytes, int] = {}
    for j in range(M.shape[1]):
        column = M[:, j]
        lead = column[np.argmax(column != 0.0)]
        key = (np.sign(lead) * column + 0.0).tobytes() if both[j] else str(j).encode()  # no -0
        seen.setdefault(key, j)
    return np.fromiter(seen.values(), dtype=int, count=len(seen))
