"""Tiles of a matrix, and products of tiles with each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .convert import as_scipy
from .crew import Crew, multiplied, symmetric
from .matrix import CSC, CSR, Dense

__all__ = ["Scratch", "dense_gram", "product", "stacked", "tile_of"]


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


def stacked(tiles: list[Any]) -> Any:
    """Tiles of one column, one below the other: an array, or SciPy's."""
    if isinstance(tiles[0], Dense):
        values = [np.asarray(tile.values, dtype=float) for tile in tiles]
        return values[0] if len(values) == 1 else np.vstack(values)
    parts = [as_scipy(tile) for tile in tiles]
    return parts[0] if len(parts) == 1 else sp.vstack(parts, format="csr")


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


def product(left: Any, weights: np.ndarray, right: Any) -> np.ndarray:
    """Left' diag(weights) right, as a dense array."""
    if isinstance(left, np.ndarray):
        return np.asarray((left * weights[:, None]).T @ right)
    return np.asarray((left.T.multiply(weights) @ right).toarray())
