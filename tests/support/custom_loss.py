"""A user's loss in a file of their own, outside the package: what the documentation promises."""

from __future__ import annotations

import math
from typing import NamedTuple

from spd1.kernel.jit import compiled
from spd1.losses import Loss


@compiled(Loss)
class LogCosh(NamedTuple):
    """phi(u) = s log cosh((u - b) / s): quadratic near b, linear far away. L = 1, gamma = s."""

    s: float = 0.5

    def phi(self, u, b):
        t = abs(u - b) / self.s
        return self.s * (t + math.log1p(math.exp(-2.0 * t)) - math.log(2.0))

    def derivative(self, u, b):
        return math.tanh((u - b) / self.s)

    def conjugate(self, y, b):
        if abs(y) > 1.0:
            return math.inf
        entropy = 0.0
        if y > -1.0:
            entropy += 0.5 * (1.0 + y) * math.log1p(y)
        if y < 1.0:
            entropy += 0.5 * (1.0 - y) * math.log1p(-y)
        return b * y + self.s * entropy

    def domain(self, b):
        return (-1.0, 1.0)

    @property
    def L(self) -> float:
        return 1.0

    @property
    def gamma(self) -> float:
        return self.s
