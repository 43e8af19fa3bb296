"""Dense, CSR and CSC data behind one interface: what kernels may ask of a matrix, or of a tile."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..kernel.jit import compiled

__all__ = ["CSC", "CSR", "Dense", "Matrix"]


class Matrix:
    """What kernels may ask of the data."""

    def rows(self):
        """Number of rows, n."""
        raise NotImplementedError

    def columns(self):
        """Number of columns, d."""
        raise NotImplementedError

    def entry(self, i, j):
        """Entry a_ij, stored or not."""
        raise NotImplementedError

    def line_count(self):
        """Number of lines: the rows of Dense and CSR, the columns of CSC."""
        raise NotImplementedError

    def line_length(self, i):
        """Number of stored entries in line i."""
        raise NotImplementedError

    def at(self, i, k):
        """Position and value of the k-th stored entry in line i."""
        raise NotImplementedError

    def begin(self, i):
        """Where line i begins among all stored entries; of compressed lines only, as the next two.

        A loop that writes asks once: the compiler can't know that what it writes is not this.
        """
        raise NotImplementedError

    def end(self, i):
        """Where line i ends."""
        raise NotImplementedError

    def stored_at(self, p):
        """Position in its line, and value, of the p-th of all stored entries."""
        raise NotImplementedError

    def is_dense(self):
        """Whether ``at(i, k)`` is always at position k."""
        return False


@compiled(Matrix)
class Dense(NamedTuple):
    """A two-dimensional NumPy array of any memory order."""

    values: np.ndarray

    def rows(self):
        return self.values.shape[0]

    def columns(self):
        return self.values.shape[1]

    def entry(self, i, j):
        return np.float64(self.values[i, j])  # float32 must not stay that, in plain Python either

    def line_count(self):
        return self.values.shape[0]

    def line_length(self, i):
        return self.values.shape[1]

    def at(self, i, k):
        return k, np.float64(self.values[i, k])

    def is_dense(self):
        return True

    @property
    def stored(self) -> int:
        return self.values.size

    @property
    def nbytes(self) -> int:
        return self.values.nbytes

    @property
    def row_major(self) -> bool:
        down, across = self.values.strides
        return abs(across) <= abs(down)

    def transposed(self) -> Dense:
        return Dense(self.values.T)


class CompressedLines:
    """What CSR and CSC share. Index arrays are unsigned views: no wrap-around tests in kernels."""

    data: Any
    indices: Any
    indptr: Any

    def find(self, line, position):
        """Value at a position of a line, by bisection; zero if it is not stored."""
        low = np.int64(self.indptr[line])
        high = np.int64(self.indptr[np.uint64(line) + np.uint64(1)])
        end = high
        while low < high:
            middle = (low + high) >> 1
            if np.int64(self.indices[middle]) < np.int64(position):
                low = middle + 1
            else:
                high = middle
        found = 0.0
        if low < end and np.int64(self.indices[low]) == np.int64(position):
            found = np.float64(self.data[low])
        return found

    def line_count(self):
        return len(self.indptr) - 1

    def line_length(self, i):
        # np.int64 + np.uint64 would be a float where kernels run as plain Python
        return np.int64(self.indptr[np.uint64(i) + np.uint64(1)]) - np.int64(self.indptr[i])

    def at(self, i, k):
        p = np.uint64(self.indptr[i]) + np.uint64(k)
        return self.indices[p], np.float64(self.data[p])

    def begin(self, i):
        return np.uint64(self.indptr[np.uint64(i)])

    def end(self, i):
        return np.uint64(self.indptr[np.uint64(i) + np.uint64(1)])

    def stored_at(self, p):
        return self.indices[p], np.float64(self.data[p])

    def is_dense(self):
        return False

    @property
    def stored(self) -> int:
        return int(self.data.size)

    @property
    def nbytes(self) -> int:
        return int(self.data.nbytes + self.indices.nbytes + self.indptr.nbytes)


class CompressedFields(NamedTuple):
    """The arrays of CSR and CSC: read-only values, unsigned indices and ends of the lines."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    shape: tuple[int, int]


@compiled(CompressedLines)
class CSR(CompressedFields, CompressedLines):
    """Compressed sparse rows: line i is row i."""

    __slots__ = ()

    def rows(self):
        return self.shape[0]

    def columns(self):
        return self.shape[1]

    def entry(self, i, j):
        return self.find(i, j)

    @property
    def row_major(self) -> bool:
        return True

    def transposed(self) -> CSC:
        return CSC(self.data, self.indices, self.indptr, self.shape[::-1])


@compiled(CompressedLines)
class CSC(CompressedFields, CompressedLines):
    """Compressed sparse columns: line j is column j."""

    __slots__ = ()

    def rows(self):
        return self.shape[0]

    def columns(self):
        return self.shape[1]

    def entry(self, i, j):
        return self.find(j, i)

    @property
    def row_major(self) -> bool:
        return False

    def transposed(self) -> CSR:
        return CSR(self.data, self.indices, self.indptr, self.shape[::-1])
