"""The ``tile`` argument of ``solve``: what it may be, and what "auto" means."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ParameterError
from .spd1_vr_acc import AcceleratedTiles
from .tiles import TiledSPD1, TiledSPD1VR, WholeRows
from .tuning import (
    FEWEST_BLOCKS,
    L1_BYTES,
    L2_BYTES,
    LARGEST_TILE,
    MOST_ROWS,
    MOST_ROWS_OF_COLUMNS,
    SPARSE_ROWS,
)

if TYPE_CHECKING:
    from ...problem import Problem
    from ..base import Method


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
    if columns < problem.d and not problem.grid.dense:
        raise ParameterError(
            f"tile on sparse data takes (p, d), whole rows: ({rows}, {problem.d}), not {tile!r}"
        )
    if name == "spd1-vr" and columns == problem.d and rows > LARGEST_TILE and problem.grid.dense:
        raise ParameterError(
            f"tiles of whole rows take at most {LARGEST_TILE} rows, not {rows}, because the "
            "products of their rows are kept; tile='auto' takes about 8"
        )
    return rows, columns


def auto_tile(problem: Problem, name: str) -> tuple[int, int]:
    """For spd1-vr whole rows, as many as fit half the second cache; for spd1 half the first.

    Without variance reduction many small steps are better than few large ones.
    """
    if not problem.grid.dense:
        return min(SPARSE_ROWS, problem.n), problem.d
    rows, room = MOST_ROWS, L2_BYTES // 2
    if not problem.grid.row_major:
        rows, room = MOST_ROWS_OF_COLUMNS, 4 * L2_BYTES  # misses the cache anyway
    size = problem.grid.dtype.itemsize
    while rows > 1 and (rows * problem.d * size > room or problem.n < FEWEST_BLOCKS * rows):
        rows //= 2
    if name == "spd1":
        return rows, min(L1_BYTES // (2 * rows * size), problem.d)
    return rows, problem.d


def on_tiles(name: str, problem: Problem, tile: Any) -> Callable[..., Method]:
    """Find what builds the tiled form of spd1, spd1-vr or spd1-vr-acc."""
    shape = read_tile(tile, problem, name)
    if name == "spd1-vr-acc":
        AcceleratedTiles.refuse(problem)
        return partial(AcceleratedTiles, shape=shape)
    if name == "spd1":
        return partial(TiledSPD1, shape=shape)
    return partial(WholeRows if shape[1] == problem.d else TiledSPD1VR, shape=shape)
