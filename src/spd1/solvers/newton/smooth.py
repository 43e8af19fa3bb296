"""Newton's direction where nothing has a kink: all coordinates at once.

    (A' diag(bend) A + diag(l2)) step = -gradient

solved in the cheapest of three ways: through the n x n matrix K = A diag(1/l2) A' of few rows,
through the d x d matrix of few columns, or by conjugate gradients that read A once a product.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...data.matrix import Dense
from ...data.products import adjoint, margins
from ...losses import Squared
from ...problem import Problem
from .faces.parts import curved_lines
from .few_rows import add_outer_products
from .linalg.costs import FLOP, PAIR
from .linalg.gram import Sample
from .linalg.subspace import conjugate_gradients, spread_lines

LARGEST_GRAM = 1500
CG_PASSES = 30  # passes that conjugate gradients take in a whole run, roughly
DENSE_ENTRY = 4e-10  # seconds to read an entry of A once
SPARSE_ENTRY = 2e-9
CG_LIMIT = 250
HARD_PASSES = 6  # times the square root of a problem's hardness, roughly
STEPS = 6  # of Newton's in a whole run, roughly
LATE_STEPS = 3  # the same when conjugate gradients have slowed down


def hardness(problem: Problem) -> float:
    """Mean curvature along a column over the smallest l2: what conjugate gradients dislike."""
    p = problem
    mean = float(p.row_norms_squared.mean()) / min(p.n, p.d)
    return mean / max(p.mu * float(p.gamma), 1e-300)


class SmoothDirection:
    """Solver of Newton's equations for one problem."""

    def __init__(self, problem: Problem) -> None:
        self.problem = p = problem
        self.l2 = np.broadcast_to(np.asarray(p.reg.l2, dtype=float), (p.d,))
        entry = DENSE_ENTRY if isinstance(p.A, Dense) else SPARSE_ENTRY
        by_reading = entry * p.A.stored * CG_PASSES
        steps = STEPS
        if type(p.loss) is Squared:  # one step says it all, if it is exact
            by_reading *= max(HARD_PASSES * math.sqrt(hardness(p)) / CG_PASSES, 1.0)
            steps = 1
        spread = 1e-9 * p.n * p.d if not isinstance(p.A, Dense) else 0.0
        by_rows = FLOP * p.n * p.n * (p.d + 4.0 * p.n) + spread
        self.sample = Sample()
        if isinstance(p.A, Dense):
            factor = FLOP * p.d * p.d * (p.n / self.stride() + p.d)
        else:
            pairs = p.A.stored * (p.A.stored / p.n) / self.stride()
            factor = PAIR * pairs + FLOP * p.d**3
        if p.n > LARGEST_GRAM or not np.all(self.l2 > 0):
            by_rows = math.inf
        if p.d > LARGEST_GRAM:
            factor = math.inf
        by_columns = steps * factor
        cheapest = min(by_reading, by_rows, by_columns)
        self.way = {by_reading: "cg", by_rows: "rows", by_columns: "columns"}[cheapest]
        self.patience = LATE_STEPS * factor / (entry * p.A.stored)  # passes
        self.scaled = np.empty((0, 0))
        self.gram: np.ndarray | None = None
        self.passes = 0.0

    def solve(self, bend: np.ndarray, gradient: np.ndarray, accuracy: float) -> np.ndarray:
        """The step from a point with this gradient.

        Conjugate gradients that have cost as much as a few factors give way to these.
        """
        if self.way == "cg" and self.passes > self.patience:
            self.way = "columns"
        if self.way == "rows":
            return self._by_rows(bend, gradient)
        if self.way == "columns":
            return self._by_columns(bend, gradient)
        return self._by_reading(bend, gradient, accuracy)

    @property
    def coarse(self) -> bool:
        """Whether the curvature is that of a sample of the rows."""
        return self.way == "columns" and self.stride() > 1

    def stride(self) -> int:
        """Every so many rows tell the curvature of few columns well enough."""
        return self.sample.stride(self.problem.d, self.problem.n)

    def _by_rows(self, bend: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Woodbury: (E + A'WA)^-1 = E^-1 - E^-1 A'S (1 + S K S)^-1 S A E^-1, S = sqrt W."""
        from scipy.linalg import lapack

        p = self.problem
        if self.gram is None:
            rows = _dense_rows(p) / np.sqrt(self.l2)
            self.gram = rows @ rows.T
        root = np.sqrt(bend)
        H = self.gram * root[:, None] * root
        H.reshape(-1)[:: p.n + 1] += 1.0
        scaled = gradient / self.l2
        self.passes += 2
        factor, _ = lapack.dpotrf(H, lower=1, clean=0, overwrite_a=1)
        inner, _ = lapack.dpotrs(factor, root * margins(p.A, scaled), lower=1)
        return np.asarray(adjoint(p.A, root * inner) / self.l2 - scaled)

    def _by_columns(self, bend: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        from scipy.linalg import lapack

        p = self.problem
        stride = self.stride()
        if isinstance(p.A, Dense):
            values = p.A.values[::stride]
            if self.scaled.shape != values.shape:
                self.scaled = np.empty(values.shape)  # used again: new pages cost more than a copy
            np.multiply(values, np.sqrt(bend[::stride] * stride)[:, None], out=self.scaled)
            H = self.scaled.T @ self.scaled
        else:
            H = np.zeros((p.d, p.d))
            sampled = np.zeros(p.n)
            sampled[::stride] = bend[::stride] * stride
            add_outer_products(p.by_rows, sampled, H)
        diagonal = H.reshape(-1)[:: p.d + 1]
        diagonal *= 1.0 + 1e-12  # relative to each column: their units may differ
        diagonal += self.l2 + 1e-300
        self.passes += 1
        factor, failed = lapack.dpotrf(H, lower=1, clean=0, overwrite_a=1)
        if failed:
            return np.asarray(-gradient / (np.abs(diagonal) + 1e-300))
        step, _ = lapack.dpotrs(factor, -gradient, lower=1)
        return np.asarray(step)

    def _by_reading(self, bend: np.ndarray, gradient: np.ndarray, accuracy: float) -> np.ndarray:
        p = self.problem

        def curved(direction: np.ndarray) -> np.ndarray:
            self.passes += 1
            if p.A.row_major:
                out = np.zeros(p.d)
                curved_lines(p.A, bend, direction, out)
            else:
                out = adjoint(p.A, bend * margins(p.A, direction))
            out += self.l2 * direction
            return out

        scale = self.l2 + (float(bend.mean()) + 1e-300) * p.column_norms_squared + 1e-300
        return conjugate_gradients(curved, -gradient, scale, accuracy, CG_LIMIT)


def _dense_rows(problem: Problem) -> Any:
    A = problem.A
    if isinstance(A, Dense):
        return A.values
    rows = np.zeros((problem.n, problem.d))
    spread_lines(problem.by_rows, np.arange(problem.n), rows)
    return rows
