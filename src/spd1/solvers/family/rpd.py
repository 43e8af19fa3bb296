"""RPD: the randomized primal-dual method (Dang & Lan 2014)."""

from __future__ import annotations

from typing import Any

from .row_saddle import RowSaddleMethod

__all__ = ["RPD"]


class RPD(RowSaddleMethod):
    """A dual coordinate a step at x + n theta (x - x_before), and a plain primal step.

    For n = 1 this is Chambolle & Pock's method. theta is what a step leaves of the distance where
    both sides are strongly convex, else 1. Theory: eta sigma_i n c_i |a_i|^2 = 1 / n^2, proved in
    docs/laboratory/family.md: 2 n + R sqrt(n^3 / (mu gamma)) rows for a constant factor. Automatic
    steps begin with SPDHG's, n^2 times that product: only measured. The paper's own constants were
    not at hand; its abstract states 1/N, and 1/N^2 for smooth problems, without strong convexity.
    """

    name = "rpd"

    def look_ahead(self) -> tuple[float, float]:
        n = self.problem.n
        return n * self.contraction(), 1.0 / n

    def contraction(self) -> float:
        """The proof spends half of what the strong convexity of both sides gives."""
        return 0.5 * (1.0 + super().contraction())

    def theory_steps(self) -> dict[str, Any]:
        return self.balanced(1.0 / self.problem.n**2)
