"""The only conversion: what users pass as data, as a matrix that kernels read.

It copies nothing it can view: arrays of float32 or float64 in any order and sorted CSR or CSC
matrices are used where they lie, memory-mapped files included. All views are read-only, so that one
compiled kernel serves writable and read-only data.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import DataError
from ..kernel.jit import kernel
from .indices import lines_of, mended, unsigned
from .matrix import CSC, CSR, Dense
from .memory import refuse_too_long

__all__ = [
    "as_matrix",
    "as_real",
    "as_scipy",
    "column_access",
    "plain_array",
    "row_access",
    "with_square_sum",
]

Compressed = tuple[np.ndarray, np.ndarray, np.ndarray, tuple[int, int]]

FEW_VALUES = 100_000  # up to which a kernel of ours is as fast as a library's
EXACT_INTEGER = 2**53  # integers up to this are exact in float64
DOUBLE = np.dtype(np.float64)


def as_matrix(X: Any) -> Dense | CSR | CSC:
    """View what a user passes as data, or say why it can't be used.

    Parameters
    ----------
    X : array or scipy.sparse matrix or array, shape (n, d)
        float32 and float64 are viewed; other real types are converted if no digit is lost.
        CSR and CSC are viewed; other sparse formats, unsorted or duplicate indices are
        converted. The user's own object is never changed.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.eye(3)
    >>> np.shares_memory(as_matrix(X).values, X)
    True
    """
    return with_square_sum(X)[0]


def with_square_sum(X: Any) -> tuple[Dense | CSR | CSC, float]:
    """The same, and the sum of squares of all entries, or NaN where looking was cheaper without.

    The sum is what proves every entry finite.
    """
    A = _sparse(X) if sp.issparse(X) else _dense(X)
    if A.rows() == 0 or A.columns() == 0:
        raise DataError(f"A is empty: shape {A.rows()} x {A.columns()}")
    refuse_too_long(A.rows(), A.columns())
    return A, _refuse_non_finite(A)


def row_access(A: Dense | CSR | CSC) -> Dense | CSR:
    """Return data whose lines are rows; CSC is converted, once, into a CSR companion."""
    if not isinstance(A, CSC):
        return A
    return CSR(*_companion(A, "tocsr"))


def column_access(A: Dense | CSR | CSC) -> Dense | CSC:
    """Return data whose lines can be read by column; CSR is converted into a CSC companion."""
    if not isinstance(A, CSR):
        return A
    return CSC(*_companion(A, "tocsc"))


def as_scipy(A: CSR | CSC) -> Any:
    """View the data as a SciPy sparse array again."""
    kind = sp.csr_array if isinstance(A, CSR) else sp.csc_array
    signed = (A.indices.view(f"i{A.indices.itemsize}"), A.indptr.view(f"i{A.indptr.itemsize}"))
    return kind((A.data, *signed), shape=A.shape)


def _companion(A: CSR | CSC, conversion: str) -> Compressed:
    M = getattr(as_scipy(A), conversion)()
    return _compressed(M.data, M.indices, M.indptr, M.shape)


def _dense(X: Any) -> Dense:
    values = plain_array(X, "A")
    if values.ndim != 2:
        hint = "; use A.reshape(-1, 1) for one feature" if values.ndim == 1 else ""
        raise DataError(f"A must have two dimensions, not {values.ndim}{hint}")
    values = as_real(values, "A")
    if not values.flags.aligned:
        values = values.copy()
    return Dense(_frozen(values))


def _sparse(X: Any) -> CSR | CSC:
    lines = lines_of(X)
    if not lines.canonical:
        if lines.data.dtype != bool:  # True twice is True; small integers would wrap when added up
            lines = lines._replace(data=as_real(lines.data, "A"))
        lines = mended(lines)
    data = _in_a_row(as_real(lines.data, "A"))
    places, ends = lines.seen or (unsigned(lines.indices), unsigned(lines.indptr))
    return (CSR if lines.format == "csr" else CSC)(data, places, ends, lines.shape)


def _compressed(data: Any, indices: Any, indptr: Any, shape: Any) -> Compressed:
    """Read-only data, unsigned indices and indptr, and shape: the fields of CSR and CSC."""
    size = int(shape[0]), int(shape[1])
    return _in_a_row(data), unsigned(indices), unsigned(indptr), size


def _in_a_row(data: np.ndarray) -> np.ndarray:
    """Values one beside the other, at addresses a processor likes: a view, if they are."""
    flags = data.flags
    if not (flags.c_contiguous and flags.aligned):
        data = np.require(data, requirements=["ALIGNED", "C"])
    return _frozen(data)


def plain_array(value: Any, name: str) -> np.ndarray:
    """Return an ndarray of what was passed, or refuse it by name."""
    if isinstance(value, np.ma.MaskedArray):
        raise DataError(f"{name} is a masked array: fill it first, with {name}.filled(...)")
    try:
        return np.asarray(value)
    except (ValueError, TypeError) as error:
        raise DataError(f"{name} can't be read as an array: {error}") from None


def as_real(values: np.ndarray, name: str) -> np.ndarray:
    """Return float32 or float64 values; convert other real types where no digit is lost."""
    if values.dtype is DOUBLE:  # most are
        return values
    kind, size = values.dtype.kind, values.dtype.itemsize
    if kind == "O":
        raise DataError(
            f"{name} has dtype object: convert it to numbers first, with {name}.astype(float)"
        )
    if kind == "c":
        raise DataError(f"{name} is complex: real data only")
    if kind not in "fiub":
        raise DataError(f"{name} has dtype {values.dtype}: numbers only")
    if kind == "f" and size > 8:
        raise DataError(
            f"{name} has dtype {values.dtype}: convert it to float64, with .astype(float)"
        )
    if kind == "f" and size in (4, 8):
        return values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))
    if kind == "f" or kind == "b" or size <= 2:
        return values.astype(np.float32)
    converted = values.astype(np.float64)
    if (
        size == 8
        and values.size
        and (values.max() > EXACT_INTEGER or values.min() < -EXACT_INTEGER)
    ):
        raise DataError(f"{name} has integers above 2**53, which float64 can't hold exactly")
    return converted


def _frozen(values: np.ndarray) -> np.ndarray:
    view = np.asarray(values).view(np.ndarray)
    view.setflags(write=False)
    return view


def _finite_sum(values: np.ndarray) -> float:
    """A sum that no entry can be infinite in: of squares if they lie in one piece.

    A dot product is twice as fast as a sum. NumPy would warn of one that overflows, and telling it
    not to takes as long as a thousand entries.
    """
    if values.ndim == 1 and len(values) <= FEW_VALUES and values.dtype is DOUBLE:
        return float(sum_of_squares(values))
    with np.errstate(over="ignore", invalid="ignore"):
        if values.ndim == 1:
            return float(np.dot(values, values))
        return float(values.sum(dtype=values.dtype))


@kernel
def sum_of_squares(values):
    """What ``np.dot`` of values with themselves is."""
    total = 0.0
    for k in range(len(values)):
        total += values[k] * values[k]
    return total


def _refuse_non_finite(A: Dense | CSR | CSC) -> float:
    """A finite sum proves every term finite; only otherwise are entries looked at, in blocks.

    Returns the sum of squares if that was the sum, and NaN if not.
    """
    values = flat = A.values if isinstance(A, Dense) else A.data
    if flat.ndim > 1:
        flat = values.T if values.flags.f_contiguous else values
        flat = flat.reshape(-1) if flat.flags.c_contiguous else flat
    total = _finite_sum(flat)
    if math.isfinite(total):
        return total if flat.ndim == 1 else math.nan
    if not isinstance(A, Dense):
        stored = np.flatnonzero(~np.isfinite(values))
        if len(stored):
            raise DataError(f"A has a non-finite stored value ({values[stored[0]]})")
        return math.nan
    block = max(1, 2**20 // values.shape[1])
    for start in range(0, len(values), block):
        bad = np.argwhere(~np.isfinite(values[start : start + block]))
        if len(bad):
            i, j = int(bad[0][0]) + start, int(bad[0][1])
            raise DataError(f"A has a non-finite value ({values[i, j]}) at row {i}, column {j}")
    return math.nan
