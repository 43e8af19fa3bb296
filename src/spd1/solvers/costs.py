"""What operations cost, in seconds, roughly: engines are chosen by these."""

from __future__ import annotations

FLOP = 2.5e-11  # a multiplication and addition in BLAS and LAPACK
DENSE_SWEEP = 2e-10  # an entry that a sweep reads in order
PAIR = 1.5e-9  # a pair of entries of a sparse line, in a sum of outer products
SPARSE_SWEEP = 1.2e-9  # an entry that a sweep finds by its index
