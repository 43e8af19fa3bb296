"""Chambolle & Pock's primal-dual method (2011), with its accelerated variants."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...control.steps import Proposal
from .whole import Iterate, WholeMatrix

__all__ = ["ChambollePock"]


class ChambollePock(WholeMatrix):
    """Primal and dual proximal steps in turn, with an extrapolated x.

        y+ = prox_{tau phi*}(y + tau A x_bar);   x+ = prox_{eta g}(x - eta A'(c y+))
        x_bar = x+ + theta (x+ - x)

    ``y`` is measured by the weights c, so that eta tau |C^1/2 A|^2 <= 1 is what its theorems ask
    for. steps="theory" takes Algorithm 3 where g and phi* are strongly convex (linear rate),
    Algorithm 2 where one of them is (1/N^2; steps change at every iteration), Algorithm 1 where
    none is (1/N, for the mean).
    """

    name = "chambolle-pock"
    remembers = (*WholeMatrix.remembers, "variant", "theta", "scale")
    variant = "plain"  # or "both", "primal", "dual": which sides are strongly convex
    theta = 1.0
    scale = 1.0  # of eta, whose inverse is that of tau: Algorithm 2 moves it

    def begin(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None = None) -> None:
        super().begin(x, y, v)
        self.theta, self.scale = 1.0, 1.0

    def adopt(self, proposal: Proposal) -> None:
        super().adopt(proposal)
        self.variant = self.case() if proposal.source == "theory" else "plain"

    def case(self) -> str:
        """Which of the paper's algorithms covers the problem."""
        p = self.problem
        if p.mu > 0 and p.gamma > 0:
            return "both"
        return "primal" if p.mu > 0 else ("dual" if p.gamma > 0 else "plain")

    def iterate(self) -> None:
        now, before = self.state.now, self.state.before
        eta, tau = self.steps["eta"] * self.scale, self.steps["tau"] / self.scale
        u_bar = now.u + self.theta * (now.u - before.u)
        y, w = self.step_y(now.y, u_bar, tau)
        x, u = self.step_x(now.x, w, eta)
        self.move_to(Iterate(x, y, u, w))
        self.theta = self.shrink(eta, tau)
        if self.variant == "primal":
            self.scale *= self.theta
        elif self.variant == "dual":
            self.scale /= self.theta

    def shrink(self, eta: float, tau: float) -> float:
        """Theta of the next extrapolation."""
        p = self.problem
        if self.variant == "both":
            return 1.0 / (1.0 + 2.0 * math.sqrt(p.mu * p.gamma) / self.coupling())
        if self.variant == "primal":
            return 1.0 / math.sqrt(1.0 + 2.0 * p.mu * eta)
        if self.variant == "dual":
            return 1.0 / math.sqrt(1.0 + 2.0 * p.gamma * tau)
        return 1.0

    def theory_steps(self) -> dict[str, Any]:
        """Algorithm 3's eta = sqrt(gamma/mu)/|K|, tau = sqrt(mu/gamma)/|K|, or eta tau |K|^2 = 1.

        The theorems leave eta / tau free where g or phi* is not strongly convex: it is then that
        of the distances which the labels suggest.
        """
        return self.default_steps()
