"""The tuned numbers of SPD1 and SPD1-VR, one entry or one tile a step.

Measured with ``benchmarks/iteration_cost.py`` (steps) and ``benchmarks/tiles.py`` (tiles).
"""

from __future__ import annotations

AHEAD = 32  # steps whose entries are read together: SPD1 160 -> 74 ns a step on 3000 x 2500
CAUTION = 0.2  # share of Theorem 1's steps that did best over many problems
STRIP = 512  # columns that are summed and stepped at once: their sums stay in the first cache
SDCA_SHARE = 0.5  # eta = SDCA_SHARE / (mu n) was best or nearly so on all dense data with d >= n
STEPS_A_PIECE = 2_000  # engine="async": steps of a thread between two looks at what others did

UNIFORM_SHARE = 0.5  # of draws by importance: short lines must be seen, too
NEGATIVE_MOMENTUM = 0.25  # spd1-vr-acc: share of the way back to the snapshot, in an epoch
PROVED_TURN = 0.5  # spd1-vr-acc by theory: sqrt(eta tau) times the longest line, less than one
FIRST_TURN = 1.0  # spd1-vr-acc: eta tau |A|_F^2 where automatic steps start
EASY = 4  # spd1-vr-catalyst: epochs of an inner problem that might be harder
FAILED = 2.0  # spd1-vr-catalyst: an inner gap this many times that at the start of the epoch

# tile="auto"
L1_BYTES, L2_BYTES = 32 * 1024, 1024 * 1024  # caches that nearly every core has
MOST_ROWS = 8  # a tile of 8 rows reads x and G seldom enough; larger ones gain little
MOST_ROWS_OF_COLUMNS = 32  # column by column a tile lies in pieces of p entries
LARGEST_TILE = 256  # rows of a whole-row tile: it takes rows^2 / 2 products
FEWEST_BLOCKS = 8  # of rows: with fewer, a step is far from stochastic
SPARSE_ROWS = 16  # sparse rows drawn together: the prefetcher keeps its stride
