"""The primal face: z = x, lines are columns of A, the smooth part is the loss."""

from __future__ import annotations

import math

import numpy as np

from ....certificate.points import DualPoint, Pair, dual_from_margins
from ....certificate.segments import shrunk_pair
from ....data.lines import LineStore
from ....problem import Problem
from ...base import EPS, ROUNDINGS, size_of
from .base import Face
from .parts import inside_domain, loss_part

__all__ = ["PrimalFace", "TallFace"]


class PrimalFace(Face):
    """The primal with all its columns."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.part = loss_part(problem)
        self.quadratic = problem.loss.quadratic
        self.lines = LineStore(problem.grid, by_columns=True)
        reg = problem.reg
        fields = (0.0, reg.l1, reg.l2, reg.lower, reg.upper)
        self.coordinates = problem.d
        self.full = np.empty((1 if reg.scalar else problem.d, 5))
        for column, value in enumerate(fields):
            self.full[:, column] = value
        self.bounded = bool(np.any(np.isfinite(reg.lower)) or np.any(np.isfinite(reg.upper)))

    @property
    def smooth(self) -> bool:
        return self.problem.reg.plain

    def start(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None) -> None:
        del y, v
        self.restart(x.copy())

    def first_gradient(self) -> np.ndarray:
        return self.gradient_of(self.slope) if np.any(self.z) else self.problem.pull_at_zero

    def margins_of(self, z: np.ndarray) -> np.ndarray:
        return self.problem.margins(z)

    def gradient_of(self, slope: np.ndarray) -> np.ndarray:
        return self.problem.adjoint(slope)

    def pair(self) -> Pair:
        y = self.dual_point()
        return shrunk_pair(self.problem, self.z.copy(), self.m.copy(), y, -self.gradient, self.tol)

    def dual_point(self) -> np.ndarray:
        """phi'(m), as the slope tells it: the gradient is that of the slope, and y must be, too.

        Small differences of large margins and targets would make another y of them.
        """
        p = self.problem
        return inside_domain(-self.slope, p.c, *self.domain)

    def drift(self, dual: DualPoint, updates: float, largest: float) -> float:
        """Every update rounds the margins by eps |m|; the loss moves by its slope times that.

        v moves, too, and g*(v) by as much as its argmax is large: near x, or at a far bound.
        """
        del dual
        if self.bounded:
            return math.inf
        lost = ROUNDINGS * EPS * (updates + self.problem.n) * max(size_of(self.m), largest)
        return 2.0 * size_of(self.slope) * lost + float(self.bend.max()) * lost * lost


class TallFace(PrimalFace):
    """Least squares with few columns: G = A'CA says all there is to know of the curvature.

    The gradient is computed from the data after every epoch, which mends what rounding in G spoils.
    """

    maintains = ""
    on_gram = True

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.G = column_gram(problem)

    @property
    def smooth(self) -> bool:
        return False

    def start(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None) -> None:
        del y, v
        self.z, self.m = x.copy(), np.zeros(0)  # margins are computed when they are looked at
        self.slope = self.bend = np.zeros(0)

    def pair(self) -> Pair:
        p = self.problem
        u = p.margins(self.z)
        y = dual_from_margins(p, u)
        self.gradient = p.adjoint(p.c * y)
        return shrunk_pair(p, self.z.copy(), u, y, -self.gradient, self.tol)

    def successor(self) -> Face:
        return PrimalFace(self.problem)


def column_gram(problem: Problem) -> np.ndarray:
    """A' diag(c) A, both triangles."""
    p = problem
    G = p.grid.gram(None if p.uniform_weights and p.grid.dense else p.c)
    return G if p.grid.dense else G + np.tril(G, -1).T
