"""The tuned numbers of rows."""

from __future__ import annotations

# Rows side by side
ROW_BLOCKS = (
    2  # of rows with copies of their own; 4 took as many passes only with twice the meetings
)
# Of a pass, at least and at most. With 4, 20news at l2 = 1e-5 took 35 passes instead of 13. On
# gisette-like (logistic, l2 = 1e-2, x loose) 8 failed, 16 took 45 passes, 32 took 34, one block 33.
FEWEST_STRETCHES, STRETCHES = 8, 32
# Entries of a block between two meetings. With 99,000 (20news-compsci) two threads took 79 ms where
# one without copies took 47; with 1.9 million (dense 6000 x 5000) 517 ms instead of 735.
LEAST_STRETCH = 400_000
DEAREST_MEETINGS = 1.2  # numbers read by the meetings of a pass over entries read by its steps
SUM_STRIP = 512  # numbers that are added up at once: they stay in the first cache

# Cut data: |a_i|^2 is taken (columns of tiles / this)^2 times as large while x is tied. Less and
# 8 x 8 tiles diverged or left x untied for good; more, and all grids took more passes.
COLUMNS_UNDAMPED = 8**0.5

# engine="async"
ROWS_A_PIECE = 128  # rows of a thread between two looks at what others have done meanwhile

# Rows less their mean, where averages go on. The share of the squares that is left without the mean
# is 0.003 on madelon's rows of length 1: with hinge and l1 on 200 x 300 the split took 3,700
# passes, and without it the gap was 1e-5 to 1e-4 after 20,000. It is 0.38 to 1 on
# gisette-like, leukemia, riboflavin and colon-cancer, where a prototype took 0.75 to 2.2 times
# the passes.
COMMON_LEFT = 0.1
HALF_FULL = 0.5  # stored entries over all: the copy is dense
ALL_ALIKE = 1e-10  # less is left by rounding, where all rows are alike
