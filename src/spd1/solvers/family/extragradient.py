"""The extragradient method (Korpelevich 1976), averaged as mirror-prox (Nemirovski 2004)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...control.steps import Proposal
from .restarted import Restarted
from .tuning import LENGTHEN, MOST_TRIALS, SHORTEN, TRIED_ENOUGH
from .whole import Iterate

__all__ = ["Extragradient"]


class Extragradient(Restarted):
    """A trial step, then the step itself with the gradients found there.

        x_bar = prox_{eta g}(x - eta A'(c y)),       y_bar = prox_{tau phi*}(y + tau A x)
        x+    = prox_{eta g}(x - eta A'(c y_bar)),   y+    = prox_{tau phi*}(y + tau A x_bar)

    The mean is that of the trial points, as mirror-prox has it: 1/N without any strong convexity.
    Steps with eta tau |C^1/2 A|^2 < 1 are 1/L in the metric of x / eta and y / tau.

    Automatic steps are as long as the last trial allowed (Khobotov 1987): the gradients may differ
    by less than the points do, in that metric, not by less than |A| would have it. All that the
    proofs use of L is that inequality. And they begin anew at the mean, see ``restarted``: where
    nothing is strongly convex the mean alone needs a hundred times the passes.
    """

    name = "extragradient"
    products = 4.0
    remembers = (*Restarted.remembers, "adaptive", "scale")
    adaptive = False
    scale = 1.0  # of both steps

    def adopt(self, proposal: Proposal) -> None:
        super().adopt(proposal)
        self.adaptive = proposal.source == "auto"

    def begin(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None = None) -> None:
        super().begin(x, y, v)
        self.scale = 1.0

    def iterate(self) -> None:
        now = self.state.now
        for _ in range(MOST_TRIALS):
            scale = self.scale if self.adaptive else 1.0
            eta, tau = scale * self.steps["eta"], scale * self.steps["tau"]
            x_bar, u_bar = self.step_x(now.x, now.w, eta)
            y_bar, w_bar = self.step_y(now.y, now.u, tau)
            trial = Iterate(x_bar, y_bar, u_bar, w_bar)
            if not self.adaptive or self.short_enough(trial, eta, tau):
                break
        x, u = self.step_x(now.x, w_bar, eta)
        y, w = self.step_y(now.y, u_bar, tau)
        self.move_to(Iterate(x, y, u, w), trial, weight=scale)
        if self.adaptive:
            self.count_towards_restart()

    def short_enough(self, trial: Iterate, eta: float, tau: float) -> bool:
        """Whether the gradients moved less than the point; the next steps follow by how much."""
        now, c = self.state.now, self.problem.c
        dx, dy, du, dw = (b - a for a, b in zip(now, trial, strict=True))
        moved = float(dx @ dx) / eta + float(c @ (dy * dy)) / tau
        turned = eta * float(dw @ dw) + tau * float(c @ (du * du))
        if not moved > 0.0:
            return True
        share = math.sqrt(turned / moved)
        enough = share <= TRIED_ENOUGH
        most = LENGTHEN if enough else SHORTEN
        self.scale *= min(most, SHORTEN * TRIED_ENOUGH / max(share, 1e-300))
        return enough

    def theory_steps(self) -> dict[str, Any]:
        """1/L, x and y balanced by mu and gamma, or by how far the labels suggest they travel."""
        return self.default_steps()
