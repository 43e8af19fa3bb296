"""SPD1-VR accelerated from outside: Catalyst around Algorithm 2.

SPD1-VR needs max(d kappa, n kappa') steps for a
constant factor (Theorem 3). With a proximal term that lifts mu to about max(R^2, R'^2)/(n gamma)
it needs n d of them, a few passes, and Catalyst needs sqrt(kappa / n) inner problems: the condition
number counts by its root. What is proved: Theorem 3 for the inner problem (Tan et al. 2018), the
outer rate under criterion (C2), which is checked here by the inner duality gap, not assumed (Lin,
Mairal & Harchaoui 2018). What is not: automatic steps are larger than Theorem 3's.

An epoch makes both products at its end: they are the next snapshot, the certificate, and the test
of the inner problem in one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...certificate.points import Pair
from ...control.inner import InnerSteps
from ...data.grid import Grid
from ...engines.serial import Task
from ...errors import IncompatibleError
from ...problem import Problem
from ..base import Saved, saddle_steps
from ..catalyst import (
    InnerGap,
    Momentum,
    catalyst_momentum,
    evaluated_pair,
    inner_gap,
    inner_net,
    wanted_strength,
)
from .spd1_vr import SPD1VR
from .tuning import FAILED

__all__ = ["CatalystSPD1VR"]


class CatalystSPD1VR(SPD1VR):
    """SPD1-VR on the problem with a proximal term, whose centre moves with momentum."""

    name = "spd1-vr-catalyst"
    rule = InnerSteps
    needs_smooth_loss = True
    takes_cuts = False
    takes_races = False
    remembers = (*SPD1VR.remembers, "centre", "before", "inner", "failed", "gradient")
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
        self.momentum: Momentum = catalyst_momentum(p.mu, max(wanted_strength(p) - p.mu, 0.0))
        self._net = inner_net(p, self.momentum.kappa)

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
        self.failed = False
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
            self.centre = s.x + self.momentum.beta * (s.x - self.before)
            self.before = s.x.copy()
            found = self._gap()
        self.inner = (found.gap, found.gap)
        s.x_snap[:], s.y_snap[:] = s.x, s.y
        s.gradient[:] = self.gradient - kappa * self.centre
        s.margins[:] = self.pair.point.u
        self.ledger.paper_passes += 1

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
        self._look()

    def default_steps(self) -> dict[str, float]:
        return saddle_steps(self.problem)
