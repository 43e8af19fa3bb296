"""Newton's direction where nothing has a kink: all coordinates at once.

    (A' diag(bend) A + diag(l2)) step = -gradient

solved in the cheapest of three ways: through the n x n matrix K = A diag(1/l2) A' of few rows,
through the d x d matrix of few columns, or by conjugate gradients that read A once a product.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ...data.blocks import Scratch
from ...problem import Problem
from .charges import charges, entry_of
from .linalg.cholesky import damped_cholesky, solve_by
from .linalg.gram import Sample
from .linalg.sampled import SampledRows, rows_to_sample
from .linalg.subspace import conjugate_gradients
from .tuning import (
    CG_LIMIT,
    CG_PASSES,
    FEWEST_SAMPLED,
    HARD_PASSES,
    LARGEST_ONCE,
    LARGEST_SMOOTH_GRAM,
    LATE_STEPS,
    MANY_PRODUCTS,
    PRODUCTS_A_SMOOTH_STEP,
    PRODUCTS_OF_A_SAMPLE,
    ROUGH_BALANCE,
    RUN_STEPS,
    SAMPLES,
    SMOOTH_SAMPLE,
)

__all__ = ["SmoothDirection", "hardness"]


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
        dense, at = p.grid.dense, charges()
        self.sample = Sample(SMOOTH_SAMPLE) if dense else Sample()
        a_pass = 2.0 * entry_of(dense) * p.stored  # of a curved product
        by_reading, steps = a_pass * CG_PASSES, RUN_STEPS
        if p.loss.quadratic:  # one step says it all, if it is exact
            by_reading *= max(HARD_PASSES * math.sqrt(hardness(p)) / CG_PASSES, 1.0)
            steps = 1
        by_rows = at.flop * p.n * p.n * (p.d + 4.0 * p.n)
        by_rows += 0.0 if dense else at.spread * p.n * p.d
        if dense:
            factor = at.flop * p.d * p.d * (p.n / self.stride() + p.d)
        else:
            factor = at.outer_pair * p.stored * (p.stored / p.n) / self.stride()
            factor += at.flop * p.d**3
        largest = LARGEST_ONCE if p.loss.quadratic and dense else LARGEST_SMOOTH_GRAM
        rows, columns = p.grid.shape
        if p.n > largest or not np.all(self.l2 > 0) or (p.grid.far and rows > 1):
            by_rows = math.inf
        if p.d > largest or (p.grid.far and columns > 1):
            factor = math.inf
        by_columns = steps * factor
        if dense and self.stride() > 1:  # a factor of some rows or two, and what products it takes
            by_columns = min(by_columns, SAMPLES * factor + steps * PRODUCTS_A_SMOOTH_STEP * a_pass)
        cheapest = min(by_reading, by_rows, by_columns)
        self.way = {by_reading: "cg", by_rows: "rows", by_columns: "columns"}[cheapest]
        self.patience = LATE_STEPS * factor / max(a_pass, 1e-300)  # passes
        self.scratch = Scratch()
        self.gram: np.ndarray | None = None
        self.factor: np.ndarray | None = None  # of the matrix of the columns
        self.passes = 0.0  # of conjugate gradients
        self.longest = 0.0  # the same of one step
        self.sampled: SampledRows | None = None

    def solve(self, bend: np.ndarray, gradient: np.ndarray, accuracy: float) -> np.ndarray:
        """The step from a point with this gradient.

        Conjugate gradients that have cost as much as a few factors give way to these.
        """
        if self.way == "cg" and self.passes > self.patience:
            self.way = "columns"
        if self.way == "rows":
            return self._by_rows(bend, gradient)
        if self.way == "columns":
            return self._by_columns(bend, gradient, accuracy)
        return self._by_reading(bend, gradient, accuracy)

    def left(self, gradient: np.ndarray, x: np.ndarray, bend: np.ndarray) -> float:
        """The gap at x, about, the gradient being that of the loss: the columns' part.

        A column without penalty is balanced by moves of the rows, about as far as they bend.
        """
        force = gradient + self.l2 * x
        stiff = self.l2
        if len(self.problem.free_columns):
            curved = (float(bend.mean()) + 1e-300) * self.problem.column_norms_squared
            stiff = np.where(self.l2 > 0.0, self.l2, ROUGH_BALANCE * curved + 1e-300)
        return 0.5 * float(np.sum(force * (force / stiff)))

    @property
    def coarse(self) -> bool:
        """Whether steps are those of a sample of the rows."""
        return self.way == "columns" and not self.problem.grid.dense and self.stride() > 1

    def stride(self) -> int:
        """Every so many rows tell the curvature of few columns well enough."""
        return self.sample.stride(self.problem.d, self.problem.n)

    def _by_rows(self, bend: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Woodbury: (E + A'WA)^-1 = E^-1 - E^-1 A'S (1 + S K S)^-1 S A E^-1, S = sqrt W."""
        p = self.problem
        if self.gram is None:
            self.gram = p.grid.gram_of_rows(p.reg.l2)
        root = np.sqrt(bend)
        scaled = gradient / self.l2
        factor = damped_cholesky(self.gram * root[:, None] * root, 1.0)
        if factor is None:  # bend is not finite: the gradient's own direction, scaled
            return np.asarray(-scaled)
        inner = solve_by(factor, root * p.margins(scaled))
        return np.asarray(p.adjoint(root * inner) / self.l2 - scaled)

    def _by_columns(self, bend: np.ndarray, gradient: np.ndarray, accuracy: float) -> np.ndarray:
        """By a factor of the matrix of the columns.

        That of some dense rows is as good a preconditioner as any: a few products with the data do
        what it lacks, and what the curvature has changed since it was made. Columns of sparse data
        may be rare among some rows, and products take longer beside matrices: on a9a steps by a
        matrix of more rows, as if it were that of all, took half the time.
        """
        p, whole = self.problem, self.stride() == 1 or not self.problem.grid.dense
        if whole or self.factor is None or self.longest > PRODUCTS_OF_A_SAMPLE:
            H = p.grid.gram(bend, self.stride(), self.scratch)
            diagonal = np.einsum("ii->i", H).copy() + self.l2
            self.factor, self.longest = damped_cholesky(H, self.l2, mirrored=p.grid.dense), 0.0
            if self.factor is None:
                return np.asarray(-gradient / (np.abs(diagonal) + 1e-300))
        factor = self.factor
        if whole:
            return solve_by(factor, -gradient)
        return self._by_products(bend, gradient, accuracy, lambda right: solve_by(factor, right))

    def _by_reading(self, bend: np.ndarray, gradient: np.ndarray, accuracy: float) -> np.ndarray:
        return self._by_products(bend, gradient, accuracy, self._preconditioner(bend))

    def _by_products(
        self,
        bend: np.ndarray,
        gradient: np.ndarray,
        accuracy: float,
        solve: Callable[[np.ndarray], np.ndarray] | None,
    ) -> np.ndarray:
        """Conjugate gradients; ``solve``: with a matrix that is nearly the right one, or None."""
        p = self.problem

        def curved(direction: np.ndarray) -> np.ndarray:
            self.passes += 1
            out = p.grid.curved(bend, direction)
            out += self.l2 * direction
            return out

        scale = self.l2 + (float(bend.mean()) + 1e-300) * p.column_norms_squared + 1e-300
        before = self.passes
        step = conjugate_gradients(
            curved, -gradient, scale, accuracy, CG_LIMIT, p.grid.ledger, solve
        )
        self.longest = max(self.longest, self.passes - before)
        return step

    def _preconditioner(self, bend: np.ndarray) -> Callable[[np.ndarray], np.ndarray] | None:
        """From a sample of rows, where a product means messages and a step took many of them."""
        grid = self.problem.grid
        if grid.shape == (1, 1) or self.longest < MANY_PRODUCTS:
            return None
        if self.sampled is None:
            count = rows_to_sample(grid)
            if count < FEWEST_SAMPLED:
                return None
            self.sampled = SampledRows(grid, self.l2, self.problem.column_norms_squared, count)
        return self.sampled.solve if self.sampled.at(bend) else None
