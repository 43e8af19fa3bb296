"""The extragradient method (Korpelevich 1976), averaged as mirror-prox (Nemirovski 2004)."""

from __future__ import annotations

from typing import Any

from .whole import Iterate, WholeMatrix

__all__ = ["Extragradient"]


class Extragradient(WholeMatrix):
    """A trial step, then the step itself with the gradients found there.

        x_bar = prox_{eta g}(x - eta A'(c y)),       y_bar = prox_{tau phi*}(y + tau A x)
        x+    = prox_{eta g}(x - eta A'(c y_bar)),   y+    = prox_{tau phi*}(y + tau A x_bar)

    The mean is that of the trial points, as mirror-prox has it: 1/N without any strong convexity.
    Steps with eta tau |C^1/2 A|^2 < 1 are 1/L in the metric of x / eta and y / tau.
    """

    name = "extragradient"
    products = 4.0

    def iterate(self) -> None:
        now = self.state.now
        eta, tau = self.steps["eta"], self.steps["tau"]
        x_bar, u_bar = self.step_x(now.x, now.w, eta)
        y_bar, w_bar = self.step_y(now.y, now.u, tau)
        x, u = self.step_x(now.x, w_bar, eta)
        y, w = self.step_y(now.y, u_bar, tau)
        self.move_to(Iterate(x, y, u, w), Iterate(x_bar, y_bar, u_bar, w_bar))

    def theory_steps(self) -> dict[str, Any]:
        """1/L, x and y balanced by mu and gamma, or by how far the labels suggest they travel."""
        return self.default_steps()
