"""exp, log and log1p that a compiler can vectorise: eight at a time instead of one.

The library's own are calls that a loop has to make one by one. These are straight-line arithmetic
with errors of about 1e-16, relative; what would be subnormal is zero.
"""

from __future__ import annotations

import math

from .jit import bits_of, from_bits, jitable

__all__ = ["exp", "log", "log1p", "rough_log"]

LOG2_E = 1.4426950408889634
LN2_HIGH = 0.693147180369123816490  # its last 32 bits are zero: multiples up to 2^20 are exact
LN2_LOW = 1.90821492927058770002e-10
LARGEST = 709.0
SMALLEST = -708.0
ROOT_HALF = 0x3FE6A09E667F3BCD  # the bits of sqrt(1/2)
INFINITY = float("inf")
LN2_OF_BITS = 1.5390893310127384e-16  # log(2) / 2^52
ROUGHLY_ZERO = 709.0597  # of the bits of 1.0; a little less, so that errors are as large both ways


@jitable
def exp(x):
    """e^x: 2^k times the Taylor series of e^r, |r| <= log(2)/2.

    Examples
    --------
    >>> round(exp(1.0), 12)
    2.718281828459
    """
    t = min(max(x, SMALLEST), LARGEST)
    k = math.floor(t * LOG2_E + 0.5)
    power = int(k)
    r = (t - k * LN2_HIGH) - float(power) * LN2_LOW  # k twice would be joined, and digits lost
    q = 1.0 / 479001600.0 + r * (1.0 / 6227020800.0)
    q = 1.0 / 39916800.0 + r * q
    q = 1.0 / 3628800.0 + r * q
    q = 1.0 / 362880.0 + r * q
    q = 1.0 / 40320.0 + r * q
    q = 1.0 / 5040.0 + r * q
    q = 1.0 / 720.0 + r * q
    q = 1.0 / 120.0 + r * q
    q = 1.0 / 24.0 + r * q
    q = 1.0 / 6.0 + r * q
    value = (1.0 + (r + r * r * (0.5 + r * q))) * from_bits((power + 1023) << 52)
    value = 0.0 if x < SMALLEST else value
    return INFINITY if x > LARGEST else value


@jitable
def log(x):
    """Natural logarithm of a positive number that is not subnormal.

    With x = 2^k (1 + f) and s = f / (2 + f), log(1 + f) = 2 artanh(s) = f - s (f - 2 (artanh - s)).

    Examples
    --------
    >>> round(log(10.0), 12)
    2.302585092994
    """
    bits = bits_of(x)
    shift = (bits - ROOT_HALF) >> 52
    return scaled_log(from_bits(bits - (shift << 52)) - 1.0, float(shift))


@jitable
def scaled_log(f, k):
    """log(2^k (1 + f)) for 1 + f between sqrt(1/2) and sqrt(2)."""
    s = f / (2.0 + f)
    z = s * s
    q = 2.0 / 19.0 + z * (2.0 / 21.0)
    q = 2.0 / 17.0 + z * q
    q = 2.0 / 15.0 + z * q
    q = 2.0 / 13.0 + z * q
    q = 2.0 / 11.0 + z * q
    q = 2.0 / 9.0 + z * q
    q = 2.0 / 7.0 + z * q
    q = 2.0 / 5.0 + z * q
    q = 2.0 / 3.0 + z * q
    half = 0.5 * f * f
    return k * LN2_HIGH - ((half - (s * (half + z * q) + k * LN2_LOW)) - f)


@jitable
def log1p(x):
    """log(1 + x) for x > -1; close to 1 the f of ``log`` is x itself, and nothing is rounded off.

    Examples
    --------
    >>> log1p(1e-20)
    1e-20
    """
    bits = bits_of(1.0 + x)
    shift = (bits - ROOT_HALF) >> 52
    f = from_bits(bits - (shift << 52)) - 1.0
    return scaled_log(x if shift == 0 else f, float(shift))


@jitable
def rough_log(x):
    """Natural logarithm of a positive number to 0.03: its bits, read as a number.

    Examples
    --------
    >>> abs(rough_log(10.0) - 2.3) < 0.03
    True
    """
    return bits_of(x) * LN2_OF_BITS - ROUGHLY_ZERO
