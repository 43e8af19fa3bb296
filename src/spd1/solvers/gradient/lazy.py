"""Row-by-row stochastic gradient steps with lazy updates: the kernel of PSGD, SVRG and SAGA.

The three differ only in what they remember of each row's last derivative: nothing (PSGD), that
of a snapshot (SVRG), or that of the row's last visit (SAGA).

    x+ = prox_{eta g}( x - eta [ n c_i (phi'(a_i'x) - table_i) a_i + G ] )
    G  = sum_i c_i table_i a_i

A coordinate outside the row's non-zeros moves by x_j+ = prox_{eta g_j}(x_j - eta G_j) at every
step. This is done when the coordinate is next needed, many steps at once in closed form, so a
step costs the row's non-zeros.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ...certificate.points import dual_from_margins
from ...errors import IncompatibleError, ParameterError
from ...kernel.jit import helper, kernel
from ...kernel.rng import index
from ..base import Method
from ..tuning import ENTRIES_A_CHUNK
from .tuning import FEW


class Rows(NamedTuple):
    """Iterate, mean gradient of the memory, memory, and the step each x_j is up to date with."""

    x: np.ndarray
    gradient: np.ndarray
    table: np.ndarray
    last: np.ndarray


@helper
def repeat_prox(net, x, gradient, eta, times, j):
    """Apply x -> prox_{eta g_j}(x - eta gradient) ``times`` times.

    The map is monotone, so iterates move one way: through the side they are on, perhaps over
    zero, and to the other side; each side is a geometric (or arithmetic) progression. A bound,
    once reached, is kept: clipping the end is enough.
    """
    if times <= FEW:
        for _ in range(times):
            x = net.prox(x - eta * gradient, eta, j)
        return x
    l1, l2, lower, upper = net.numbers(j)
    shrink = math.log1p(eta * l2)
    left = times
    while left > 0:
        side = 0.0
        if x > 0.0 or (x == 0.0 and -gradient > l1):
            side = 1.0
        elif x < 0.0 or gradient > l1:
            side = -1.0
        else:
            break  # zero is where it rests
        size, pull = abs(x), side * gradient + l1  # pull > 0: towards zero
        stay = float(left)
        if pull > 0.0:
            if l2 > 0.0:
                stay = math.floor(math.log1p(size * l2 / pull) / shrink)
            else:
                stay = math.floor(size / (eta * pull))
        if stay >= 1.0:
            stay = min(stay, float(left))
            if l2 > 0.0:
                size = size * math.exp(-stay * shrink) + pull * math.expm1(-stay * shrink) / l2
            else:
                size -= stay * eta * pull
            left -= int(stay)
            x = side * max(size, 0.0)
        if left > 0:  # the step that reaches or crosses zero
            z = x - eta * gradient
            x = (max(z - eta * l1, 0.0) + min(z + eta * l1, 0.0)) / (1.0 + eta * l2)
            left -= 1
    return min(max(x, lower), upper)


@kernel
def row_steps(A, b, weights, state, loss, net, eta, remember, first, count, key):
    """Stochastic gradient steps ``first .. first + count - 1``, lazily."""
    x, gradient, table, last = state
    n = len(b)
    for t in range(first, first + count):
        i = index(key, t, n)
        u = 0.0
        for k in range(A.line_length(i)):
            j, a = A.at(i, k)
            if not A.is_dense() and last[j] < t:
                x[j] = repeat_prox(net, x[j], gradient[j], eta, t - last[j], j)
            u += a * x[j]
        slope = loss.derivative(u, b[i])
        change = weights[i] * (slope - table[i])
        for k in range(A.line_length(i)):
            j, a = A.at(i, k)
            x[j] = net.prox(x[j] - eta * (change * a + gradient[j]), eta, j)
            last[j] = t + 1
            if remember:
                gradient[j] += change * a / n
        if remember:
            table[i] = slope


@kernel
def catch_up(state, net, eta, t):
    """Bring every coordinate up to step t."""
    for j in range(len(state.x)):
        if state.last[j] < t:
            times = t - state.last[j]
            state.x[j] = repeat_prox(net, state.x[j], state.gradient[j], eta, times, j)
            state.last[j] = t


class RowMethod(Method):
    """What PSGD, SVRG and SAGA share."""

    step_names = ("eta",)
    remember = False

    def prepare(self, sampling: str) -> None:
        if sampling not in ("auto", "uniform"):
            raise ParameterError(
                f"sampling={sampling!r} means nothing to {self.name}: it draws rows"
            )
        self.A = self.problem.grid.by_rows.matrix

    def begin(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None = None) -> None:
        p = self.problem
        last = np.full(p.d, self.t, dtype=np.int64)
        self.state = Rows(x.copy(), np.zeros(p.d), np.zeros(p.n), last)

    def epoch(self) -> Iterator[None]:
        p = self.problem
        rows_a_chunk = max(1, int(ENTRIES_A_CHUNK * p.n / max(p.stored, p.n)))
        for first, count in self.chunks(p.n, rows_a_chunk):
            self._run(first, count)
            self.t = first + count
            self.ledger.entries += count / p.n * p.stored
            self.ledger.paper_passes += count / p.n
            yield

    def _run(self, first: int, count: int) -> None:
        p = self.problem
        row_steps(
            self.A, p.b, self.weights, self.state, p.loss, p.net, self.steps["eta"],
            self.remember, first, count, self.key,
        )  # fmt: skip
        catch_up(self.state, p.net, self.steps["eta"], first + count)

    def iterates(self) -> list[tuple[np.ndarray, np.ndarray | None]]:
        return [(self.state.x.copy(), None)]

    def smoothness(self) -> float:
        """Largest Lipschitz constant of a row's gradient, n c_i |a_i|^2 / gamma."""
        p = self.problem
        gamma = p.gamma if p.gamma > 0 else 1.0
        return max(float((self.weights * p.row_norms_squared).max()) / gamma, 1e-300)

    def default_steps(self) -> dict[str, float]:
        return {"eta": 1.0 / (3.0 * self.smoothness())}

    def theory_steps(self) -> dict[str, Any]:
        raise IncompatibleError(
            f"the paper has no theorem for {self.name}: use steps='auto' or a dict"
        )

    def remember_here(self) -> None:
        """Fill the memory with the derivatives at x, and G with their mean gradient."""
        p = self.problem
        self.state.table[:] = dual_from_margins(p, p.margins(self.state.x))
        self.state.gradient[:] = p.adjoint(p.c * self.state.table)
        self.ledger.paper_passes += 1
