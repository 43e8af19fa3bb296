"""Quantile (pinball) loss."""

from __future__ import annotations

import math
from typing import NamedTuple

from ..kernel.jit import compiled
from .base import Loss


@compiled(Loss)
class Quantile(NamedTuple):
    """phi(u) = q (b - u) for u <= b, (1 - q) (u - b) above: its minimiser is the q-quantile.

    phi*(y) = b y for y in [-q, 1 - q]. L = max(q, 1 - q), not smooth (gamma = 0).

    Examples
    --------
    >>> Quantile(0.9).phi(0.0, 1.0)
    0.9
    """

    q: float = 0.5

    def phi(self, u, b):
        return max(self.q * (b - u), (1.0 - self.q) * (u - b))

    def derivative(self, u, b):
        return 1.0 - self.q if u > b else (-self.q if u < b else 0.0)

    def curvature(self, u, b):
        return 0.0

    def conjugate(self, y, b):
        return b * y if -self.q <= y <= 1.0 - self.q else math.inf

    def bracket(self, u, y, b, value, star):
        r = u - b
        return max(r * ((1.0 - self.q) - y), -r * (self.q + y), 0.0)

    def domain(self, b):
        return (-self.q, 1.0 - self.q)

    def prox_conjugate(self, v, b, sigma):
        return min(max(v - sigma * b, -self.q), 1.0 - self.q)

    @property
    def L(self) -> float:
        return float(max(self.q, 1.0 - self.q))

    @property
    def conjugate_net(self) -> tuple[float, float] | None:
        return 0.0, 0.0
