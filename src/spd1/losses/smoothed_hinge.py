"""Smoothed hinge loss."""

from __future__ import annotations

import math
from typing import NamedTuple

from ..kernel.jit import compiled
from .base import Loss


@compiled(Loss)
class SmoothedHinge(NamedTuple):
    """Hinge loss with its corner rounded by a parabola on 1 - s <= b u <= 1, b in {-1, +1}.

    phi*(y) = b y + s y^2 / 2 for b y in [-1, 0]. L = 1, gamma = s.

    Examples
    --------
    >>> SmoothedHinge(0.5).phi(0.0, 1.0)
    0.75
    """

    s: float = 1.0

    def phi(self, u, b):
        short = 1.0 - b * u
        if short <= 0.0:
            return 0.0
        if short >= self.s:
            return short - 0.5 * self.s
        return 0.5 * short * short / self.s

    def derivative(self, u, b):
        return -b * min(max((1.0 - b * u) / self.s, 0.0), 1.0)

    def curvature(self, u, b):
        return 1.0 / self.s if 0.0 < 1.0 - b * u < self.s else 0.0

    def conjugate(self, y, b):
        return b * y + 0.5 * self.s * y * y if -1.0 <= b * y <= 0.0 else math.inf

    def bracket(self, u, y, b, value, star):
        short, s = 1.0 - b * u, -b * y
        if short <= 0.0:
            return 0.5 * self.s * s * s - s * short
        if short >= self.s:
            return max((1.0 - s) * (short - 0.5 * self.s * (1.0 + s)), 0.0)
        off = short - self.s * s
        return 0.5 * off * off / self.s

    def domain(self, b):
        return (-1.0, 0.0) if b > 0.0 else (0.0, 1.0)

    def prox_conjugate(self, v, b, sigma):
        return b * min(max((b * v - sigma) / (1.0 + self.s * sigma), -1.0), 0.0)

    @property
    def L(self) -> float:
        return 1.0

    @property
    def gamma(self) -> float:
        return float(self.s)

    @property
    def label_kind(self) -> str:
        return "sign"

    @property
    def conjugate_net(self) -> tuple[float, float] | None:
        return 0.0, float(self.s)
