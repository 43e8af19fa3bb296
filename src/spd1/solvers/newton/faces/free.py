"""The dual where a few columns have no penalty at all, an intercept for one.

Such a column asks its row of the dual for an equality, v_j = 0. The method of multipliers keeps
it: rho/2 (x_j - centre_j)^2 on those columns alone, and after every epoch the centre follows x.
With rho as large as the penalty of an ordinary column of the same length this is one more column
to the engine, and as it is small beside the curvature of the loss two or three moves are enough.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....certificate.gap import Pair, pair_of
from ....data.matrix import Dense, as_scipy
from ....data.products import adjoint, margins
from ....problem import Problem
from ....regularizers import ElasticNet
from .base import DualFace, GramFace, ProximalFace
from .parts import LEAST_BEND, ShiftedConjugatePart, fill_terms

# rho as a multiple of the l2 at which the column is as long in the dual as a row of the others:
WEAK = 100.0  # sweeps dislike rows that all look alike, and
STRONG = 0.1  # Newton's steps on a small matrix do not mind
ALIKE = 30.0  # rho and l2 within this factor are made the same: equal curvatures are faster


def lifted_problem(problem: Problem, weight: float) -> Problem:
    """The problem with rho in place of an l2 that is zero; everything else is shared."""
    p = problem
    l2 = np.array(np.broadcast_to(np.asarray(p.reg.l2, dtype=float), (p.d,)))
    free = l2 == 0.0
    usual = float(np.mean(l2[~free]))
    row = max(float(p.row_norms_squared.mean()), 1e-300)
    rho = weight * usual * p.column_norms_squared[free] / (p.n * row)
    alike = (rho < ALIKE * usual) & (rho > usual / ALIKE)
    l2[free] = np.where(alike | (rho <= 0.0), usual, rho)
    shared: Any = l2 if np.ptp(l2) > 0.0 else usual
    reg = p.reg
    lifted = ElasticNet(l2=shared)
    if not reg.plain:
        lifted = ElasticNet(reg.l1, shared, reg.lower, reg.upper)
    return p.with_regularizer(lifted)


def free_columns(problem: Problem, free: np.ndarray) -> np.ndarray:
    """A copy of the columns without penalty."""
    A = problem.A
    if isinstance(A, Dense):
        return np.asarray(A.values[:, free], dtype=float)
    return np.asarray(as_scipy(A)[:, free].toarray(), dtype=float)


class FreeFace(ProximalFace):
    """The dual with a proximal term on the columns that have no penalty."""

    def __init__(self, problem: Problem) -> None:
        DualFace.__init__(self, problem)
        lifted = lifted_problem(problem, WEAK)
        self.quadratic = problem.reg.plain
        self.net = lifted.net
        self.rho = np.where(np.asarray(problem.reg.l2) == 0.0, lifted.reg.l2, 0.0)
        self.free = np.flatnonzero(self.rho)
        self.columns = free_columns(problem, self.free)
        self.move_centre(problem.reg.minimiser(problem.d))

    def move_centre(self, centre: np.ndarray) -> None:
        self.part = ShiftedConjugatePart(self.net, LEAST_BEND, self.rho * centre)

    def advance(self) -> None:
        """Let the centre follow x: only the free columns feel it."""
        before = self.slope[self.free]
        self.move_centre(self.slope)
        self.value = fill_terms(self.part, self.m, self.slope, self.bend)
        self.gradient += self.columns @ (self.slope[self.free] - before)


class FreeGramFace(GramFace):
    """The same for few rows: the centre shows in the linear terms."""

    def __init__(self, problem: Problem) -> None:
        lifted = lifted_problem(problem, STRONG)
        super().__init__(lifted)
        self.problem, self.l2 = problem, lifted.reg.l2
        self.rho = np.where(np.asarray(problem.reg.l2) == 0.0, self.l2, 0.0)
        self.free = np.flatnonzero(self.rho)
        self.columns = free_columns(problem, self.free)
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
        v = adjoint(p.A, self.z)
        x = v / self.l2
        x[self.free] += self.centre
        self.found = x[self.free]
        return pair_of(p, x, margins(p.A, x), self.dual_point(), v)

    def advance(self) -> None:
        """Let the centre follow x."""
        self.move_centre(self.found)
