"""Poisson loss."""

from __future__ import annotations

import math
from typing import NamedTuple

from ..kernel.jit import compiled
from .base import Loss
from .roots import exponential_root


@compiled(Loss)
class Poisson(NamedTuple):
    """phi(u) = exp(u) - b u, b >= 0: counts with log-linear mean.

    phi*(y) = (y + b) log(y + b) - (y + b) for y >= -b. Neither Lipschitz nor smooth.

    Examples
    --------
    >>> Poisson().phi(0.0, 2.0)
    1.0
    """

    def phi(self, u, b):
        return math.exp(u) - b * u if u < 709.0 else math.inf

    def derivative(self, u, b):
        return math.exp(u) - b if u < 709.0 else math.inf

    def curvature(self, u, b):
        return math.exp(u) if u < 709.0 else math.inf

    def conjugate(self, y, b):
        m = y + b
        if m > 0.0:
            return m * math.log(m) - m
        return 0.0 if m == 0.0 else math.inf

    def bracket(self, u, y, b, value, star):
        m = y + b  # phi + phi* - u y = m (log m - u) + (exp(u) - m): b is out of it
        if not u < 709.0:
            return math.inf
        mean = math.exp(u)
        return max(m * (math.log(m) - u) + (mean - m), 0.0) if m > 0.0 else mean

    def domain(self, b):
        return (-b, math.inf)

    def prox_conjugate(self, v, b, sigma):
        # y = m - b is v - sigma log(m)
        return exponential_root(v + b, sigma) - b

    @property
    def label_kind(self) -> str:
        return "count"
