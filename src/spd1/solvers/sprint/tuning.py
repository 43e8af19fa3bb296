"""The tuned numbers of whole solves in one kernel: seeds 0-59 of ``benchmarks/random_race.py``."""

from __future__ import annotations

SWEEPS = 100  # at most between two looks
FIRST_SWEEPS = 8  # the same before anything is known of the pace
GOOD = 0.3  # of the relative gap, times l1: pulls as small as this are no reason to go on sweeping
NEARLY_THERE = 0.5  # the same, of tol
LEAST_BEND = 1e-12  # of c: Newton's weights are not smaller
CROWDED = 0.5  # columns that want to move, over rows, beyond which others do better without l2
MOST_STORED = 20_000_000  # entries: a call of a kernel can't be interrupted
ENTRIES_A_CALL = 5e7  # read in a call, at most, ...
FEWEST_PASSES = 12.0  # ... but so many passes
MOST_ASCENT, MOST_DESCENT = 60.0, 200.0  # passes, beyond which other methods are better
IN_BLOCKS = 30_000  # stored entries, beyond which sparse rows are visited in blocks
SAFE = 0.98  # of tol: what the kernel's own sums must reach
HARMLESS = 0.01  # share of the gap that rounding in sums kept up to date may have moved it by

# Mean of |a_i|^2 / (n l2 gamma), gamma 1 for losses that are not smooth, up to which it is ascent
EASY_TALL = 3.0  # more than twice as many rows as columns: 2.6 to 5 took 20 to 60 passes
EASY_SQUARE = 30.0  # up to twice as many
EASY_LOGISTIC = 0.1  # sixteen times as many: Newton's steps take less than proxes
EASY_NET = 3.0  # with an l1 beside l2, where sweeps over columns are the alternative
FEW_ENTRIES = 30_000  # stored: a vain attempt on square data costs less than a step of Newton's
