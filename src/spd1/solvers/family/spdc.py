"""SPDC: the stochastic primal-dual coordinate method (Zhang & Xiao 2017)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import IncompatibleError
from ...problem import Problem
from .row_saddle import RowSaddleMethod

__all__ = ["SPDC"]


class SPDC(RowSaddleMethod):
    """A dual coordinate a step, a full primal step that looks n rows ahead, an extrapolated x.

    Rate: n + R sqrt(n / (mu gamma)) rows for a constant factor. Theory: tau = sqrt(n mu/gamma)/(2R)
    and eta = sqrt(gamma/(n mu))/(2R), theta = 1 - 1/(n + R sqrt(n/(mu gamma))), R^2 the largest
    n c_i |a_i|^2, as we derive it for rows with weights. Automatic steps begin with twice that.
    """

    name = "spdc"
    needs_smooth_loss = True

    @classmethod
    def refuse(cls, problem: Problem) -> None:
        super().refuse(problem)
        if not problem.mu > 0:
            raise IncompatibleError(
                f"{cls.name} needs l2 > 0 for every feature: use method 'spdhg', or add an l2"
            )

    def shares_of_rows(self) -> np.ndarray:
        return np.where(self.reach > 0, 1.0, 0.0)  # one sigma for all rows

    def look_ahead(self) -> tuple[float, float]:
        return self.contraction(), 1.0

    def theory_steps(self) -> dict[str, Any]:
        return self.balanced(0.25)
