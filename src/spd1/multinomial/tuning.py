"""The tuned numbers of this room, set with ``benchmarks/multinomial.py``."""

from __future__ import annotations

MOST_LOOKS = 500  # if the user sets no limit

# Preconditioners
FULL_MOST = 2000  # unknowns of a Newton matrix that is factored whole
ROWS_PER_UNKNOWN = 8  # rows that stand for all others in such a matrix
BLOCK_MOST = 2000  # columns of a matrix that is factored class by class
ROWS_PER_COLUMN = 12  # rows that stand for all others in those
CONJUGATE_STEPS = 20  # that blocks are expected to need, and the whole matrix not
DIAGONAL_STEPS = 60  # that a diagonal is expected to need
FACTOR_DAMPINGS = (1e-13, 1e-11, 1e-9, 1e-7, 1e-5)  # shares of a diagonal, until a factor exists
KEPT_ENTRIES = 1_000_000  # of all rows with a column of ones, kept from step to step
SCALED_COPY = 4_000_000  # numbers of a scaled copy of some rows

# Conjugate gradients
MOST_STEPS = 300
FORCING = 0.1  # share of the decrease that a direction may leave, at most
EARLY = 1e-2  # decrease over value: while it is larger, nothing can be proven yet, ...
EARLY_SHARE = 0.02  # ... and a direction may leave such a share of the decrease
LOOSE_SHARE = 0.3  # the same with a diagonal alone, where conjugate steps are many
GOAL_SHARE = 0.1  # share of the gap asked for that a direction may leave

# Line search
ENOUGH_DECREASE = 1e-4
SHORTENINGS = 40
TOO_FAR = 0.1  # decrease over value: a step so long proves nothing that is worth a product
BELOW_ZERO = 0.02  # mass that a linear guess of the chances puts below zero: it proves nothing

# Ascent over rows: benchmarks/multinomial.py, news20 with C from 1 to 1000, fewer rows or columns
ASCENT_LEAST = 1_000_000  # entries times classes: below, any method takes milliseconds
ASCENT_ROW = (
    25  # mean entries of a row: with fewer, the chances of a row take longer than its margins
)
ASCENT_CURVED = 1e4  # mean of c |a|^2 / l2, up to which it is tried
ASCENT_MOST = 6.0  # passes that Newton's method takes as long as, times sqrt(1 + the same mean)
ASCENT_TRIAL = 8  # passes before it is judged
ASCENT_LOOK = 5  # passes without a look at the certificate, at most, or a quarter of all
ONES_PER_CLASS = 50.0  # square of the intercept's column over classes times l2, ...
ONES_LEAST = 0.03  # ... but so much of the mean square of a row, and never more than that

# l1
GRAM_MOST = 1200  # coordinates whose Gram matrix is made
GRAM_SHARE = 3e-3  # as EARLY_SHARE, on a Gram matrix: making it is the larger part
SUPPORT_SWEEPS = 5  # of coordinate descent between two solves on the support
MODEL_ROUNDS = 60  # of both
SET_GROWTH = 2.0  # times the support: coordinates that may join a working set, ...
SET_LEAST = 400  # ... or so many
PUSHES = 0.98  # share of l1 from which on a coordinate at zero belongs to a working set

STALLS = 4  # steps without progress: rounding lets the method come no closer

NEVER = (
    45.0  # below the score of all others, in logarithms: a class without weight; exp(-45) = 3e-20
)
