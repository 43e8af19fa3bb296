"""Variance-reduced extragradient with loopless snapshots (Alacaoglu & Malitsky 2022)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from .cross import CrossMethod

__all__ = ["SVRGSaddleAcc"]


class SVRGSaddleAcc(CrossMethod):
    """The accelerated form: kappa counts by its root, and that is proved.

        z_bar = alpha z + (1 - alpha) w;       z_half = prox(z_bar - s F(w))
        z+ = prox(z_bar - s (F(w) + F_ij(z_half) - F_ij(w)));   w+ = z+ with probability 1 - alpha

    1 - alpha = 1 / N, N the steps of a pass, and s = 0.99 sqrt(1 - alpha) / L_bar in the metric of
    mu and gamma, theirs for strongly monotone operators. Palaniappan & Bach accelerate by an outer
    loop; this needs none.
    """

    name = "svrg-saddle-acc"

    @property
    def chance(self) -> float:
        """1 - alpha."""
        return 1.0 / self.a_pass

    def epoch(self) -> Iterator[None]:
        yield from self.some_steps(2 * self.a_pass)

    def one_step(self, i: int, j: int, coin: float) -> None:
        s, back = self.state, self.chance
        x = s.x + back * (s.x_table - s.x)
        y = s.y + back * (s.y_table - s.y)
        half_x, half_y = self.proxes(x, y, s.G, s.m)
        s.x[:], s.y[:] = self.proxes(x, y, *self.estimates(i, j, half_y[i], half_x[j]))
        if coin < back:
            self.remember_here()

    def size(self) -> float:
        """0.99 sqrt(1 - alpha) / L_bar."""
        return 0.99 * math.sqrt(self.chance / self.kappa)

    def default_steps(self) -> dict[str, float]:
        return self.scaled(self.size())

    def theory_steps(self) -> dict[str, Any]:
        return self.scaled(self.size())
