"""SPD1-VR accelerated from outside: Catalyst around Algorithm 2.

SPD1-VR needs max(d kappa, n kappa') steps for a
constant factor (Theorem 3). With a proximal term that lifts mu to about max(R^2, R'^2)/(n gamma)
it needs n d of them, a few passes, and Catalyst needs sqrt(kappa / n) inner problems: the condition
number counts by its root. What is proved: Theorem 3 for the inner problem (Tan et al. 2018), the
outer rate under criterion (C2), which is checked here by the inner duality gap, not assumed (Lin,
Mairal & Harchaoui 2018). What is not: automatic steps are larger than Theorem 3's, and with them
the proximal term becomes weaker where a few epochs solve an inner problem (``catalyst.eased``).

An epoch makes both products at its end: they are the next snapshot, the certificate, and the test
of the inner problem in one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...certificate.points import Pair, pair_of
from ...control.inner import InnerSteps
from ...control.steps import Proposal
from ...data.grid import Grid
from ...engines.serial import Task
from ...errors import IncompatibleError
from ...problem import Problem
from ..base import Saved
from ..catalyst import (
    InnerGap,
    Momentum,
    catalyst_momentum,
    eased,
    evaluated_pair,
    inner_gap,
    inner_net,
    wanted_strength,
)
from .spd1_vr import SPD1VR
from .tuning import EASY, FAILED, FIRST_TURN

__all__ = ["CatalystSPD1VR"]


class CatalystSPD1VR(SPD1VR):
    """SPD1-VR on the problem with a proximal term, whose centre moves with momentum."""

    name = "spd1-vr-catalyst"
    rule = InnerSteps
    needs_smooth_loss = True
    takes_cuts = False
    takes_races = False
    remembers = (*SPD1VR.remembers, "centre", "before", "inner", "failed", "gradient",
                 "momentum", "epochs_inside", "eases")  # fmt: skip
    epochs_inside = 0  # of the inner problem
    eases = True  # whether the proximal term may become weaker
    failed = False  # whether the last epoch was undone
    inner: tuple[float, float] = (0.0, 0.0)  # inner gap before and after the last epoch
    lag = 1.0  # of the inner problem

    @classmethod
    def refuse(cls, problem: Problem) -> None:
        super().refuse(problem)
        if not problem.mu > 0:
            raise IncompatibleError(
                f"{cls.name} needs l2 > 0 for every feature: use method 'spd1-vr' or 'rows', or "
                "add an l2"
            )

    def prepare(self, sampling: str) -> None:
        super().prepare(sampling)
        p = self.problem
        self.set_momentum(catalyst_momentum(p.mu, max(wanted_strength(p) - p.mu, 0.0)))
        self.first_strength = self.strength

    def set_momentum(self, momentum: Momentum) -> None:
        """The proximal term, and the regularizer with it."""
        self.momentum = momentum
        self._net = inner_net(self.problem, momentum.kappa)

    def adopt(self, proposal: Proposal) -> None:
        """Automatic steps are those for the first proximal term: they follow it."""
        super().adopt(proposal)
        self.eases = proposal.source == "auto"
        if self.eases:
            self.steps = self.following(self.steps, self.first_strength)

    def following(self, steps: dict[str, float], strength: float) -> dict[str, float]:
        """Steps in the balance of the strength in force, given those for another."""
        root = math.sqrt(strength / self.strength)
        return {"eta": steps["eta"] * root, "tau": steps["tau"] / root}

    @property
    def net(self) -> Any:
        return self._net

    @property
    def strength(self) -> float:
        """Strong convexity of the inner problem."""
        return self.problem.mu + self.momentum.kappa

    def begin(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None = None) -> None:
        super().begin(x, y, v)
        self.centre, self.before = x.copy(), x.copy()
        self.failed, self.epochs_inside = False, 0
        self._look()

    def _look(self) -> None:
        """Both products where the method stands."""
        self.pair, self.gradient = evaluated_pair(self.problem, self.state.x, self.state.y)

    def _gap(self) -> InnerGap:
        pull = self.momentum.kappa * self.centre - self.gradient
        return inner_gap(self.problem, self.pair, self.state.y, pull, self.net)

    def take_snapshot(self, grid: Grid) -> None:
        """Here, with the products at hand; the centre moves on if the inner problem is solved."""
        del grid
        s, kappa = self.state, self.momentum.kappa
        found, apart = self._gap(), s.x - self.centre
        if kappa > 0.0 and found.gap <= self.momentum.share * 0.5 * kappa * float(apart @ apart):
            self.next_problem()
            found, kappa = self._gap(), self.momentum.kappa
        self.epochs_inside += 1
        self.inner = (found.gap, found.gap)
        s.x_snap[:], s.y_snap[:] = s.x, s.y
        s.gradient[:] = self.gradient - kappa * self.centre
        s.margins[:] = self.pair.point.u
        self.ledger.paper_passes += 1

    def next_problem(self) -> None:
        """The centre moves on with momentum, or without one if the term becomes weaker."""
        s, centre = self.state, self.centre
        self.centre = s.x + self.momentum.beta * (s.x - self.before)
        self.before = s.x.copy()
        if self.eases and self.epochs_inside <= EASY:
            before = self.strength
            self.set_momentum(eased(self.problem.mu, self.momentum.kappa))
            self.steps = self.following(self.steps, before)
            self.centre = s.x.copy()
        self.epochs_inside = 0
        self.start_at(s.x + self.momentum.kappa / self.strength * (self.centre - centre))

    def start_at(self, x: np.ndarray) -> None:
        """The solution moves with the centre, where the data bend little by kappa/(kappa + mu)."""
        p, s = self.problem, self.state
        s.x[:] = np.clip(x, p.reg.lower, p.reg.upper)
        self.pair = pair_of(p, s.x.copy(), p.margins(s.x), s.y.copy(), -self.gradient)

    def rounds(self, grid: Grid) -> Iterator[list[Task]]:
        self.take_snapshot(grid)
        yield from self.side_by_side_steps(self.steps_on, self.inner_steps)

    def epoch(self) -> Iterator[None]:
        yield from super().epoch()
        s, kept = self.state, (self.pair, self.gradient)
        self._look()
        found = self._gap()
        before = self.inner[0]
        self.inner, self.lag = (before, found.gap), found.lag
        self.failed = not found.gap <= FAILED * before
        if self.failed:  # steps too large for the inner problem: as if it had not been
            s.x[:], s.y[:] = s.x_snap, s.y_snap
            self.pair, self.gradient = kept

    def evaluated(self) -> Pair:
        return self.pair

    def restore(self, saved: Saved) -> None:
        super().restore(saved)
        self.set_momentum(self.momentum)
        self._look()

    def default_steps(self) -> dict[str, float]:
        """Both sides of the inner problem contract alike, as those of spd1-vr-acc do."""
        p = self.problem
        square = float((self.weights * p.row_norms_squared).sum())
        turn = math.sqrt(FIRST_TURN / max(square, 1e-300))
        ratio = math.sqrt(p.gamma / (p.n * self.strength))
        return {"eta": turn * ratio, "tau": turn / ratio}
