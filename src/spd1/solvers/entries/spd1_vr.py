"""SPD1-VR: Algorithm 2 of the paper."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ...control.steps import Proposal
from ...data.grid import Grid
from ...engines.serial import Task
from ...kernel.jit import kernel
from ..base import saddle_steps
from .base import EntryMethod
from .tuning import AHEAD, STEPS_A_PIECE

ENTRIES_A_STEP = 3  # a_ij, a_i'j, a_ij'
CONTRACTION_FACTOR = 4096.0 / 5.0 * math.log(5.0)  # Theorem 3: (1 - 5/(4096 m))^T <= 1/5


class Snapshot(NamedTuple):
    """Iterates, the snapshot they started from, and its full gradients."""

    x: np.ndarray
    y: np.ndarray
    x_snap: np.ndarray
    y_snap: np.ndarray
    gradient: np.ndarray  # G_x = A'(c y~)
    margins: np.ndarray  # A x~ = d G_y


@kernel
def spd1_vr_steps(sampler, b, weights, state, loss, net, steps, first, count, key):
    """Inner steps of Algorithm 2: extragradient with variance-reduced one-entry gradients."""
    x, y, x_snap, y_snap = state.x, state.y, state.x_snap, state.y_snap
    eta, tau = steps
    index, entries = np.empty((AHEAD, 4), np.uint64), np.empty((AHEAD, 3))
    for t in range(first, first + count):
        k = (t - first) % AHEAD
        if k == 0:  # entries are drawn ahead: memory delivers several at a time
            for s in range(AHEAD):
                i, j, a = sampler.pair(key, 4 * (t + s))
                i2, a2 = sampler.in_column(key, 4 * (t + s) + 2, j)
                j2, a3 = sampler.in_row(key, 4 * (t + s) + 3, i)
                index[s, 0], index[s, 1], index[s, 2], index[s, 3] = i, j, i2, j2
                entries[s, 0], entries[s, 1], entries[s, 2] = a, a2, a3
        i, j, i2, j2 = index[k, 0], index[k, 1], index[k, 2], index[k, 3]
        a, a2, a3 = entries[k, 0], entries[k, 1], entries[k, 2]
        eta_j = eta * sampler.column_share(j)
        sigma_i = tau * sampler.row_share(i)
        x_j = x[j] - eta_j * state.gradient[j]
        y_i = y[i] + sigma_i * state.margins[i]
        x_bar = net.prox(x_j - eta * weights[i2] * a2 * (y[i2] - y_snap[i2]), eta_j, j)
        y_bar = loss.prox_conjugate(y_i + tau * a3 * (x[j2] - x_snap[j2]), b[i], sigma_i)
        x[j] = net.prox(x_j - eta * weights[i] * a * (y_bar - y_snap[i]), eta_j, j)
        y[i] = loss.prox_conjugate(y_i + tau * a * (x_bar - x_snap[j]), b[i], sigma_i)


class SPD1VR(EntryMethod):
    """SPD1 with variance reduction: an outer loop of snapshots around O(1) steps."""

    name = "spd1-vr"
    draws_a_step = 4
    remembers = (*EntryMethod.remembers, "inner_steps")
    takes_cuts = True

    def prepare(self, sampling: str) -> None:
        super().prepare(sampling)
        self.inner_steps = self.a_pass

    @property
    def net(self) -> Any:
        """The regularizer of the inner steps."""
        return self.problem.net

    @property
    def strength(self) -> float:
        """Strong convexity of what they minimise."""
        return self.problem.mu

    def begin(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None = None) -> None:
        p = self.problem
        self.state = Snapshot(x.copy(), y.copy(), x.copy(), y.copy(), np.zeros(p.d), np.zeros(p.n))

    def adopt(self, proposal: Proposal) -> None:
        """T = nd, as in the paper's experiments; Theorem 3 has a T of its own."""
        super().adopt(proposal)
        self.inner_steps = self.theory_inner_steps() if proposal.source == "theory" else self.a_pass

    def take_snapshot(self, grid: Grid) -> None:
        """The full gradients, at the point where an epoch begins."""
        p, s = self.problem, self.state
        s.x_snap[:], s.y_snap[:] = s.x, s.y
        s.gradient[:] = grid.adjoint(p.c * s.y)
        s.margins[:] = grid.margins(s.x)
        self.ledger.paper_passes += 1

    def rounds(self, grid: Grid) -> Iterator[list[Task]]:
        self.take_snapshot(grid)
        return self.side_by_side_steps(self.steps_on, -(-self.inner_steps // len(self.lanes)))

    def steps_on(self, tile: Any, first: int, count: int, key: np.uint64) -> float:
        """Inner steps first .. first + count - 1 on a tile; returns the entries read."""
        del tile  # the sampler knows it
        p = self.problem
        steps = (self.steps["eta"], self.steps["tau"])
        for start, some in self.engine.pieces(first, count, STEPS_A_PIECE):
            spd1_vr_steps(
                self.sampler, p.b, self.weights, self.state, p.loss, self.net, steps, start, some,
                key,
            )  # fmt: skip
        density = p.stored / self.a_pass  # uniform draws of sparse data mostly read nothing
        return ENTRIES_A_STEP * count * density

    def iterates(self) -> list[tuple[np.ndarray, np.ndarray | None]]:
        return [(self.state.x.copy(), self.state.y.copy())]

    def default_steps(self) -> dict[str, float]:
        return saddle_steps(self.problem)

    def theory_steps(self) -> dict[str, Any]:
        """Theorem 3, which also has a number of inner steps T."""
        p = self.problem
        self.demand(
            {
                f"a smooth loss ({type(p.loss).__name__} is not)": p.gamma > 0,
                "a strongly convex regularizer (l2 > 0 for every feature)": p.mu > 0,
            }
        )
        R2, R2_prime, rows, columns = self.conditions()
        return {
            "eta": p.gamma / (128.0 * R2) * min(rows / columns, 1.0),
            "tau": p.n * self.strength / (128.0 * R2_prime) * min(columns / rows, 1.0),
        }

    def theory_inner_steps(self) -> int:
        """Theorem 3's T: after so many steps at most a fifth of the distance is left."""
        _, _, rows, columns = self.conditions()
        return math.ceil(CONTRACTION_FACTOR * max(rows, columns))

    def conditions(self) -> tuple[float, float, float, float]:
        """R^2, R'^2, d kappa and n kappa'.

        The theorem assumes kappa, kappa' >= 1; R and R' are only bounds, so they may be enlarged.
        """
        p, product = self.problem, self.strength * self.problem.gamma
        R2 = max(p.R**2, product)
        R2_prime = max(p.R_prime**2, p.n * product / p.d)
        return R2, R2_prime, p.d * R2 / product, p.d * R2_prime / product
