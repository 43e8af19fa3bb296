"""SPD1: Algorithm 1 of the paper."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ...control.steps import FadingSteps, Proposal
from ...data.grid import Grid
from ...engines.serial import Task
from ...kernel.jit import helper, kernel
from ..base import typical_sizes
from .base import EntryMethod
from .tuning import AHEAD, CAUTION, STEPS_A_PIECE

CONSTANT, INVERSE_SQRT, INVERSE_LINEAR = 0, 1, 2


class Averaged(NamedTuple):
    """Iterates and their running sums; ``last`` is the step up to which a sum is complete."""

    x: np.ndarray
    y: np.ndarray
    x_sum: np.ndarray
    y_sum: np.ndarray
    x_last: np.ndarray
    y_last: np.ndarray


class Schedule(NamedTuple):
    """eta_t = eta f(t), tau_t = tau f(t), t counted from ``origin``; averages from ``window``.

    ``eta_delay`` and ``tau_delay`` are the constants of f(t) = 1 / (t + delay).
    """

    eta: float
    tau: float
    kind: int
    origin: int
    window: int
    eta_delay: float = 4.0
    tau_delay: float = 4.0


@helper
def fading(kind, t, delay):
    """f(t): 1, 1/sqrt(t + 1) (Theorem 1) or 1/(t + delay) (Theorem 2)."""
    if kind == CONSTANT:
        return 1.0
    if kind == INVERSE_SQRT:
        return 1.0 / math.sqrt(t + 1.0)
    return 1.0 / (t + delay)


@kernel
def spd1_steps(sampler, b, weights, state, loss, net, steps, first, count, key):
    """Run steps ``first .. first + count - 1`` of Algorithm 1, both updates from the old values."""
    x, y = state.x, state.y
    rows, columns, entries = np.empty(AHEAD, np.uint64), np.empty(AHEAD, np.uint64), np.empty(AHEAD)
    for t in range(first, first + count):
        k = (t - first) % AHEAD
        if k == 0:  # entries are drawn ahead: memory delivers several at a time
            for s in range(AHEAD):
                rows[s], columns[s], entries[s] = sampler.pair(key, 2 * (t + s))
        i, j, a = rows[k], columns[k], entries[k]
        eta = steps.eta * fading(steps.kind, t - steps.origin, steps.eta_delay)
        tau = steps.tau * fading(steps.kind, t - steps.origin, steps.tau_delay)
        x_j, y_i = x[j], y[i]
        x[j] = net.prox(x_j - eta * weights[i] * a * y_i, eta * sampler.column_share(j), j)
        y[i] = loss.prox_conjugate(y_i + tau * a * x_j, b[i], tau * sampler.row_share(i))
        # the output averages x^0 .. x^(T-1): x_j was in force since its last change
        now = t - steps.window + 1.0
        state.x_sum[j] += x_j * (now - state.x_last[j])
        state.x_last[j] = now
        state.y_sum[i] += y_i * (now - state.y_last[i])
        state.y_last[i] = now


class SPD1(EntryMethod):
    """Stochastic primal-dual method with O(1) work in each iteration."""

    name = "spd1"
    rule = FadingSteps
    fades = True
    remembers = (*EntryMethod.remembers, "kind", "head_start", "origin", "window", "delays")
    kind = CONSTANT
    delays = (4.0, 4.0)  # of eta and tau, where they fade as 1 / (t + delay)
    head_start = 0  # automatic steps start as if a pass had been made: less wild
    takes_cuts = True

    def adopt(self, proposal: Proposal) -> None:
        """Automatic steps fade as Theorem 1 says, those of a theorem as it says; others stay."""
        super().adopt(proposal)
        p = self.problem
        theory = INVERSE_LINEAR if self.strong else INVERSE_SQRT
        kinds = {"auto": INVERSE_SQRT, "theory": theory, "published": theory}
        self.kind = kinds.get(proposal.source, CONSTANT)
        self.delays = (4.0 * p.d, 4.0 * p.n) if proposal.source == "theory" else (4.0, 4.0)
        self.head_start = self.time_of_pass if proposal.source == "auto" else 0

    def begin(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None = None) -> None:
        n, d = self.problem.n, self.problem.d
        self.window = self.t
        self.origin = self.t - self.head_start
        self.state = Averaged(
            x.copy(), y.copy(), np.zeros(d), np.zeros(n), np.zeros(d), np.zeros(n)
        )

    def restart_average(self) -> None:
        self.window = self.t
        for sums in self.state[2:]:
            sums[:] = 0.0

    def rounds(self, grid: Grid) -> Iterator[list[Task]]:
        return self.side_by_side_steps(self.steps_on, self.time_of_pass)

    def steps_on(self, tile: Any, first: int, count: int, key: np.uint64) -> float:
        """Steps first .. first + count - 1 on a tile; returns the entries read."""
        del tile  # the sampler knows it
        p, steps = self.problem, self.schedule()
        for start, some in self.engine.pieces(first, count, STEPS_A_PIECE):
            spd1_steps(
                self.sampler, p.b, self.weights, self.state, p.loss, p.net, steps, start, some, key
            )
        return count * p.stored / self.a_pass

    def schedule(self) -> Schedule:
        """The steps in force, as kernels take them; slower where many go by in a tick of time."""
        eta, tau = self.steps["eta"], self.steps["tau"]
        if self.kind == INVERSE_SQRT:
            slower = math.sqrt(self.time_of_pass / self.a_pass)
            eta, tau = slower * eta, slower * tau
        return Schedule(eta, tau, self.kind, self.origin, self.window, *self.delays)

    def iterates(self) -> list[tuple[np.ndarray, np.ndarray | None]]:
        s, T = self.state, self.t - self.window
        if T == 0:
            return [(s.x.copy(), s.y.copy())]
        x_mean = s.x + (s.x_sum - s.x * s.x_last) / T  # (sum + x (T - last)) / T, exact if x rested
        y_mean = s.y + (s.y_sum - s.y * s.y_last) / T
        return [(x_mean, y_mean)]

    def default_steps(self) -> dict[str, float]:
        """Theorem 1 with estimates for D and L, and with caution."""
        p = self.problem
        D, L = typical_sizes(p)
        R = math.sqrt(float(p.row_norms_squared.mean()) + 1e-300)
        R_prime = math.sqrt(float(p.column_norms_squared.mean()) + 1e-300)
        root = math.sqrt(2.0 * p.stored / p.n)
        eta, tau = root * D / (L * R), root * L * p.n / (D * R_prime)
        return {"eta": CAUTION * eta, "tau": CAUTION * tau}

    def theory_steps(self) -> dict[str, Any]:
        """Theorem 1's, or Theorem 2's, mended, if g is strongly convex and phi smooth.

        With the published eta_t = 2 / (mu (t + 4)) Theorem 2 fails. Its proof holds with
        eta_t = 2 d / (mu (t + 4 d)) and tau_t = 2 n d / (gamma (t + 4 n)):
        docs/laboratory/theorem2.md.
        """
        found, p = self.published_steps(), self.problem
        return {"eta": 2.0 * p.d / p.mu, "tau": found["tau"]} if self.strong else found

    @property
    def strong(self) -> bool:
        """Whether Theorem 2 is about this problem."""
        return bool(self.problem.mu > 0 and self.problem.gamma > 0)

    def published_steps(self) -> dict[str, Any]:
        """Theorem 2 as printed if g is strongly convex and phi smooth, Theorem 1 otherwise."""
        p = self.problem
        self.demand(
            {
                f"a Lipschitz loss ({type(p.loss).__name__} has no constant L)": math.isfinite(p.L),
                "a bounded feasible set (give the regularizer lower and upper)": math.isfinite(p.D),
            }
        )
        if self.strong:
            return {"eta": 2.0 / p.mu, "tau": 2.0 * p.n * p.d / p.gamma}
        root = math.sqrt(2.0 * p.d)
        return {"eta": root * p.D / (p.L * p.R), "tau": root * p.L * p.n / (p.D * p.R_prime)}
