"""The dual of few rows: everything happens in the span of the rows."""

from __future__ import annotations

import math

import numpy as np

from ....certificate.points import DualPoint, Pair, PrimalPoint, pair_of
from ....data.grid import Grid
from ....data.lines import LineStore
from ....data.matrix import Dense
from ....problem import Problem
from ....regularizers import SharedNet
from ....terms import loss_terms
from ..tuning import LEAST_BEND, MOST_INSIDE
from .dual import DualFace
from .parts import ConjugatePart

__all__ = ["GramFace", "root_of"]


class GramFace(DualFace):
    """With A E^-1 A' = L L', E = diag(l2), the rows of L do what the rows of A did."""

    maintains = ""
    epochs_a_look = MOST_INSIDE

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.root = Grid.whole(Dense(root_of(problem.grid.gram_of_rows(problem.reg.l2))))
        self.lines = LineStore(self.root, by_columns=False)
        self.part = ConjugatePart(SharedNet(0.0, 1.0, -math.inf, math.inf), LEAST_BEND)

    def start(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None) -> None:
        super().start(x, y, None)  # its margins are those of the root

    def margins_of(self, z: np.ndarray) -> np.ndarray:
        return self.root.adjoint(z)

    def gradient_of(self, slope: np.ndarray) -> np.ndarray:
        return self.root.margins(slope)

    def constant_curvatures(self, chosen: np.ndarray) -> np.ndarray | None:
        del chosen
        return None

    def pair(self) -> Pair:
        p = self.problem
        v = p.adjoint(self.z)
        y = self.dual_point()
        x = v / p.reg.l2
        return pair_of(p, x, p.margins(x), y, v)

    def look(self) -> tuple[Pair, bool]:
        """Values and gap as the small matrix tells them, without x and v.

        x is the minimiser for v, so the column terms are zero and g(x) = g*(v) = |m|^2 / 2.
        """
        p, y = self.problem, self.dual_point()
        loss, conjugate, rows = loss_terms(self.gradient, y, p.b, p.c, p.loss)
        half = 0.5 * float(self.m @ self.m)
        nothing = np.zeros(0)
        point = PrimalPoint(nothing, self.gradient, loss + half)
        dual = DualPoint(y, nothing, -conjugate - half)
        return Pair(point, dual, float(rows), 0.0), True


def root_of(G: np.ndarray) -> np.ndarray:
    """L with L L' = G, which may be singular."""
    try:
        L = np.linalg.cholesky(G)
        if float(np.min(np.diagonal(L))) > 1e-6 * float(np.max(np.diagonal(L))):
            return L
    except np.linalg.LinAlgError:
        pass
    values, vectors = np.linalg.eigh(G)
    root = np.sqrt(np.where(values > 1e-14 * values[-1], values, 0.0))
    return np.ascontiguousarray(vectors * root)
