"""SAGA for saddle points (Palaniappan & Bach 2016)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .cross import CrossMethod
from .tuning import SADDLE_MIX

__all__ = ["SAGASaddle"]


class SAGASaddle(CrossMethod):
    """The same estimates, against the y_i and x_j of each line's last visit: no snapshots.

    Steps of size 1 / max(3 N / 2 - 1, L^2 + 3 L_bar^2) in the metric of mu and gamma, as we carry
    theirs over: N is the inverse of the smallest probability of a line. A line that is never seen
    is never remembered, so half of the draws are uniform.
    """

    name = "saga-saddle"
    uniform_share = SADDLE_MIX
    remember = True

    def epoch(self) -> Iterator[None]:
        yield from self.some_steps(self.a_pass)

    def size(self) -> float:
        """Of a step."""
        lines = 1.0 / min(float(self.pi.min()), float(self.rho.min()))
        return 1.0 / max(1.5 * lines - 1.0, 4.0 * self.kappa)

    def default_steps(self) -> dict[str, float]:
        return self.scaled(2.0 * self.size())

    def theory_steps(self) -> dict[str, Any]:
        return self.scaled(self.size())
