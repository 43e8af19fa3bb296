"""Column tiles with maintained margins: the mirror image of row tiles.

While a column is visited the margins m = A x are kept up to date, so the step in x_j is exact. For
a smooth loss y is *tied* to x, y_i = phi'(m_i), and a visit is a step of coordinate descent:

    x_j+ = prox_{eta_j g_j}( x_j - eta_j sum_i c_i a_ij y_i ),   eta_j = gamma / sum_i c_i a_ij^2

For any other loss y is *free* and every row of the column takes a dual step:

    y_i = prox_{sigma_i phi*}( y_i + sigma_i (m_i + r_i a_ij delta) ),   m_i += a_ij delta

with delta = x_j+ - x_j, sigma_i = sigma d/r_i and eta_j = 1/(sigma d sum_i c_i a_ij^2).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..certificate.points import Pair, dual_from_margins, pair_of
from ..control.balance import ColumnSteps
from ..errors import IncompatibleError, ParameterError
from ..kernel.jit import kernel
from ..kernel.rng import shuffle_blocks
from ..problem import Problem
from .base import Method, Saved, typical_labels
from .tuning import BLOCK, ENTRIES_A_CHUNK


class ColumnTileState(NamedTuple):
    """Iterates and the margins m = A x."""

    x: np.ndarray
    y: np.ndarray
    margins: np.ndarray


class ColumnGeometry(NamedTuple):
    """What a column needs to know of the data: sum_i c_i a_ij^2, d/r_i, c_i."""

    squares: np.ndarray
    row_shares: np.ndarray
    weights: np.ndarray


@kernel
def tied_column_steps(A, b, geometry, state, loss, net, gamma, order):
    """Visit the columns of ``order`` once, y tied to x; the lines of A are columns."""
    x, y, m = state
    for j in order:
        if geometry.squares[j] > 0.0:
            eta = gamma / geometry.squares[j]
            gradient = 0.0
            for k in range(A.line_length(j)):
                i, a = A.at(j, k)
                gradient += a * geometry.weights[i] * y[i]
            new = net.prox(x[j] - eta * gradient, eta, j)
            move = new - x[j]
            if move != 0.0:
                x[j] = new
                for k in range(A.line_length(j)):
                    i, a = A.at(j, k)
                    m[i] += a * move
                    y[i] = loss.derivative(m[i], b[i])


@kernel
def column_tile_steps(A, b, geometry, state, loss, net, sigma, order):
    """Visit the columns of ``order`` once, y free; the lines of A are columns."""
    x, y, m = state
    d = len(x)
    for j in order:
        if geometry.squares[j] > 0.0:
            eta = 1.0 / (sigma * d * geometry.squares[j])
            gradient = 0.0
            for k in range(A.line_length(j)):
                i, a = A.at(j, k)
                gradient += a * geometry.weights[i] * y[i]
            new = net.prox(x[j] - eta * gradient, eta, j)
            move = new - x[j]
            x[j] = new
            for k in range(A.line_length(j)):
                i, a = A.at(j, k)
                sigma_i = sigma * geometry.row_shares[i]
                ahead = sigma * d * a * move
                y[i] = loss.prox_conjugate(y[i] + sigma_i * m[i] + ahead, b[i], sigma_i)
                m[i] += a * move


class ColumnTiles(Method):
    """Columns in fresh random order: coordinate descent, or its primal-dual relative."""

    name = "columns"
    step_names = ("sigma",)
    rule = ColumnSteps
    maintains = "margins"

    def prepare(self, sampling: str) -> None:
        if sampling not in ("auto", "uniform"):
            raise ParameterError(f"sampling={sampling!r} means nothing to columns")
        p = self.problem
        columns = p.grid.by_columns.matrix
        self.lines: Any = columns.transposed() if p.grid.dense else columns
        self.block = 1 if p.grid.dense else BLOCK
        r = np.maximum(p.grid.row_counts, 1)
        self.geometry = ColumnGeometry(weighted_squares(p), p.d / r, p.c)
        self.order = np.arange(p.d)
        self.tied = p.gamma > 0
        self._pair: Pair | None = None

    def begin(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None = None) -> None:
        p = self.problem
        x = x.copy()
        m = p.margins(x)
        y = dual_from_margins(p, m) if self.tied else y.copy()
        self.state = ColumnTileState(x, y, m)
        self._pair = None

    def restore(self, saved: Saved) -> None:
        super().restore(saved)
        self._pair = None

    def epoch(self) -> Iterator[None]:
        p = self.problem
        self._pair = None
        first = self.t
        shuffle_blocks(self.order, self.key, first, self.block)
        columns = max(1, int(ENTRIES_A_CHUNK * p.d / max(p.stored, p.d)))
        for start in range(0, p.d, columns):
            part = self.order[start : start + columns]
            common = self.lines, p.b, self.geometry, self.state, p.loss, p.net
            if self.tied:
                tied_column_steps(*common, p.gamma, part)
            else:
                column_tile_steps(*common, self.steps["sigma"], part)
            self.t = first + start + len(part)
            self.ledger.entries += len(part) / p.d * p.stored
            self.ledger.paper_passes += len(part) / p.d
            yield

    def evaluated(self) -> Pair:
        """The pair (x, y), with the margins at hand: one product is left to compute."""
        if self._pair is None:
            p, s = self.problem, self.state
            y = s.y.copy()
            x = s.x.copy() if np.all(np.isfinite(s.x)) else np.full(p.d, math.inf)
            self._pair = pair_of(p, x, s.margins.copy(), y, -p.adjoint(p.c * y))
        return self._pair

    def iterates(self) -> list[tuple[np.ndarray, np.ndarray | None]]:
        return [(self.state.x.copy(), self.state.y.copy())]

    def default_steps(self) -> dict[str, float]:
        """Y should follow margins of the labels' size; the certificate corrects it."""
        size, L = typical_labels(self.problem)
        return {"sigma": L / (size * self.problem.d)}

    def theory_steps(self) -> dict[str, Any]:
        raise IncompatibleError("the paper has no theorem for columns: use steps='auto' or a dict")


def weighted_squares(problem: Problem) -> np.ndarray:
    """Sum of c_i a_ij^2 for every column."""
    if problem.uniform_weights:
        return np.asarray(problem.column_norms_squared / problem.n)
    return problem.grid.weighted_squares(problem.c)
