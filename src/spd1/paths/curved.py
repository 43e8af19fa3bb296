"""Losses with curvature: Newton's steps on a set of columns.

A step minimises the quadratic model of the point that it starts from, as far as it is worth, and
searches the line to its minimiser. Dense columns have the model in a Gram matrix, sparse ones in
the slopes of the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.facts import Nobody
from ..problem import Problem
from ..solvers.newton.linalg.gram import newton_on_gram
from ..solvers.newton.linalg.working_set import Lines
from .curved_kernels import bend_at, gap_of_set, step_along, sweep_gram
from .sets import SweptSet
from .tuning import (
    INEXACT,
    MODEL_PATIENCE,
    MODEL_SWEEPS,
    NEWTON_STEPS,
    ROOM,
    SHARPER,
    STALE,
)

__all__ = ["CurvedGramSet", "CurvedSet"]


class CurvedSet(SweptSet):
    """Any smooth loss, its model minimised by sweeps over columns."""

    def __init__(self, problem: Problem, B: Any, lower: float) -> None:
        super().__init__(problem, B, lower)
        n = problem.n
        self.u, self.slope, self.bend = np.zeros(n), np.empty(n), np.empty(n)
        self.steps = 0

    def lines(self) -> Lines:
        return Lines(self.B, self.ids, self.problem.n, Nobody())

    def product(self, slope: np.ndarray) -> np.ndarray:
        """What each column feels of slopes."""
        return self.lines().dots(slope)

    def move(self, dz: np.ndarray) -> np.ndarray:
        """What a move of the coefficients does to the margins."""
        live = np.flatnonzero(dz)
        return Lines(self.B, self.ids[live], self.problem.n, Nobody()).moved(dz[live])

    def shift(self, dz: np.ndarray) -> None:
        self.z += dz
        self.u += self.move(dz)

    def margins(self) -> np.ndarray:
        self.u = self.move(self.z)
        return self.u.copy()

    def minimise(self, l1: float, l2: float, goal: float) -> None:
        """Move z until the gap of the columns here is what a look may find."""
        p, signed = self.problem, self.lower == 0.0
        self.table[:, 1], self.table[:, 2] = l1, l2
        last, inexact = np.inf, INEXACT
        for _ in range(NEWTON_STEPS):
            loss, total = bend_at(self.u, p.b, p.c, p.loss, self.slope, self.bend)
            g = self.product(self.slope)
            gap, worst, penalty = gap_of_set(
                g, self.z, self.u, self.slope, p.b, p.c, p.loss, l1, l2, signed
            )
            if gap <= goal * (loss + penalty):
                return
            slow = gap > STALE * last
            inexact *= SHARPER if slow else 1.0
            self.prepare(total, slow)
            last, old = gap, self.z.copy()
            self.follow(g, l1, l2, inexact * worst)
            dz = self.z - old
            change = l1 * (np.abs(self.z).sum() - np.abs(old).sum())
            promised = float(g @ dz + change + 0.5 * l2 * (self.z @ self.z - old @ old))
            args = self.u, self.move(dz), p.b, p.c, p.loss, old, self.z, l1, l2
            step_along(*args, loss + penalty, promised)
            self.steps += 1

    def prepare(self, total: float, slow: bool) -> None:
        """Know the curvature of the columns; ``total`` is that of the rows together."""
        self.curvature = self.lines().curvatures(self.bend)

    def follow(self, g: np.ndarray, l1: float, l2: float, enough: float) -> None:
        """Minimise the model until no column is farther than ``enough`` from rest."""
        self.descend(self.slope.copy(), self.bend, False, l1, l2, enough, MODEL_SWEEPS)


class CurvedGramSet(CurvedSet):
    """The same on dense data, with a Gram matrix that is renewed rarely.

    G = A' diag(bend) A of the columns in hand is made with the curvature of some point of the path
    and kept while steps with it gain well: a neighbour on the path has nearly the same, up to a
    factor. Gradients are those of the point, so only the pace suffers from an old G.
    """

    def __init__(self, problem: Problem, B: Any, lower: float) -> None:
        super().__init__(problem, B, lower)
        self.rows = np.empty((ROOM, problem.n))  # columns, one a row
        self.G = np.zeros((ROOM, ROOM))
        self.known = 0  # columns that G has
        self.weights = np.zeros(problem.n)  # curvature that it was made with
        self.total = 0.0  # sum of the curvature that it stands for
        self.fresh = False  # whether it was made with the curvature here

    def admit(self, ids: np.ndarray) -> None:
        old, size = len(self.ids), len(self.ids) + len(ids)
        super().admit(ids)
        if size > len(self.rows):
            room = size + size // 2
            self.rows, kept = np.empty((room, self.problem.n)), self.rows
            self.rows[:old] = kept[:old]
            self.G, before = np.zeros((room, room)), self.G
            self.G[:old, :old] = before[:old, :old]
        self.rows[old:size] = self.B.values[ids]

    def product(self, slope: np.ndarray) -> np.ndarray:
        return np.asarray(self.rows[: len(self.z)] @ slope)

    def move(self, dz: np.ndarray) -> np.ndarray:
        return np.asarray(dz @ self.rows[: len(dz)])

    def prepare(self, total: float, slow: bool) -> None:
        old, size = self.known, len(self.ids)
        if old == 0 or (slow and not self.fresh):
            self.weights, self.fresh = self.bend.copy(), True
            part = self.rows[:size] * np.sqrt(self.bend)
            self.G[:size, :size] = part @ part.T
        else:
            self.fresh = False
            if size > old:  # columns that have joined, with the curvature that G has
                part = (self.rows[old:size] * self.weights) @ self.rows[:size].T
                part *= self.total / float(self.weights.sum())
                self.G[old:size, :size] = part
                self.G[:old, old:size] = part[:, :old].T
            self.G[:size, :size] *= total / self.total
        self.total, self.known = total, size

    def follow(self, g: np.ndarray, l1: float, l2: float, enough: float) -> None:
        """Sweeps, and Newton's step where they are slow."""
        g, size = g.copy(), len(self.z)
        for _ in range(4):
            args = self.G, self.z, g, l1, l2, self.lower == 0.0, enough, MODEL_PATIENCE
            if sweep_gram(*args):
                return
            if newton_on_gram(self.G[:size, :size], self.table, self.z, g) <= 0.0:
                return
