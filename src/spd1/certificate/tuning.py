"""The tuned numbers of this room."""

from __future__ import annotations

import numpy as np

UNIT = float(np.finfo(float).eps)

MEND_ROUNDS = 20
FEW_FREE = 4  # such columns are copied whatever memory there is: vectors of the length of y
MEND_LIMIT = 20_000_000  # entries of the unpenalised columns that mending may copy: 160 MB
ROOMY = 1e-9  # rows nearer to an end of their domain, relative to the largest, do not move
DEPENDENT = 20.0 * UNIT  # a column this near to the span of others, times sqrt(n), counts as in it
FACTORED = 2.0 * UNIT  # rounding of a QR factorisation, relative to a column, over sqrt(n)
REACH = 1000.0  # how much larger than what is known coefficients may be that could not be ruled out
FLOOR_SHARE = 1e-7  # gaps are relative to this share of the objective at the start, at least
HELD = 1e-12  # share of primal and dual by which their difference may exceed the gap: rounding
ROUGHLY = 4  # golden sections that find the best point of a segment to within a tenth
SECTIONS = 10  # the same to within one per cent
SNAPPED = 1e-9  # rows this near to an end of their domain are put there if nothing else helps
NEARLY = 1e6  # times rounding: where mending by normal equations ends, orthogonal factors go on
INDEPENDENT = 0.1  # pivots of a Cholesky factor of columns so different that plain sums will do
BEYOND_PROOF = 1e8  # times rounding: columns so far from balance prove nothing
TWOFOLD = 4.0  # times (depth of the sum times a unit of rounding)^2: error of a two-fold sum
TWOFOLD_BLOCK = 60_000  # entries that two-fold products work on at a time: they stay in the cache
REFINEMENTS = 4  # rounds in which y is mended by two-fold sums
NOTHING = 1e-20  # of the largest y: rows that mending has brought so near to zero are put there
CANCELLED = 0.1  # of the larger end: points of a segment that are so small have lost digits

# Sums over rows by several threads
MANY_ROWS = 100_000  # from which on: a millisecond or more
ROW_PIECES = 16
