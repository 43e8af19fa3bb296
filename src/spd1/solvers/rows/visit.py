"""A visit to a tile of rows, as a function of the tile and of views of the state.

It knows nothing of the run, so that it can go to whoever holds the tile.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...data import products
from ...kernel.rng import shuffle_blocks
from .kernels import Geometry, RowTileState, X, row_tile_steps, tie, tied_row_steps

__all__ = ["Visit", "sum_up", "visit_cut_rows", "visit_whole_rows", "x_of"]


class Visit(NamedTuple):
    """Numbers of a visit: n, how x follows G while it is tied, the step, the order of the rows."""

    n: int
    tied: bool
    scale: float  # x = scale G, or 0: by a formula
    eta: float
    key: np.uint64
    first: int
    block: int


def x_of(moved: np.ndarray, tied: bool, scale: float, net: Any) -> np.ndarray:
    """The x of the tile's columns: of its table, or from G, to which it is tied."""
    if not tied:
        return moved[:, X].copy()
    if scale != 0.0:
        return np.asarray(scale * moved)
    x = np.empty(len(moved))
    tie(moved, net, x)
    return x


def sum_up(tile: Any, x: np.ndarray, left: np.ndarray) -> float:
    """A_IJ x_J, for the other tiles of the row."""
    left[:] = products.margins(tile, x)
    return float(tile.stored)


def visit_whole_rows(
    tile: Any, visit: Visit, y: np.ndarray, moved: np.ndarray, b: np.ndarray, norms: np.ndarray,
    weights: np.ndarray, net: Any, loss: Any, outside: np.ndarray | None = None,
    seen: np.ndarray | None = None,
) -> float:  # fmt: skip
    """Steps on the rows of a tile, which move y and G, or y and the table; the entries read."""
    order = np.arange(len(y))
    shuffle_blocks(order, visit.key, visit.first, visit.block)
    geometry = Geometry(norms, weights)
    if visit.tied:
        tied_row_steps(tile, outside, b, geometry, y, moved, loss, net, visit.scale, order)
    else:
        state = RowTileState(y, moved, y if seen is None else seen)
        row_tile_steps(tile, visit.n, outside, b, geometry, state, loss, net, visit.eta, order)
    return float(tile.stored)


def visit_cut_rows(
    tile: Any, visit: Visit, y: np.ndarray, moved: np.ndarray, b: np.ndarray, norms: np.ndarray,
    weights: np.ndarray, net: Any, loss: Any, outside: np.ndarray, seen: np.ndarray,
    left: np.ndarray,
) -> float:  # fmt: skip
    """The same where rows have other tiles, which have moved y; sums are left behind for them.

    While x is tied, G is brought up to date first. A loose x looks ahead along all that y_i has
    moved since the last visit, row by row: if it did so along the tile's own move alone, x and y
    would turn about the saddle point in ever larger circles.
    """
    read = 0.0
    moves = weights * (y - seen) if visit.tied else np.zeros(0)
    if np.any(moves):
        moved += products.adjoint(tile, moves)
        read += float(tile.stored)
    given = (tile, visit, y, moved, b, norms, weights, net, loss, outside)
    read += visit_whole_rows(*given, None if visit.tied else seen)
    seen[:] = y
    return read + sum_up(tile, x_of(moved, visit.tied, visit.scale, net), left)
