"""Gamma loss."""

from __future__ import annotations

import math
from typing import NamedTuple

from ..kernel.jit import compiled
from .base import Loss
from .roots import exponential_root


@compiled(Loss)
class Gamma(NamedTuple):
    """phi(u) = b exp(-u) + u, b > 0: positive amounts with log-linear mean.

    Half the deviance of the gamma distribution at the mean exp(u), up to a constant. With
    m = 1 - y, phi*(y) = m log(m / b) - m for y <= 1. Neither Lipschitz nor smooth.

    Examples
    --------
    >>> Gamma().phi(0.0, 2.0)
    2.0
    """

    def phi(self, u, b):
        return b * math.exp(-u) + u if u > -709.0 else math.inf

    def derivative(self, u, b):
        return 1.0 - b * math.exp(-u) if u > -709.0 else -math.inf

    def curvature(self, u, b):
        return b * math.exp(-u) if u > -709.0 else math.inf

    def conjugate(self, y, b):
        m = 1.0 - y
        if m > 0.0:
            return m * (math.log(m) - math.log(b)) - m
        return 0.0 if m == 0.0 else math.inf

    def bracket(self, u, y, b, value, star):
        m = 1.0 - y  # phi + phi* - u y = m log(m / r) + r - m with r = b exp(-u)
        if not u > -709.0:
            return math.inf
        r = b * math.exp(-u)
        return max(m * (math.log(m) - math.log(b) + u) + (r - m), 0.0) if m > 0.0 else r

    def domain(self, b):
        return (-math.inf, 1.0)

    def prox_conjugate(self, v, b, sigma):
        # y = v - sigma u with u = log(b / m), y = 1 - m: m + sigma log(m) = 1 - v + sigma log(b)
        return 1.0 - exponential_root(1.0 - v + sigma * math.log(b), sigma)

    @property
    def label_kind(self) -> str:
        return "count"

    @property
    def positive_only(self) -> bool:
        return True
