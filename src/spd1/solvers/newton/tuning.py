"""The tuned numbers of Newton's method: prices, sizes, accuracies, patience.

Prices are seconds where the reference prices hold (``kernel/prices.py``); ``charges`` has them for
the machine it runs on. The other numbers were set on the problems of
``benchmarks/race.py``: half and twice the value took longer in all. docs/laboratory/engine.md has
the larger experiments.
"""

from __future__ import annotations

# Prices
TURNED = 4e-9  # an entry of sparse lines when they are sorted by position
SPREAD = 1e-9  # an entry of sparse lines that are written out as dense ones
DROP_ENTRY = 3e-10  # an entry of a factor, a coordinate that is dropped on the way
CG_ENTRY = 1.5e-9  # an entry of a line in a step of projected conjugate gradients, all in all
FACTOR = 0.6  # of a multiplication and addition, times the cube of what a Cholesky factor has rows
STEP_CALLS = (
    4.0  # of a call: what a step on a Gram matrix is, however small (136 us, 63 coordinates)
)
LITTLE = 1e-3  # of a Gram matrix: needs no thought

# Which face, which method
TALL = 5  # rows a column, beyond which the primal is the better face
MOST_FREE = 2  # columns without penalty that the dual can do with
FEW_ROWS = 300  # rows of a Gram matrix that is made at once, ...
WIDE = 2  # ... with so many columns a row
FEW_COLUMNS = 300  # columns of the same for least squares, ...
TALL_GRAM = 4  # ... with so many rows a column

# The proximal term: its start, what is left of it after an epoch, and where that ends
FADING = (0.1, 0.5, 1e-6)
FADING_WITH_L2 = (1.0, 0.7, 1e-4)  # the same where some columns have l2 > 0
# The penalty lent to a free column, as a multiple of the l2 at which it is as long in the dual as
# a row of the others
WEAK = 100.0  # sweeps dislike rows that all look alike, and
STRONG = 0.1  # Newton's steps on a small matrix do not mind
SAME_L2 = 30.0  # this penalty and l2 within the factor are made equal: that is faster

# Curvature that stands in for none, as a share of the largest
LEAST_BEND = 1e-3
FAINT_BEND = 1e-9  # of losses that are curved everywhere
FAINTEST_BEND = 1e-12  # where models hold well

# The working set
SMALLEST_SET = 100  # coordinates of the first one, or a quarter of the rows, ...
LARGEST_START = 400  # ... up to so many
MOSTLY_MOVED = 0.6  # share of a working set that has moved: the next one is larger
NEAR = 0.1  # zero coordinates whose gradient is this close to l1 join
SLACK = 0.2  # rows join that were so many of the last epoch's moves away from a kink, see DualFace
NEARLY_ALL = 0.9  # of all coordinates: take the rest, too
ALIKE = 0.5  # a new working set as large as this share of the last one is joined to it
# Working sets of rows that take turns, where rows are cut and too many to copy at once:
# gisette-like, 1 x 8 tiles, to 1e-6: hinge 38, 37 and 366 passes with 1.2, 5 and 15 turns; squared
# hinge 33 and 47 with 1.2 and 5, and 450 to 640 by products alone.
MOST_TURNS = 16  # beyond, losses that are not smooth are refused
FEW_TURNS = 8  # beyond, smooth losses take the primal face, by products alone
COPIED = 0.28  # of the entries of sparse data, that working sets may copy: memory below 60 %

# Epochs
MODELS = 40  # of one working set
MOST_INSIDE = 10  # epochs on a small matrix, without a look at the data
SMOOTH_STEPS = 12  # of Newton's without a look, where nothing has a kink

# How far a model is solved
INNER = 0.1  # relative to the gap, ...
INNER_DENSE = 0.01  # ... and on the dual of dense data, where a look costs as much as many sweeps
LEAST_INNER = 1e-10  # the same after epochs that did not help
WELL_CURVED = 3.0  # curvature of lines over l2, up to which sweeps come before any Gram matrix
SWEEP_GOAL = 0.3  # of what an epoch may leave: sweeps go so far
SHARP = 0.3  # the same of a model on a Gram matrix, at first: it costs little to be sharper
SHARPEST = 1e-12
LARGE_GRAM = 1000  # lines; the sweeps over fewer cost next to nothing, and sharper is better
GOOD_EPOCH = 0.1  # one that leaves more of the gap asks for a sharper minimiser of such a model
SLOW_EPOCH = 0.5  # one that leaves more of the gap asks for Newton's step
SET_GROWN = 1.1  # a working set this many times larger than the one before has not settled
FORESEEN = 4  # epochs: no pace is kept for longer
KEEPS_PACE = 0.9  # epochs of sweeps that leave more of the gap will not reach tol

# Sweeps over lines
SWEEPS = 4  # of coordinate descent before the next decision, ...
LEAST_SWEEPS = 2  # on the dual
MOST_SWEEPS = 20  # ... up to so many over a small working set
DECISIONS = 40
ENOUGH = 0.01  # sweeps that gain less than this share of the goal end early
CROWDED = 1.2  # free lines, as a multiple of their length, beyond which Newton's step waits
MOST_FUTILE = 7  # doublings of the sweeps after Newton's steps that gained little
WORTHWHILE = 0.3  # of what as many sweeps gain: Newton's steps that gain less were futile
MOST_PATIENCE = 16  # slow epochs before Newton's step is tried again

# Gram matrices of lines
LARGEST_GRAM = 2000  # lines, ...
WIDEST = 1.8  # ... or so many times their length: beyond, sweeps over lines read less
NEARLY_SET = 0.7  # of the working set, beyond which all of it is taken
SPARSE_SHARE = 0.15  # of the bytes of sparse data, or SPARSE_BYTES, that one may take
SPARSE_BYTES = 4_000_000
GRAM_SWEEPS = 5  # over it, before the next decision, ...
FIRST_SHARE = 0.2  # ... or this share of the price of Newton's step, if that is more, ...
MOST_GRAM_SWEEPS = 50  # ... or so many, if the pace of the sweeps says that they will do
GRAM_DECISIONS = 60
SLOW_STEPS = 0.2  # of what the step before gained: the model may be too coarse
SETTLES = 1.2  # a working set this many times larger than the one before is not settled
CHORD = 0.2  # of the curvature: a change that leaves the matrix as good as new
SAVED_SWEEPS = 5  # sweeps over lines that it replaces at least
PAID_BACK = 0.4  # of what sweeps over lines have cost so far
WORTH = 500  # sweeps over lines, beyond which it is never worth its price, ...
WORTH_ONCE = 25  # ... or that of a model that holds for one step only
SAMPLE = 24  # positions a line that tell the curvature of a model well enough, at first
SKEW = 1.0  # half of the pairs at a position, but popular ones have more than their share

# Newton's step
LARGEST_FACTOR = 2000  # free coordinates for which a dense factor is made
DAMPING = 1e-12  # of each diagonal entry: a matrix may be singular
DROPS = 100  # kinks that one step of Newton's walks to
FACE_CG_LIMIT = 100
FACE_CG_ACCURACY = 1e-2
CG_EXPECTED = 30  # steps of conjugate gradients
BENT = (1.0, 0.3, 0.1, 0.03)  # parts of a step that are tried where kinks are in its way

# Where nothing has a kink
LARGEST_SMOOTH_GRAM = 1500
LARGEST_ONCE = 3000  # the same for least squares, which need one factor: 72 MB, 1.5 s
CG_PASSES = 30  # passes that conjugate gradients take in a whole run, roughly
CG_LIMIT = 250
HARD_PASSES = 6  # times the square root of a problem's hardness, roughly
ROUGH_BALANCE = 0.1  # of the curvature, with which rows give way to a column without penalty
SMOOTH_SAMPLE = 8  # rows a column whose matrix is the preconditioner of all of them
SAMPLES = 2  # of the rows in a run, roughly, and ...
PRODUCTS_A_SMOOTH_STEP = 3  # ... of products in a step
PRODUCTS_OF_A_SAMPLE = 6  # in a step, from which on some rows are looked at anew
RUN_STEPS = 6  # of Newton's in a whole run, roughly
LATE_STEPS = 3  # the same when conjugate gradients have slowed down

# A preconditioner from a sample of rows, where the data is cut (``linalg/sampled.py``)
MANY_PRODUCTS = 12  # of conjugate gradients in one step, from which on it is made
SAMPLED_SHARE = 1.0 / 16.0  # of the rows: 375 of gisette-like's, ...
MOST_SAMPLED = 1000  # ... at most: a product with them must cost less than one with a tile, ...
SAMPLED_BYTES = 64e6  # ... and a copy of them less than a hundred messages
FEWEST_SAMPLED = 50
STALE_CURVATURE = 3.0  # times, beyond which the sample is looked at anew
STILL_BENDS = 0.7  # of what the best sample would have: below, other rows are copied

# The line search
ARMIJO = 1e-2
SHORTEST = 1e-10  # of a step

# Sweeps by several threads
SWEEP_STRETCHES = 4  # of a sweep, at most: gisette-like, hinge 28.9 sweeps, with 8 35.4
LINES_A_BLOCK = 8  # of a stretch, at least
# Entries of all lines for each position of one, from which on blocks of lines pay. Columns of
# 20news, 25: lasso took 1.5 times the sweeps. Dense rows of gisette-like, 1,500 and more: as many.
WORTH_BLOCKS = 128.0
# Numbers of a line, from which on blocks pay. Columns of synthetic 1000 x 10000, lasso 0.01: sweeps
# in blocks led another way, one thread took 1.41 s with them and 0.95 s without.
LONG_LINE = 2000

# Conjugate gradients by several threads in one kernel
CG_WORTH = 50_000.0  # entries of all lines, from which on they pay: 5 us of one thread
CG_ENTRIES = 1e7  # the same, up to which: 100 products take half a second
CG_PIECES = 8  # blocks of lines, at most, and of positions
CG_A_POSITION = 4  # entries of a block for each position, at least

# Curvature learnt from steps (``learnt.py``), on data that is cut. gisette-like, logistic,
# l2 = 1e-2, rounds to 1e-3 and 1e-6: 40 and 66 with 20 pairs and a curvature for each column, 25
# and 35 with a sample of rows made once, 22 and 27 with one that is looked at again after 8 steps.
# 60 pairs: 36 and 50 without a sample; 10: 78 and more than 150. Sparse data has no sample:
# 20news-compsci 9 and 13 without, 14 and 24 with it.
STEPS_KEPT = 20
MEMORY_BYTES = 512e6  # that all pairs may take
# Of the rows, in the sample: 22 and 27 rounds with 1/16, 21 and 26 with 1/20, 22 and 30 with 1/32,
# and a sample of k rows costs k^2 d at the client.
LEARNT_SHARE = 1.0 / 20.0
LEARNT_ROWS = 320  # at most: 1000 of 26,843 x 5000 normal entries cost 0.5 s and saved nothing
SAMPLED_AGAIN = 8  # steps, after which the sample of rows is looked at again
# Where a column has no penalty a look costs a reading: gaps asked for that the gradient may
# promise, and steps without a look. Normal 2000 x 2000, C = 1, to 1e-6: 56 readings with 3 and 8,
# 53 with 1.2 and 8, 50 with 1.2 and 16
MAY_BE_LAST, STEPS_A_LOOK = 1.2, 16
LEAST_GAIN = 1e-4  # of what the gradient promises: below, the best point on the way is taken
LEAST_ANGLE = 1e-12  # between a step and the change of the gradient: below, it says nothing
LINE_STEPS = 30  # of Newton's on the way
WATCHED = 60  # looks, before its pace counts
MOST_LEARNT = 1000.0  # passes that auto gives it, at the pace seen, before Newton's method
