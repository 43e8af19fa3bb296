"""What one tile is asked for, as functions that can be sent to whoever holds the tile.

Each gets the tile and what computes with it (``Whole`` or ``Cut``), and parts of vectors. They
write to nothing that they are given, so that asking again does no harm.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from . import products
from .convert import as_scipy
from .matrix import CSR, Dense
from .slopes import Slopes

__all__ = ["Across", "Down", "part_of"]

STRIP_BYTES = 2**25  # of dense columns at a time
FEW_NAMES = 3  # columns that are looked for one by one in sparse rows


class Down(NamedTuple):
    """A vector with a number a row: a tile gets those of its rows."""

    values: Any


class Across(NamedTuple):
    """A vector with a number a column: a tile gets those of its columns."""

    values: Any


def part_of(argument: Any, rows: slice, columns: slice) -> Any:
    """What a tile gets of an argument: its part, or all of what is no vector over lines."""
    if isinstance(argument, Down):
        return argument.values[rows]
    return argument.values[columns] if isinstance(argument, Across) else argument


def margins(work: Any, x: np.ndarray) -> np.ndarray:
    """A x."""
    return np.asarray(work.margins(x))


def adjoint(work: Any, w: np.ndarray) -> np.ndarray:
    """A' w."""
    return np.asarray(work.adjoint(w))


def curved(work: Any, bend: np.ndarray, p: np.ndarray) -> np.ndarray:
    """A' diag(bend) A p, for rows at hand."""
    out = np.zeros(len(p))
    work.curved(bend, p, out)
    return out


def slopes(work: Any, rows: np.ndarray, x: np.ndarray, loss: Any) -> Slopes:
    """Margins and the sum of slopes, for rows at hand; see ``slopes.rows_of``."""
    b, c, numbers = (np.ascontiguousarray(one) for one in rows.T)
    u, out = work.slopes(x, b, c, loss)
    return Slopes({int(numbers[0]): u}, out)


def squares(work: Any, by_rows: bool) -> np.ndarray:
    """Squared norms of the rows, or of the columns."""
    return np.asarray(work.squares(by_rows))


def squares_along(work: Any, weights: np.ndarray) -> np.ndarray:
    """Sum over rows of w_i a_ij^2, for every column."""
    return np.asarray(work.squares_along(weights))


def squares_across(work: Any, weights: np.ndarray) -> np.ndarray:
    """Sum over columns of w_j a_ij^2, for every row; for rows at hand."""
    out = np.empty(work.A.rows())
    products.dot_weighted_squares(work.A, weights, out)
    return out


def counts(work: Any) -> tuple[np.ndarray, np.ndarray]:
    """Stored entries of each row, and of each column."""
    found: tuple[np.ndarray, np.ndarray] = work.counts()
    return found


def counts_where(work: Any, rows: np.ndarray) -> np.ndarray:
    """Stored entries of each column in the rows for which ``rows`` is true; for sparse tiles."""
    pattern = as_scipy(work.A).astype(bool)
    pattern.data[:] = True
    return np.asarray(pattern.T @ rows.astype(np.int64))


def outer_products(work: Any, weights: np.ndarray) -> np.ndarray:
    """The lower triangle of A' diag(weights) A, for compressed rows."""
    out = np.zeros((work.A.columns(), work.A.columns()))
    work.outer_products(weights, out)
    return out


def scaled_rows(tile: Any, weights: np.ndarray) -> Any:
    """diag(sqrt(weights)) times a tile, without rows of no weight: an array, or SciPy's."""
    root = np.sqrt(weights)
    kept = np.flatnonzero(root)
    some = len(kept) < len(root)
    if isinstance(tile, Dense):
        rows = tile.values[kept] if some else tile.values
        return rows * (root[kept] if some else root)[:, None]
    rows = as_scipy(tile)
    return (rows[kept] if some else rows).multiply((root[kept] if some else root)[:, None]).tocsr()


def product(left: Any, right: Any) -> np.ndarray:
    """Left' right, as a dense array."""
    found = left.T @ right
    return np.asarray(found if isinstance(left, np.ndarray) else found.toarray())


def gram_of_columns(work: Any, weights: np.ndarray) -> np.ndarray:
    """A' diag(weights) A."""
    rows = scaled_rows(work.A, weights)
    return product(rows, rows)


def gram_of_rows(work: Any, root: np.ndarray) -> np.ndarray:
    """A diag(1/root^2) A', a strip of dense columns at a time."""
    tile = work.A
    if not isinstance(tile, Dense):
        rows = as_scipy(tile) @ sp.diags_array(1.0 / root)
        return np.asarray((rows @ rows.T).toarray())
    out = np.zeros((tile.rows(), tile.rows()))
    width = max(1, STRIP_BYTES // (8 * tile.rows()))
    for first in range(0, tile.columns(), width):
        strip = tile.values[:, first : first + width] / root[first : first + width]
        out += strip @ strip.T
    return out


def strip(work: Any, first: int, last: int) -> np.ndarray:
    """A copy of consecutive columns of a dense tile."""
    return np.array(work.A.values[:, first:last])


def dense(work: Any) -> np.ndarray:
    """The tile as a dense array; rows at hand."""
    tile = work.A
    if isinstance(tile, Dense):
        return np.asarray(tile.values)
    out = np.zeros((tile.rows(), tile.columns()))
    products.spread_lines(tile, np.arange(tile.rows()), out)
    return out


def dense_columns(work: Any, names: np.ndarray) -> np.ndarray:
    """A dense copy of some columns."""
    tile = work.A
    if isinstance(tile, Dense):
        return np.asarray(tile.values[:, names])
    if isinstance(tile, CSR) and len(names) <= FEW_NAMES:  # SciPy would sort what it finds
        out = np.zeros((tile.rows(), len(names)), order="F")
        for k, name in enumerate(names):
            products.write_position(tile, int(name), out[:, k])
        return out
    return np.asarray(as_scipy(tile)[:, names].toarray())


def some_lines(work: Any, by_columns: bool, names: np.ndarray) -> Any:
    """A tile of some of its columns, or rows, alone: in the type and the order that it has."""
    tile = work.A
    if isinstance(tile, Dense):
        values = np.ascontiguousarray(tile.values[:, names] if by_columns else tile.values[names])
        values.flags.writeable = False
        return Dense(values)
    every = as_scipy(tile)
    some = every[:, names] if by_columns else every[names]
    some.sort_indices()
    indices = some.indices.view(f"u{some.indices.itemsize}").astype(tile.indices.dtype, copy=False)
    indptr = some.indptr.view(f"u{some.indptr.itemsize}").astype(tile.indptr.dtype, copy=False)
    for array in (some.data, indices, indptr):
        array.flags.writeable = False  # as all data: kernels are compiled once for both
    return type(tile)(some.data, indices, indptr, (int(some.shape[0]), int(some.shape[1])))


def whole(work: Any) -> Any:
    """The tile itself: for what can't be asked of it where it lies."""
    return work.A


def gram_of_some_columns(
    work: Any, names: np.ndarray, weights: np.ndarray, stride: int
) -> np.ndarray:
    """Products of some columns with each other, every ``stride``-th row standing for all."""
    tile, sampled = work.A, weights[::stride] * stride
    if isinstance(tile, Dense):
        X = tile.values[::stride][:, names].astype(float)
        X *= np.sqrt(sampled)[:, None]
        return np.asarray(X.T @ X)
    some = as_scipy(tile)[::stride][:, names]
    return np.asarray((some.T.multiply(sampled) @ some).toarray())


def row_access_of(tile: Any) -> Any:
    """What grids on other machines hold of a chunk: dense rows, or compressed rows."""
    if isinstance(tile, Dense):
        values = tile.values
        if values.flags.c_contiguous:
            return tile
        values = np.ascontiguousarray(values)
        values.flags.writeable = False
        return Dense(values)
    if isinstance(tile, CSR):
        return tile
    from .convert import row_access

    return row_access(tile)
