"""Squared hinge loss."""

from __future__ import annotations

import math
from typing import NamedTuple

from ..kernel.jit import compiled
from .base import Loss


@compiled(Loss)
class SquaredHinge(NamedTuple):
    """phi(u) = max(0, 1 - b u)^2, b in {-1, +1}.

    phi*(y) = b y + y^2 / 4 for b y <= 0. No Lipschitz constant, gamma = 1/2.

    Examples
    --------
    >>> SquaredHinge().phi(0.5, 1.0)
    0.25
    """

    def phi(self, u, b):
        short = max(0.0, 1.0 - b * u)
        return short * short

    def derivative(self, u, b):
        return -2.0 * b * max(0.0, 1.0 - b * u)

    def curvature(self, u, b):
        return 2.0 if b * u < 1.0 else 0.0

    def conjugate(self, y, b):
        return b * y + 0.25 * y * y if b * y <= 0.0 else math.inf

    def bracket(self, u, y, b, value, star):
        short, s = 1.0 - b * u, -b * y
        off = max(short, 0.0) - 0.5 * s
        return off * off - s * min(short, 0.0)

    def domain(self, b):
        return (-math.inf, 0.0) if b > 0.0 else (0.0, math.inf)

    def prox_conjugate(self, v, b, sigma):
        return b * min((b * v - sigma) / (1.0 + 0.5 * sigma), 0.0)

    @property
    def gamma(self) -> float:
        return 0.5

    @property
    def label_kind(self) -> str:
        return "sign"

    @property
    def conjugate_net(self) -> tuple[float, float] | None:
        return 0.0, 0.5
