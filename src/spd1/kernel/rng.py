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
ODD = np.uint64(1)
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


@helper
def aliased(key, counter, limits, others):
    """Draw from 0 .. len(limits)-1 by unequal probabilities: see ``alias_table``."""
    place = np.float64(np.int64(bits(key, counter) >> S11)) * TO_UNIT * len(limits)
    at = np.int64(place)
    return np.uint64(at if place - at < limits[at] else others[at])


def alias_table(shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Walker's tables (1974, as Vose makes them): one look tells what an unequal draw is.

    A place k is drawn alike; it stands for k below ``limits[k]`` and for ``others[k]`` above.

    Examples
    --------
    >>> limits, others = alias_table(np.array([0.75, 0.25]))
    >>> limits.tolist(), others.tolist()
    ([1.0, 0.5], [0, 0])
    """
    left = np.asarray(shares, dtype=float) / np.sum(shares) * len(shares)
    limits, others = np.ones(len(left)), np.arange(len(left))
    small = [k for k in range(len(left)) if left[k] < 1.0]
    large = [k for k in range(len(left)) if left[k] >= 1.0]
    while small and large:
        k, giver = small.pop(), large[-1]
        limits[k], others[k] = left[k], giver
        left[giver] -= 1.0 - left[k]
        if left[giver] < 1.0:
            small.append(large.pop())
    return limits, others


def units(key: np.uint64, first: int, count: int) -> np.ndarray:
    """Numbers in [0, 1) of the draws ``first .. first + count - 1``, all at once.

    Examples
    --------
    >>> np.array_equal(units(key_of(0), 0, 6)[2:], units(key_of(0), 2, 4))
    True
    """
    z = key + np.arange(first, first + count, dtype=np.uint64) * WEYL
    z = (z ^ (z >> S30)) * MIX_1
    z = (z ^ (z >> S27)) * MIX_2
    return ((z ^ (z >> S31)) >> S11).astype(np.float64) * TO_UNIT


def indices(key: np.uint64, first: int, count: int, size: int) -> np.ndarray:
    """What ``index`` draws for ``first .. first + count - 1``, all at once.

    Examples
    --------
    >>> [int(i) for i in indices(key_of(0), 0, 3, 10)] == [
    ...     int(index(key_of(0), t, 10)) for t in range(3)]
    True
    """
    return (units(key, first, count) * size).astype(np.int64)


@helper
def shuffled(key, t, size, mask, half):
    """Number ``t`` of 0 .. size-1 in random order, pass by pass, each pass in an order of its own.

    A draw is uniform; those of a pass are all different. ``mask`` and ``half`` are those of
    ``widths(size)``. Multiplying by an odd number and folding the upper half of the bits onto the
    lower one permute the numbers up to the mask. A result of ``size`` or more is sent round again:
    what stays below is permuted, too. So an order takes no memory, and any place in it is found at
    once.
    """
    turn = np.uint64(t) // size
    one = bits(key ^ WEYL, turn)
    two, three, four = bits(one, 1), bits(one, 2), bits(one, 3)
    at = np.uint64(t) - turn * size + index(one, 4, size)  # begin anywhere: each draw is uniform
    if at >= size:
        at -= size
    while True:
        at = ((at + one) * (one | ODD)) & mask
        at = ((at ^ (at >> half)) * (two | ODD)) & mask
        at = ((at ^ (at >> half)) * (three | ODD)) & mask
        at = ((at ^ (at >> half)) * (four | ODD)) & mask
        at ^= at >> half
        if at < size:
            return at


def widths(size: int) -> tuple[np.uint64, np.uint64, np.uint64]:
    """``size``, ``mask`` and ``half`` of ``shuffled``.

    Examples
    --------
    >>> [int(v) for v in widths(1000)]
    [1000, 1023, 5]
    """
    wide = max(5, (size - 1).bit_length())
    return np.uint64(size), np.uint64((1 << wide) - 1), np.uint64((wide + 1) // 2)


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
    if type(random_state) is int and random_state >= 0:  # nearly always
        return _key_of_seed(random_state)
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
