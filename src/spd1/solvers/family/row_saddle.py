"""One row a step, x and y with steps of their own: the lazy kernel of SPDC, SPDHG and RPD.

    y_i+ = prox_{sigma_i phi*}(y_i + sigma_i a_i'(x + theta (x - x_before)))
    x+   = prox_{eta g}(x - eta (G + ahead n c_i (y_i+ - y_i) a_i)),   G+ = G + c_i (y_i+ - y_i) a_i

The three differ in where they look ahead: at x (theta), at G (ahead), or both. Coordinates outside
the row move by x_j+ = prox_{eta g_j}(x_j - eta G_j), at every step; as in ``gradient/lazy.py`` that
is done when they are next needed, many steps at once, so a step costs the row's entries.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from ...control.balance import CautiousSteps, TileSteps
from ...control.steps import StepRule
from ...errors import ParameterError
from ...kernel.jit import kernel
from ...kernel.rng import index
from ..base import Method, typical_labels
from ..gradient.lazy import repeat_prox
from ..tuning import ENTRIES_A_CHUNK
from .states import RowSaddle
from .vectors import leeway_of

__all__ = ["RowSaddleMethod"]


@kernel
def row_saddle_steps(A, b, weights, shares, state, loss, net, steps, first, count, key):
    """Steps ``first .. first + count - 1``; then every coordinate is up to date."""
    x, before, y, G, last = state
    eta, tau, theta, ahead = steps
    n = len(b)
    for t in range(first, first + count):
        i = index(key, t, n)
        u = 0.0
        for k in range(A.line_length(i)):
            j, a = A.at(i, k)
            if not A.is_dense() and last[j] < t:
                before[j] = repeat_prox(net, x[j], G[j], eta, t - last[j] - 1, j)
                x[j] = net.prox(before[j] - eta * G[j], eta, j)
            u += a * (x[j] + theta * (x[j] - before[j]))
        change, sigma = 0.0, tau * shares[i]
        if sigma > 0.0:
            y_new = loss.prox_conjugate(y[i] + sigma * u, b[i], sigma)
            change = weights[i] * (y_new - y[i])
            y[i] = y_new
        for k in range(A.line_length(i)):
            j, a = A.at(i, k)
            before[j] = x[j]
            x[j] = net.prox(x[j] - eta * (G[j] + ahead * change * a), eta, j)
            G[j] += change * a / n
            last[j] = t + 1
    for j in range(len(x)):
        if last[j] < first + count:
            if not A.is_dense():
                before[j] = repeat_prox(net, x[j], G[j], eta, first + count - last[j] - 1, j)
                x[j] = net.prox(before[j] - eta * G[j], eta, j)
            last[j] = first + count


class RowSaddleMethod(Method):
    """What SPDC, SPDHG and RPD share."""

    step_names = ("eta", "tau")
    proven_product: ClassVar[bool] = False  # whether a theorem covers automatic steps, any ratio

    def prepare(self, sampling: str) -> None:
        if sampling not in ("auto", "uniform"):
            raise ParameterError(
                f"sampling={sampling!r} means nothing to {self.name}: it draws rows"
            )
        p = self.problem
        self.A = p.grid.by_rows.matrix
        self.reach = self.weights * p.row_norms_squared  # n c_i |a_i|^2
        self.longest = max(float(self.reach.max()), 1e-300)  # R^2
        self.shares = self.shares_of_rows()

    @property
    def rule(self) -> type[StepRule]:  # type: ignore[override]
        """Where both sides are strongly convex steps may change for ever, and go far."""
        return TileSteps if self.problem.mu > 0 and self.problem.gamma > 0 else CautiousSteps

    @property
    def leeway(self) -> float:
        """By which factor eta and tau may be off."""
        return leeway_of(self.problem)

    def shares_of_rows(self) -> np.ndarray:
        """sigma_i / tau: the longest step is allowed to every row."""
        used = self.reach > 0
        return np.where(used, self.longest / np.where(used, self.reach, 1.0), 0.0)

    def begin(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None = None) -> None:
        p = self.problem
        G = p.adjoint(p.c * y) if v is None else -v
        last = np.full(p.d, self.t, dtype=np.int64)
        self.state = RowSaddle(x.copy(), x.copy(), y.copy(), G, last)

    @abstractmethod
    def look_ahead(self) -> tuple[float, float]:
        """Theta and ahead."""

    def epoch(self) -> Iterator[None]:
        p = self.problem
        rows_a_chunk = max(1, int(ENTRIES_A_CHUNK * p.n / max(p.stored, p.n)))
        steps = (self.steps["eta"], self.steps["tau"], *self.look_ahead())
        for first, count in self.chunks(p.n, rows_a_chunk):
            row_saddle_steps(
                self.A, p.b, self.weights, self.shares, self.state, p.loss, p.net, steps, first,
                count, self.key,
            )  # fmt: skip
            self.t = first + count
            self.ledger.entries += count / p.n * p.stored
            self.ledger.paper_passes += count / p.n
            yield

    def iterates(self) -> list[tuple[np.ndarray, np.ndarray | None]]:
        return [(self.state.x.copy(), self.state.y.copy())]

    def contraction(self) -> float:
        """What a step leaves at most, as we derive it from the strong convexity of both sides.

        1 - 1/(n + n/(2 sigma gamma)) for y, 1/(1 + 2 eta mu) for x; 1 where one is missing.
        """
        p, used = self.problem, self.shares > 0
        if not (p.mu > 0 and p.gamma > 0 and used.any()):
            return 1.0
        sigma = self.steps["tau"] * float(self.shares[used].min())
        for_y = 1.0 - 1.0 / (p.n * (1.0 + 1.0 / (2.0 * sigma * p.gamma)))
        return max(for_y, 1.0 / (1.0 + 2.0 * self.steps["eta"] * p.mu))

    def balanced(self, product: float) -> dict[str, float]:
        """Eta tau R^2 = product; eta / tau = gamma / (n mu), or by the sizes of labels and rows."""
        p = self.problem
        if p.mu > 0 and p.gamma > 0:
            ratio = math.sqrt(p.gamma / (p.n * p.mu))
        else:
            size, L = typical_labels(p)
            typical = max(float(p.row_norms_squared.mean()), 1e-300)
            ratio = math.sqrt(size / (L * typical) * math.sqrt(self.longest))
        root = math.sqrt(product / self.longest)
        return {"eta": root * ratio, "tau": root / ratio}

    def default_steps(self) -> dict[str, float]:
        return self.balanced(1.0)

    def theory_steps(self) -> dict[str, Any]:
        return self.balanced(1.0)
