"""Huber loss."""

from __future__ import annotations

import math
from typing import NamedTuple

from ..kernel.jit import compiled
from .base import Loss


@compiled(Loss)
class Huber(NamedTuple):
    """phi(u) = (u - b)^2 / 2 up to |u - b| = delta, linear beyond.

    phi*(y) = b y + y^2 / 2 for |y| <= delta. L = delta, gamma = 1.

    Examples
    --------
    >>> Huber(1.0).phi(3.0, 0.0)
    2.5
    """

    delta: float = 1.35

    def phi(self, u, b):
        r = abs(u - b)
        if r <= self.delta:
            return 0.5 * r * r
        return self.delta * (r - 0.5 * self.delta)

    def derivative(self, u, b):
        return min(max(u - b, -self.delta), self.delta)

    def curvature(self, u, b):
        return 1.0 if abs(u - b) <= self.delta else 0.0

    def conjugate(self, y, b):
        return b * y + 0.5 * y * y if abs(y) <= self.delta else math.inf

    def bracket(self, u, y, b, value, star):
        r = u - b
        if abs(r) <= self.delta:
            return 0.5 * (r - y) * (r - y)
        along = y if r > 0.0 else -y
        return max((self.delta - along) * (abs(r) - 0.5 * (self.delta + along)), 0.0)

    def domain(self, b):
        return (-self.delta, self.delta)

    def prox_conjugate(self, v, b, sigma):
        return min(max((v - sigma * b) / (1.0 + sigma), -self.delta), self.delta)

    @property
    def L(self) -> float:
        return float(self.delta)

    @property
    def gamma(self) -> float:
        return 1.0

    @property
    def conjugate_net(self) -> tuple[float, float] | None:
        return 0.0, 1.0
