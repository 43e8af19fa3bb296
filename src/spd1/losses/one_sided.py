"""The hinge losses with a margin of their own per row: what a fixed intercept makes of them.

With rows b_i a_i, a hinge at the offset o is max(0, t_i - u_i), t_i = 1 - b_i o. Internal: not in
the registry, because nobody would ask for them by name.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ..jit import compiled
from .base import Loss

__all__ = ["OneSided", "SquaredOneSided"]


@compiled(Loss)
class OneSided(NamedTuple):
    """phi(u) = max(0, b - u).

    phi*(y) = b y for y in [-1, 0]. L = 1, not smooth.

    Examples
    --------
    >>> OneSided().phi(0.5, 2.0)
    1.5
    """

    def phi(self, u, b):
        return max(0.0, b - u)

    def derivative(self, u, b):
        return -1.0 if u < b else 0.0

    def curvature(self, u, b):
        return 0.0

    def conjugate(self, y, b):
        return b * y if -1.0 <= y <= 0.0 else math.inf

    def domain(self, b):
        return (-1.0, 0.0)

    def prox_conjugate(self, v, b, sigma):
        return min(max(v - sigma * b, -1.0), 0.0)

    @property
    def L(self) -> float:
        return 1.0

    @property
    def conjugate_net(self) -> tuple[float, float] | None:
        return 0.0, 0.0


@compiled(Loss)
class SquaredOneSided(NamedTuple):
    """phi(u) = max(0, b - u)^2.

    phi*(y) = b y + y^2 / 4 for y <= 0. gamma = 1/2.

    Examples
    --------
    >>> SquaredOneSided().phi(0.5, 2.0)
    2.25
    """

    def phi(self, u, b):
        short = max(0.0, b - u)
        return short * short

    def derivative(self, u, b):
        return -2.0 * max(0.0, b - u)

    def curvature(self, u, b):
        return 2.0 if u < b else 0.0

    def conjugate(self, y, b):
        return b * y + 0.25 * y * y if y <= 0.0 else math.inf

    def domain(self, b):
        return (-math.inf, 0.0)

    def prox_conjugate(self, v, b, sigma):
        return min((v - sigma * b) / (1.0 + 0.5 * sigma), 0.0)

    @property
    def gamma(self) -> float:
        return 0.5

    @property
    def conjugate_net(self) -> tuple[float, float] | None:
        return 0.0, 0.5
