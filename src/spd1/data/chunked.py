"""A dask array as data: its chunks are tiles that lie somewhere else, or nowhere yet.

Nothing here imports dask: an array that says that it is dask's is believed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import accumulate
from typing import Any, NoReturn

import numpy as np

from ..errors import DataError, IncompatibleError
from .blocks import with_constant
from .convert import as_matrix, as_scipy
from .facts import Facts, Nobody
from .grid import Grid
from .memory import refuse_too_long

__all__ = ["ChunkedGrid", "is_chunked", "widened"]


def is_chunked(X: Any) -> bool:
    """Whether this is a dask array.

    Examples
    --------
    >>> is_chunked(np.eye(2))
    False
    """
    kind = type(X)
    return kind.__module__.partition(".")[0] == "dask" and hasattr(X, "chunks")


class ChunkedGrid(Grid):
    """The chunks of a dask array as a grid that nobody has looked at.

    ``solve(problem, engine="dask")`` puts them on the workers of a cluster. Whatever asks for
    entries before that is refused by name.

    Parameters
    ----------
    array : dask array of two dimensions
        Chunks are NumPy arrays or SciPy sparse.
    """

    at_hand = False
    kind = "chunks"

    def __init__(self, array: Any) -> None:
        if array.ndim != 2:
            raise DataError(f"A must have two dimensions, not {array.ndim}")
        if any(math.isnan(size) for sizes in array.chunks for size in sizes):
            raise DataError(
                "A has chunks of unknown sizes: call A.compute_chunk_sizes() before anything else"
            )
        chunks = [tuple(int(size) for size in sizes if size > 0) for sizes in array.chunks]
        if not all(chunks):
            raise DataError(f"A is empty: shape {array.shape[0]} x {array.shape[1]}")
        array = array.rechunk(chunks)  # without empty ones: else nothing is done
        self.array = in_two(array)
        self.row_ends, self.column_ends = ([0, *accumulate(sizes)] for sizes in self.array.chunks)
        self.shape = len(self.row_ends) - 1, len(self.column_ends) - 1
        self.n, self.d = self.row_ends[-1], self.column_ends[-1]
        refuse_too_long(self.n, self.d)
        self.stored = self.n * self.d  # at most: nobody has counted
        self.dense, self.row_major = True, True  # as far as anybody knows
        self.ledger, self.facts = Nobody(), Facts()

    @property
    def tiles(self) -> NoReturn:  # type: ignore[override]
        """Refused: they are not here."""
        raise IncompatibleError(
            "this problem is about a dask array, whose entries lie elsewhere: use "
            "spd1.solve(problem, engine='dask'), or spd1.cluster.placed(problem)"
        )

    def parts(self) -> Iterator[tuple[Any, slice, slice]]:
        """Refused in the same way."""
        return iter(self.tiles)

    @property
    def nbytes(self) -> int:
        """Bytes of the tiles if they are dense."""
        return int(self.array.nbytes)

    @property
    def dtype(self) -> np.dtype:
        """Type of an entry, as the array says."""
        kind: np.dtype = np.dtype(self.array.dtype)
        return kind

    def cut(self, rows: int, columns: int) -> ChunkedGrid:
        """The same data in other chunks, of about the same size: as ``Grid.cut`` does it."""
        if not (1 <= rows <= self.n and 1 <= columns <= self.d):
            raise DataError(f"{self.n} x {self.d} data can't be cut into {rows} x {columns} tiles")
        return ChunkedGrid(self.array.rechunk((sizes(self.n, rows), sizes(self.d, columns))))


def widened(array: Any, unit: float) -> Any:
    """A dask array with a further column of a constant: in the chunks at its right."""
    rows, columns = array.chunks
    return array.map_blocks(
        _widened, unit, len(columns) - 1, chunks=(rows, (*columns[:-1], columns[-1] + 1)),
        dtype=array.dtype, meta=array._meta,
    )  # fmt: skip


def _widened(block: Any, unit: float, last: int, block_info: Any = None) -> Any:
    if block_info[0]["chunk-location"][1] != last:
        return block
    A = with_constant(as_matrix(block), unit)
    return A.values if A.is_dense() else as_scipy(A)


def sizes(length: int, pieces: int) -> tuple[int, ...]:
    """About equal parts of so many lines."""
    return tuple(length * (k + 1) // pieces - length * k // pieces for k in range(pieces))


def in_two(array: Any) -> Any:
    """The array in two tiles if it is in one: one is a matrix in memory to all methods."""
    n, d = array.shape
    if array.numblocks != (1, 1):
        return array
    if n == 1 and d == 1:
        raise DataError("A is a dask array of one entry: use a NumPy array")
    return array.rechunk((sizes(n, 2), (d,)) if n > 1 else ((1,), sizes(d, 2)))
