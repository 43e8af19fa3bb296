"""Sums of products in twice the precision of a double.

Every product and every sum is kept with its rounding error (Dekker's and Knuth's exact
transformations), so that what is left of a column that cancels is known to 30 digits instead of 15.
"""

from __future__ import annotations

import math

import numpy as np

from .tuning import TWOFOLD, TWOFOLD_BLOCK, UNIT

__all__ = ["twofold_products"]

SPLITTER = 2.0**27 + 1.0  # halves of a double, 26 digits each, multiply without rounding


def twofold_products(M: np.ndarray, c: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return M'(c y), each sum rounded once, and a bound of its error.

    Examples
    --------
    >>> M = np.array([[1.0], [1e-25], [-1.0]])
    >>> float(twofold_products(M, np.ones(3), np.ones(3))[0][0])
    1e-25
    """
    w, rest = product(c, y)
    sums, sizes = np.empty(M.shape[1]), np.empty(M.shape[1])
    width = max(1, TWOFOLD_BLOCK // max(len(M), 1))
    for start in range(0, M.shape[1], width):
        block = M[:, start : start + width]
        high, low = product(block, w[:, None])
        low += block * rest[:, None]
        sizes[start : start + width] = np.abs(high).sum(axis=0)
        while len(high) > 1:  # the upper half is added to the lower one
            half = (len(high) + 1) // 2
            pairs = len(high) - half
            total, error = added(high[:pairs], high[half:])
            low[:pairs] += low[half:] + error
            high[:pairs], high, low = total, high[:half], low[:half]
        sums[start : start + width] = (high + low).sum(axis=0)
    depth = math.log2(max(len(M), 1)) + 2.0
    tiny = len(M) * float(np.finfo(float).smallest_subnormal)
    return sums, UNIT * np.abs(sums) + TWOFOLD * (depth * UNIT) ** 2 * sizes + 8.0 * tiny


def product(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A b and its rounding error."""
    p = a * b
    (a1, a2), (b1, b2) = halves(a), halves(b)
    return p, a2 * b2 - (((p - a1 * b1) - a2 * b1) - a1 * b2)


def halves(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two numbers of half as many digits with the sum a."""
    moved = SPLITTER * a
    upper = moved - (moved - a)
    return upper, a - upper


def added(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A + b and its rounding error."""
    total = a + b
    of_b = total - a
    return total, (a - (total - of_b)) + (b - of_b)
