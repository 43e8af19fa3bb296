"""Counter-based random draws: ``(key, counter) -> index``.

A draw depends on nothing but its key and its number, so a run split into chunks, threads or
machines, or resumed from a file, sees the same draws as a serial run. The generator is the
SplitMix64 finaliser applied to a Weyl sequence.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .jit import helper, kernel

WEYL = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
S30, S27, S31, S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
TO_UNIT = 2.0**-53


@helper
def bits(key, counter):
    """64 random bits number ``counter`` of the stream ``key``."""
    z = key + np.uint64(counter) * WEYL
    z = (z ^ (z >> S30)) * MIX_1
    z = (z ^ (z >> S27)) * MIX_2
    return z ^ (z >> S31)


@helper
def index(key, counter, size):
    """Draw from ``0 .. size-1``, uniform to within size / 2**53, as an unsigned integer.

    Unsigned, because Numba tests a signed index for wrap-around before every load.
    """
    unit = np.float64(np.int64(bits(key, counter) >> S11)) * TO_UNIT
    return np.uint64(np.int64(unit * size))


@kernel
def shuffle_blocks(order, key, counter, block):
    """Fill ``order`` with 0 .. n-1, blocks of consecutive rows in random order."""
    n = len(order)
    count = (n + block - 1) // block
    blocks = np.empty(count, np.int64)  # np.arange would compile longer than all the rest
    for k in range(count):
        blocks[k] = k
    for k in range(count - 1, 0, -1):
        other = index(key, counter + k, k + 1)
        blocks[k], blocks[other] = blocks[other], blocks[k]
    at = 0
    for k in range(count):
        for i in range(blocks[k] * block, min(n, (blocks[k] + 1) * block)):
            order[at] = i
            at += 1


@lru_cache(maxsize=64)
def _key_of_seed(seed: int) -> np.uint64:
    return np.uint64(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])


def key_of(random_state: Any) -> np.uint64:
    """Turn what users pass as ``random_state`` into a stream key.

    Parameters
    ----------
    random_state : int, None, numpy.random.Generator or numpy.random.RandomState

    Examples
    --------
    >>> int(key_of(0)) == int(key_of(0)) != int(key_of(1))
    True
    """
    if random_state is None:
        return np.uint64(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    if isinstance(random_state, np.random.Generator):
        return np.uint64(random_state.integers(0, 2**64, dtype=np.uint64))
    if isinstance(random_state, np.random.RandomState):
        return np.uint64(random_state.randint(0, 2**63, dtype=np.int64))
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        if random_state >= 0:
            return _key_of_seed(int(random_state))
        raise ValueError(f"random_state must not be negative, got {random_state}")
    raise TypeError(
        "random_state must be None, a non-negative int, or a NumPy Generator or RandomState, "
        f"not {type(random_state).__name__}"
    )
