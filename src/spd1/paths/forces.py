"""How strongly columns are pulled, v = -A'(c y): products for those alone that need them.

A column that was last looked at with y_m has, by Cauchy and Schwarz and for any factor t,

    |v_j(y)| <= |t v_j(y_m)| + |a_j|_c |y - t y_m|_c,      |a|_c^2 = sum_i c_i a_i^2.

Where that is below l1, the column is at rest: it adds nothing to the gap, whatever v_j is. So a
certificate of all columns takes the products of few. The factor that makes |y - t y_m| smallest
takes care of the most that happens on a path: residuals shrink.
"""

from __future__ import annotations

import math

import numpy as np

from ..data.strides import line_dot
from ..kernel.jit import helper, kernel
from ..problem import Problem
from ..solvers.newton.linalg.working_set import first_dots
from .tuning import REMEMBERED

__all__ = ["Forces"]

BLURRED = 1e-14  # of |y|^2, by which rounding may have made a distance smaller


@helper
def recall(points, squares, y, c, theta, reach):
    """How far y is from multiples of the points that are remembered; returns |y|^2.

    Squares are weighted by c. theta is the multiple that is nearest, reach the distance to it.
    """
    square = 0.0
    for i in range(len(y)):
        square += c[i] * y[i] * y[i]
    for m in range(len(points)):
        inner = 0.0
        for i in range(len(y)):
            inner += points[m, i] * y[i]
        theta[m] = inner / squares[m] if squares[m] > 0.0 else 0.0
        reach[m] = math.sqrt(max(square - theta[m] * inner, 0.0) + BLURRED * square)
    return square


@kernel
def look_at_columns(B, y, c, x, level, signed, points, squares, v, when, lengths, ids, out, work):
    """Columns that may be pulled by more than ``level``, or are not zero; how many, and |y|^2.

    Their v is computed. y takes the place of the dual point that fewest columns remember: these
    are taken, too. Points are kept times c. ``work`` holds three numbers a point.
    """
    theta, reach, followers = work[0], work[1], work[2]
    square = recall(points, squares, y, c, theta, reach)
    for m in range(len(points)):
        followers[m] = 0.0
    for j in range(len(v)):
        followers[when[j]] += 1.0
    place = 0
    for m in range(len(points)):
        if followers[m] < followers[place]:
            place = m
    count = 0
    for j in range(len(v)):
        m = when[j]
        pull = theta[m] * v[j]
        pull = pull if signed else abs(pull)
        if pull + lengths[j] * reach[m] > level or m == place or x[j] != 0.0:
            ids[count] = j
            count += 1
    squares[place] = square
    now = points[place]
    for i in range(len(y)):
        now[i] = c[i] * y[i]
    first = first_dots(B, ids[:count], now, out)
    for w in range(count):
        if w >= first:
            out[w] = line_dot(B, ids[w], now)
        v[ids[w]] = -out[w]
        when[ids[w]] = place
    return count, square


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
        self.points = np.zeros((REMEMBERED, p.n))  # times c
        self.squares = np.zeros(REMEMBERED)
        self.when = np.zeros(p.d, dtype=np.int64)  # the point that a column was looked at with
        self.ids, self.out = np.empty(p.d, dtype=np.int64), np.empty(p.d)
        self.points[0] = p.c * y
        self.square = self.squares[0] = float(self.points[0] @ y)  # of the last dual point
        self.v = -p.adjoint(self.points[0])

    def look(self, y: np.ndarray, x: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Columns that may be pulled by more than ``level``, or are not zero in x, and their v."""
        memory = self.points, self.squares, self.v, self.when, self.lengths, self.ids, self.out
        count, self.square = look_at_columns(
            self.B, y, self.problem.c, x, level, self.signed, *memory, np.empty((3, REMEMBERED))
        )
        ids = self.ids[:count].copy()
        return ids, -self.out[:count]

    def strength(self, v: np.ndarray) -> np.ndarray:
        """What of v can move a column."""
        return v if self.signed else np.abs(v)
