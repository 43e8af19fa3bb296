"""Epsilon-insensitive loss."""

from __future__ import annotations

import math
from typing import NamedTuple

from ..kernel.jit import compiled
from .base import Loss


@compiled(Loss)
class EpsilonInsensitive(NamedTuple):
    """phi(u) = max(0, |u - b| - eps): support vector regression.

    phi*(y) = b y + eps |y| for |y| <= 1. L = 1, not smooth (gamma = 0).

    Examples
    --------
    >>> EpsilonInsensitive(0.5).phi(2.0, 1.0)
    0.5
    """

    eps: float = 0.1

    def phi(self, u, b):
        return max(0.0, abs(u - b) - self.eps)

    def derivative(self, u, b):
        return 1.0 if u - b > self.eps else (-1.0 if b - u > self.eps else 0.0)

    def curvature(self, u, b):
        return 0.0

    def conjugate(self, y, b):
        return b * y + self.eps * abs(y) if abs(y) <= 1.0 else math.inf

    def bracket(self, u, y, b, value, star):
        # Each bound of r = u - b that y pushes against: eps for rows inside, 1 for those outside.
        r = u - b
        along = r if y > 0.0 else -r
        beyond = max(abs(r) - self.eps, 0.0)
        return max(beyond - abs(y) * (along - self.eps), 0.0)

    def domain(self, b):
        return (-1.0, 1.0)

    def prox_conjugate(self, v, b, sigma):
        z = v - sigma * b
        size = min(max(abs(z) - sigma * self.eps, 0.0), 1.0)
        return size if z > 0.0 else -size

    @property
    def L(self) -> float:
        return 1.0

    @property
    def conjugate_net(self) -> tuple[float, float] | None:
        return float(self.eps), 0.0
