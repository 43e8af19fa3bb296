"""Conflict-free rounds: tiles that share neither rows nor columns, and their parts of vectors.

Round r of a P x Q grid visits the tiles (k, (k + r) mod max(P, Q)). They commute exactly, and draws
are a function of the seed, the step and the tile: the answer depends on the grid and the seed, and
not on how many threads ran the tiles of a round.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from ..data.grid import Grid
from ..problem import Problem
from ..regularizers import FeatureNet
from .tuning import GRID_SIDE, TILE_STEPS

__all__ = ["columns_of", "net_of", "picked_grid", "rounds_of", "rows_of", "stream_of"]


def picked_grid(problem: Problem) -> tuple[int, int]:
    """The grid on which threads take steps on entries, where the user has named none.

    It follows from the data alone, so that the bits are the same for any number of threads. One
    tile where a round would be too short to pay for a second thread.

    Examples
    --------
    >>> import numpy as np, spd1
    >>> picked_grid(spd1.Problem(np.eye(4), np.ones(4), "squared", spd1.L2(1.0)))
    (1, 1)
    >>> picked_grid(spd1.Problem(np.ones((1000, 800)), np.ones(1000), "squared", spd1.L2(1.0)))
    (2, 2)
    """
    p = problem
    side = GRID_SIDE if p.stored >= GRID_SIDE**2 * TILE_STEPS and min(p.n, p.d) >= GRID_SIDE else 1
    return side, side


def rounds_of(shape: tuple[int, int]) -> Iterator[list[tuple[int, int]]]:
    """The tiles of each round; every tile is in one of them.

    Examples
    --------
    >>> list(rounds_of((2, 3)))
    [[(0, 0), (1, 1)], [(0, 1), (1, 2)], [(0, 2), (1, 0)]]
    """
    rows, columns = shape
    count = max(rows, columns)
    for r in range(count):
        yield [(k, (k + r) % count) for k in range(rows) if (k + r) % count < columns]


def rows_of(grid: Grid, row: int) -> slice:
    """The rows of the tiles in a row of the grid."""
    return slice(grid.row_ends[row], grid.row_ends[row + 1])


def columns_of(grid: Grid, column: int) -> slice:
    """The columns of the tiles in a column of the grid."""
    return slice(grid.column_ends[column], grid.column_ends[column + 1])


def net_of(net: Any, columns: slice) -> Any:
    """A regularizer's part for some columns."""
    return FeatureNet(net.table[columns]) if isinstance(net, FeatureNet) else net


@lru_cache(maxsize=1024)
def stream_of(key: np.uint64, row: int, column: int) -> np.uint64:
    """Key of the random draws of a tile: streams of different tiles have nothing in common."""
    words = np.random.SeedSequence((int(key), row, column)).generate_state(1, np.uint64)
    return np.uint64(words[0])
