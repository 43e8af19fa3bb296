"""What operations cost, in seconds, roughly: engines are chosen by these."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....data.matrix import Dense

FLOP = 2.5e-11  # a multiplication and addition in BLAS and LAPACK
DENSE_SWEEP = 2e-10  # an entry that a sweep reads in order
PAIR = 1.5e-9  # a pair of entries of a sparse line, in a sum of outer products
SPARSE_SWEEP = 1.2e-9  # an entry that a sweep finds by its index


def entries_of(B: Any, lines: np.ndarray, width: int) -> float:
    """Stored entries of lines."""
    if isinstance(B, Dense):
        return float(len(lines) * width)
    return float(np.sum(B.indptr[lines + 1] - B.indptr[lines]))


def sweep_of(B: Any, entries: float) -> float:
    """Seconds of a sweep: it reads each entry of its lines, and again where it moves."""
    return (DENSE_SWEEP if isinstance(B, Dense) else SPARSE_SWEEP) * 2.0 * entries
