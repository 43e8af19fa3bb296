"""The dual where a few columns have no penalty at all, an intercept for one.

Such a column asks its row of the dual for an equality, v_j = 0. The method of multipliers keeps
it: rho/2 (x_j - centre_j)^2 on those columns alone, and after every epoch the centre follows x.
With rho as large as the penalty of an ordinary column of the same length this is one more column
to the engine, and as it is small beside the curvature of the loss two or three moves are enough.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....certificate.points import Pair, pair_of
from ....problem import Problem
from ....regularizers import ElasticNet
from ..tuning import LEAST_BEND, SAME_L2, STRONG, WEAK
from .dual import DualFace
from .parts import ShiftedConjugatePart
from .span import GramFace

__all__ = ["FreeFace", "FreeGramFace"]


def lifted_problem(problem: Problem, weight: float) -> Problem:
    """The problem with rho in place of an l2 that is zero; everything else is shared."""
    p = problem
    l2 = np.array(np.broadcast_to(np.asarray(p.reg.l2, dtype=float), (p.d,)))
    free = l2 == 0.0
    usual = float(np.mean(l2[~free]))
    row = max(float(p.row_norms_squared.mean()), 1e-300)
    rho = weight * usual * p.column_norms_squared[free] / (p.n * row)
    alike = (rho < SAME_L2 * usual) & (rho > usual / SAME_L2)
    l2[free] = np.where(alike | (rho <= 0.0), usual, rho)
    shared: Any = l2 if np.ptp(l2) > 0.0 else usual
    reg = p.reg
    lifted = ElasticNet(l2=shared)
    if not reg.plain:
        lifted = ElasticNet(reg.l1, shared, reg.lower, reg.upper)
    return p.with_regularizer(lifted)


class FreeFace(DualFace):
    """The dual with a proximal term on the columns that have no penalty."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        lifted = lifted_problem(problem, WEAK)
        self.net = lifted.net
        self.rho = np.where(np.asarray(problem.reg.l2) == 0.0, lifted.reg.l2, 0.0)
        self.free = np.flatnonzero(self.rho)
        self.columns = problem.grid.dense_columns(self.free)
        self.move_centre(problem.reg.minimiser(problem.d))

    def constant_curvatures(self, chosen: np.ndarray) -> np.ndarray | None:
        del chosen
        return None

    def move_centre(self, centre: np.ndarray) -> None:
        """Put the proximal term around a point."""
        self.centre = centre.copy()
        self.part = ShiftedConjugatePart(self.net, LEAST_BEND, self.rho * centre)

    def start(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None) -> None:
        self.move_centre(x)
        super().start(x, y, v)

    def advance(self) -> None:
        """Let the centre follow x: only the free columns feel it."""
        before = self.slope[self.free]
        self.move_centre(self.slope)
        self.fill()
        self.gradient += self.columns @ (self.slope[self.free] - before)


class FreeGramFace(GramFace):
    """The same for few rows: the centre shows in the linear terms."""

    epochs_a_look = 1  # the centre follows x, which takes a look at the data

    def __init__(self, problem: Problem) -> None:
        lifted = lifted_problem(problem, STRONG)
        super().__init__(lifted)
        self.problem, self.l2 = problem, lifted.reg.l2
        self.rho = np.where(np.asarray(problem.reg.l2) == 0.0, self.l2, 0.0)
        self.free = np.flatnonzero(self.rho)
        self.columns = problem.grid.dense_columns(self.free)
        self.move_centre(np.zeros(len(self.free)))

    def move_centre(self, centre: np.ndarray) -> None:
        """Put the proximal term around a point of the free columns."""
        self.centre = centre
        self.full[:, 0] = np.where(self.problem.c > 0, self.columns @ centre - self.problem.b, 0.0)

    def start(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None) -> None:
        self.move_centre(x[self.free])
        super().start(x, y, v)

    def pair(self) -> Pair:
        p = self.problem
        v = p.adjoint(self.z)
        x = v / self.l2
        x[self.free] += self.centre
        self.found = x[self.free]
        return pair_of(p, x, p.margins(x), self.dual_point(), v)

    def look(self) -> tuple[Pair, bool]:
        return self.pair(), False

    def advance(self) -> None:
        """Let the centre follow x."""
        self.move_centre(self.found)
