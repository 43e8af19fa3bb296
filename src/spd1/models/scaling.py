"""Standardized data, and how much data there is, whatever kind it is of."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.store import Store
from ..errors import DataError

__all__ = ["entries_of", "moments", "standardized"]


def entries_of(A: Any) -> int:
    """Stored entries of data of any kind."""
    if isinstance(A, Store):
        return A.stored
    return int(A.nnz) if sp.issparse(A) else int(A.shape[0]) * int(A.shape[1])


def standardized(A: Any, mean: Any, scale: Any) -> Any:
    """The data less its means, where these are known, in units of its scale; or as it is."""
    if scale is None:
        return A
    if isinstance(A, Store):
        raise DataError(f"{A.path} is a store, whose features can't be standardized: scale them "
                        "before it is written")  # fmt: skip
    if not sp.issparse(A):
        return (A - (0.0 if mean is None else mean)) / scale
    if mean is not None:
        raise DataError("the model was trained on centered, dense data; this is sparse")
    A = sp.csr_array(A)
    return sp.csr_array((A.data / scale[A.indices], A.indices, A.indptr), shape=A.shape)


def moments(A: Any) -> tuple[np.ndarray | None, np.ndarray]:
    """Mean (dense data only) and standard deviation of the columns; constant ones divide by 1."""
    if isinstance(A, Store):
        standardized(A, None, np.ones(1))
    if sp.issparse(A):
        first = np.asarray(A.mean(axis=0), dtype=float).ravel()
        square = np.asarray(A.multiply(A).mean(axis=0), dtype=float).ravel()
        spread = np.sqrt(np.maximum(square - first * first, 0.0))
        mean = None
    else:
        mean = np.mean(A, axis=0, dtype=float)
        spread = np.std(A, axis=0, dtype=float)
        spread[spread <= 1e-14 * np.abs(mean)] = 0.0  # what rounding leaves of a constant
    return mean, np.where(spread > 0.0, spread, 1.0)
