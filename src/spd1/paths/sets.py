"""The columns that a path has in hand: what they know of each other, and how they are moved.

A set only grows. It solves the problem of its own columns to within a goal; whether that was
enough, and which columns are missing, is for a look at all of them to say.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..certificate.points import TINY
from ..data.facts import Nobody
from ..problem import Problem
from ..solvers.newton.charges import charges
from ..solvers.newton.linalg.gram import newton_on_gram
from ..solvers.newton.linalg.working_set import Lines
from .curved_kernels import extrapolate, sweep_lines
from .kernels import settle
from .tuning import GRAM_PATIENCE, LINE_SWEEPS, MEMORY, NO_PREDICTION, ROOM, SETTLE_ROUNDS

__all__ = ["GramSet", "LineSet", "Set", "SweptSet", "minimise_products"]


class Set:
    """Columns in the order in which they came, with their coefficients z."""

    def __init__(self, problem: Problem, B: Any, lower: float) -> None:
        self.problem, self.B = problem, B
        self.ids = np.zeros(0, dtype=np.int64)
        self.z = np.zeros(0)
        self.before = np.zeros(0)  # z of the last alpha but one
        self.table = np.zeros((0, 5))  # linear, l1, l2, bounds: as models want it
        self.lower = lower
        self.has = np.zeros(problem.d, dtype=bool)

    def admit(self, ids: np.ndarray) -> None:
        """Take columns in, none of which is here."""
        zeros = np.zeros(len(ids))
        self.has[ids] = True
        self.ids = np.concatenate([self.ids, ids])
        self.z, self.before = np.concatenate([self.z, zeros]), np.concatenate([self.before, zeros])
        self.table = np.zeros((len(self.ids), 5))
        self.table[:, 3:] = self.lower, math.inf

    def margins(self) -> np.ndarray:
        """A x, anew."""
        live = np.flatnonzero(self.z)
        return Lines(self.B, self.ids[live], self.problem.n, Nobody()).moved(self.z[live])

    def predict(self, t: float) -> None:
        """Start where coefficients would be if they went on, t times as far as the last time.

        Solutions of least squares are piecewise linear in alpha. A coefficient that would change
        its sign stops at zero.
        """
        last, self.before = self.before, self.z.copy()
        if t > 0.0:
            dz = t * (self.z - last)
            over = self.z * (self.z + dz) <= 0.0
            dz[over] = -self.z[over]
            self.shift(dz)

    def shift(self, dz: np.ndarray) -> None:
        """Move z by dz."""
        raise NotImplementedError

    def put(self, x: np.ndarray) -> None:
        """Write the coefficients into x, all of whose columns are here."""
        x[self.ids] = self.z


class GramSet(Set):
    """Least squares on dense data: products of the columns with each other say it all."""

    def __init__(self, problem: Problem, B: Any, lower: float, h: np.ndarray) -> None:
        super().__init__(problem, B, lower)
        p = problem
        self.pull = h
        self.h = np.zeros(0)
        self.g = np.zeros(0)
        self.G = np.zeros((ROOM, ROOM))
        self.lines = np.zeros((ROOM, p.n))  # columns times the roots of c, one a row
        self.roots = np.sqrt(p.c)
        self.square = float(p.c @ (p.b * p.b))

    def admit(self, ids: np.ndarray) -> None:
        old, size = len(self.ids), len(self.ids) + len(ids)
        super().admit(ids)
        if size > len(self.G):
            room = size + size // 2
            self.G, before = np.zeros((room, room)), self.G
            self.G[:old, :old] = before[:old, :old]
            self.lines, kept = np.empty((room, self.problem.n)), self.lines
            self.lines[:old] = kept[:old]
        self.lines[old:size] = self.B.values[ids]
        self.lines[old:size] *= self.roots
        part = self.lines[old:size] @ self.lines[:size].T
        self.G[old:size, :size] = part
        self.G[:old, old:size] = part[:, :old].T
        self.h = self.pull[self.ids]
        self.g = np.concatenate([self.g, part[:, :old] @ self.z[:old] - self.h[old:]])

    def minimise(self, l1: float, l2: float, goal: float) -> None:
        """Move z until the gap of the columns here is what a look may find."""
        self.table[:, 1], self.table[:, 2] = l1, l2
        minimise_products(self.G, self.h, self.table, self.z, self.g, self.square, goal)

    def predict(self, t: float) -> None:
        super().predict(t if len(self.z) > NO_PREDICTION else 0.0)

    def shift(self, dz: np.ndarray) -> None:
        size = len(self.ids)
        self.z += dz
        self.g += self.G[:size, :size] @ dz


def minimise_products(
    G: np.ndarray, h: np.ndarray, table: np.ndarray, z: np.ndarray, g: np.ndarray, square: float,
    goal: float,
) -> None:  # fmt: skip
    """Move z, and g = G z - h with it, until the gap by products is ``goal`` of the objective.

    Sweeps, and Newton's step where they would take longer. G may be larger than z; ``table`` has
    l1, l2 and bounds, which are the same for all, and ``square`` is that of the targets.
    """
    size, at = len(z), charges()
    if size == 0:
        return
    part = G[:size, :size]
    rest = table[0, 1], table[0, 2], table[0, 3] == 0.0, square, goal
    for _ in range(SETTLE_ROUNDS):
        free = float(np.count_nonzero(z))
        price = (at.factor * free**3 + at.call) / (at.entry * size * max(free, 1.0) + 1e-7)
        if settle(G, h, z, g, *rest, GRAM_PATIENCE, max(price, 4.0)):
            return
        if newton_on_gram(part, table, z, g) <= 0.0:
            g[:] = part @ z - h  # rounding may have crept in


class SweptSet(Set):
    """Columns that are swept over one by one, with extrapolation."""

    def __init__(self, problem: Problem, B: Any, lower: float) -> None:
        super().__init__(problem, B, lower)
        self.curvature = np.zeros(0)
        self.slopes = np.empty((MEMORY + 1, problem.n))

    def descend(
        self, model: np.ndarray, bend: np.ndarray, flat: bool, l1: float, l2: float, enough: float,
        most: int,
    ) -> None:  # fmt: skip
        """Sweep until no column is farther than ``enough`` from rest, at most about so often."""
        signed, points = self.lower == 0.0, np.empty((MEMORY + 1, len(self.z)))
        data = self.B, self.ids, self.z, model, bend, flat, self.curvature, l1, l2, signed
        for count in range(0, most, MEMORY + 1):
            if sweep_lines(*data, enough, count == 0, points, self.slopes):
                return
            extrapolate(points, self.slopes, self.z, model, bend, l1, l2, signed)


class LineSet(SweptSet):
    """Least squares on sparse data, or on more dense columns than a Gram matrix takes."""

    def __init__(self, problem: Problem, B: Any, lower: float, lengths: np.ndarray) -> None:
        super().__init__(problem, B, lower)
        self.squares = lengths * lengths
        self.weights, self.uniform = problem.c.copy(), problem.uniform_weights
        self.margins()

    def admit(self, ids: np.ndarray) -> None:
        super().admit(ids)
        self.curvature = self.squares[self.ids]

    def shift(self, dz: np.ndarray) -> None:
        live = np.flatnonzero(dz)
        self.z += dz
        move = Lines(self.B, self.ids[live], self.problem.n, Nobody()).moved(dz[live])
        self.slope += self.problem.c * move

    def margins(self) -> np.ndarray:
        u = super().margins()
        residual = u - self.problem.b
        self.slope = self.problem.c * residual
        self.loss = 0.5 * float(self.slope @ residual)
        return u

    def minimise(self, l1: float, l2: float, goal: float) -> None:
        """Move z until the gap of the columns here seems to be what a look may find.

        A column that is pulled by ``worst`` too much makes y a multiple l1 / (l1 + worst) of
        itself, and the gap about worst |z|_1 + (worst / l1)^2 times the loss.
        """
        size, live = float(np.abs(self.z).sum()), max(int(np.count_nonzero(self.z)), 1)
        gap = goal * (self.loss + l1 * size)
        share = 0.5 * gap / max(self.loss, TINY)
        enough = min(0.5 * gap / max(size, TINY), l1 * math.sqrt(share))
        if l2 > 0.0:  # or worst^2 / (2 l2) a column, y as it is
            enough = max(enough, math.sqrt(2.0 * l2 * gap / live))
        self.descend(self.slope, self.weights, self.uniform, l1, l2, enough, LINE_SWEEPS)
