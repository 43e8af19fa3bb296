"""Rows less their mean: what rows goes on with where one direction outweighs all others.

Where features have means far above their spread, all rows point the same way, a_i = m + e_i with
short e_i. Steps of y_i are as short as |a_i|^2 asks for, and what tells rows apart crawls: steps by
|e_i|^2 would be hundreds of times as long. No scaling of rows or columns helps. So the margin of
the common direction gets a variable t of its own, and the saddle point becomes

    sum_i c_i (y_i (e_i'x + t) - phi*(y_i)) + w (m'x - t) + g(x)

with a free multiplier w: rows (e_i, 1), and one more row (m, -1), which is visited once a pass. At
the solution t = m'x and w = sum_i c_i y_i; where either is wrong, x and y are a point as good as
any, and the certificate knows nothing of t and w. t is measured in units of the typical |e_i|.
"""

from __future__ import annotations

import math

import numpy as np

from ...data.grid import Grid
from ...data.matrix import Dense
from ...problem import Problem
from ...regularizers import FeatureNet
from .kernels import GRADIENT, SHRINK, STEP, X
from .tuning import ALL_ALIKE, COMMON_LEFT, HALF_FULL

__all__ = ["Common", "common_of"]


def common_of(problem: Problem, grid: Grid) -> Common | None:
    """The split of the rows, if it is worth a dense copy of the data in one piece."""
    p = problem
    if type(grid) is not Grid or grid.shape != (1, 1) or p.stored < HALF_FULL * p.n * p.d:
        return None
    mean = p.adjoint(p.c)
    square = float(p.c @ p.row_norms_squared)
    left = square - float(mean @ mean)
    if not ALL_ALIKE * square < left < COMMON_LEFT * square:
        return None
    p.grid.ledger.entries += p.stored  # to make the copy
    return Common(p, mean, square, math.sqrt(left))


class Common:
    """The mean of the rows, the rows less it, and the steps on them.

    Parameters
    ----------
    problem : Problem
    mean : ndarray
        The sum of c_i a_i.
    square : float
        The mean of |a_i|^2.
    unit : float
        What t is measured in.
    """

    rebuilt = ("tile",)  # left out of checkpoints

    def __init__(self, problem: Problem, mean: np.ndarray, square: float, unit: float) -> None:
        p = self.problem = problem
        self.mean, self.unit = mean, unit
        self.rebuild()
        values = self.tile.values
        self.row_norms_squared = np.einsum("ij,ij->i", values, values)
        self.line = np.append(mean, -unit)  # the row that is visited once a pass
        self.square = float(self.line @ self.line)
        self.gain = square / float(p.c @ self.row_norms_squared)  # of the steps
        table = np.empty((p.d + 1, 4))
        for column, value in enumerate((p.reg.l1, p.reg.l2, p.reg.lower, p.reg.upper)):
            table[:-1, column] = value
        table[-1] = 0.0, 0.0, -math.inf, math.inf
        self.net = FeatureNet(table)

    def rebuild(self) -> None:
        """Make the copy of the rows less their mean, and of the column of t."""
        p = self.problem
        values = np.empty((p.n, p.d + 1))
        values[:, :-1] = Grid(p.grid.tiles).dense_rows()  # counted once, when it is made
        values[:, :-1] -= self.mean
        values[:, -1] = self.unit
        values.flags.writeable = False
        self.tile = Dense(values)

    def table_at(self, x: np.ndarray, G: np.ndarray) -> np.ndarray:
        """A table that begins at x, with t = m'x and w = sum c_i y_i: G is that of the data."""
        table = np.zeros((self.problem.d + 1, 4), order="F")
        table[:-1, X], table[:-1, GRADIENT] = x, G
        table[-1, X] = float(self.mean @ x) / self.unit
        return table

    def set_steps(self, table: np.ndarray, eta: float) -> None:
        """Steps of x and t, and what the prox of l2 divides by."""
        table[:, STEP] = eta
        table[:, SHRINK] = 1.0 / (1.0 + eta * self.net.table[:, 1])

    def visit(self, table: np.ndarray, eta: float) -> float:
        """Visit the row (m, -1); returns the move of w.

        It is one of n rows by the number of its visits, and looks as far ahead as they do.
        """
        l1, _, lower, upper = self.net.table.T
        ahead = float(self.line @ table[:, X]) / self.square
        z = table[:, X] - eta * table[:, GRADIENT] - ahead * self.line
        soft = np.maximum(z - eta * l1, 0.0) + np.minimum(z + eta * l1, 0.0)
        table[:, X] = np.clip(soft * table[:, SHRINK], lower, upper)
        move = ahead / (eta * self.problem.n)
        table[:, GRADIENT] += move * self.line
        return move

    def gradient(self, table: np.ndarray, y: np.ndarray, w: float) -> np.ndarray:
        """A'(c y), of what the table has: the sum of c_i y_i e_i, and w m."""
        return np.asarray(table[:-1, GRADIENT] + (float(self.problem.c @ y) - w) * self.mean)
