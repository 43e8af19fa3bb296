"""How strongly columns are pulled, v = -A'(c y): products for those alone that need them.

A column that was last looked at with y_m has, by Cauchy and Schwarz and for any factor t,

    |v_j(y)| <= |t v_j(y_m)| + |a_j|_c |y - t y_m|_c,      |a|_c^2 = sum_i c_i a_i^2.

Where that is below l1, the column is at rest: it adds nothing to the gap, whatever v_j is. So a
certificate of all columns takes the products of few. The factor that makes |y - t y_m| smallest
takes care of the most that happens on a path: residuals shrink.
"""

from __future__ import annotations

import numpy as np

from ..data.facts import Nobody
from ..kernel.jit import kernel
from ..problem import Problem
from ..solvers.newton.linalg.working_set import Lines
from .tuning import REMEMBERED

__all__ = ["Forces"]

BLURRED = 1e-14  # of |y|^2, by which rounding may have made a distance smaller


@kernel
def unsettled(v, when, lengths, x, theta, reach, oldest, level, signed, ids):
    """Columns that may be pulled by more than ``level``, or are not zero; returns how many.

    Columns that remember the oldest dual point are taken, too: it is about to be forgotten.
    """
    count = 0
    for j in range(len(v)):
        m = when[j]
        pull = theta[m] * v[j]
        pull = pull if signed else abs(pull)
        if pull + lengths[j] * reach[m] > level or m == oldest or x[j] != 0.0:
            ids[count] = j
            count += 1
    return count


class Forces:
    """v of all columns, as far as it has to be known.

    Parameters
    ----------
    problem : Problem
    y : ndarray of shape (n,)
        The dual point of x = 0.
    signed : bool
        Whether only a pull to the right can move a column: x >= 0.
    """

    def __init__(self, problem: Problem, y: np.ndarray, signed: bool) -> None:
        p = problem
        self.problem, self.signed = p, signed
        self.B = p.grid.by_columns.matrix.transposed()
        self.lengths = np.sqrt(p.grid.weighted_squares(p.c))
        self.points = np.zeros((REMEMBERED, p.n))  # times the roots of c
        self.squares = np.zeros(REMEMBERED)
        self.roots = np.sqrt(p.c)
        self.place = 0  # of the last dual point
        self.when = np.zeros(p.d, dtype=np.int64)  # the point that a column was looked at with
        self.ids = np.empty(p.d, dtype=np.int64)
        self.v = -p.adjoint(p.c * y)
        self._remember(y)

    def _remember(self, y: np.ndarray) -> np.ndarray:
        now = self.roots * y
        self.points[self.place] = now
        self.squares[self.place] = now @ now
        return now

    def look(self, y: np.ndarray, x: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Columns that may be pulled by more than ``level``, or are not zero in x, and their v."""
        self.place = (self.place + 1) % REMEMBERED
        now = self.roots * y
        square = float(now @ now)
        inner = self.points @ now
        theta = np.divide(inner, self.squares, out=np.zeros(REMEMBERED), where=self.squares > 0.0)
        reach = np.sqrt(np.maximum(square - theta * inner, 0.0) + BLURRED * square)
        args = self.v, self.when, self.lengths, x, theta, reach
        count = unsettled(*args, self.place, level, self.signed, self.ids)
        ids = self.ids[:count].copy()
        self._remember(y)
        v = Lines(self.B, ids, self.problem.n, Nobody()).dots(-self.problem.c * y)
        self.v[ids], self.when[ids] = v, self.place
        return ids, v

    def strength(self, v: np.ndarray) -> np.ndarray:
        """What of v can move a column."""
        return v if self.signed else np.abs(v)
