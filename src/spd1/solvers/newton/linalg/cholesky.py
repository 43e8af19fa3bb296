"""The one Cholesky factor: of a matrix that may be singular, with a little more on its diagonal."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import lapack

from ..tuning import DAMPING

__all__ = ["damped_cholesky", "solve_by"]

LEAST_DIAGONAL = 1e-300  # for lines without entries


def damped_cholesky(
    H: np.ndarray,
    extra: Any = 0.0,
    dampings: tuple[float, ...] = (DAMPING,),
    mirrored: bool = True,
) -> np.ndarray | None:
    """L with L L' = H + diag(extra), its diagonal damped; None if there is none.

    Parameters
    ----------
    H : ndarray
        Symmetric, in C order; overwritten.
    extra : float or ndarray
        What else is on the diagonal.
    dampings : tuple of float
        Shares of the diagonal that are added to it, one after the other until a factor exists.
    mirrored : bool
        Whether both triangles are filled in; else the lower one is meant.

    Examples
    --------
    >>> import numpy as np
    >>> damped_cholesky(np.array([[4.0, 2.0], [2.0, 5.0]])).round(6)
    array([[2., 2.],
           [1., 2.]])
    """
    diagonal = np.einsum("ii->i", H)  # a view
    diagonal += extra
    diagonal += LEAST_DIAGONAL
    triangle = H.T if mirrored else H
    for number, damping in enumerate(dampings):
        diagonal *= 1.0 + damping
        last = number + 1 == len(dampings)
        factor, failed = lapack.dpotrf(triangle, lower=1, clean=0, overwrite_a=int(last))
        if not failed:
            return np.asarray(factor)
    return None


def solve_by(factor: np.ndarray, right: np.ndarray) -> np.ndarray:
    """X with L L' x = right."""
    return np.asarray(lapack.dpotrs(factor, right, lower=1)[0])
