"""Accelerated SPD1-VR, which the paper leaves open: the condition number counts by its root.

It is the variance-reduced extragradient method of Alacaoglu & Malitsky (2022) with steps of one
entry, or of one tile. Against Algorithm 2 three things are different:

- the half step looks at the snapshot alone, x_bar_j = prox(x_j - eta G_j): a step reads one entry
  instead of three;
- negative momentum: before a step x_j and y_i go a little of the way back to the snapshot;
- the steps are balanced: eta / tau = gamma / (n mu) lets x and y contract alike, and
  eta tau |A|_F^2 = O(1). Theorem 3 of the paper has eta ~ gamma / R^2, which gives kappa.

What is proved (docs/laboratory/family.md): with the steps of steps="theory" and snapshots after
random numbers of steps, every n d steps leave a constant factor, or sqrt(n / kappa) of one if that
is less, where kappa is the larger of the largest n c_i |a_i|^2 and n sum_i c_i a_ij^2, over mu
gamma. The idea is Alacaoglu & Malitsky's (2022) for steps that move *all* coordinates
(``svrg-saddle-acc``); a step here takes one x_j and one y_i out of such a step. What is only
measured: automatic steps, a snapshot every n d steps, and sparse data whose stored entries are
visited once a pass (``benchmarks/acceleration.py``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...certificate.points import Pair
from ...control.steps import Proposal, ScaledSteps
from ...data.grid import Grid
from ...errors import IncompatibleError
from ...kernel.jit import kernel
from ...kernel.rng import units
from ...problem import Problem
from ..base import Saved
from ..catalyst import evaluated_pair, wanted_strength
from ..rounds import stream_of
from .spd1_vr import SPD1VR
from .tiles import TiledSPD1VR
from .tuning import AHEAD, FIRST_TURN, NEGATIVE_MOMENTUM, PROVED_TURN, STEPS_A_PIECE

__all__ = ["AcceleratedSPD1VR", "AcceleratedTiles"]


@kernel
def spd1_vr_acc_steps(sampler, b, weights, state, loss, net, steps, first, count, key):
    """Inner steps: the half step from the snapshot's gradients, then one entry corrects it."""
    x, y, x_snap, y_snap = state.x, state.y, state.x_snap, state.y_snap
    eta, tau, back = steps
    n = len(b)
    rows, columns, entries = np.empty(AHEAD, np.uint64), np.empty(AHEAD, np.uint64), np.empty(AHEAD)
    for t in range(first, first + count):
        k = (t - first) % AHEAD
        if k == 0:  # entries are drawn ahead: memory delivers several at a time
            for s in range(AHEAD):
                rows[s], columns[s], entries[s] = sampler.pair(key, 2 * (t + s))
        i, j, a = rows[k], columns[k], entries[k]
        share, row_share = sampler.column_share(j), sampler.row_share(i)
        eta_j, sigma_i = eta * share, tau * row_share
        # x_j has n / share steps in an epoch, y_i 1 / row_share
        x_j = x[j] + back * share / n * (x_snap[j] - x[j]) - eta_j * state.gradient[j]
        y_i = y[i] + back * row_share * (y_snap[i] - y[i]) + sigma_i * state.margins[i]
        x_bar = net.prox(x_j, eta_j, j)
        y_bar = loss.prox_conjugate(y_i, b[i], sigma_i)
        x[j] = net.prox(x_j - eta * weights[i] * a * (y_bar - y_snap[i]), eta_j, j)
        y[i] = loss.prox_conjugate(y_i + tau * a * (x_bar - x_snap[j]), b[i], sigma_i)


class AcceleratedSPD1VR(SPD1VR):
    """Variance-reduced extragradient steps of one entry, with balanced steps."""

    name = "spd1-vr-acc"
    rule = ScaledSteps
    draws_a_step = 2
    needs_smooth_loss = True
    takes_cuts = False
    takes_races = False
    remembers = (*SPD1VR.remembers, "momentum", "loopless")
    momentum = NEGATIVE_MOMENTUM
    loopless = False  # whether snapshots come after random numbers of steps

    @classmethod
    def refuse(cls, problem: Problem) -> None:
        super().refuse(problem)
        if not problem.mu > 0:
            raise IncompatibleError(
                f"{cls.name} needs l2 > 0 for every feature: use method 'spd1-vr' or 'rows', or "
                "add an l2"
            )

    def begin(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None = None) -> None:
        super().begin(x, y, v)
        self.look()

    def look(self) -> None:
        """Both products where the method stands: a certificate, and the next snapshot."""
        self.pair, self.gradient = evaluated_pair(self.problem, self.state.x, self.state.y)

    def evaluated(self) -> Pair:
        return self.pair

    def restore(self, saved: Saved) -> None:
        super().restore(saved)
        self.look()

    def take_snapshot(self, grid: Grid) -> None:
        del grid
        s = self.state
        s.x_snap[:], s.y_snap[:] = s.x, s.y
        s.gradient[:], s.margins[:] = self.gradient, self.pair.point.u
        self.ledger.paper_passes += 1

    def adopt(self, proposal: Proposal) -> None:
        """The theorem has a momentum of its own, and a snapshot with chance 1/(n d) a step."""
        super().adopt(proposal)
        self.loopless = proposal.source == "theory"
        self.momentum = 1.0 if self.loopless else NEGATIVE_MOMENTUM

    def theory_inner_steps(self) -> int:
        """Steps until a coin that shows heads once in n d throws does so."""
        coin = float(units(stream_of(self.key, 0, 1), self.t, 1)[0])
        return 1 + int(math.log1p(-coin) / math.log1p(-1.0 / max(self.a_pass, 2)))

    def epoch(self) -> Iterator[None]:
        if self.loopless:
            self.inner_steps = self.theory_inner_steps()
        yield from super().epoch()
        self.look()

    def steps_on(self, tile: Any, first: int, count: int, key: np.uint64) -> float:
        del tile
        p = self.problem
        steps = (self.steps["eta"], self.steps["tau"], self.momentum)
        for start, some in self.engine.pieces(first, count, STEPS_A_PIECE):
            spd1_vr_acc_steps(
                self.sampler, p.b, self.weights, self.state, p.loss, p.net, steps, start, some, key
            )
        return count * p.stored / self.a_pass

    def default_steps(self) -> dict[str, float]:
        """Balanced, with eta tau |A|_F^2 = FIRST_TURN, rows by their weights."""
        square = float((self.weights * self.problem.row_norms_squared).sum())
        return self.balanced(FIRST_TURN / max(square, 1e-300))

    def balanced(self, product: float) -> dict[str, float]:
        """Eta tau = product and eta / tau = gamma / (n mu): x and y contract alike."""
        p = self.problem
        ratio = math.sqrt(p.gamma / (p.n * p.mu))
        return {"eta": math.sqrt(product) * ratio, "tau": math.sqrt(product) / ratio}

    def condition(self) -> float:
        """Kappa of the theorem, enlarged where no step may be longer than 1 / mu or 1 / gamma."""
        p = self.problem
        return max(p.n * wanted_strength(p) / p.mu, 1.0 / p.n, p.n / p.d**2)

    def theory_steps(self) -> dict[str, Any]:
        """Eta tau max(R^2, R'^2) = 1/4 in the balance of mu and gamma: laboratory/family.md."""
        if not self.uniform:
            raise IncompatibleError(
                f"steps='theory' of {self.name} is proved for independent draws: use "
                "sampling='uniform', or steps='auto'"
            )
        p = self.problem
        return self.balanced(PROVED_TURN**2 / (self.condition() * p.mu * p.gamma))

    def published_steps(self) -> dict[str, Any]:
        return self.theory_steps()


class AcceleratedTiles(AcceleratedSPD1VR, TiledSPD1VR):
    """Algorithm 2 on tiles with the balanced steps: three tiles a step, no momentum."""

    draws_a_step = TiledSPD1VR.draws_a_step

    @classmethod
    def refuse(cls, problem: Problem) -> None:
        super().refuse(problem)
        if not problem.grid.dense:
            raise IncompatibleError(
                f"tile= of {cls.name} takes dense data: leave tile= out, or use method 'spd1-vr'"
            )

    def steps_on(self, tile: Any, first: int, count: int, key: np.uint64) -> float:
        return TiledSPD1VR.steps_on(self, tile, first, count, key)

    def theory_steps(self) -> dict[str, Any]:
        raise IncompatibleError(
            f"no theorem is known for steps='theory' of {self.name} on tiles: leave tile= out, or "
            "use steps='auto'"
        )
