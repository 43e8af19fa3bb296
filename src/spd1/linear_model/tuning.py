"""The tuned numbers of this room.

Set with ``benchmarks/paths.py`` and ``benchmarks/estimators.py``.
"""

from __future__ import annotations

PROVEN = 1e-6  # relative gap of a foreign model's certificate that needs no further work, ...
CERTIFY_LOOKS = 1000  # ... and looks at most when the problem is solved for a better bound

DEFAULT_TOL = 1e-6  # relative gap, of estimators, ``solve`` and the command line

# Who sets max_iter below FEW_ITERATIONS wants an early end, and whole solves in one kernel know no
# iterations to count: such a fit may read the data so many times an iteration, looks included
FEW_ITERATIONS = 5
PASSES_AN_ITERATION = 2.0

# At that tol or a smaller one, small data is solved further: it costs little, and predictions,
# whose error is the square root of the gap, then agree with those of any exact solver in the digits
# people compare. A larger tol asks for an early end and gets it
SMALL_FIT = 200_000  # stored entries
# Relative gap at which it ends: predictions agree to about 3e-7. Going on to the rounding of 1e-16
# took 2 to 20 times as long where a loss has corners (hinges on digits 1.3 s, not 0.1)
POLISHED = 1e-13
# The same of ERMClassifier and of squared hinges with l2: scikit-learn's check compares weights
# with repeated rows to 7 digits. LinearSVC takes as long as to 1e-13 (digits, cancer, wine, iris)
EXACT_WEIGHTS = 1e-16
# The same of least squares: coefficients of dense and sparse data are compared to 1e-7. It takes no
# longer than 1e-13 (lassos on diabetes 0.8 and 1.7 ms; 1e-16: 1.4 and 2.7)
EXACT_SQUARES = 1e-15
# Stored entries up to which the clock can't tell: least squares ends at AS_EXACT, and a larger tol
# is no reason to stop; from twice as many on it is. scikit-learn's tol is about gradients: 1e-3 of
# that, taken for a gap, leaves 3 % of a coefficient (see its test_dtype_match)
TINY_FIT = 1000
EXACT_FOLDS = 1e-13  # the same of least squares on folds, by products of columns (tall data)
AS_EXACT = 1e-20  # the least that ``solve`` is asked for: no rounding of its own to stop at
EXACT_HUBER = 1e-10  # below, the scale has to be searched for slice by slice

NEARLY_ZERO = 1e-7  # of the largest coefficient: one below may be zero at the vertex nearby
VERTEX_ROUNDING = 1e-12  # of an objective: what a vertex may be worse by
MOST_AT_A_VERTEX = 500  # coefficients: a vertex solves equations in all of them

# Paths
PATH_ROUNDS = 6  # of adding columns that were left out wrongly
PATH_LOOKS = 200  # at one problem: a tol below rounding must not keep a path for ever

LARGEST_INFORMATION = 2000  # coefficients whose information matrix is inverted for a summary
