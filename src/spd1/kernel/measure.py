"""What this machine charges for the operations that solvers are made of: stand-ins, timed.

Nothing is compiled for it. NumPy and SciPy do what the kernels do, on little data that follows from
nothing but its size, and the shortest of several runs counts: what else the machine does at the
time makes some of them longer. All of it takes some 6 ms.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable
from time import perf_counter

import numpy as np
import scipy.sparse as sp

__all__ = ["stand_ins"]

TIMED_RUNS = 7  # the shortest counts
NEAR_NUMBERS = 8192  # numbers: 64 kB, two of them are in the second cache of any processor
FAR_NUMBERS = 2**21  # numbers: 16 MB, in none that is one core's own
PRODUCT_SIDE = 64  # of a product of matrices: BLAS does it on one thread
SOME_ROWS, SOME_COLUMNS, ENTRIES_A_ROW = 256, 4096, 64
EXP_NUMBERS = 1024  # that an exponential is taken of
PAGE_BYTES, PAGES = 4096, 64
TIMED_CALLS = 100


def shortest(work: Callable[[], object], runs: int = TIMED_RUNS) -> float:
    """Seconds of the shortest of several runs."""
    best = np.inf
    for _ in range(runs):
        start = perf_counter()
        work()
        best = min(best, perf_counter() - start)
    return float(best)


def stand_ins() -> dict[str, float]:
    """Seconds of a stand-in for each price, see ``prices.Prices``."""
    line, other = np.ones(NEAR_NUMBERS), np.full(NEAR_NUMBERS, 0.5)
    square, product = np.ones((PRODUCT_SIDE, PRODUCT_SIDE)), np.empty((PRODUCT_SIDE, PRODUCT_SIDE))
    rows = some_rows()
    columns = rows.T
    x, y = np.ones(SOME_COLUMNS), np.ones(SOME_ROWS)
    numbers, one = np.linspace(-5.0, 5.0, EXP_NUMBERS), np.ones(1)
    far = np.ones(FAR_NUMBERS)

    def near_entries() -> None:
        for _ in range(8):
            np.dot(line, other)

    def far_entries() -> None:
        for start in range(0, FAR_NUMBERS, NEAR_NUMBERS):
            np.dot(far[start : start + NEAR_NUMBERS], line)

    def products() -> None:
        for _ in range(8):
            np.matmul(square, square, out=product)

    def calls() -> None:
        for _ in range(TIMED_CALLS):
            np.add(one, one, out=one)

    return {
        "entry": shortest(near_entries) / (8 * NEAR_NUMBERS),
        "far_entry": shortest(far_entries, 3) / FAR_NUMBERS,
        "sparse_entry": shortest(lambda: rows @ x) / (SOME_ROWS * ENTRIES_A_ROW),
        "scattered_entry": shortest(lambda: columns @ y) / (SOME_ROWS * ENTRIES_A_ROW),
        "flop": shortest(products) / (8 * PRODUCT_SIDE**3),
        "exp": shortest(lambda: np.logaddexp(0.0, numbers)) / EXP_NUMBERS,
        "page": shortest(touch_pages) / PAGES,
        "call": shortest(calls) / TIMED_CALLS,
    }


def some_rows() -> sp.csr_array:
    """Sparse rows whose entries lie all over the columns, in no order that a cache could guess."""
    count = SOME_ROWS * ENTRIES_A_ROW
    at = (np.arange(count, dtype=np.int64) * 2_654_435_761 >> 8) % SOME_COLUMNS
    ends = np.arange(0, count + 1, ENTRIES_A_ROW, dtype=np.int32)
    shape = SOME_ROWS, SOME_COLUMNS
    return sp.csr_array((np.ones(count), at.astype(np.int32), ends), shape=shape)


def touch_pages() -> None:
    """Write to fresh pages of memory, one byte to each."""
    with mmap.mmap(-1, PAGE_BYTES * PAGES) as fresh:
        for start in range(0, PAGE_BYTES * PAGES, PAGE_BYTES):
            fresh[start] = 1
