"""A Gram matrix that was given: looked at, not used."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import DataError

__all__ = ["check_gram"]


def check_gram(gram: np.ndarray, X: Any, weight: Any, centred: bool) -> None:
    """Refuse a Gram matrix that is not X'X, by its shape and one entry; it is not used further.

    As in scikit-learn X is centred if there is an intercept, and rows have the square roots of
    their weights, which sum to n. A matrix of X as it was is as good: it is of no use here.
    """
    n, d = X.shape
    if gram.shape != (d, d):
        raise DataError(f"precompute has shape {gram.shape}, the Gram matrix of X {(d, d)}")
    i, j = d // 2, min(d // 2 + 1, d - 1)
    pair = X[:, [i, j]]
    pair = np.asarray(pair.toarray() if sp.issparse(pair) else pair, dtype=float)
    w = np.ones(n) if weight is None else weight * (n / weight.sum())
    middle = pair - np.average(pair, axis=0, weights=w)
    known = [(w * t[:, 0]) @ t[:, 1] for t in ((pair, middle) if centred else (pair,))]
    if centred and np.any(np.abs(pair - middle) > 1e-8):
        warnings.warn(
            "Gram matrix was provided but X was centered to fit intercept: recomputing Gram "
            "matrix. spd1 makes its own where it pays",
            UserWarning,
            stacklevel=5,
        )
    rtol = 1e-4 if np.float32 in (gram.dtype, X.dtype) else 1e-7
    if not any(np.isclose(value, gram[i, j], rtol=rtol, atol=1e-5) for value in known):
        raise DataError(
            f"Gram matrix passed in via 'precompute' did not pass validation: entry ({i}, {j}) "
            f"should be {known[-1]:g}, and is {gram[i, j]:g}. Leave precompute at its default"
        )
