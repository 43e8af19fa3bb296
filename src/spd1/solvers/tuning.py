"""The tuned numbers that several methods share, and those of columns.

They were set on the problems of ``benchmarks/race.py`` and ``benchmarks/tiles.py``;
docs/laboratory/engine.md has what was tried.
"""

from __future__ import annotations

CHUNK = 500_000  # one-entry steps between two looks at the clock and at Ctrl-C: 0.05 to 0.2 s
ENTRIES_A_CHUNK = 5_000_000  # the same for methods on lines and tiles: a few ms
ENTRIES_A_LOOK = 50_000  # that a pass reads in the time of a look at small data
# Curvature of the direction that rows share over l2, from which on blocks of rows do harm: text of
# ``benchmarks/estimators.py`` and sparse problems of seeds 0-59 of ``benchmarks/random_race.py``
COMMON = 0.1
COMMON_ROWS = 64  # that are looked at for it, ...
COMMON_LEAST = 0.02  # ... and how much of a row it must be: less is the chance of a sample
BLOCK = 16  # sparse lines are shuffled in blocks of this many: 1.8 instead of 4.4 ms a pass, 20news
SIGN_MARGIN = 10.0  # margins that the x of a fitted classifier could reach along one direction
TURN = 2.0  # radians a pass, see saddle_steps: best over dense and sparse, well and badly scaled

# auto
LARGE_DATA = 50_000  # stored entries, beyond which rows are worth a thought
FEW_LINES = 300  # rows or columns
VERY_TALL = 16  # rows a column
SQUARE = 2  # columns a row, or rows a column, up to which data counts as square
DENSE_ENOUGH = 0.3  # share of stored entries, beyond which data is as good as dense
MEDIUM_DATA = 200_000  # the same, beyond which Newton's steps on the dual pay where l2 is small
QUITE_WIDE, VERY_WIDE = 4, 8  # columns a row
# Dense entries, rows and columns from which on curvature had better be learnt (auto.much_and_dense)
MUCH_DENSE_DATA, MANY_DENSE_ROWS, MANY_DENSE_COLUMNS = 2_000_000, 1200, 800
COUNTS = 0.02  # least n l2 over the mean square of a row for which rows tie x to y, ...
COUNTS_WIDE = 5e-4  # ... and the same for wide data
# Stored entries of square dense data, from which on factors of its rows pay where l2 is small.
# LinearSVR, processor seconds of interior, newton to 1e-6: 1000 x 1000 1.3, 0.9; 2000 x 2000 4.5,
# and newton is at a gap of 0.5 after 7
FACTORS_PAY = 2_000_000
HARD = 30  # mean curvature of a column over l2
HARD_ROWS = 1.0  # mean of |a_i|^2 / (n l2 gamma) of very tall sparse rows, beyond which steps do
# Share of the data that Newton's method on the dual is taken to copy, where rows are cut. On
# gisette-like 0.46 of the rows were copied
SPARSE_COPIES, DENSE_COPIES = 1.25, 0.5
SMALL_L1 = 0.03  # of the smallest l1 that keeps every feature at zero
# The same, below which wide quantile regression takes the interior-point method. Processor time of
# newton / interior at 1e-3 and 1e-6: 200 x 600 2.6, 2.3; 200 x 5000 1.8, 3.1; 500 x 1000 3.8, 4.8
# at 0.05, and 0.7, 1.0; 0.6, 1.0; 0.4, 0.8 at 0.4
MODEST_L1 = 0.2

# Least squares without penalty
BY_ROUNDING = 1e-10  # of the objective: a gap that a factorisation leaves and nobody mends
DIRECT_FLOPS = 4e9  # multiplications of one factorisation
LARGEST_DENSE_COPY = 16_000_000  # entries that may be copied as one dense array: 128 MB

# Smooth corners on few columns: set on LinearSVC and LinearSVR of ``benchmarks/estimators.py``,
# looked at on generated data from 400 x 10 to 20,000 x 50
FIRST_CORNER = 3.0  # their width, in standard deviations of the targets, or in margins of labels
SHARPENED = (0.1, 0.3)  # what is left of it after a few steps of Newton's, ...
QUICKLY = 3  # ... up to so many, or after more
LEAST_CORNER = 1e-12  # the same units: narrower ones are corners
MOST_STEPS_A_CENTRE = 20  # Newton's steps, and points on the line of each
MOST_CENTRES = 8  # an epoch
CENTRED = 0.5  # of the rows' part of the gap, that the columns' may be when the centre moves
WELL_WITHIN = 0.5  # of the gap asked for, at which the certificate is looked at
ON_THE_LINE = 0.3  # of the slope at its start, that is left where a step ends
LENT = 1e-3  # of a usual l2 to a column without: where no row says where it should go
MOST_HOPELESS = 3  # looks that gain nothing

# Blocks that threads in one kernel go on with, each with a copy of what all of them move
TEAM_BLOCKS = 2  # 4 took 18 passes instead of 12, 8 took 26 (20news, squared hinge, l2 = 1e-4)
TEAM_STRETCHES = 8  # of a pass, at most: copies are put together after each
WORTH_A_MERGE = 4.0  # entries of a stretch for each number of the vector, at least
WORTH_A_TEAM = 300_000  # entries of a pass, from which on threads are called, ...
SPARSE_TEAM = 30.0  # ... times this for sparse rows (20news, 1.6 million: 86 ms where one takes 51)
MERGE_PIECES = 8  # that the vector is cut into
MERGE_STRIP = 512  # numbers that are added up at once: they stay in the first cache

# Rounds that engine "threads" picks for steps on entries. A step takes 0.1 to 0.4 us, a hand-over
# to a thread up to 250 us: a tile of so many entries is worth one. Finer grids take more passes.
TILE_STEPS = 100_000
GRID_SIDE = 2
