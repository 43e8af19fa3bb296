"""Ascent with a column that has no penalty: an intercept.

The kernel wants the same l2 > 0 for every column. So the column without penalty gets it around a
centre, l2/2 (x_j - centre)^2, and the centre follows x_j: the method of multipliers. To the kernel
the centre is a start, G_j = (A'(c y))_j - l2 centre, and nothing else: x = -G / l2 and all that a
visit to a row does are the same. As l2 is small beside the curvature of the loss, a few moves of
the centre are enough.

What is proven is the problem itself, without l2 on that column: y is mended, and products with the
data are made anew (``certificate/balance.py``).
"""

from __future__ import annotations

import numpy as np

from ...certificate.gap import Certificate, certificate_of
from ...certificate.points import pair_of
from ...problem import Problem
from ...regularizers import ElasticNet
from ..tuning import SQUARE
from .tuning import (
    DEAR_MATRIX,
    EASY_FEW_COLUMNS,
    FREE_ENTRIES,
    MOST_CENTRED,
    MOST_FREE_RATIO,
)
from .workers import AscentWorker

__all__ = ["FreeAscentWorker", "lifted"]


def lifted(problem: Problem) -> Problem | None:
    """The problem with the l2 of its columns on those without, too; None if it is of another kind.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp, spd1
    >>> A, b = sp.csr_matrix(np.eye(3)), [1.0, -1.0, 1.0]
    >>> lifted(spd1.Problem(A, b, "hinge", spd1.ElasticNet(l2=[0.5, 0.5, 0.0]))).reg.l2
    0.5
    >>> lifted(spd1.Problem(A, b, "hinge", spd1.ElasticNet(l2=[0.5, 0.4, 0.0])))
    """
    if problem.reg.scalar:  # the usual case, without a note
        return None
    if "lifted" not in problem.notes:  # asked for by who chooses and by who runs
        problem.notes["lifted"] = _lifted(problem)
    near: Problem | None = problem.notes["lifted"]
    return near


def _lifted(problem: Problem) -> Problem | None:
    p = problem
    l2 = np.asarray(p.reg.l2)
    if l2.ndim == 0 or not p.reg.plain or p.grid.shape != (1, 1):
        return None
    free = np.flatnonzero(l2 == 0.0)
    if not 0 < len(free) <= MOST_CENTRED or len(free) == p.d:
        return None
    usual = float(l2.max())
    if np.any(l2[l2 > 0.0] != usual):
        return None
    if p.grid.dense and not visits_to_dense_rows(p, usual):
        return None
    near = p.with_regularizer(ElasticNet(l2=usual))
    return None if AscentWorker.objection(near) else near


def visits_to_dense_rows(problem: Problem, l2: float) -> bool:
    """Whether visits to rows take less than steps on dense columns, whose matrices cost d^2 a row.

    Losses with corners, that is: with smooth ones these steps are few. On wide data centres move
    more often than rows come to rest.
    """
    p = problem
    if p.gamma > 0.0:
        return False
    ratio = p.grid.square_sum / (l2 * p.n * p.n)
    if p.stored <= FREE_ENTRIES:
        return ratio <= MOST_FREE_RATIO
    matrix = p.d * p.d / p.n
    return p.n > SQUARE * p.d and matrix >= DEAR_MATRIX and ratio <= EASY_FEW_COLUMNS * matrix


class FreeAscentWorker(AscentWorker):
    """The same kernel, with a centre for columns without penalty."""

    def __init__(self, problem: Problem, near: Problem, key: np.uint64) -> None:
        super().__init__(near, key)
        self.whole = problem
        self.free = np.flatnonzero(np.asarray(problem.reg.l2) == 0.0)
        self.centre = np.zeros(len(self.free))
        self.places, self.shifts = self.free.astype(np.int64), np.zeros(len(self.free))

    def follow(self) -> None:
        """Move the centre to where x is."""
        l2 = self.problem.mu
        at = -self.G[self.free] / l2
        self.G[self.free] += l2 * (self.centre - at)
        self.centre, self.shifts = at, l2 * at
        if self.fast is not None:
            self.fast[:] = 0.0  # another objective: momentum begins anew

    def proof(self) -> Certificate:
        """What is proven of x and y as they are, at the last look of the kernel."""
        p = self.whole
        return certificate_of(p, pair_of(p, self.x, self.u.copy(), self.y.copy(), None))
