"""A row and a column a step: what the saddle-point SVRG and SAGA share (Palaniappan & Bach 2016).

The gradient in x is estimated from a row i, that in y from a column j, against what is remembered:

    for x:  G + (c_i / pi_i) a_i (y_i - y~_i),      G = A'(c y~)
    for y:  m + (1 / rho_j) a'_j (x_j - x~_j),      m = A x~

All of x and y move: O(n + d) a step, as the paper states, dense or sparse. Rows are drawn with
pi_i ~ c_i |a_i|^2 and columns with rho_j ~ sum_i c_i a_ij^2, or alike (sampling="uniform").
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...control.steps import ScaledSteps
from ...errors import IncompatibleError, ParameterError
from ...kernel.rng import units
from ...problem import Problem
from ..base import Method
from .states import CrossSaddle
from .tuning import STEPS_A_BREATH
from .vectors import dual_prox, primal_prox

__all__ = ["CrossMethod"]


class CrossMethod(Method):
    """What svrg-saddle, its accelerated form and saga-saddle share."""

    step_names = ("eta", "tau")
    rule = ScaledSteps
    needs_smooth_loss = True
    uniform_share = 0.0  # of draws by norms
    rebuilt = ("row_ends", "column_ends")

    @classmethod
    def refuse(cls, problem: Problem) -> None:
        super().refuse(problem)
        if not problem.mu > 0:
            raise IncompatibleError(
                f"{cls.name} needs l2 > 0 for every feature: use method 'spd1-vr' or "
                "'chambolle-pock', or add an l2"
            )

    def prepare(self, sampling: str) -> None:
        if sampling not in ("auto", "uniform", "importance"):
            raise ParameterError(
                f"unknown sampling {sampling!r} of {self.name}: 'importance' (auto) or 'uniform'"
            )
        p = self.problem
        rows = p.c * p.row_norms_squared
        columns = rows_to_columns(p)
        plain = 1.0 if sampling == "uniform" else self.uniform_share
        self.pi, self.rho = shares_of(rows, plain), shares_of(columns, plain)
        # L_bar^2: how much farther apart the estimates may be than their points, on average
        self.square = max(worst_of(rows, self.pi), worst_of(columns, self.rho), 1e-300)
        self.row_ends, self.column_ends = np.cumsum(self.pi), np.cumsum(self.rho)
        reads = float(self.pi @ p.grid.row_counts + self.rho @ p.grid.column_counts)
        self.entries_a_step = max(reads, 1.0)
        self.a_pass = max(1, math.ceil(p.stored / self.entries_a_step))

    def rebuild(self) -> None:
        """What checkpoints leave out."""
        self.row_ends, self.column_ends = np.cumsum(self.pi), np.cumsum(self.rho)

    @property
    def kappa(self) -> float:
        """L_bar^2 / (mu gamma)."""
        return self.square / (self.problem.mu * self.problem.gamma)

    def begin(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None = None) -> None:
        p = self.problem
        self.state = CrossSaddle(
            x.copy(), y.copy(), x.copy(), y.copy(), p.adjoint(p.c * y), p.margins(x)
        )

    def remember_here(self) -> None:
        """A snapshot."""
        p, s = self.problem, self.state
        s.x_table[:], s.y_table[:] = s.x, s.y
        s.G[:], s.m[:] = p.adjoint(p.c * s.y), p.margins(s.x)
        self.ledger.paper_passes += 2

    def row(self, i: int) -> tuple[slice | np.ndarray, np.ndarray]:
        """Where row i has entries, and these."""
        return line_of(self.problem.grid.by_rows.matrix, i, False)

    def column(self, j: int) -> tuple[slice | np.ndarray, np.ndarray]:
        """The same of a column."""
        return line_of(self.problem.grid.by_columns.matrix, j, True)

    def draws(self, first: int, count: int) -> Iterator[tuple[int, int, float]]:
        """(i, j) and a number in [0, 1) for each step: three draws a step."""
        numbers = units(self.key, 3 * first, 3 * count)
        rows = drawn(self.row_ends, numbers[0::3])
        columns = drawn(self.column_ends, numbers[1::3])
        yield from zip(rows.tolist(), columns.tolist(), numbers[2::3].tolist(), strict=True)

    def estimates(self, i: int, j: int, y_i: float, x_j: float) -> tuple[np.ndarray, np.ndarray]:
        """Gradients in x and y from row i at y_i and column j at x_j."""
        p, s = self.problem, self.state
        for_x, for_y = s.G.copy(), s.m.copy()
        where, a = self.row(i)
        for_x[where] += p.c[i] / self.pi[i] * (y_i - s.y_table[i]) * a
        where, a = self.column(j)
        for_y[where] += (x_j - s.x_table[j]) / self.rho[j] * a
        return for_x, for_y

    def proxes(
        self, x: np.ndarray, y: np.ndarray, for_x: np.ndarray, for_y: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """prox_{eta g}(x - eta for_x) and prox_{tau phi*}(y + tau for_y)."""
        p, eta, tau = self.problem, self.steps["eta"], self.steps["tau"]
        new_x = primal_prox(p, x - eta * for_x, np.full(p.d, eta))
        return new_x, dual_prox(p, y + tau * for_y, np.full(p.n, tau))

    def some_steps(self, count: int) -> Iterator[None]:
        """``count`` steps from where the method stands."""
        for first, some in self.chunks(count, STEPS_A_BREATH):
            for i, j, coin in self.draws(first, some):
                self.one_step(i, j, coin)
            self.t = first + some
            self.ledger.entries += some * self.entries_a_step
            self.ledger.paper_passes += some * self.entries_a_step / max(self.problem.stored, 1)
            yield

    @abstractmethod
    def one_step(self, i: int, j: int, coin: float) -> None:
        """Move all of x and y by row i and column j."""

    def iterates(self) -> list[tuple[np.ndarray, np.ndarray | None]]:
        return [(self.state.x.copy(), self.state.y.copy())]

    def scaled(self, size: float) -> dict[str, float]:
        """Steps of this size where x is measured by mu and y by gamma."""
        return {"eta": size / self.problem.mu, "tau": size / self.problem.gamma}

    def default_steps(self) -> dict[str, float]:
        return self.scaled(0.5 / max(self.kappa, 1.0))


def rows_to_columns(problem: Problem) -> np.ndarray:
    """sum_i c_i a_ij^2."""
    p = problem
    return p.column_norms_squared / p.n if p.uniform_weights else p.grid.weighted_squares(p.c)


def shares_of(sizes: np.ndarray, uniform: float) -> np.ndarray:
    """Probabilities by size, with a share of uniform ones; alike if nothing has a size."""
    alike: np.ndarray = np.full(len(sizes), 1.0 / len(sizes))
    total = float(sizes.sum())
    if not total > 0:
        return alike
    return np.asarray(uniform * alike + (1.0 - uniform) * sizes / total)


def worst_of(sizes: np.ndarray, shares: np.ndarray) -> float:
    """Largest size over probability."""
    used = sizes > 0
    return float((sizes[used] / shares[used]).max()) if used.any() else 0.0


def drawn(ends: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Which line each number in [0, 1) stands for."""
    found = np.searchsorted(ends, numbers * ends[-1], side="right")
    return np.asarray(np.minimum(found, len(ends) - 1))


def line_of(A: Any, line: int, column: bool) -> tuple[Any, np.ndarray]:
    """Positions and values of a line of Dense, CSR (rows) or CSC (columns) data."""
    if A.is_dense():
        return slice(None), A.values[:, line] if column else A.values[line]
    part = slice(int(A.indptr[line]), int(A.indptr[line + 1]))
    return A.indices[part], A.data[part]
