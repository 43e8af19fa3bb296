"""SciPy's index arrays: believed after one look at them, never before.

Kernels and SciPy's own routines read and write where indices point to, and SciPy checks neither
arrays nor flags that were set by hand. So every door of the package looks at them here: at the
arrays themselves, not at ``has_sorted_indices`` or ``has_canonical_format``.
"""

from __future__ import annotations

import operator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..errors import DataError
from ..kernel.jit import kernel

__all__ = ["Lines", "lines_of", "mended", "trusted", "unsigned"]

ORDINARY = (np.dtype(np.int32), np.dtype(np.int64))
FOUR_BYTES, EIGHT_BYTES = np.dtype(np.uint32), np.dtype(np.uint64)  # of an index


class Lines(NamedTuple):
    """A compressed matrix whose indices have been looked at: all of them lie inside its shape.

    Attributes
    ----------
    format : "csr" or "csc"
    data, indices, indptr : ndarray
        The user's own where they can be; indices and indptr are native integers of 4 or 8 bytes.
    shape : (int, int)
    canonical : bool
        Whether indices grow within every line: sorted, and none of them twice.
    seen : (ndarray, ndarray), or None
        The views of indices and indptr that were looked at: ``unsigned``, for kernels.
    """

    format: str
    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    shape: tuple[int, int]
    canonical: bool
    seen: tuple[np.ndarray, np.ndarray] | None = None

    def as_scipy(self) -> Any:
        """A SciPy array of these arrays, without a copy; flags are SciPy's to find out."""
        kind = sp.csr_array if self.format == "csr" else sp.csc_array
        parts = (self.data, _signed(self.indices), _signed(self.indptr))
        return kind(parts, shape=self.shape)


def lines_of(X: Any) -> Lines:
    """Look at a sparse matrix of any format; one that leads outside its data is refused.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> X = sp.csr_array(np.eye(2))
    >>> X.indices[0] = 7
    >>> lines_of(X)
    Traceback (most recent call last):
    spd1.errors.DataError: A has an index outside 0 .. 1
    """
    if X.ndim != 2:
        raise DataError(f"A must have two dimensions, not {X.ndim}")
    try:
        M, kind = X, X.format
        if kind not in ("csr", "csc"):
            M, kind = _compressed(X), "csr"
        shape = _shape(M)
        major, minor = shape if kind == "csr" else shape[::-1]
        data, indices, indptr = _vector(M.data), _indices(M.indices), _indices(M.indptr)
    except (AttributeError, IndexError, OverflowError, TypeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"A is a broken sparse matrix: {error}") from None
    if data.dtype.kind not in "fiubc":
        hint = ": convert it to numbers first" if data.dtype.kind == "O" else ": numbers only"
        raise DataError(f"A has dtype {data.dtype}{hint}")
    if not data.dtype.isnative:  # SciPy has no routines for them
        data = data.astype(data.dtype.newbyteorder("="))
    places, ends = unsigned(indices), unsigned(indptr)
    stored, grows = _check_lines(data, places, ends, major, minor)
    if stored < len(data):
        data, indices, places = data[:stored], indices[:stored], places[:stored]
    return Lines(kind, data, indices, indptr, shape, grows, (places, ends))


def trusted(X: Any) -> Any:
    """Return data that SciPy may be let loose on: as it is, or a mended copy of sparse data.

    Unsorted or duplicate indices are mended here too, because some of SciPy's routines believe the
    flags, and give other numbers.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> X = sp.csr_array((np.ones(2), np.array([0, 0]), np.array([0, 2])), shape=(1, 2))
    >>> X.has_canonical_format = True
    >>> trusted(X).toarray().tolist()
    [[2.0, 0.0]]
    """
    if not sp.issparse(X):
        return X
    lines = lines_of(X)
    if not lines.canonical:
        return mended(lines).as_scipy()
    return X if _ready(X, lines) else lines.as_scipy()


def _ready(X: Any, lines: Lines) -> bool:
    """Whether SciPy can use the user's own object."""
    return (
        X.format == lines.format
        and len(X.indices) == len(lines.indices)
        and X.indices.dtype == X.indptr.dtype
        and X.data.dtype.isnative
        and all(part.dtype in ORDINARY and part.flags.aligned for part in (X.indices, X.indptr))
    )


def mended(lines: Lines) -> Lines:
    """The same matrix with sorted indices, entries of an index that comes twice added up."""
    data = lines.data
    if data.dtype.kind in "iu" and data.itemsize < 8:  # small integers would wrap around
        data = data.astype(np.int64)
    elif data.dtype == np.float16:  # SciPy has no sums of them
        data = data.astype(np.float32)
    turned = _turned(lines._replace(data=data))
    if turned is not None:
        return turned
    M = lines._replace(data=data).as_scipy()
    # There and back again is a sort that does not compare: 220,000 entries in rows of 74 took
    # 1.0 ms in any order, SciPy's own sort 4.6 ms where they were shuffled
    M = M.copy() if M.nnz < max(M.shape) else _there_and_back(M)
    M.sum_duplicates()
    parts = {"data": M.data, "indices": M.indices, "indptr": M.indptr}
    return lines._replace(**parts, canonical=True, seen=None)


def _turned(lines: Lines) -> Lines | None:
    """The same where every line grows or falls: SciPy's products leave lines back to front.

    None where some line does neither.
    """
    if lines.data.dtype not in (np.float64, np.float32) or lines.seen is None:
        return None
    (places, ends), data = lines.seen, np.empty_like(lines.data)
    indices = np.empty_like(places)
    if not turn_lines(ends, places, lines.data, indices, data):
        return None
    return lines._replace(data=data, indices=_signed(indices), canonical=True, seen=None)


def _there_and_back(M: Any) -> Any:
    """A copy with sorted indices, by way of lines of the other kind."""
    return M.tocsc().tocsr() if M.format == "csr" else M.tocsr().tocsc()


def _shape(M: Any) -> tuple[int, int]:
    rows, columns = M.shape
    if type(rows) is not int or type(columns) is not int:
        rows, columns = operator.index(rows), operator.index(columns)
    if rows < 0 or columns < 0:
        raise DataError(f"A has the shape {rows} x {columns}")
    return rows, columns


def _vector(values: Any) -> np.ndarray:
    if not isinstance(values, np.ndarray) or values.ndim != 1:
        raise DataError("A has index or data arrays that are not one-dimensional arrays")
    return values


def _indices(values: Any) -> np.ndarray:
    """Native whole numbers of 4 or 8 bytes that lie at addresses a processor likes."""
    found = _vector(values)
    if found.dtype in ORDINARY and found.flags.c_contiguous and found.flags.aligned:
        return found
    if found.dtype.kind not in "iu":
        raise DataError(f"A has indices of type {found.dtype}: whole numbers only")
    wide = found.dtype if found.dtype.itemsize >= 4 else np.dtype(np.int32)
    return np.require(found, wide.newbyteorder("="), ["ALIGNED", "C"])


def _signed(values: np.ndarray) -> np.ndarray:
    return values.view(f"i{values.itemsize}")


def unsigned(values: np.ndarray) -> np.ndarray:
    """A view without signs that can't be written through: one kernel serves both kinds."""
    view = np.asarray(values).view(FOUR_BYTES if values.itemsize == 4 else EIGHT_BYTES)
    view.setflags(write=False)
    return view


def _check_lines(
    data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, major: int, minor: int
) -> tuple[int, bool]:
    """Refuse what leads outside the data; return how much is stored, and whether indices grow.

    Indices and indptr are ``unsigned``. Without their signs, negative numbers are huge: an end that
    is negative, or so large that a difference would wrap around, is above the one that follows, or
    above the last.
    """
    if len(indptr) != major + 1:
        raise DataError("A has an indptr array of the wrong length")
    inside, largest, grows = walk_along(indptr, indices)
    if not inside:
        raise DataError("A has a broken indptr array: it must start at 0 and never decrease")
    if len(indices) != len(data):
        raise DataError("A has index and data arrays of different lengths")
    stored = int(indptr[-1])
    if stored and largest >= minor:
        raise DataError(f"A has an index outside 0 .. {minor - 1}")
    return stored, grows


@kernel
def walk_along(ends, indices):
    """Whether the ends lead nowhere outside; the largest index; whether indices grow in every line.

    Entries are gone along without regard to lines, which a processor does many at a time: where an
    index does not grow, a line must begin.
    """
    falls = ends[0] != 0
    for k in range(len(ends) - 1):
        falls |= ends[k + 1] < ends[k]
    if falls or ends[-1] > len(indices):
        return False, np.uint64(0), False
    stored = np.int64(ends[-1])
    if stored == 0:
        return True, np.uint64(0), True
    largest, shrinks = indices[0], 0  # as wide as an index, and no wider: more of them at a time
    for p in range(stored):
        largest = max(largest, indices[p])
    for p in range(1, stored):
        shrinks += indices[p] <= indices[p - 1]
    for i in range(1, len(ends) - 1):
        at = np.int64(ends[i])
        if ends[i] > ends[i - 1] and at < stored:  # a line begins here, and none before did
            shrinks -= indices[at] <= indices[at - 1]
    return True, np.uint64(largest), shrinks == 0


@kernel
def turn_lines(ends, indices, data, out_indices, out_data):
    """Copy lines, those that fall back to front; whether indices grow in every line of the copy."""
    shrinks = 0
    for i in range(len(ends) - 1):
        first, last = np.int64(ends[i]), np.int64(ends[i + 1]) - 1
        if first > last:
            continue
        if indices[first] > indices[last]:
            for p in range(first, last + 1):
                out_indices[p], out_data[p] = indices[first + last - p], data[first + last - p]
        else:
            for p in range(first, last + 1):
                out_indices[p], out_data[p] = indices[p], data[p]
        for p in range(first + 1, last + 1):
            shrinks += out_indices[p] <= out_indices[p - 1]
        if shrinks > 0:
            break
    return shrinks == 0


def _compressed(X: Any) -> Any:
    """CSR of another format; its own indices are looked at before SciPy follows them."""
    if X.format == "lil":
        return _from_lists(X)
    if X.format == "dia":
        return _from_diagonals(X)
    if X.format == "bsr":
        _check_blocks(X)
    else:
        X = X.tocoo()
        _check_pairs(X)
    return X.tocsr()


def _check_pairs(X: Any) -> None:
    data = _vector(X.data)
    for places, size in zip((X.row, X.col), _shape(X), strict=True):
        places = _indices(places)
        if len(places) != len(data):
            raise DataError("A has index and data arrays of different lengths")
        if len(places) and unsigned(places).max() >= size:
            raise DataError(f"A has an index outside 0 .. {size - 1}")


def _check_blocks(X: Any) -> None:
    (rows, columns), (down, across) = _shape(X), X.data.shape[1:]
    if X.data.ndim != 3 or min(down, across) < 1 or rows % down or columns % across:
        raise DataError("A has blocks that do not fit its shape")
    parts = unsigned(_indices(X.indices)), unsigned(_indices(X.indptr))
    _check_lines(X.data[:, 0, 0], *parts, rows // down, columns // across)


def _from_lists(X: Any) -> Any:
    shape, lengths = _shape(X), [len(line) for line in X.rows]
    if len(lengths) != shape[0] or lengths != [len(line) for line in X.data]:
        raise DataError("A has index and data arrays of different lengths")
    indices = np.array(list(chain.from_iterable(X.rows)), dtype=np.int64)
    values = np.array(list(chain.from_iterable(X.data)), dtype=X.dtype)
    indptr = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    return sp.csr_array((values, indices, indptr), shape=shape)


def _from_diagonals(X: Any) -> Any:
    (rows, columns), offsets = _shape(X), _indices(X.offsets)
    inside = (offsets > -rows) & (offsets < columns)
    parts = X.data[inside], offsets[inside]
    return sp.dia_array(parts, shape=(rows, columns)).tocsr()
