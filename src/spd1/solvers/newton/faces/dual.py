"""The dual face: z = -c y, lines are rows of A, the smooth part is the regularizer's conjugate."""

from __future__ import annotations

import numpy as np

from ....certificate.points import DualPoint, Pair, pair_of
from ....data.lines import LineStore
from ....problem import Problem
from ...base import gradient_drift
from ..tuning import INNER, INNER_DENSE, LEAST_BEND, SLACK
from .base import Face
from .parts import ConjugatePart, inside_domain

__all__ = ["DualFace"]


class DualFace(Face):
    """The dual where every column has l2 > 0."""

    maintains = "gradient"
    ranked = False
    has_gram = False  # rows come and go too fast for theirs

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.part = ConjugatePart(problem.net, LEAST_BEND)
        self.quadratic = problem.reg.plain
        self.lines = LineStore(problem.grid, by_columns=False)
        self.coordinates = problem.n
        self.full = self._table()

    def _table(self) -> np.ndarray:
        p = self.problem
        l1, l2 = p.loss.conjugate_net
        low, high = self.domain
        self.bounded = bool(np.any(np.isfinite(low)) or np.any(np.isfinite(high)))
        table = np.empty((p.n, 5))
        with np.errstate(divide="ignore", invalid="ignore"):
            table[:, 0], table[:, 1] = -p.b, l1
            table[:, 2] = l2 / p.c
            table[:, 3], table[:, 4] = -p.c * high, -p.c * low
        table[p.c == 0] = 0.0
        return table

    @property
    def inner(self) -> float:
        return INNER_DENSE if self.problem.grid.dense else INNER

    def dual_point(self) -> np.ndarray:
        """The y of this face, inside the domain of phi* in spite of rounding."""
        return inside_domain(self.z, self.problem.c, *self.domain)

    def start(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None) -> None:
        del x
        self.restart(np.clip(-self.problem.c * y, self.full[:, 3], self.full[:, 4]), v)

    def margins_of(self, z: np.ndarray) -> np.ndarray:
        return self.problem.adjoint(z)

    def gradient_of(self, slope: np.ndarray) -> np.ndarray:
        return self.problem.margins(slope)

    def pair(self) -> Pair:
        p = self.problem
        y = self.dual_point()
        return pair_of(p, self.slope.copy(), self.gradient.copy(), y, self.m.copy())

    def constant_curvatures(self, chosen: np.ndarray) -> np.ndarray | None:
        """The bend times the squared norms of rows, where it is the same everywhere."""
        if not (self.flat and self.problem.grid.row_major):
            return None
        return np.asarray(self.bend[0] * self.problem.row_norms_squared[chosen])

    def slack_of(self, before: np.ndarray) -> float:
        """On tall data one step of x moves all margins: rows near a kink had better join.

        A share, SLACK times rows over columns and at most 1, of how far the margins moved.
        """
        p = self.problem
        if p.n <= p.d:
            return 0.0
        return min(SLACK * p.n / p.d, 1.0) * float(np.mean(np.abs(self.gradient - before)))

    def drift(self, dual: DualPoint, updates: float, largest: float) -> float:
        return gradient_drift(self.problem, dual.v, updates, largest)
