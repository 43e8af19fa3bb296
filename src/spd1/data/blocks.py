"""Tiles of a matrix, and products of tiles with each other."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..kernel.jit import kernel
from .convert import as_matrix, as_scipy
from .crew import Crew, multiplied, symmetric
from .matrix import CSC, CSR, Dense
from .tile_work import STRIP_BYTES, Across, gram_of_rows, strip

__all__ = [
    "Scratch",
    "dense_gram",
    "gram_of_tile_rows",
    "tile_of",
    "with_constant",
]


class Scratch:
    """Memory that is used again: new pages cost more than the copy that goes there."""

    rebuilt = ("memory",)  # left out of checkpoints

    def __init__(self) -> None:
        self.rebuild()

    def rebuild(self) -> None:
        """Begin with none."""
        self.memory = np.empty(0)

    def array(self, shape: tuple[int, int]) -> np.ndarray:
        """An array of float64 with anything in it."""
        size = shape[0] * shape[1]
        if self.memory.size < size:
            self.memory = np.empty(0)  # never two at a time
            self.memory = np.empty(size)
        return self.memory[:size].reshape(shape)


def tile_of(A: Any, top: int, bottom: int, left: int, right: int) -> Any:
    """A view of dense data; a copy of sparse data, with indices from 0."""
    if isinstance(A, Dense):
        return Dense(A.values[top:bottom, left:right])
    part = as_scipy(A)[top:bottom, left:right]
    arrays = (
        part.data,
        part.indices.astype(A.indices.dtype, copy=False),
        part.indptr.astype(A.indptr.dtype, copy=False),
    )
    for array in arrays:
        array.flags.writeable = False  # as all data: kernels are compiled once for both
    kind = CSR if A.row_major else CSC
    return kind(*arrays, (bottom - top, right - left))


def with_constant(A: Any, unit: float) -> Any:
    """A copy of a matrix with a further column of a constant, in its own type, order and layout."""
    n, d = A.rows(), A.columns()
    if isinstance(A, Dense):
        shape = (n, d + 1)
        values = np.empty(shape if A.row_major else shape[::-1], dtype=A.values.dtype)
        values = values if A.row_major else values.T  # in the order of the data
        values[:, :-1], values[:, -1] = A.values, unit
        values.flags.writeable = False
        return Dense(values)
    starts = A.indptr  # of lines
    if isinstance(A, CSC):
        ends = starts[-1:] + starts.dtype.type(n)
        data = np.concatenate([A.data, np.full(n, unit, A.data.dtype)])
        indices = np.concatenate([A.indices, np.arange(n, dtype=A.indices.dtype)])
        indptr = np.concatenate([starts, ends])
    else:
        indptr = starts + np.arange(n + 1, dtype=starts.dtype)
        size = len(A.data) + n
        data, indices = np.empty(size, A.data.dtype), np.empty(size, A.indices.dtype)
        longer_lines(A.data, A.indices, starts, A.data.dtype.type(unit), d, data, indices)
    for array in (data, indices, indptr):
        array.flags.writeable = False  # as all data
    return type(A)(data, indices, indptr, (n, d + 1))


@kernel
def longer_lines(data, indices, starts, unit, name, out_data, out_indices):
    """Copy lines, each with an entry more at its end."""
    for i in range(len(starts) - 1):
        for p in range(np.int64(starts[i]), np.int64(starts[i + 1])):
            out_data[p + i], out_indices[p + i] = data[p], indices[p]
        last = np.int64(starts[i + 1]) + i
        out_data[last], out_indices[last] = unit, name


def put_together(tiles: list[list[Any]]) -> Any:
    """The matrix that ``tile_of`` would have cut into these tiles, in their layout."""
    first = tiles[0][0]
    if isinstance(first, Dense):
        values = np.block([[tile.values for tile in row] for row in tiles])
        return as_matrix(values if first.row_major else np.asfortranarray(values))
    layout = "csr" if isinstance(first, CSR) else "csc"
    views = [[as_scipy(tile) for tile in row] for row in tiles]
    return as_matrix(sp.block_array(views, format=layout))


def dense_gram(
    values: np.ndarray,
    weights: np.ndarray | None,
    stride: int,
    scratch: Scratch | None,
    crew: Crew | None = None,
) -> np.ndarray:
    """A' diag(weights) A of a dense array; None: weights 1/n."""
    if weights is None and stride == 1:
        return symmetric(crew, np.asarray(values, dtype=float)) / len(values)
    if scratch is None and crew is None:
        rows = np.asarray(values, dtype=float)
        return np.asarray(rows.T @ (rows * np.asarray(weights)[:, None]))
    rows = values[::stride]
    scaled = (scratch or Scratch()).array((rows.shape[0], rows.shape[1]))
    multiplied(crew, rows, np.sqrt(np.asarray(weights)[::stride] * stride)[:, None], scaled)
    return symmetric(crew, scaled)


def gram_of_tile_rows(grid: Any, l2: Any) -> np.ndarray:
    """A diag(1/l2) A' of data in several tiles, a strip of columns or two tiles at a time."""
    root = np.sqrt(np.broadcast_to(np.asarray(l2, dtype=float), (grid.d,)))
    out = np.zeros((grid.n, grid.n))
    if grid.shape[0] == 1:  # whole columns: a sum over tiles
        for part, _, _ in grid.everywhere(gram_of_rows, Across(root)):
            out += part
        return out
    down = [slice(*ends) for ends in pairwise(grid.row_ends)]
    width = max(1, STRIP_BYTES // (8 * grid.n))
    for q, (left, right) in enumerate(pairwise(grid.column_ends)):
        if grid.dense:
            for first in range(left, right, width):
                last = min(first + width, right)
                joined = np.empty((grid.n, last - first))
                for p, rows in enumerate(down):
                    joined[rows] = grid.at(p, q, strip, first - left, last - left)
                joined /= root[first:last]
                out += joined @ joined.T
            continue
        scale = sp.diags_array(1.0 / root[left:right])
        for p, rows in enumerate(down):
            right_rows = (as_scipy(grid.tiles[p][q]) @ scale).T
            for r in range(p + 1):
                others = as_scipy(grid.tiles[r][q]) @ scale
                out[rows, down[r]] += (others @ right_rows).toarray().T
    return out if grid.dense else np.tril(out) + np.tril(out, -1).T
