"""The two faces of a problem: a smooth function of margins plus separable terms.

    primal:  min_x  sum_i c_i phi(m_i) + sum_j g_j(x_j),     m = A x
    dual:    min_w  sum_j g_j*(m_j) + sum_i c_i phi*(-w_i/c_i),   m = A'w,   w = -c y

Both are  min_z F(m) + sum_l h_l(z_l)  with m = sum_l z_l b_l, where b_l, the *line* of coordinate
l, is a column of A or a row. Newton's method and coordinate descent are written once for both.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ....kernel.jit import compiled, kernel

__all__ = ["ConjugatePart", "LossPart", "fill_terms", "loss_part"]

LEAST_BEND = 1e-3  # share of the largest curvature that stands in for none
FAINT_BEND = 1e-9  # the same for losses that are curved everywhere


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
    flat = getattr(problem.loss, "conjugate_net", None) is not None  # somewhere it has no curvature
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


@kernel
def inside_domain(z, c, low, high, y):
    """Fill y = -z / c, inside its bounds in spite of rounding; zero where c is."""
    for i in range(len(z)):
        y[i] = min(max(-z[i] / c[i] if c[i] > 0.0 else 0.0, low[i]), high[i])


@kernel
def curved_lines(B, bend, p, out):
    """Add B' diag(bend) B p to out, reading each line of B once: four at a time share p and out."""
    n = B.line_count()
    i = 0
    if B.is_dense():
        while i + 4 <= n:
            s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
            for j in range(len(p)):
                q = p[j]
                s0 += B.entry(i, j) * q
                s1 += B.entry(i + 1, j) * q
                s2 += B.entry(i + 2, j) * q
                s3 += B.entry(i + 3, j) * q
            s0 *= bend[i]
            s1 *= bend[i + 1]
            s2 *= bend[i + 2]
            s3 *= bend[i + 3]
            for j in range(len(p)):
                out[j] += (
                    B.entry(i, j) * s0
                    + B.entry(i + 1, j) * s1
                    + B.entry(i + 2, j) * s2
                    + B.entry(i + 3, j) * s3
                )
            i += 4
    while i < n:
        if bend[i] != 0.0:
            s = 0.0
            for k in range(B.line_length(i)):
                j, a = B.at(i, k)
                s += a * p[j]
            s *= bend[i]
            for k in range(B.line_length(i)):
                j, a = B.at(i, k)
                out[j] += a * s
        i += 1
