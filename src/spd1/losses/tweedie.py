"""Tweedie loss."""

from __future__ import annotations

import math
from typing import NamedTuple

from ..kernel.jit import compiled
from .base import Loss
from .roots import log_link_root


@compiled(Loss)
class Tweedie(NamedTuple):
    """phi(u) = b exp(-a u) / a + exp((1 - a) u) / (1 - a), a = power - 1 in (0, 1), b >= 0.

    Half the deviance of a compound Poisson and gamma distribution at the mean exp(u), up to a
    constant: amounts of which many are zero. Power 1 is ``Poisson``, power 2 ``Gamma``. phi*(y) =
    u y - phi(u) at the u with phi'(u) = y, which exists for every y if b > 0 and for y > 0 if
    b = 0. Neither Lipschitz nor smooth.

    Examples
    --------
    >>> Tweedie(1.5).phi(0.0, 2.0)
    6.0
    """

    power: float = 1.5

    def phi(self, u, b):
        a = self.power - 1.0
        if not (1.0 - a) * u < 709.0 or not (b == 0.0 or -a * u < 709.0):
            return math.inf
        falling = b * math.exp(-a * u) if b > 0.0 else 0.0
        return falling / a + math.exp((1.0 - a) * u) / (1.0 - a)

    def derivative(self, u, b):
        a = self.power - 1.0
        if not (1.0 - a) * u < 709.0:
            return math.inf
        if not (b == 0.0 or -a * u < 709.0):
            return -math.inf
        falling = b * math.exp(-a * u) if b > 0.0 else 0.0
        return math.exp((1.0 - a) * u) - falling

    def curvature(self, u, b):
        a = self.power - 1.0
        if not (1.0 - a) * u < 709.0 or not (b == 0.0 or -a * u < 709.0):
            return math.inf
        falling = b * math.exp(-a * u) if b > 0.0 else 0.0
        return (1.0 - a) * math.exp((1.0 - a) * u) + a * falling

    def conjugate(self, y, b):
        a = self.power - 1.0
        if b > 0.0:
            u = log_link_root(y, b, a)
            return u * y - (b * math.exp(-a * u) / a + math.exp((1.0 - a) * u) / (1.0 - a))
        if y > 0.0:
            return y * (math.log(y) - 1.0) / (1.0 - a)
        return 0.0 if y == 0.0 else math.inf

    def domain(self, b):
        return (-math.inf, math.inf) if b > 0.0 else (0.0, math.inf)

    @property
    def label_kind(self) -> str:
        return "count"
