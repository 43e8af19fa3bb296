"""Equations that several losses solve."""

from __future__ import annotations

import math

from ..kernel.jit import helper

__all__ = ["exponential_root", "log_link_root"]


@helper
def exponential_root(c, sigma):
    """The m > 0 with m + sigma log(m) = c."""
    # m = exp(z): solve the convex, increasing h(z) = exp(z) + sigma z - c = 0.
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
            return m * (1.0 + step + 0.5 * step * step)
        z += step
        if z > high or z < low:
            z = 0.5 * (high + max(low, high - 2.0))
    return math.exp(z)


@helper
def log_link_root(y, b, a):
    """The u with exp((1 - a) u) - b exp(-a u) = y, for b > 0 and 0 < a < 1.

    The left side grows with u, but is neither convex nor concave: Newton's steps between ends that
    close in. Both ends follow from leaving one of the two terms out, or setting it to what it is
    at u = log(b), where the left side is zero.
    """
    c, level = 1.0 - a, math.log(b)
    rest = math.exp(c * level)
    if y >= 0.0:
        low = max(level, math.log(y) / c) if y > 0.0 else level
        high = math.log(y + rest) / c
    else:
        low = -math.log((rest - y) / b) / a
        high = min(level, -math.log(-y / b) / a)
    u = high if y >= 0.0 else low
    for _ in range(200):
        rising, falling = math.exp(c * u), b * math.exp(-a * u)
        h = rising - falling - y
        if h > 0.0:
            high = min(high, u)
        else:
            low = max(low, u)
        step = -h / (c * rising + a * falling)
        if abs(step) <= 1e-15 * (1.0 + abs(u)):
            break
        u += step
        if not low <= u <= high:
            u = 0.5 * (low + high)
            if u <= low or u >= high:
                break
    return u
