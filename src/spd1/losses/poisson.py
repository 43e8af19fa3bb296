"""Poisson loss."""

from __future__ import annotations

import math
from typing import NamedTuple

from ..kernel.jit import compiled
from .base import Loss


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
        # y = m - b with m = exp(z): solve the convex, increasing h(z) = exp(z) + sigma z - c = 0.
        c = v + b
        low = -math.inf
        if c > 1.0:
            high = min(math.log(c), c / sigma)
            z = high
        else:  # h(0) >= 0: the root is at most 0
            high = 0.0 if c >= 0.0 else c / sigma
            z = min(high, math.log(max(c, 0.0) + sigma * math.log1p(1.0 / sigma)))
        for _ in range(100):  # Newton climbs down monotonically once it is right of the root
            m = math.exp(z)
            h = m + sigma * z - c
            if h > 0.0:
                high = z
            else:
                low = z
            step = -h / (m + sigma)
            if abs(step) < 1e-9:
                return m * (1.0 + step + 0.5 * step * step) - b
            z += step
            if z > high or z < low:
                z = 0.5 * (high + max(low, high - 2.0))
        return math.exp(z) - b

    @property
    def label_kind(self) -> str:
        return "count"
