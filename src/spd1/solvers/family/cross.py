"""A row and a column a step: what the saddle-point SVRG and SAGA share (Palaniappan & Bach 2016).

The gradient in x is estimated from a row i, that in y from a column j, against what is remembered:

    for x:  G + (c_i / pi_i) a_i (y_i - y~_i),      G = A'(c y~)
    for y:  m + (1 / rho_j) a'_j (x_j - x~_j),      m = A x~

All of x and y move: O(n + d) a step on dense data, as the paper states. On sparse data coordinates
of x outside the row move by a map that is known, and are brought up to date when they are next
needed (``gradient/lazy.py``): O(n) and the entries of the two lines. The map of y_i has no closed
form for most losses, so all of y moves at every step. Rows are drawn with pi_i ~ c_i |a_i|^2 and
columns with rho_j ~ sum_i c_i a_ij^2, or alike (sampling="uniform").
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ...control.steps import ScaledSteps
from ...errors import IncompatibleError, ParameterError
from ...kernel.jit import kernel
from ...kernel.rng import units
from ...problem import Problem
from ..base import Method
from ..gradient.lazy import repeat_prox
from .states import CrossSaddle
from .tuning import STEPS_A_BREATH, VALUES_A_BREATH

__all__ = ["CrossMethod"]


class Lengths(NamedTuple):
    """Steps in x and y, and how far y goes back to what is remembered before it moves."""

    eta: float
    tau: float
    back: float


@kernel
def cross_steps(
    rows, columns, b, c, pi, rho, state, gradient, loss, net, steps, drawn, first, half, remember
):
    """A step for each (i, j) drawn; then every coordinate is up to date.

    ``half``: estimates are made where a step with the remembered gradients leads (extragradient),
    not where the method stands. ``remember``: y_i and x_j are remembered, and the gradients follow.
    """
    x, y, x_table, y_table, G, m, last, push = state
    eta, tau, back = steps
    for s in range(len(drawn)):
        t, i, j = first + s, np.uint64(drawn[s, 0]), np.uint64(drawn[s, 1])
        if not rows.is_dense() and last[j] < t:
            x[j] = repeat_prox(net, x[j], gradient[j], eta, t - last[j], j)
            last[j] = t
        x_j, y_i = x[j], y[i]
        if half:
            x_j = net.prox(x_j - eta * gradient[j], eta, j)
            y_i += back * (y_table[i] - y_i)
            y_i = loss.prox_conjugate(y_i + tau * m[i], b[i], tau)
        for_x, for_y = c[i] * (y_i - y_table[i]), x_j - x_table[j]
        for k in range(columns.line_length(j)):
            q, a = columns.at(j, k)
            push[q] = for_y / rho[j] * a
        for q in range(len(y)):
            z = y[q] + back * (y_table[q] - y[q]) + tau * (m[q] + push[q])
            y[q] = loss.prox_conjugate(z, b[q], tau)
        for k in range(columns.line_length(j)):
            q, a = columns.at(j, k)
            push[q] = 0.0
            if remember:
                m[q] += for_y * a
        for k in range(rows.line_length(i)):
            q, a = rows.at(i, k)
            if not rows.is_dense() and last[q] < t:
                x[q] = repeat_prox(net, x[q], gradient[q], eta, t - last[q], q)
            x[q] = net.prox(x[q] - eta * (gradient[q] + for_x / pi[i] * a), eta, q)
            last[q] = t + 1
            if remember:
                G[q] += for_x * a
        if remember:
            x_table[j], y_table[i] = x_j, y_i
    end = first + len(drawn)
    for q in range(len(x)):
        if last[q] < end:
            if not rows.is_dense():
                x[q] = repeat_prox(net, x[q], gradient[q], eta, end - last[q], q)
            last[q] = end


class CrossMethod(Method):
    """What svrg-saddle, its accelerated form and saga-saddle share."""

    step_names = ("eta", "tau")
    rule = ScaledSteps
    needs_smooth_loss = True
    uniform_share = 0.0  # of draws by norms
    rebuilt = ("row_ends", "column_ends")
    half, remember = False, False  # see ``cross_steps``

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
        squares = rows_to_columns(p)
        plain = 1.0 if sampling == "uniform" else self.uniform_share
        self.pi, self.rho = shares_of(rows, plain), shares_of(squares, plain)
        # L_bar^2: how much farther apart the estimates may be than their points, on average
        self.square = max(worst_of(rows, self.pi), worst_of(squares, self.rho), 1e-300)
        self.row_ends, self.column_ends = np.cumsum(self.pi), np.cumsum(self.rho)
        reads = float(self.pi @ p.grid.row_counts + self.rho @ p.grid.column_counts)
        self.entries_a_step = max(reads, 1.0)
        self.a_pass = max(1, math.ceil(p.stored / self.entries_a_step))
        columns = p.grid.by_columns.matrix
        self.rows = p.grid.by_rows.matrix
        self.columns = columns.transposed() if p.grid.dense else columns

    def rebuild(self) -> None:
        """What checkpoints leave out."""
        self.row_ends, self.column_ends = np.cumsum(self.pi), np.cumsum(self.rho)

    @property
    def kappa(self) -> float:
        """L_bar^2 / (mu gamma)."""
        return self.square / (self.problem.mu * self.problem.gamma)

    def begin(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None = None) -> None:
        p = self.problem
        last = np.full(p.d, self.t, dtype=np.int64)
        self.state = CrossSaddle(
            x.copy(), y.copy(), x.copy(), y.copy(), p.adjoint(p.c * y), p.margins(x), last,
            np.zeros(p.n),
        )  # fmt: skip

    def remember_here(self) -> None:
        """A snapshot."""
        p, s = self.problem, self.state
        s.x_table[:], s.y_table[:] = s.x, s.y
        s.G[:], s.m[:] = p.adjoint(p.c * s.y), p.margins(s.x)
        self.ledger.paper_passes += 2

    def drawn(self, first: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        """(i, j) and a number in [0, 1) for each step: three draws a step."""
        numbers = units(self.key, 3 * first, 3 * count)
        i, j = drawn(self.row_ends, numbers[0::3]), drawn(self.column_ends, numbers[1::3])
        return np.stack([i, j], axis=1), numbers[2::3]

    def some_steps(self, count: int) -> Iterator[None]:
        """``count`` steps from where the method stands."""
        p = self.problem
        breath = max(STEPS_A_BREATH, int(VALUES_A_BREATH / (p.n + self.entries_a_step)))
        for first, some in self.chunks(count, breath):
            drawn_lines, coins = self.drawn(first, some)
            self.walk(drawn_lines, coins, first)
            self.t = first + some
            self.ledger.entries += some * self.entries_a_step
            self.ledger.paper_passes += some * self.entries_a_step / max(p.stored, 1)
            yield

    def walk(self, drawn_lines: np.ndarray, coins: np.ndarray, first: int) -> None:
        """The steps of these rows and columns."""
        del coins
        lengths = Lengths(self.steps["eta"], self.steps["tau"], 0.0)
        self.move(drawn_lines, first, self.state.G, self.problem.net, lengths)

    def move(
        self, drawn_lines: np.ndarray, first: int, gradient: np.ndarray, net: Any, steps: Lengths
    ) -> None:
        """Call the kernel."""
        p = self.problem
        cross_steps(
            self.rows, self.columns, p.b, p.c, self.pi, self.rho, self.state, gradient, p.loss, net,
            steps, drawn_lines, first, self.half, self.remember,
        )  # fmt: skip

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
