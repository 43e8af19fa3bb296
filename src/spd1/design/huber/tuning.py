"""The tuned numbers of Huber's scale.

Set on the cases of tests/design/test_intercept.py and with ``benchmarks/estimators.py``.
"""

from __future__ import annotations

# Newton's method in everything at once
LARGEST_JOINT = 2500  # rows or columns of a dense factor
DAMPINGS = (1e-15, 1e-12, 1e-9)  # of each diagonal entry, until the factor exists
FAINTEST_SCALE = 1e-15  # of the first scale: below it the data is fitted exactly
MOST_JOINT_STEPS = 100
FADE = 0.2  # of the curvature lent to samples outside, a full step
LEAST_SHARE = 1e-6
LEAP = 1.4  # change of the scale in one step beyond which it is not linear
RESTS = 1e-14  # relative gain of a step that counts as none, ...
IDLE_STEPS = 3  # ... and so many end it
SHORTEST_STEP = 1e-8
# A start from some of the rows, on tall data: 20000 x 50 took 31 ms to 1e-3 with it, 65 without
ROUGH_ROWS = 48  # of a column
LEAST_STRIDE = 4  # times fewer rows than there are, or it is not worth its while
ROUGH_GAIN = 1e-3  # relative gain of a step on these rows that ends them
SETTLED_SHARE = 0.01  # of the curvature of samples outside, from there on
# Forces at a point whose pull is mended by the matrix of the last step: at most so many rounds, and
# what each may leave of the square of what is off. A step of a start from some rows that gains less
# than the root of tol, or any step that gains less than so many tol, is proven that way: with a
# penalty of 1e-4 bounds lacked 1e-5 of the objective where forces as they are lacked all of it, and
# 20000 x 50 takes one step on all rows to 1e-3 and two to 1e-6 instead of three and three
MENDINGS, MENDED = 5, 0.1
MENDED_GAIN = 10.0
UNPROVEN = 1e-4  # relative gain of a step that tells, without a look, that nothing is proven yet

# The best scale of given residuals
SCALE_ROUNDS = 50  # of Newton's method; it takes three to eight
LEAST_ROOM = 1e-6  # of the weights: a difference of sums of them that is less is left to sorting
SMALLEST_SQUARE = 1e-290  # mean square of residuals: below, squares of single ones may vanish

# Forces that an intercept balances
BALANCING_ROUNDS = 5  # of moving them where they have room

# The search along the scale
EXACT = 1e-3  # gap of a slice as a share of the gap in hand: its slope must have the right sign
TIGHTEST = 1e-13  # relative gap of a slice: nothing below is above rounding
MOST_SLICES = 60
FORGET = 4  # slices in a row that do not shrink the gap: a loose one has misled the bracket
IDLE_SLICES = 12  # and so many end the search
SLICE_LOOKS = 50  # at a slice, before the search goes on with what it has
FAINTEST_SLICE = 1e-12  # of the first scale
BLOCK_ENTRIES = 100_000  # of rows that are scaled and multiplied at a time: they stay in cache
# Entries of tall data from which on products of all rows are kept, and rows outside subtracted:
# a step on 20000 x 50 took 1.6 ms of processor time for its matrix that way, and 5 without
WORTH_KEEPING_PRODUCTS = 100_000
LEFT_INSIDE = 0.05  # of a column's square: where rows inside have less, they are added up anew
NEARLY_MET = 1e-4  # of the largest target: residuals of a fit that may be exact
