"""Absolute loss."""

from __future__ import annotations

import math
from typing import NamedTuple

from ..kernel.jit import compiled
from .base import Loss


@compiled(Loss)
class Absolute(NamedTuple):
    """phi(u) = |u - b|: least absolute deviations.

    phi*(y) = b y for |y| <= 1. L = 1, not smooth (gamma = 0).

    Examples
    --------
    >>> Absolute().phi(3.0, 1.0)
    2.0
    """

    def phi(self, u, b):
        return abs(u - b)

    def derivative(self, u, b):
        return 1.0 if u > b else (-1.0 if u < b else 0.0)

    def curvature(self, u, b):
        return 0.0

    def conjugate(self, y, b):
        return b * y if abs(y) <= 1.0 else math.inf

    def bracket(self, u, y, b, value, star):
        r = u - b
        return max(abs(r) - r * y, 0.0)

    def domain(self, b):
        return (-1.0, 1.0)

    def prox_conjugate(self, v, b, sigma):
        return min(max(v - sigma * b, -1.0), 1.0)

    @property
    def L(self) -> float:
        return 1.0

    @property
    def conjugate_net(self) -> tuple[float, float] | None:
        return 0.0, 0.0
