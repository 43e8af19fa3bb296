"""Hinge loss."""

from __future__ import annotations

import math
from typing import NamedTuple

from ..kernel.jit import compiled
from .base import Loss


@compiled(Loss)
class Hinge(NamedTuple):
    """phi(u) = max(0, 1 - b u), b in {-1, +1}: the support vector machine.

    phi*(y) = b y for b y in [-1, 0]. L = 1, not smooth (gamma = 0).

    Examples
    --------
    >>> Hinge().phi(0.25, 1.0)
    0.75
    """

    def phi(self, u, b):
        return max(0.0, 1.0 - b * u)

    def derivative(self, u, b):
        return -b if b * u < 1.0 else 0.0

    def curvature(self, u, b):
        return 0.0

    def conjugate(self, y, b):
        return b * y if -1.0 <= b * y <= 0.0 else math.inf

    def bracket(self, u, y, b, value, star):
        short, s = 1.0 - b * u, -b * y
        return max(short * (1.0 - s), -short * s, 0.0)

    def domain(self, b):
        return (-1.0, 0.0) if b > 0.0 else (0.0, 1.0)

    def prox_conjugate(self, v, b, sigma):
        return b * min(max(b * v - sigma, -1.0), 0.0)

    @property
    def L(self) -> float:
        return 1.0

    @property
    def label_kind(self) -> str:
        return "sign"

    @property
    def conjugate_net(self) -> tuple[float, float] | None:
        return 0.0, 0.0
