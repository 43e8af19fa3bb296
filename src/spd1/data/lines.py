"""Lines of the data, rows or columns, for methods that visit some of them again and again.

Lines that lie along the data (rows of row-major data, columns of column-major data) are read where
they are. Lines that lie across it are copied, and the copies are kept for as long as they serve.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernel.jit import kernel
from .matrix import CSC, CSR, Dense

if TYPE_CHECKING:
    from .grid import Grid

__all__ = ["CopiedLines", "LineStore", "spread_lines"]


@kernel
def count_lines(B, position, starts):
    """Entries of the chosen positions of B: position_j is the new line of j, or -1."""
    for i in range(B.line_count()):
        for k in range(B.line_length(i)):
            j, _ = B.at(i, k)
            if position[j] >= 0:
                starts[position[j] + 1] += 1


@kernel
def copy_lines(B, position, filled, indices, data):
    """Turn the chosen positions of B into lines."""
    for i in range(B.line_count()):
        for k in range(B.line_length(i)):
            j, a = B.at(i, k)
            w = position[j]
            if w >= 0:
                indices[filled[w]] = i
                data[filled[w]] = a
                filled[w] += 1


@kernel
def gather(values, chosen, out):
    """Columns of a dense array as rows of ``out``, eight entries of a column at a time."""
    n = len(values)
    i = 0
    while i < n:
        end = min(i + 8, n)
        for w in range(len(chosen)):
            j = chosen[w]
            for k in range(i, end):
                out[w, k] = values[k, j]
        i = end


@kernel
def spread_lines(B, lines, out):
    """Write sparse lines into a dense array of zeros."""
    for w in range(len(lines)):
        for k in range(B.line_length(lines[w])):
            j, a = B.at(lines[w], k)
            out[w, j] = a


class CopiedLines:
    """Copies of lines that lie across: columns of row-major data or rows of column-major data."""

    def __init__(self, A: Any, chosen: np.ndarray) -> None:
        self.count = len(chosen)
        self.lines: Any
        if not isinstance(A, Dense):
            self.lines = _sparse_lines(A, chosen)
            return
        values = A.values if A.row_major else A.values.T
        self.store = np.empty((self.count + self.count // 4, len(values)), dtype=values.dtype)
        gather(values, chosen, self.store)
        self.lines = Dense(_read_only(self.store))

    def add(self, A: Dense, chosen: np.ndarray) -> np.ndarray:
        """Copy more lines of dense data; returns where they are."""
        values = A.values if A.row_major else A.values.T
        first, self.count = self.count, self.count + len(chosen)
        if self.count > len(self.store):
            larger = np.empty((self.count + self.count // 2, len(values)), dtype=values.dtype)
            larger[:first] = self.store[:first]
            self.store = larger
            self.lines = Dense(_read_only(larger))
        gather(values, chosen, self.store[first : self.count])
        return np.arange(first, self.count)


def _read_only(values: np.ndarray) -> np.ndarray:
    view = values.view()
    view.flags.writeable = False
    return view


def _sparse_lines(A: Any, chosen: np.ndarray) -> Any:
    lines: int = A.line_count()
    count = len(chosen)
    position = np.full(A.columns() if A.row_major else A.rows(), -1, dtype=np.int32)
    position[chosen] = np.arange(count)
    starts = np.zeros(count + 1, dtype=np.int64)
    count_lines(A, position, starts)
    np.cumsum(starts, out=starts)
    narrow = np.uint16 if lines <= 2**16 else A.indices.dtype
    indices = np.empty(starts[-1], dtype=narrow)
    data = np.empty(starts[-1], dtype=A.data.dtype)
    copy_lines(A, position, starts[:-1].copy(), indices, data)
    shape = (lines, count) if A.row_major else (count, lines)
    kind = CSC if A.row_major else CSR
    return kind(data, indices, starts.view(np.uint64), shape)


class LineStore:
    """The rows, or the columns, of a grid in memory: a matrix whose lines they are, and which.

    Parameters
    ----------
    grid : Grid
    by_columns : bool
        Whether the lines wanted are columns.
    """

    def __init__(self, grid: Grid, by_columns: bool) -> None:
        A = grid.matrix
        self.grid, self.data = grid, A
        self.across = bool(A.row_major) == by_columns
        self.dense = isinstance(A, Dense)
        if self.dense and by_columns and not self.across:
            self.data = A.transposed()  # its rows are the columns
        self.width = grid.n if by_columns else grid.d
        count = grid.d if by_columns else grid.n
        self.position = np.full(count, -1, dtype=np.int32)
        self.copies: Any = None

    def of(self, chosen: np.ndarray) -> tuple[Any, np.ndarray]:
        """A matrix B, and which of its lines are those chosen."""
        if not self.across or len(chosen) == 0:
            return self.data, chosen
        fresh = chosen[self.position[chosen] < 0]
        if len(fresh) and self.dense and len(fresh) < len(chosen):
            self.grid.ledger.entries += len(fresh) * self.width
            self.position[fresh] = self.copies.add(self.data, fresh)
        elif len(fresh):
            # Sparse data is gone through twice: to count the entries of each line, and to copy.
            self.grid.ledger.entries += (
                len(chosen) * self.width if self.dense else 2 * self.data.stored
            )
            self.copies = None  # never two copies at a time
            self.copies = CopiedLines(self.data, chosen)
            self.position[:] = -1
            self.position[chosen] = np.arange(len(chosen))
        return self.copies.lines, self.position[chosen]
