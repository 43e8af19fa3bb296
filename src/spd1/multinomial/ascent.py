"""Dual ascent over rows: for sparse data whose l2 counts. Elsewhere, and if slow, Newton's steps.

An intercept without penalty has no coefficients tied to chances. It gets a penalty
l2/2 (b - centre)^2 / ones^2, as the coefficient of a column with the value ``ones`` would, and
after every pass the centre moves to b: the proximal point method, whose end is that of no penalty.
"""

from __future__ import annotations

import math

import numpy as np

from ..kernel.rng import key_of, widths
from .bound import Bound, prove
from .objective import Objective, Point
from .precondition import Diagonal, choose
from .rows import ascend_rows
from .tuning import (
    ASCENT_CURVED,
    ASCENT_LEAST,
    ASCENT_LOOK,
    ASCENT_MOST,
    ASCENT_ROW,
    ASCENT_TRIAL,
    ONES_LEAST,
    ONES_PER_CLASS,
)

__all__ = ["Ascent", "curved", "pays"]


def pays(objective: Objective) -> bool:
    """Whether ascent is worth a try; it tells later if it is slow."""
    if not objective.sparse or objective.l1 > 0.0 or not objective.l2 > 0.0:
        return False
    if objective.stored < max(ASCENT_LEAST / objective.K, ASCENT_ROW * objective.n):
        return False
    return choose(objective) is Diagonal and curved(objective) <= ASCENT_CURVED


def curved(objective: Objective) -> float:
    """Mean of c_i |a_i|^2 / l2: how much rows resist each other."""
    return float(np.mean(objective.c * objective.squares_of_rows)) / objective.l2


class Ascent:
    """Chances on the simplex, and the coefficients tied to them.

    Parameters
    ----------
    objective : Objective
        Sparse, with l2 > 0 and without l1.
    x : array
        The intercepts to begin with are in its last row.
    y : array of shape (K, n)
        p - e to begin with; zero everywhere means no coefficients.
    """

    def __init__(self, objective: Objective, x: np.ndarray, y: np.ndarray) -> None:
        self.objective = objective
        squares = objective.squares_of_rows
        n, d, K = objective.n, objective.d, objective.K
        self.ones = 0.0
        if objective.fit_intercept:
            usual = float(squares.mean())
            wish = ONES_PER_CLASS * K * objective.l2
            self.ones = math.sqrt(min(max(wish, ONES_LEAST * usual), max(usual, objective.l2)))
        self.squares = squares + self.ones**2
        self.P = np.ascontiguousarray(y.T)
        self.P[objective.own, objective.labels] += 1.0
        self.W = np.zeros((d + 1, K))
        if y.any():
            pulls = objective.adjoint(y * objective.c)
            self.W[:d] = pulls[:d] / -objective.l2
        if objective.fit_intercept:
            self.W[d] = x[d] / self.ones
        self.centre = self.W[d].copy()
        self.work = np.empty((3, K))
        self.key, self.widths = key_of(0), widths(n)
        self.seen: list[float] = []  # the gap that rows had when they were visited, a pass each
        self.most = ASCENT_MOST * math.sqrt(1.0 + curved(objective))
        self.slow = False  # whether Newton's method should go on

    def one_pass(self) -> None:
        """Visit every row once."""
        one, X = self.objective, self.objective.X
        one.ledger.entries += 2.0 * one.stored
        self.W[-1], self.centre = 2.0 * self.W[-1] - self.centre, self.W[-1].copy()
        self.seen.append(
            ascend_rows(
                X.indptr, X.indices, X.data, one.labels, one.c, self.squares, one.l2, self.ones,
                self.W, self.P, self.work, self.key, one.n * len(self.seen), *self.widths,
            )
        )  # fmt: skip

    def run(self, goal: float) -> tuple[Point, Bound]:
        """Passes until the gap should be at most ``goal``; a look at where they end."""
        begun = len(self.seen)
        while True:
            self.one_pass()
            self.slow = self.passes_to(goal) > self.most
            if self.slow or self.expected() <= goal or self.objective.ledger.reached:
                break
            if len(self.seen) - begun >= max(ASCENT_LOOK, begun // 4):
                break
        return self.look()

    def look(self) -> tuple[Point, Bound]:
        """The point, and what its chances prove."""
        x = self.W.copy()
        x[-1] *= self.ones
        point = self.objective.at(x[: self.objective.size])
        return point, prove(self.objective, point, np.ascontiguousarray(self.P.T))

    def expected(self) -> float:
        """The gap after the last pass, if it fell as it did from the one before."""
        if len(self.seen) < 2:
            return math.inf
        before, last = self.seen[-2:]
        return last * min(1.0, last / before) if before > 0.0 else 0.0

    def passes_to(self, goal: float) -> float:
        """How many more there should be, by the second half of those so far."""
        count = len(self.seen)
        if count < ASCENT_TRIAL or self.seen[-1] <= goal:
            return 0.0
        fell = math.log(self.seen[count // 2 - 1] / self.seen[-1]) / (count - count // 2)
        return math.log(self.seen[-1] / goal) / fell if fell > 0.0 else math.inf
