"""Restarted primal-dual steps in the manner of PDLP (Applegate et al. 2021).

PDLP solves linear programs. What it adds to Chambolle & Pock's method needs no linear program:
diagonal preconditioning, steps as long as the last move allowed, a primal weight, and restarts
from the mean. We take the certified duality gap where PDLP takes its normalised gap; the constants
are PDLP's.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...control.steps import NoSteps
from ...errors import IncompatibleError
from .restarted import Restarted
from .tuning import MOST_TRIALS
from .vectors import dual_prox, primal_prox
from .whole import Iterate

__all__ = ["PDLP"]

SMOOTHING = 0.5  # of the primal weight, in logarithms


class PDLP(Restarted):
    """Chambolle & Pock's steps, adaptive and restarted: the modern whole-matrix baseline.

    x+ = prox(x - step/weight T A'(c y)), y+ = prox(y + step weight S A (2 x+ - x)), where T and S
    are diagonal: T_j = 1/k_j and S_i = 1/(c_i |a_i|^2), Pock & Chambolle's (2011) with alpha = 0.
    """

    name = "pdlp"
    step_names = ()
    rule = NoSteps
    remembers = (*Restarted.remembers, "step", "weight")

    def prepare(self, sampling: str) -> None:
        super().prepare(sampling)
        p = self.problem
        reach = p.c * p.row_norms_squared
        self.row_shape = np.where(reach > 0, 1.0 / np.where(reach > 0, reach, 1.0), 0.0)
        self.column_shape = 1.0 / np.maximum(p.grid.column_counts, 1.0)
        self.step = 1.0  # |S^1/2 C A T^1/2| <= 1 with this shape
        self.weight = 0.0

    def begin(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None = None) -> None:
        super().begin(x, y, v)
        if self.weight == 0.0:
            self.weight = self.first_weight()

    def first_weight(self) -> float:
        """By mu and gamma, in the metric of the shapes, or by how far x and y may travel."""
        found = super().default_steps()
        x, y = float(np.mean(self.column_shape)), float(np.mean(self.row_shape))
        return math.sqrt(max(found["tau"] * x / max(found["eta"] * y, 1e-300), 1e-300))

    def iterate(self) -> None:
        p, now = self.problem, self.state.now
        for _ in range(MOST_TRIALS):
            step = self.step
            eta, sigma = step / self.weight * self.column_shape, step * self.weight * self.row_shape
            x = primal_prox(p, now.x - eta * now.w, eta)
            u = p.margins(x)
            y = dual_prox(p, now.y + sigma * (2.0 * u - now.u), sigma)
            limit = self.longest(x - now.x, y - now.y, u - now.u)
            k = self.t + 1.0
            self.step = min((1.0 - (k + 1.0) ** -0.3) * limit, (1.0 + (k + 1.0) ** -0.6) * step)
            if step <= limit:
                break
        self.move_to(Iterate(x, y, u, p.adjoint(p.c * y)), weight=step)
        self.count_towards_restart()

    def longest(self, dx: np.ndarray, dy: np.ndarray, du: np.ndarray) -> float:
        """The longest step that this move allows: |move|^2 / (2 |dy' C A dx|)."""
        used = self.row_shape > 0
        across = self.weight * float(np.sum(dx * dx / self.column_shape))
        along = float(np.sum((self.problem.c * dy * dy)[used] / self.row_shape[used])) / self.weight
        met = 2.0 * abs(float((self.problem.c * dy) @ du))
        return (across + along) / met if met > 0 else math.inf

    def leave(self, at: Iterate) -> None:
        """The primal weight follows how far x and y have travelled since the last restart."""
        used = self.row_shape > 0
        dx, dy = at.x - self.origin.x, at.y - self.origin.y
        x = math.sqrt(float(np.sum(dx * dx / self.column_shape)))
        y = math.sqrt(float(np.sum((self.problem.c * dy * dy)[used] / self.row_shape[used])))
        if 1e-10 < x < 1e10 and 1e-10 < y < 1e10:
            self.weight = math.exp(
                SMOOTHING * math.log(y / x) + (1.0 - SMOOTHING) * math.log(self.weight)
            )

    def default_steps(self) -> dict[str, float]:
        return {}

    def theory_steps(self) -> dict[str, Any]:
        raise IncompatibleError(
            f"{self.name} finds its steps itself: use steps='auto', or method 'chambolle-pock'"
        )
