"""The tuned numbers of this room.

Set with ``benchmarks/paths.py --tune``. Tried: REMEMBERED 4, 8, 16; GOAL 0.3, 0.5, 0.9 (no matter);
INEXACT 0.03, 0.1, 0.3; MEMORY 0, 3, 5, 8. The others are first guesses that did no harm.
"""

from __future__ import annotations

REMEMBERED = 8  # dual points that columns remember having been looked at with
ROUNDS = 20  # of adding columns that were left out, or of sharper goals
GOAL = 0.7  # of the gap asked for, that the columns of a set may have among themselves, ...
SHARPER = 0.1  # ... and as a share of that when the gap of all does not follow
FEW_AT_A_TIME = 200  # columns that a set takes in at a time, or twice as many as are not zero
SETTLE_ROUNDS = 30  # of sweeps and Newton's steps
GRAM_PATIENCE = 100  # sweeps over a Gram matrix before Newton's step is tried
LINE_SWEEPS = 1000  # over columns, before a look
NEWTON_STEPS = 50  # before a look
MODEL_SWEEPS = 24  # of one Newton step
INEXACT = 0.1  # of the distance from rest, that a model's minimiser may leave
ROOM = 64  # columns that a set makes room for at first
STALE = 0.3  # of the gap before, that a step leaves: then the Gram matrix is made anew
MODEL_PATIENCE = 10  # sweeps over a model before Newton's step
FLAT_BEND = 1e-6  # curvature that a row has at least
HALVINGS = 30  # of a step
DESCENT = 1e-2  # of what a model promises that a step must keep
MEMORY = 5  # sweeps whose steps are mixed; 0 for none
MOST_PRODUCTS = 3000  # columns of a Gram matrix
NO_PREDICTION = 64  # columns of a Gram matrix: sweeps over fewer cost less than a prediction
FOLD_COLUMNS = 1500  # of data whose folds are walked on products of all columns
FOLD_COLUMNS_ANYWAY = 200  # whose products are cheap on any number of rows
FOLD_GOAL = 0.7  # of the gap asked for: products prove what they solve
LEFT_OF_A_COLUMN = 1e-3  # of its spread, that a training part has at least: less is a difference
BLURRED_PRODUCTS = 1e-14  # of |b|^2: gaps by products that are rounding

# Logistic regression with l2
LOGISTIC_COLUMNS = 100  # few enough for a factor a step
LOGISTIC_ENTRIES = 200_000  # of small data
LOGISTIC_STEPS = 60  # of Newton's method at one penalty
WORTH_A_LOOK = 1e-2  # of the objective, that a step's model falls by at most before a look
STEPS_BEYOND = 2  # beyond tol, each of which less than halves the gap
