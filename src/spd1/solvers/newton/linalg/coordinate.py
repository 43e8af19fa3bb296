"""The minimiser of one coordinate: pieces of kernels."""

from __future__ import annotations

import math

from ....kernel.jit import helper

__all__ = ["best_end", "minimiser"]


@helper
def minimiser(wish, curvature, l1, lower, upper):
    """argmin_t { curvature t^2 / 2 - wish t + l1 |t| } on a box."""
    return min(max((max(wish - l1, 0.0) + min(wish + l1, 0.0)) / curvature, lower), upper)


@helper
def best_end(old, linear, l1, lower, upper):
    """The same without curvature, for linear t + l1 |t|: an end, zero, or old if there is none."""
    end = lower if linear > l1 else (upper if linear < -l1 else 0.0)
    return min(max(end, lower), upper) if abs(end) < math.inf else old
