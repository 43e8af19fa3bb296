"""DSPDC: doubly stochastic primal-dual coordinates (Yu, Lin & Yang 2015)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ...control.steps import ScaledSteps
from ...errors import IncompatibleError, ParameterError
from ...kernel.jit import kernel
from ...kernel.rng import index
from ...problem import Problem
from ..base import Method
from .cross import rows_to_columns
from .tuning import STEPS_A_BREATH

__all__ = ["DSPDC"]


class Sums(NamedTuple):
    """x and y, u = A x and G = A'(c y), and the last move of x: which column and how far."""

    x: np.ndarray
    y: np.ndarray
    u: np.ndarray
    G: np.ndarray
    last: np.ndarray


@kernel
def dspdc_steps(rows, columns, b, c, state, loss, net, steps, first, count, key):
    """Draw a row and a column; y_i sees x extrapolated, x_j sees y extrapolated; both sums follow.

    Returns the entries read.
    """
    x, y, u, G, last = state
    eta, sigma, beyond = steps
    n, d = len(b), len(x)
    moved, move = np.uint64(last[0]), last[1]
    read = 0
    for t in range(first, first + count):
        i, j = index(key, 2 * t, n), index(key, 2 * t + 1, d)
        ahead = u[i] + beyond * move * rows.entry(i, moved)
        y_new = loss.prox_conjugate(y[i] + sigma * ahead, b[i], sigma)
        change = c[i] * (y_new - y[i])
        y[i] = y_new
        x_new = net.prox(x[j] - eta * (G[j] + n * change * rows.entry(i, j)), eta, j)
        moved, move = j, x_new - x[j]
        x[j] = x_new
        for k in range(rows.line_length(i)):
            q, a = rows.at(i, k)
            G[q] += change * a
        for k in range(columns.line_length(j)):
            q, a = columns.at(j, k)
            u[q] += move * a
        read += rows.line_length(i) + columns.line_length(j) + 2
    last[0], last[1] = moved, move
    return read


class DSPDC(Method):
    """One dual and one primal coordinate a step; a row and a column keep both sums up to date.

        y_i+ = prox_{tau phi*}(y_i + tau (A x_bar)_i),   x_bar = x + d theta (x - x_before)
        x_j+ = prox_{eta g}(x_j - eta (G_j + n c_i a_ij (y_i+ - y_i)))

    Theory: eta tau d r^2 = 1/4 with r^2 the largest n c_i a_ij^2, eta / tau = d gamma / (n mu), and
    theta is what a step leaves of the distance. Then max(n, d) + d r sqrt(n / (mu gamma)) steps
    make a constant factor: proved in docs/laboratory/family.md for blocks of one, with weights.
    Automatic steps begin with longer ones, only measured.
    """

    name = "dspdc"
    step_names = ("eta", "tau")
    rule = ScaledSteps
    needs_smooth_loss = True

    @classmethod
    def refuse(cls, problem: Problem) -> None:
        super().refuse(problem)
        if not problem.mu > 0:
            raise IncompatibleError(
                f"{cls.name} needs l2 > 0 for every feature: use method 'spd1-vr', or add an l2"
            )

    def prepare(self, sampling: str) -> None:
        if sampling not in ("auto", "uniform"):
            raise ParameterError(
                f"sampling={sampling!r} means nothing to {self.name}: it draws rows and columns"
            )
        grid = self.problem.grid
        self.rows = grid.by_rows.matrix
        columns = grid.by_columns.matrix
        self.columns = columns.transposed() if grid.dense else columns

    def begin(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None = None) -> None:
        p = self.problem
        G = p.adjoint(p.c * y) if v is None else -v
        self.state = Sums(x.copy(), y.copy(), p.margins(x), G, np.zeros(2))

    def epoch(self) -> Iterator[None]:
        p, eta, tau = self.problem, self.steps["eta"], self.steps["tau"]
        mean = p.stored / p.n + p.stored / p.d
        steps = (eta, tau, p.d * self.contraction())
        for first, count in self.chunks(max(p.n, p.d), max(STEPS_A_BREATH, int(5e6 / (mean + 1)))):
            read = dspdc_steps(
                self.rows, self.columns, p.b, p.c, self.state, p.loss, p.net, steps, first, count,
                self.key,
            )  # fmt: skip
            self.t = first + count
            self.ledger.entries += read
            self.ledger.paper_passes += count * mean / max(p.stored, 1)
            yield

    def iterates(self) -> list[tuple[np.ndarray, np.ndarray | None]]:
        return [(self.state.x.copy(), self.state.y.copy())]

    def contraction(self) -> float:
        """What a step leaves of the distance, of x or of y."""
        p, eta, tau = self.problem, self.steps["eta"], self.steps["tau"]
        for_y = 1.0 - 1.0 / (p.n * (1.0 + 1.0 / (2.0 * tau * p.gamma)))
        return max(for_y, 1.0 - 1.0 / (p.d * (1.0 + 1.0 / (2.0 * eta * p.mu))))

    def balanced(self, product: float) -> dict[str, float]:
        """Eta tau = product, eta / tau = d gamma / (n mu)."""
        p = self.problem
        ratio = math.sqrt(p.d * p.gamma / (p.n * p.mu))
        return {"eta": math.sqrt(product) * ratio, "tau": math.sqrt(product) / ratio}

    def default_steps(self) -> dict[str, float]:
        """With the mean of an entry's square along its line in place of the largest."""
        p = self.problem
        rows = float((self.weights * p.row_norms_squared).max())
        columns = p.d * float(rows_to_columns(p).max())
        return self.balanced(1.0 / max(rows, columns, 1e-300))

    def theory_steps(self) -> dict[str, Any]:
        p, A = self.problem, self.rows
        if A.is_dense():
            largest = float((self.weights * np.square(A.values).max(axis=1)).max())
        else:
            lengths = np.diff(A.indptr.astype(np.int64))
            largest = float((np.repeat(self.weights, lengths) * np.square(A.data)).max(initial=0.0))
        self.ledger.entries += p.stored
        return self.balanced(0.25 / max(p.d * largest, 1e-300))
