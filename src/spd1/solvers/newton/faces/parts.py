"""The smooth parts of the two faces: sums over margins with two derivatives."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ....kernel.jit import compiled, kernel
from ..tuning import FAINT_BEND, LEAST_BEND

__all__ = [
    "ConjugatePart",
    "LossPart",
    "ShiftedConjugatePart",
    "fill_terms",
    "follow_slope",
    "inside_domain",
    "loss_part",
]


class SmoothPart:
    """F(m) = sum_k F_k(m_k): value, derivative and (generalised) second derivative."""

    def value(self, m, k):
        """F_k(m)."""
        raise NotImplementedError

    def slope(self, m, k):
        """F_k'(m)."""
        raise NotImplementedError

    def bend(self, m, k):
        """F_k''(m)."""
        raise NotImplementedError


@compiled(SmoothPart)
class LossPart(NamedTuple):
    """The smooth part of the primal: the weighted loss of each row."""

    loss: Any
    b: np.ndarray
    c: np.ndarray
    least: float  # stands in for less curvature: Newton's models must not lead too far away
    steepest: float  # 1/gamma

    def value(self, m, k):
        value = self.c[k] * self.loss.phi(m, self.b[k])
        return value if self.c[k] > 0.0 else 0.0

    def slope(self, m, k):
        return self.c[k] * self.loss.derivative(m, self.b[k])

    def bend(self, m, k):
        bend = self.loss.curvature(m, self.b[k])
        return self.c[k] * max(bend, self.least * self.steepest)


def loss_part(problem: Any) -> LossPart:
    """The smooth part of a problem's primal."""
    steepest = 1.0 / problem.gamma if problem.gamma > 0 else 0.0
    flat = problem.loss.conjugate_net is not None  # somewhere it has no curvature
    least = LEAST_BEND if flat else FAINT_BEND
    return LossPart(problem.loss, problem.b, problem.c, least, steepest)


@compiled(SmoothPart)
class ConjugatePart(NamedTuple):
    """The smooth part of the dual: the conjugate of the regularizer of each column, all l2 > 0."""

    net: Any
    least: float  # stands in for no curvature, as a share of 1/l2

    def value(self, m, k):
        return self.net.g_conjugate(m, k)

    def slope(self, m, k):
        return self.net.g_argmax(m, k)

    def bend(self, m, k):
        bend = self.net.g_conjugate_bend(m, k)
        return bend if bend > 0.0 else self.least / self.net.numbers(k)[1]


@compiled(SmoothPart)
class ShiftedConjugatePart(NamedTuple):
    """The same for g_j(t) + rho/2 (t - centre_j)^2, which is smooth whatever g is."""

    net: Any
    least: float
    shift: np.ndarray  # rho times the centre

    def value(self, m, k):
        return self.net.g_conjugate(m + self.shift[k], k)

    def slope(self, m, k):
        return self.net.g_argmax(m + self.shift[k], k)

    def bend(self, m, k):
        bend = self.net.g_conjugate_bend(m + self.shift[k], k)
        return bend if bend > 0.0 else self.least / self.net.numbers(k)[1]


@kernel
def fill_terms(part, m, slope, bend):
    """F(m); its first and second derivatives go to ``slope`` and ``bend``."""
    total = 0.0
    for k in range(len(m)):
        total += part.value(m[k], k)
        slope[k] = part.slope(m[k], k)
        bend[k] = part.bend(m[k], k)
    return total


@kernel
def follow_slope(m, before, after, bend, flat):
    """Let the margins of a quadratic F follow its slope; what has no bend has no slope."""
    if flat and bend[0] > 0.0:
        stretch = 1.0 / bend[0]
        for k in range(len(m)):
            m[k] += (after[k] - before[k]) * stretch
        return
    for k in range(len(m)):
        if bend[k] > 0.0:
            m[k] += (after[k] - before[k]) / bend[k]


def inside_domain(z: np.ndarray, c: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return y = -z / c, inside its bounds in spite of rounding; zero where c is."""
    y: np.ndarray = np.divide(z, c, out=np.zeros(len(z)), where=c > 0.0)
    np.negative(y, out=y)
    np.clip(y, low, high, out=y)
    return y
