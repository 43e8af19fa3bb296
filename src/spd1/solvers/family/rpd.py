"""RPD: the randomized primal-dual method (Dang & Lan 2014)."""

from __future__ import annotations

from .row_saddle import RowSaddleMethod

__all__ = ["RPD"]


class RPD(RowSaddleMethod):
    """A dual coordinate a step at x + q (x - x_before), and a plain primal step.

    q = n times what a step leaves of the distance where both sides are strongly convex, else n;
    eta sigma_i n c_i |a_i|^2 = 1, as we derive it: with n blocks the extrapolation is n times as
    long and the dual step as in SPDHG. For n = 1 this is Chambolle & Pock's method.
    """

    name = "rpd"

    def look_ahead(self) -> tuple[float, float]:
        n = self.problem.n
        return n * self.contraction(), 1.0 / n
