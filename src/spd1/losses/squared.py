"""Squared loss."""

from __future__ import annotations

from typing import NamedTuple

from ..kernel.jit import compiled
from .base import Loss


@compiled(Loss)
class Squared(NamedTuple):
    """phi(u) = (u - b)^2 / 2: least squares, ridge, lasso.

    phi*(y) = b y + y^2 / 2. No Lipschitz constant, gamma = 1.

    Examples
    --------
    >>> Squared().phi(3.0, 1.0)
    2.0
    """

    def phi(self, u, b):
        return 0.5 * (u - b) * (u - b)

    def derivative(self, u, b):
        return u - b

    def curvature(self, u, b):
        return 1.0

    def conjugate(self, y, b):
        return b * y + 0.5 * y * y

    def bracket(self, u, y, b, value, star):
        off = (u - b) - y
        return 0.5 * off * off

    def prox_conjugate(self, v, b, sigma):
        return (v - sigma * b) / (1.0 + sigma)

    @property
    def gamma(self) -> float:
        return 1.0

    @property
    def conjugate_net(self) -> tuple[float, float] | None:
        return 0.0, 1.0

    @property
    def quadratic(self) -> bool:
        return True

    @property
    def growth(self) -> float:
        return 0.0
