"""The tuned numbers of whole solves in one kernel: seeds 0-59 of ``benchmarks/random_race.py``."""

from __future__ import annotations

SWEEPS_A_LOOK = 15  # at most between two looks
FIRST_SWEEPS = 3  # the same before anything is known of the pace
# Steps of an intercept before a look, and the share of the slopes that they may leave unbalanced
MOST_BALANCING, BALANCED = 12, 1e-13
ALL_MEAN = 1e-10  # of a column's square: what is left without its mean may be rounding
GOOD = 0.3  # of the relative gap, times l1: pulls as small as this are no reason to go on sweeping
# Entries of wide data, beyond which not all columns that pull are swept at first if these are more
# than rows: ...
MUCH_TO_SWEEP = 1_000_000
FIRST_JOINING, NEXT_JOINING = 0.5, 0.5  # ... of the largest pull beyond l1, and again
# Of the entries of columns that may move: beyond, all of them are visited, not only those that
# pull. After so many steps on what is not zero all of them are visited again. 96 fits of lassos and
# elastic nets on normal data, 1500 x 1000 to 1000 x 5000, l1 0.005 to 0.3 of the largest: 0.96 of
# the passes with 5 of what they are without, 0.96 with 3, 0.98 with 8
MOST_OF_THEM, UNTIL_ALL_AGAIN = 0.5, 5
SLOW_LOOK = 0.5  # of the gap: one that leaves more asks for longer sweeps, ...
SHARPER_SWEEPS = 0.3  # ... GOOD times this
SLOW_SWEEP = 0.5  # of the pulls' squares: one that leaves more is slow, ...
SLOW_SWEEPS = 3  # ... and after so many in a row there is momentum
MANY_LOOKS = 10  # after so many there are twice as many sweeps between two, then three times, ...
NEARLY_THERE = 0.5  # the same, of tol
# Gaps asked for, from which on pulls are taken to have led to the gap they ended with: 96 fits as
# below took 0.99 of the passes, none more
WITHIN_SIGHT = 10.0
LONG_MOVE = 1.0  # growth times a margin's move beyond which a step is shortened to what is safe
CLIMB = 1e-13  # of the objective: rounding, and no reason to take a sweep back
MOST_HALVES = 20  # of a sweep's moves, then it is given up
UNTIL_PACE_COUNTS = 4  # looks of losses that are no squares: margins grow before the gap falls
LEAST_CURVATURE = 1e-6  # of c: Newton's weights are not smaller, as slopes over them tell margins
# Sweeps of a logistic loss with the same bends, and what they may leave of the first one's squares
# of pulls. 22 tuned draws of l1 logistic regression: 2, 4 and 8 sweeps took the same to within 5 %,
# one sweep 1.1 of the time
SWEEPS_A_MODEL, MODEL_LEFT = 4, 0.1
# Of tol: a sweep that gains less asks for a look, if so many passes over the columns that are left
# have been made since the last one; twice as many the next time. 0.03 and 0.3 took 1.03 of the time
LITTLE_GAIN, LOOK_SHARE = 0.1, 1.5
SMALL_SHARE = 0.1  # of the curvature of a column: an l2 below it is faint
MOST_ENTRIES = 20_000_000  # entries: a call of a kernel can't be interrupted
MOST_EASY_ENTRIES = 400_000_000  # the same where a few visits to every row will do
ENTRIES_A_CALL = 5e7  # read in a call, at most, ...
FEWEST_PASSES = 12.0  # ... but so many passes
ENTRIES_OF_MUCH, FEWEST_OF_MUCH = 2.5e8, 4.0  # the same of larger data: a second or a few; ...
DENSE_OF_MUCH = 24.0  # ... times this where entries are dense
MOST_ASCENT = 60.0  # passes, then others: smooth losses; ...
# ... hinges at least and at most so many, and between the two what an interior-point method costs.
# 1 million dense entries, n / d from 1.3 to 10, l2 from 1e-1 to 1e-4 of a column's mean square:
# visits took 0.1 to 0.9 of the time of what was taken after 200 passes on 21 of 22 draws; sparse
# data, 300,000 entries, 0.06 to 0.9 on 12 of 12
FEWEST_ROUGH_ASCENT, MOST_ROUGH_ASCENT = 200.0, 5000.0
# On sparse data more; the fewest on little data only up to so many rows or columns, whichever are
# fewer: Newton's method on the dual of 12,293 x 9,839, two entries a row, took 18 s instead of 0.1
MOST_ROUGH_SPARSE, FEW_ROUGH_LINES = 12_000.0, 500
LITTLE_ASCENT = 6e6  # or so many visits to an entry of little data: less than others begin with
# The same of sparse data, where others take longer: a hinge on 2778 x 383 is there after 150 passes
# that had been given up at a pace of twice as many, and took 66 ms instead of 8
LITTLE_SPARSE_ASCENT = 2e7
MOST_DESCENT, MOST_TALL_DESCENT = 200.0, 60.0  # the same: columns overlap more on tall data
UNJUDGED_SWEEPS = 0.5  # of these: least squares with momentum are not given up before
# The same where Newton's factors of few dense rows are at hand. With l1 below 0.05 of its maximum
# sweeps took 0.2 to 0.9 of their time on nine of ten draws (113 to 277 rows), 1.3 to 1.6 on one
MOST_TRIED_DESCENT = 100.0
CHEAP_SWEEPS = (
    150_000  # entries, up to which slow sweeps take less than what others begin with: ...
)
LITTLE_WORK = 1e7  # ... so many visits to an entry, about 10 ms
MANY_DIGITS = 1e-4  # tol, below which Newton's steps in the span of the rows do better ...
VERY_FEW_ROWS = 80  # ... on so many dense rows, of a smooth loss
MUCH_DATA = 150_000  # entries, beyond which tall least squares are left to Gram matrices
CHEAP_SPARSE = 20  # ... if sparse rows have no more entries
TALL_SWEEPS, LEAST_L1_SHARE = 2.2, 1e-3  # sweeps over the root of l1, as a share of the largest
# What a Gram matrix of sparse data and the steps on it take, in sweeps: so many, and so many for
# each entry of a row. 87338 x 150, 15 a row, l1 0.14 of the largest: 25 ms, swept 5; 36895 x 162,
# 5 a row, 0.06: 3.3 and 1.1; 90083 x 250, 6 a row, 0.004: 10 and 8; a9a, whose columns have common
# directions, 7 and 6 to 18 at 0.1, 7 and 17 to 47 at 0.01; given by rows 5 instead of 7
SPARSE_MATRIX, A_SPARSE_PAIR, A_COPY, ROWS_AT_HAND = 8.0, 0.6, 3.0, 2.0
# Of them, as passes that sweeps get before the matrix takes over: columns that depend on each other
# take far more than foreseen. mushrooms at 0.02 and 0.002 of the largest, to 1e-6: 12 and 30 ms,
# by the matrix 2.6 and 3.3; a9a at 0.1, by columns, is there after 17 passes
MATRICES_WORTH = 1.3
# Least squares with l1 on tall dense data, by the matrix of columns that move. 72 draws, 1,300 x
# 230 to 45,000 x 120, four kinds of data, l1 from 0.0025 to 0.3 of its maximum, to 1e-3 and 1e-6:
# 0.80 of the time of the better of sweeps and the matrix of all columns, 0.66 of that of sweeps,
# 0.48 of that of the matrix.
# A matrix of dense columns takes so many sweeps beside its flops. Sweeps over columns with little
# in common are so many, over so much of a root of l1 as a share of the largest: ...
DENSE_MATRIX, DENSE_SWEEPS, MORE_SWEEPS = 4.0, 1.8, 0.4
# ... times these, for columns that all stay in the set and for others, a matrix is left to sweeps,
SWEEPS_APART, SWEEPS_ALIKE = 0.8, 2.0
DENSE_MATRICES_WORTH = 1.5  # which get so many times what the matrix of all columns takes
# Sweeps: the matrix of all columns is made at once if it takes less, and more than this share pull
ALL_AT_ONCE, FEW_OF_LITTLE = 10.0, 0.3
# Of all columns: up to so many that pull at zero are the first set, else so many of them, ...
FEW_PULL, FIRST_SET, LARGEST_FIRST_SET = 0.25, 0.12, 100
AT_LEAST_JOIN = 10  # ... this number at least; so many join later, too
ALL_STAY = 0.9  # of a set: where so many have moved, all columns that pull join
SET_GOAL = 0.003  # of the gap before, squared: what is left on a set
CURVED_BY_L2 = 0.5  # of a column's mean square: an l2 above it makes sweeps few
GRAM_ROUNDS = 60  # sets, at most
IN_BLOCKS = 60_000  # stored entries, beyond which sparse rows may be visited in blocks
LIKELY = 0.8  # of tol: a look after the first pass is taken where the gap is guessed to be less
STRETCH = 10  # passes at most between two looks, ...
# ... and with momentum: passes over few rows, and a look is two over all. Nine hinges, 1140 x 877
# to 5309 x 1264: 20, 30 and 50 took 0.82, 0.75 and 0.70 of the passes of 10, 50 more than 30 on two
MOMENTUM_STRETCH = 30
UNTIL_SLOW = 8.0  # passes before their pace tells whether there is any hope, ...
UNJUDGED_SHARE = 0.1  # ... or this share of all that there may be, if that is more
NEXT_MARK = 1.5  # times as many passes: when the pace since then is looked at again
WORTH_MOMENTUM = 10.0  # passes: with twice as many ahead, at their pace, momentum is tried, ...
# ... unless a pass leaves less than this of the gap: momentum makes such passes slower. 29 fits of
# hinges and squared hinges (seeds 0-330, 900-1441) that it changes took 0.89 of the time, two 0.5
# and 1.2 of it; with 0.6 16 fits 0.88, with 0.7 32 fits 0.94, with 0.88 more than before
STEADY_PACE = 0.65
FAR_TOO_SLOW = 2.0  # times what is left: a pace that would take longer is no hope
# Rows at work over columns, beyond which visits leave quadratic pieces to Newton's steps before
# they have momentum. 60 squared hinges (20,000 to 2.8 million entries, n / d 0.5 to 5, means of 1
# to 700): where these are more at the end, products took 0.02 to 1.0 of the time of visits, median
# 0.4, on 28 of 32; where they are less 1.1 to 9 on 22 of 28. Counted after six passes, when some
# rows have yet to come to rest: at 1.0 five problems took 1.4 to 5 times as long, at 1.5 none
CROWD = 1.5
SLOW_START = 3.0  # momentum is k / (k + this) in the k-th pass, or round of a cluster
MEAN_BEND = 0.6  # of the curvature of phi at 0, that rows are taken to have
APART_ENOUGH = 1.0  # mean moves of a margin in a pass: so far from a kink a row is left out
CALLS_BACK = 6  # at most, where a kernel went on from the look at which its callback said stop
SAFE = 0.98  # of tol: what the kernel's own sums must reach
HARMLESS_DRIFT = 0.01  # of the gap, or of what is asked for: what rounding may have moved it by

# Mean of |a_i|^2 / (n l2 gamma), gamma 1 for losses that are not smooth, up to which it is ascent
EASY_TALL = 1.5  # more than twice as many rows as columns: 2.6 to 5 took 20 to 60 passes
EASY_VERY_TALL = 0.3  # sixteen times as many: a9a took twice the time of Newton's method at 0.9
EASY_ROUGH = 1e5  # of losses with corners: momentum does the rest, ...
# ... but on few dense columns of more than FEWEST_SMOOTHED entries smooth corners do it sooner
# beyond this times d^2 / n. 1000 x 30 to 8000 x 300 and 30000 x 20, four kinds of data, two of
# noise, ratios of 5 to 3000, to 1e-3 and 1e-6: both take the same at about 45 (30 to 60, 10 to 30
# where n is more than a hundred times d), visits a fifth of the time at a tenth of it and ten times
# at a hundred
EASY_FEW_COLUMNS, FEWEST_SMOOTHED = 45.0, 10_000
# Squared hinges above HARD_PIECES: visits with momentum, or Newton's steps where there are
# PIECES_APART rows a column, and the other of the two after so many passes. 200,000 to
# 1.5 million entries, n / d from 1.1 to 5, three kinds of data, means of 200 to 200,000: auto took
# 1.0 of the time of the best method on 43 of 60, 2.9 at most; before 1.0 to 30
HARD_PIECES, PIECES_APART = 100.0, 2.5
SHORT_PIECES = 12  # entries of a sparse row, up to which products with all of them take less, ...
# ... up to this mean, above HARD_PIECES if there are so many rows a column in use
MOST_SHORT_PIECES, CROWDED_COLUMNS = 500.0, 1.25
FEW_PIECES = 4.0  # rows a column, below which dense rows with such losses are visited
MOST_ASCENT_OF_PIECES, NEWTON_CG_OF_PIECES, PRODUCTS_OF_PIECES = 800.0, 400.0, 200.0
EASY_MUCH = 0.3  # of sparse data larger than MOST_ENTRIES
# Hinges on such data from HARD_ROUGH on, but for data with few rows a column and a larger mean. 26
# million entries, processor seconds of newton, ascent at 1, 10 and 100: dense 10000 x 2500 0.28,
# 0.29; 3.0, 1.1; more than 15, 3.3; 6500 x 4000 0.18, 0.23; 2.1, 1.0; 16, 4.6; sparse with Zipf's
# law 2.8, 2.4; more than 19, 17. gisette-like, 6000 x 5000, at 75 and 7500: 0.97, 0.78; 0.9, 2.3
HARD_ROUGH, SEPARABLE, SEPARABLE_RATIO = 1.0, 1.5, 100.0
EASY_SQUARE = 30.0  # up to twice as many
EASY_LOGISTIC = 0.1  # sixteen times as many: Newton's steps take less than proxes
# With an l1 beside l2, where sweeps over columns are the alternative: that mean times what rows
# feel of each other (``row_overlap``), and, above 3, times l1 over the largest one. 417 generated
# elastic nets, dense and sparse, n / d from 0.01 to 4, popular columns, common directions, l1 from
# 0.003 to 0.3, to 1e-3 and 1e-6: what is chosen took 1.033 of the best of the two in geometric
# mean, 2.8 at most; by a mean of up to 3 alone it was 1.072, 10.8 at most
FELT_IN_NETS, STRONG_L1 = 2.0, 0.3
# ... and where much data is to be copied for sweeps: 11915 x 27397 (203), 2.9, took 0.7 to 1.0 of
# the time of copy and sweeps to 1e-3, 1e-6, 1e-9; 8972 x 16526 (1235), 4.8, took 0.8, 1.1, 1.6
FELT_BEFORE_A_COPY = 4.0
EASY_NET, FAINT_NET = 3.0, 100.0  # that mean at most, where rows are to be copied and at hand
# Rows that tell what rows feel of each other: as many as take this share of a pass, within limits
OVERLAP_SHARE, FEWEST_OVERLAP_ROWS, MOST_OVERLAP_ROWS = 0.05, 8, 32
# n times that mean bounds the curvature of every direction, over l2: up to here Newton's steps by
# products took 0.4 to 0.9 of the time of visits (seeds 150, 157, 174, 186, 198)
FAINT_ROWS, FAINT_WIDE_ROWS = 40.0, 5.0  # at least as many rows as columns, or fewer
WIDEST_FAINT = 8  # columns a row; with 19, 57 and 300 they took 1.2 to 2.2 of the time of visits
VERY_EASY = 0.01  # that mean, up to which short rows of very tall data are left to products, too
FEW_ENTRIES = 30_000  # stored: a vain attempt on square data costs less than a step of Newton's;
# hinges on dense data of up to 30,000 entries took 0.1 to 0.5 of the time of Newton's method on the
# dual, and 1.07 where they gave up (17 draws of the random race's dense data, ratios 44 to 1,800)
FEW_A_ROW = (
    10  # entries of a row, on average, up to which columns of tall data hardly feel each other
)
WIDE_ENOUGH = 4096  # columns, below which empty ones do no harm, ...
ENTRIES_A_COLUMN = 1.0  # ... entries a column, beyond which new numbers take longer than they save
PASSES_AN_EPOCH = 20.0  # where the kernels are called by name
NEARLY_PROVEN = 3.0  # times tol: where the certificate ends above what the kernel saw, it goes on
LESS_PROVEN = 0.9  # of the gap proven the last time: what is smaller is a reason to go on again
LITTLE_DATA = 500_000  # entries: one call of a kernel takes milliseconds, and no one watches it
SMALL_COPY = 100_000  # entries that may be copied to have rows where there are columns: 1 MB
# The same the other way round, with l1: 72 MB at most, and a few passes. Sparse rows, 340,000 to
# 2.4 million entries, to 1e-3 and 1e-6: Newton's method on rows took 0.7 to 11 times as long as a
# copy and sweeps, 1.9 in the mean of 15 problems (20news-compsci, lasso: 4.1 and 3.0)
COLUMNS_COPY = 6_000_000
# Columns up to which very tall sparse rows of a logistic loss are left to matrices of the columns
# all the same: a9a, 123 columns with common directions, took 0.5 to 0.6 of the time of sweeps
FEW_ALIKE_COLUMNS = 150

# Least squares with l1 on a Gram matrix
GRAM_GOAL = 1e-2  # of tol squared and the objective: what sweeps may leave, ...
GRAM_FADING = 1e-3  # ... times this in the next attempt, ...
GRAM_TRIES = 4  # ... of so many

# Ascent where a column has no penalty, see ``free``
MOST_CENTRED = 2  # such columns
# Dense entries, and the mean of |a_i|^2 / (n l2), up to which visits take 0.25 to 0.8 of the time
# of multipliers (hinges and epsilon-insensitive losses: 24 draws, breast cancer, diabetes, wine,
# iris); with a ratio of 190 to 1,800 it was 0.7 to 5
FREE_ENTRIES, MOST_FREE_RATIO = 20_000, 100.0
# d^2 / n, from which on the same holds for more data with more than two rows a column, up to the
# ratio of EASY_FEW_COLUMNS: hinges on 3000 x 150 and 5000 x 300, three kinds of data, took 0.1 to
# 1.0 of the time, 3000 x 150 positive data 1.0 to 1.6; digits (2.4) 0.5 to 0.8 to 1e-3, 1.4 to 1.6
# to 1e-6. On data with fewer rows than columns it was 1.7 to 10
DEAR_MATRIX = 5.0
FIRST_CENTRE = 1e-2  # gap at which the centre follows for the first time, ...
NEXT_CENTRE = 1e-2  # ... what is left of it the next time, ...
SHARPER_CENTRE = 0.3  # ... and the same where tol was reached and the proof was not enough

# Ascent by several threads
FALLEN = 1e-12  # of the objective: a dual value that falls by less has not fallen
LOOK_PIECES = 16  # that rows are cut into

# Ascent on tiles of rows, each on its own for some passes: a cluster
PASS_LEVELS = 6  # of passes a round: 1, 2, 4, ... 32
TESTED = 2  # rounds after which what they gained is compared
ROUND_SECONDS = 4e-3  # a message to every worker and its answer (docs/laboratory/cluster.md)
WIRE_SECONDS = 8e-9  # a number on its way: 1 GB/s
MOST_ROUNDS = 16  # between two looks
FIRST_ROUNDS = 4  # the same before the first look
MOST_CUT_ASCENT = 150.0  # passes that auto gives it, at the pace seen, before Newton's method

# Newton's steps by conjugate gradients
FORCED = 0.01  # of the gap that a gradient proves: what conjugate gradients may leave of it
QUARTER = 0.25  # of tol: what they need not go below
PRODUCTS_A_STEP = 1000  # at most, ...
VISITS_A_STEP = 2e8  # ... and so many visits to an entry: half a second that can't be interrupted
LOST_PIVOT = 1e-14  # of a diagonal entry: a pivot that rounding has taken, ...
UNMOVED = 1e100  # ... and what stands for it: no step
ENOUGH_DESCENT = 1e-4  # of what the slope promises
# Of the slope: where a step leaves more, it becomes so many times as long at most, or as short, so
# many times. Logistic losses, 150 x 320 to 207 x 472: 0.8 of the time to 1e-3, 0.85 to 1e-6. On
# data with more rows than columns 0.95 and 1.0, 0.75 to 1.7
LOW_ENOUGH, LONGER, SHORTER, MOST_ALONG = 0.1, 4.0, 0.25, 3
MOST_NEWTON_CG = 600.0  # passes, then others, ...
NEWTON_CG_ALONE = 2000.0  # ... of losses in pieces that others take far longer with, ...
MORE_BY_MATRIX = 4.0  # times as many where there is a matrix: products are few in the end
SMALL_WORK = 2e7  # ... or so many visits to an entry of little data: 20 ms
LITTLE_STEP = 2e5  # visits to an entry that a step may always take: 0.2 ms, others begin with 1 ms
# Visits to an entry that take as long as the calls a step by matrices is made of. Logistic losses,
# sparse data of 7,000 to 23,000 entries, 2.3 to 8 rows a column: products took 0.2 to 0.5 of the
# time of matrices on seven of eight draws, 0.3 to 1.4 on one; with 2e5 four of them were left to
# matrices
CALLS_OF_A_STEP = 5e5
FEWEST_PRODUCTS = 6  # of a step, whatever its matrix would cost, at the reference prices: ...
GRAM_OF_DENSE = 0.15  # ... a column of dense data,
GRAM_OF_SPARSE, FACTOR_OF_SPARSE = 0.35, 0.01  # an entry of a sparse row, and for the factor ...
LARGEST_WORTH = 1500  # ... of so many columns at most
FAR_MORE = 2.0  # times that many: no hope for the step
HARD_SHARE = 0.95  # of that many: the root of hardness up to which a step takes fewer
# Products of a trial over those that a matrix is worth, up to which steps are left to conjugate
# gradients: seeds 0-59 and 120-200, a9a and generated data. Dense: 0.3, 0.5 and 0.9 (0.9, 0.7 and
# 0.4 of the time of matrices), 1.3 (1.4); sparse: 1.6 (0.7), 6.6 (2.2, a9a)
TRIED_DENSE, TRIED_SPARSE = 1.0, 1.9
UNTRIED_SHARE = 0.45  # of the root of hardness over that worth, up to which there is no trial
TRIAL_ROWS = 4  # a column, that are tried, ...
TRIAL_ACCURACY = 1e-3  # ... until so much of the gradient is left, ...
TRIAL_PRODUCTS = 25  # ... or so many products are taken, ...
TRIAL_SHARE = 0.1  # ... where that is at most this share of the seconds that matrices take
STEPS_OF_A_RUN = 6  # of Newton's, roughly
STEPS_THAT_TELL = 4  # a residual that has not fallen in this share of them is no good sign
TO_ROUNDING = 1e-12  # of the objective: a gap below it that no longer falls is rounding, ...
UNTIL_EXACTLY = (
    1e-9  # ... where visits to rows that such a gap is asked of leave it to Newton's steps, ...
)
EXACTLY = 1e-6  # ... and of tol below it so much is aimed at: x is asked for, whose square is gap
FEWEST_STEPS = 100.0  # passes of a call: a step is some dozen of them
EASY_ENOUGH = 0.5  # mean of |a_i|^2 / (n l2 gamma), up to which tall data is left to ascent
SHORT_ROW = 30  # entries of a row, up to which a prox counts, at the reference prices
# The same of a logistic loss and sparse data with at most twice as many columns as rows. Products
# took 0.2 to 0.9 of the time of visits on 20 of 21 draws (n 380 to 16,000, 5 to 60 entries a row,
# l2 from 1e-1 to 1e-6 of a row's square), 1.0 to 1.2 on one; with 42 to 70 a row 0.9 to 1.7
# unless there are more than two rows a column (0.5 to 0.9), with 70 to 120 a row 0.5 to 2.0
PROX_ROW, PROX_TALL_ROW = 40, 60
# The same with more columns, if at most so many a row have an entry, and rows are shorter still: 16
# draws took 0.4 to 1.0 of the time of visits to 1e-3 and 1e-6, three 1.1 to 1.2 to one of these;
# with 3.1 to 7 columns in use a row 1.4 to 4 on eight of twelve. Beyond WIDE_IN_USE nobody counts
PROX_SHORT_ROW, MOST_IN_USE, WIDE_IN_USE = 25, 3.0, 20
# Columns whose matrix the kernel may add up, and dense entries, or rows a column, up to which it is
# left to it. Beyond, Newton's method on samples of the rows is as good: 30000 x 60 0.7 to 1.5 of
# its time, 100000 x 15 0.9 to 1.4
MOST_ADDED_UP, LITTLE_DENSE_DATA, TELLING_TALL = 1000, 1_500_000, 200
# The same of sparse rows, beyond which a trial decides whether products will do, with or without a
# matrix. Where it had said no, 4000 x 400 and 20000 x 300 take 0.65 to 1.0 of the time by a matrix,
# 30000 x 150 1.0 to 1.6
# Logistic losses with a large l2, where a trial or not visits had been taken: 0.2 to 0.6 of their
# time on 78 of 90 fits, 20000 x 120 to 98000 x 127, 1.6 to 2.1 where one visit to each row will do
TELLING_SPARSE = 100
# Rows a column whose matrix tells that of all rows well enough to precondition conjugate gradients:
# with 24 of them 1.04 of the time in the mean, 4000 x 100 1.0 to 1.5
TELLING_ROWS = 10
# Products of a step, as a share of those that a matrix costs, after which it is made, and after
# which it is made anew. Dense, n / d from 2.8 to 133, d from 20 to 900, logistic losses and squared
# hinges: 0.2 and 0.3 took the same, 0.1 and 0.4 1.02 and 1.0 of it, more at most. Newton's method
# by factors, which had been taken, took 2.0 times as long on 72 logistic regressions of up to
# 500,000 entries, 1.25 on 60 of up to 3 million
UNTOLD_DENSE, UNTOLD_SPARSE, TRUSTED_SHARE = 0.25, 0.8, 0.2
FEWEST_UNTOLD, FEWEST_TRUSTED = 3, 10
FORCED_BY_TOLD = 0.3  # what they may leave then: a step more costs as much as two products
RARE = 0.25  # of a column's diagonal entry: what its entries in the sample are at least
SHARED_PRODUCTS = 1_000_000  # entries, from which on threads are worth more than one kernel
# entries of tall sparse data with an intercept, up to which logistic losses are left to Newton's
# steps: 0.15 to 1.13 of the time of ascent, median 0.36, in ten draws from 300 to 11,000 entries
LITTLE_TALL_DATA = 20_000
# Dense entries, up to which conjugate gradients go on after ascent of least squares. Others they
# follow however much there is: 14 logistic regressions, 229 x 1390 to 1320 x 842, that ascent had
# given up took 0.4 to 0.9 of the time of row tiles and matrices, two 1.7 and 2.0
LITTLE_SQUARE_DATA = 50_000
