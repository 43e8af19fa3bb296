"""The ``tile`` argument of ``solve``: what it may be, and what "auto" means."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...data.matrix import Dense
from ...errors import ParameterError

if TYPE_CHECKING:
    from ...problem import Problem
    from ..base import Method

L1_BYTES, L2_BYTES = 32 * 1024, 1024 * 1024  # what nearly every core has
MOST_ROWS = 8  # a tile of 8 rows reads x and G seldom enough; larger ones gain little
MOST_ROWS_OF_COLUMNS = 32  # column by column a tile lies in pieces of p entries
LARGEST = 256  # rows of a whole-row tile: it takes rows^2 / 2 products
FEWEST_BLOCKS = 8  # of rows: with fewer, a step is far from stochastic
SPARSE_ROWS = 16  # sparse rows drawn together: the prefetcher keeps its stride


def read_tile(tile: Any, problem: Problem, name: str) -> tuple[int, int]:
    """Rows and columns of a tile; larger than the data means all of it."""
    if isinstance(tile, str) and tile == "auto":
        return auto_tile(problem, name)
    sizes = tile if isinstance(tile, (tuple, list)) else ()
    whole = [isinstance(s, (int, np.integer)) and not isinstance(s, bool) for s in sizes]
    if len(sizes) != 2 or not all(whole) or min(sizes) < 1:
        raise ParameterError(
            "tile must be None, 'auto' or a pair (rows, columns) of positive integers, "
            f"not {tile!r}"
        )
    rows, columns = min(int(sizes[0]), problem.n), min(int(sizes[1]), problem.d)
    if columns < problem.d and not _is_dense(problem):
        raise ParameterError(
            f"tile on sparse data takes (p, d), whole rows: ({rows}, {problem.d}), not {tile!r}"
        )
    if name == "spd1-vr" and columns == problem.d and rows > LARGEST and _is_dense(problem):
        raise ParameterError(
            f"tiles of whole rows take at most {LARGEST} rows, not {rows}, because the products of "
            "their rows are kept; tile='auto' takes about 8"
        )
    return rows, columns


def _is_dense(problem: Problem) -> bool:
    return isinstance(problem.A, Dense)


def auto_tile(problem: Problem, name: str) -> tuple[int, int]:
    """For spd1-vr whole rows, as many as fit half the second cache; for spd1 half the first.

    Without variance reduction many small steps are better than few large ones.
    """
    if not isinstance(problem.A, Dense):
        return min(SPARSE_ROWS, problem.n), problem.d
    rows, room = MOST_ROWS, L2_BYTES // 2
    if not problem.A.row_major:
        rows, room = MOST_ROWS_OF_COLUMNS, 4 * L2_BYTES  # misses the cache anyway
    size = problem.A.values.itemsize
    while rows > 1 and (rows * problem.d * size > room or problem.n < FEWEST_BLOCKS * rows):
        rows //= 2
    if name == "spd1":
        return rows, min(L1_BYTES // (2 * rows * size), problem.d)
    return rows, problem.d


def on_tiles(name: str, problem: Problem, tile: Any) -> Callable[..., Method]:
    """Find what builds the tiled form of spd1 or spd1-vr."""
    shape = read_tile(tile, problem, name)

    from .tiles import TiledSPD1, TiledSPD1VR, WholeRows

    if name == "spd1":
        return partial(TiledSPD1, shape=shape)
    return partial(WholeRows if shape[1] == problem.d else TiledSPD1VR, shape=shape)
