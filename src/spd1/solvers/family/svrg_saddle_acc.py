"""Variance-reduced extragradient with loopless snapshots (Alacaoglu & Malitsky 2022)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..catalyst import inner_net
from .cross import CrossMethod, Lengths

__all__ = ["SVRGSaddleAcc"]


class SVRGSaddleAcc(CrossMethod):
    """The accelerated form: kappa counts by its root, and that is proved.

        z_bar = alpha z + (1 - alpha) w;       z_half = prox(z_bar - s F(w))
        z+ = prox(z_bar - s (F(w) + F_ij(z_half) - F_ij(w)));   w+ = z+ with probability 1 - alpha

    1 - alpha = 1 / N, N the steps of a pass, and s = 0.99 sqrt(1 - alpha) / L_bar in the metric of
    mu and gamma. docs/laboratory/family.md has a proof of the rate. Palaniappan & Bach accelerate
    by an outer loop; this needs none.

    Of z_half a step needs one y_i and one x_j. Going back to w is a proximal term: with b = 1 -
    alpha, prox_{eta g}(x + b (w - x) - eta G) is the proximal step of length eta / (1 - b) of g
    with b / eta added to its l2, and the gradient G - b / eta w. So x moves lazily, as without it.
    """

    name = "svrg-saddle-acc"
    half = True

    @property
    def chance(self) -> float:
        """1 - alpha."""
        return 1.0 / max(self.a_pass, 2)

    def epoch(self) -> Iterator[None]:
        yield from self.some_steps(2 * self.a_pass)

    def walk(self, drawn_lines: np.ndarray, coins: np.ndarray, first: int) -> None:
        """Steps up to each snapshot, and the snapshots."""
        eta, back, s = self.steps["eta"], self.chance, self.state
        net = inner_net(self.problem, back / eta)
        lengths = Lengths(eta / (1.0 - back), self.steps["tau"], back)
        begin = 0
        for end in [*(np.flatnonzero(coins < back) + 1).tolist(), len(coins)]:
            if end == begin:
                break  # the last step led to a snapshot
            gradient = s.G - back / eta * s.x_table
            self.move(drawn_lines[begin:end], first + begin, gradient, net, lengths)
            if coins[end - 1] < back:
                self.remember_here()
            begin = end

    def size(self) -> float:
        """0.99 sqrt(1 - alpha) / L_bar."""
        return 0.99 * math.sqrt(self.chance / self.kappa)

    def default_steps(self) -> dict[str, float]:
        return self.scaled(self.size())

    def theory_steps(self) -> dict[str, Any]:
        return self.scaled(self.size())
