"""The tuned numbers of this room.

Set with ``benchmarks/paths.py`` and ``benchmarks/estimators.py``.
"""

from __future__ import annotations

PROVEN = 1e-6  # relative gap of a foreign model's certificate that needs no further work, ...
CERTIFY_LOOKS = 1000  # ... and looks at most when the problem is solved for a better bound
MULTINOMIAL_LOOKS = 2000  # the same of a multinomial model
BALANCE_STEPS = 100  # of Newton's, towards multinomial dual points that balance

# Paths
PATH_ROUNDS = 6  # of adding columns that were left out wrongly
PATH_LOOKS = 200  # at one problem: a tol below rounding must not keep a path for ever
PATH_COLUMNS = 1000  # of a Gram matrix that serves a whole path
PATH_TALL = 2  # rows a column
LEFT = 0.3  # of the gap asked for: products round differently
FIRST_GOAL = 1e-2  # what a model leaves to gain, relative to the gap asked for, ...
SHARPER = 1e-2  # ... and as a share of that when the gap does not follow
GRAM_ROUNDS = 8
ALPHAS_AT_ONCE = 64  # certified together: their margins are an array of that many columns
PROVABLE = 1e-10  # expected counts of classes that are off by more prove nothing
