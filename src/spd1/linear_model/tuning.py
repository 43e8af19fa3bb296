"""The tuned numbers of this room.

Set with ``benchmarks/paths.py`` and ``benchmarks/estimators.py``.
"""

from __future__ import annotations

PROVEN = 1e-6  # relative gap of a foreign model's certificate that needs no further work, ...
CERTIFY_LOOKS = 1000  # ... and looks at most when the problem is solved for a better bound
MULTINOMIAL_LOOKS = 2000  # the same of a multinomial model
BALANCE_STEPS = 100  # of Newton's, towards multinomial dual points that balance

# Small data is solved further than asked for: it costs little, and predictions, whose error is the
# square root of the gap, then agree with those of any exact solver in the digits people compare
SMALL_DATA = 200_000  # stored entries
POLISHED = 1e-20  # relative gap: it has no rounding of its own to stop at
POLISHED_HUBER = 1e-10  # below, the scale has to be searched for slice by slice

ZERO_AT_VERTEX = 1e-7  # share of the largest coefficient below which one may be zero at a vertex
VERTEX_LOSS = 1e-12  # of an objective: what a vertex may be worse by
MOST_AT_A_VERTEX = 500  # coefficients: a vertex solves equations in all of them

# Paths
PATH_ROUNDS = 6  # of adding columns that were left out wrongly
PATH_LOOKS = 200  # at one problem: a tol below rounding must not keep a path for ever
PROVABLE = 1e-10  # expected counts of classes that are off by more prove nothing
