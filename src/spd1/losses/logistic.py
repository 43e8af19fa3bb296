"""Logistic loss."""

from __future__ import annotations

import math
from typing import NamedTuple

from ..kernel.elementary import exp, log, log1p, rough_log
from ..kernel.jit import compiled
from .base import Loss

VANISHING = 2.3e-308  # below, s log s is zero
EDGE = 1e-12  # s closer to 0 or 1 tells too little of its logarithm
NEARBY = 0.25  # a step as long as this is right to within a thousandth of it
FROM_THE_MIDDLE = 0.5  # the same from s = 1/2, where the second derivative of S is zero
FROM_A_GUESS = 0.4  # a step from where S is less than 1/2: what is left of s is 4e-4 of it
FROM_HALF = 1.4  # from s = 1/2 too, where a few hundredths will do


@compiled(Loss)
class Logistic(NamedTuple):
    """phi(u) = log(1 + exp(-b u)), b in {-1, +1}.

    phi*(y) = s log s + (1 - s) log(1 - s) with s = -b y in [0, 1]. L = 1, gamma = 4.

    Examples
    --------
    >>> round(Logistic().phi(0.0, 1.0), 6)
    0.693147
    """

    # Without branches, so that loops over rows are vectorised.

    def phi(self, u, b):
        m = b * u
        return log1p(exp(-abs(m))) + max(-m, 0.0)

    def derivative(self, u, b):
        m = b * u
        e = exp(-abs(m))
        p = 1.0 / (1.0 + e)
        return -b * ((e if m > 0.0 else 1.0) * p)

    def curvature(self, u, b):
        e = exp(-abs(b * u))  # as above: kernels that ask for both compute it once
        p = 1.0 / (1.0 + e)
        return (e * p) * p

    def conjugate(self, y, b):
        s = -b * y
        inside = (s >= 0.0) & (s <= 1.0)  # not "and", which is a branch
        below = s if s < 1.0 else 0.0
        value = s * log(s if s > VANISHING else 1.0) + (1.0 - s) * log1p(-max(below, 0.0))
        return value if inside else math.inf

    def domain(self, b):
        return (-1.0, 0.0) if b > 0.0 else (0.0, 1.0)

    def prox_conjugate(self, v, b, sigma):
        # With s = -b y, w = -b v and z = log(s / (1 - s)): solve h(z) = S(z) + sigma z - w = 0,
        # S the sigmoid, by fourth-order (Householder) steps: all derivatives come from one exp.
        w = -b * v
        z = 0.0
        e = 1.0
        if 0.0 < w < 1.0:
            # At z = log(w / (1 - w)) S = w is known without an exp, and the residual is sigma z:
            # one step from there ends the search when sigma is small, as in SPD1 and SPD1-VR.
            q = w * (1.0 - w)
            z = math.log(w / (1.0 - w))
            slope = 1.0 / (sigma + q)
            e = sigma * z * slope
            if abs(e) < 0.3:
                bend = q * (1.0 - 2.0 * w) * slope
                twist = q * (1.0 - 6.0 * q) * slope
                if sigma * (e * e) * (e * e) < 1e-13:  # as a series: no division
                    z -= e * (1.0 + e * (0.5 * bend + e * (0.5 * bend * bend - twist / 6.0)))
                    return -b * min(max(w - sigma * z, 0.0), 1.0)
                z -= e * (1.0 - 0.5 * e * bend) / (1.0 - e * bend + e * e * twist / 6.0)
        mirrored = w > 0.5  # by symmetry the root can be kept at z <= 0, where h is convex
        if mirrored:
            w = 1.0 - w
            z = -z
        high = 0.0
        low = (w - 0.5) / sigma  # because S(z) <= 1/2
        if abs(e) >= 0.3:
            slope = 1.0 / (sigma + 0.25)
            e = (0.5 - w) * slope  # the same step from z = 0, where S = 1/2 is known
            z = -e / (1.0 - 0.125 * slope * e * e / 6.0)
            if abs(e) > 0.8:  # a small root: s is close to 0
                if w < 0.0:
                    z = min(z, w / sigma)
                z = min(z, math.log(max(w, 0.0) + sigma * math.log1p(1.0 / sigma)))
        z = min(max(z, low), high)
        s = -1.0
        for _ in range(60):
            p = math.exp(z)
            p = p / (1.0 + p)
            q = p * (1.0 - p)
            h = p + sigma * z - w
            if h > 0.0:
                high = z
            else:
                low = z
            slope = 1.0 / (sigma + q)
            e = h * slope
            bend = q * (1.0 - 2.0 * p) * slope
            twist = q * (1.0 - 6.0 * q) * slope
            step = -e
            if abs(e) < 0.5:
                step = -e * (1.0 - 0.5 * e * bend) / (1.0 - e * bend + e * e * twist / 6.0)
            if abs(step) < 3e-4:  # the next error is of fourth order, 1e-15: expand S instead
                curl = (1.0 - 6.0 * q) * step * step / 6.0
                s = p + q * step * (1.0 + 0.5 * (1.0 - 2.0 * p) * step + curl)
                break
            z += step
            if z < low or z > high:
                z = 0.5 * (low + high)
        if s < 0.0:
            s = math.exp(z) / (1.0 + math.exp(z))
        if mirrored:
            s = 1.0 - s
        return -b * min(max(s, 0.0), 1.0)

    def prox_near(self, v, b, sigma, y):
        # One step of the same search from where y is: S is known there, so it costs a logarithm.
        # From an end of the domain, where runs begin, it starts in the middle.
        s, near = -b * y, NEARBY
        if not EDGE < s < 1.0 - EDGE:
            s, near = 0.5, FROM_THE_MIDDLE
        q = s * (1.0 - s)
        slope = 1.0 / (sigma + q)
        e = (s + sigma * log(s / (1.0 - s)) + b * v) * slope
        if abs(e) < near:
            bend = q * (1.0 - 2.0 * s) * slope
            twist = q * (1.0 - 6.0 * q) * slope
            step = -e * (1.0 - 0.5 * e * bend) / (1.0 - e * bend + e * e * twist / 6.0)
            curl = (1.0 - 6.0 * q) * step * step / 6.0
            s += q * step * (1.0 + 0.5 * (1.0 - 2.0 * s) * step + curl)
            return -b * min(max(s, 0.0), 1.0)
        # From farther away, one step from a guess, for an exp. By symmetry w <= 1/2.
        w = -b * v
        mirrored = w > 0.5
        w = 1.0 - w if mirrored else w
        slope = 1.0 / (sigma + 0.25)
        e = (0.5 - w) * slope
        z = -e / max(1.0 - slope * e * e / 48.0, 0.25)
        if e > FROM_HALF:
            # S is about exp(z): with z = w / sigma - t that is t exp(t) = exp(-w / sigma) / sigma,
            # Lambert's function, and t + log(t) = a
            a = w / sigma - rough_log(sigma)
            more = max(a, 2.0)
            size = rough_log(more)
            t = more - size + size / more if a > 2.0 else 0.567 + a * (0.36 + a * 0.07)
            t = t if a > -2.0 else 0.0
            z = w / sigma - t * (1.0 - sigma)
        z = min(z, 0.0)
        p = exp(z)
        p = p / (1.0 + p)
        q = p * (1.0 - p)
        slope = 1.0 / (sigma + q)
        e = (p + sigma * z - w) * slope
        if not abs(e) < FROM_A_GUESS:
            return self.prox_conjugate(v, b, sigma)
        bend = q * (1.0 - 2.0 * p) * slope
        twist = q * (1.0 - 6.0 * q) * slope
        step = -e * (1.0 - 0.5 * e * bend) / (1.0 - e * bend + e * e * twist / 6.0)
        curl = (1.0 - 6.0 * q) * step * step / 6.0
        s = p + q * step * (1.0 + 0.5 * (1.0 - 2.0 * p) * step + curl)
        s = 1.0 - s if mirrored else s
        return -b * min(max(s, 0.0), 1.0)

    @property
    def L(self) -> float:
        return 1.0

    @property
    def gamma(self) -> float:
        return 4.0

    @property
    def growth(self) -> float:
        return 1.0

    @property
    def label_kind(self) -> str:
        return "sign"

    @property
    def probabilities(self) -> bool:
        return True
