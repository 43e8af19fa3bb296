"""SVRG for saddle points (Palaniappan & Bach 2016)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ...control.steps import Proposal
from .cross import CrossMethod

__all__ = ["SVRGSaddle"]


class SVRGSaddle(CrossMethod):
    """Forward-backward steps with variance-reduced estimates from a row and a column.

    With x measured by mu and y by gamma the operator is 1-strongly monotone, and the size of a step
    is 1 / (L^2 + 3 L_bar^2), where L^2 <= L_bar^2 = kappa is used. The length of the inner loop is
    as we derive it: a twelfth of what its start contributes is left, three quarters of the distance
    in all.
    """

    name = "svrg-saddle"
    remembers = (*CrossMethod.remembers, "inner_steps")
    inner_steps = 0

    def prepare(self, sampling: str) -> None:
        super().prepare(sampling)
        self.inner_steps = self.a_pass

    def adopt(self, proposal: Proposal) -> None:
        super().adopt(proposal)
        theory = proposal.source == "theory"
        self.inner_steps = self.theory_inner_steps() if theory else self.a_pass

    def theory_inner_steps(self) -> int:
        """T with rho^T <= 1/12, where rho = (1 + 3 s^2 kappa) / (1 + s)^2 for steps of size s."""
        kappa = max(self.kappa, 1.0)
        s = 1.0 / (4.0 * kappa)
        rate = 2.0 * math.log1p(s) - math.log1p(3.0 * s * s * kappa)
        return math.ceil(math.log(12.0) / rate)

    def epoch(self) -> Iterator[None]:
        self.remember_here()
        yield from self.some_steps(self.inner_steps)

    def theory_steps(self) -> dict[str, Any]:
        return self.scaled(1.0 / (4.0 * max(self.kappa, 1.0)))
