"""Squared epsilon-insensitive loss."""

from __future__ import annotations

from typing import NamedTuple

from ..kernel.jit import compiled
from .base import Loss


@compiled(Loss)
class SquaredEpsilonInsensitive(NamedTuple):
    """phi(u) = max(0, |u - b| - eps)^2.

    phi*(y) = b y + eps |y| + y^2 / 4. No Lipschitz constant, gamma = 1/2.

    Examples
    --------
    >>> SquaredEpsilonInsensitive(0.5).phi(2.0, 1.0)
    0.25
    """

    eps: float = 0.1

    def phi(self, u, b):
        over = max(0.0, abs(u - b) - self.eps)
        return over * over

    def derivative(self, u, b):
        over = 2.0 * max(0.0, abs(u - b) - self.eps)
        return over if u > b else -over

    def curvature(self, u, b):
        return 2.0 if abs(u - b) >= self.eps else 0.0

    def conjugate(self, y, b):
        return b * y + self.eps * abs(y) + 0.25 * y * y

    def bracket(self, u, y, b, value, star):
        # With t = r sign(y) - eps, r = u - b: (t - |y| / 2)^2 where t is the excess itself.
        r = u - b
        size = abs(y)
        ahead = (r if y > 0.0 else -r) - self.eps
        over = max(0.0, abs(r) - self.eps)
        if ahead >= 0.0:
            return (over - 0.5 * size) * (over - 0.5 * size)
        return over * over - size * ahead + 0.25 * size * size

    def prox_conjugate(self, v, b, sigma):
        z = v - sigma * b
        size = max(abs(z) - sigma * self.eps, 0.0) / (1.0 + 0.5 * sigma)
        return size if z > 0.0 else -size

    @property
    def gamma(self) -> float:
        return 0.5

    @property
    def conjugate_net(self) -> tuple[float, float] | None:
        return float(self.eps), 0.5
