"""Regularization paths: warm starts, and only the columns that can matter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _check_sample_weight, check_X_y

from ..data.indices import trusted
from ..errors import DataError, ParameterError
from ..html import grid
from ..losses import as_loss
from ._options import number, whole
from ._walk import Walk

__all__ = ["Path", "alpha_grid", "path"]


SHOWN_ALPHAS = 8  # rows of the table in a notebook


@dataclass(frozen=True, eq=False)
class Path:
    """A regularization path, each point certified.

    Attributes
    ----------
    alphas : ndarray of shape (k,), decreasing
    coefs : ndarray of shape (k, d)
    intercepts : ndarray of shape (k,)
    dual_gaps, rel_gaps : ndarray of shape (k,)
        Certified for the whole problem, with all its columns.
    n_iters : ndarray of shape (k,)
    screened : ndarray of shape (k,)
        Columns that never had to be looked at.

    Examples
    --------
    >>> import numpy as np
    >>> from spd1.linear_model import path
    >>> X = np.random.default_rng(0).normal(size=(60, 5))
    >>> found = path(X, X[:, 0], n_alphas=10, tol=1e-6)
    >>> found.coefs.shape, bool(found.rel_gaps.max() <= 1e-6)
    ((10, 5), True)
    """

    alphas: np.ndarray
    coefs: np.ndarray
    intercepts: np.ndarray
    dual_gaps: np.ndarray
    rel_gaps: np.ndarray
    n_iters: np.ndarray
    screened: np.ndarray

    def __repr__(self) -> str:
        return (
            f"Path({len(self.alphas)} alphas from {self.alphas[0]:.3g} to {self.alphas[-1]:.3g}, "
            f"rel_gap <= {self.rel_gaps.max():.2g})"
        )

    def _repr_html_(self) -> str:
        """A row for some of the alphas, the first and the last among them."""
        k = len(self.alphas)
        rows = [
            [f"{self.alphas[i]:.4g}", np.count_nonzero(self.coefs[i]), f"{self.rel_gaps[i]:.1e}"]
            for i in np.unique(np.linspace(0, k - 1, min(k, SHOWN_ALPHAS)).round().astype(int))
        ]
        header = ["alpha", f"coefficients of {self.coefs.shape[1]:,}", "relative gap"]
        said = f"{k} alphas, each certified to a relative gap of {self.rel_gaps.max():.2g} or less"
        return f"<div><p>{said}.</p>{grid(header, rows)}</div>"


def path(
    X: Any,
    y: Any,
    *,
    loss: Any = "squared",
    l1_ratio: float = 1.0,
    alphas: Any = None,
    n_alphas: int = 100,
    eps: float = 1e-3,
    fit_intercept: bool = True,
    positive: bool = False,
    sample_weight: Any = None,
    tol: float = 1e-6,
    screen: bool = True,
) -> Path:
    """Solve ``mean loss + alpha (l1_ratio |x|_1 + (1 - l1_ratio)/2 |x|^2)`` for many alphas.

    Each problem starts from the solution of the last. With ``l1_ratio > 0`` it is first solved on
    the columns that the sequential strong rule keeps; the certificate of the whole problem then
    finds out what was left out wrongly, so that nothing is taken on trust.

    Parameters
    ----------
    X : array or SciPy sparse, shape (n, d)
    y : array of shape (n,)
        Targets, or labels -1 and +1.
    loss : str or loss, default "squared"
    l1_ratio : float in [0, 1], default 1
    alphas : array, optional
        Default: ``n_alphas`` numbers from the smallest alpha with no feature down to ``eps`` of
        it.
    fit_intercept, positive : bool
    sample_weight : array of shape (n,), optional
    tol : float, default 1e-6
        Relative duality gap of each problem.
    screen : bool, default True
        Whether to leave out columns.

    Returns
    -------
    Path

    Examples
    --------
    >>> import numpy as np
    >>> from spd1.linear_model import path
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 200)); y = X[:, 0] + 0.1 * rng.normal(size=50)
    >>> found = path(X, y, n_alphas=10)
    >>> bool(found.rel_gaps.max() <= 1e-6), np.flatnonzero(found.coefs[2])
    (True, array([0]))
    """
    number(tol, "tol", open_low=True)
    ratio = number(l1_ratio, "l1_ratio", 0.0, 1.0)
    X, y, weight = _data(X, y, sample_weight)
    walk = Walk(X, y, as_loss(loss), ratio, bool(positive), bool(fit_intercept), weight, tol)
    if alphas is None:
        alphas = alpha_grid(walk.largest(), eps, n_alphas)
    else:
        alphas = np.sort([number(a, "alphas") for a in np.ravel(np.asarray(alphas))])[::-1]
        if not len(alphas):
            raise ParameterError("alphas is empty")
    rows = walk.rows(np.asarray(alphas, dtype=float), screen)
    x = np.array([row[0] for row in rows])
    shift, coefs = walk.lift(x)
    proofs = [row[1] for row in rows]
    return Path(
        np.asarray(alphas, dtype=float),
        coefs,
        shift,
        np.array([proof.gap for proof in proofs]),
        np.array([proof.rel_gap for proof in proofs]),
        np.array([row[2] for row in rows]),
        np.array([row[3] for row in rows]),
    )


def alpha_grid(largest: float, eps: float, n_alphas: Any) -> np.ndarray:
    """Logarithmic grid from the largest alpha down to eps of it.

    Examples
    --------
    >>> alpha_grid(1.0, 0.01, 3)
    array([1.  , 0.1 , 0.01])
    """
    count = whole(n_alphas, "n_alphas")
    number(eps, "eps", 0.0, 1.0, open_low=True)
    least = float(np.finfo(float).resolution)
    if largest <= least:  # no feature is ever needed: one alpha is as good as another
        return np.full(count, least)
    return np.asarray(np.geomspace(largest, largest * eps, count))


def _data(X: Any, y: Any, sample_weight: Any) -> tuple[Any, np.ndarray, Any]:
    try:
        X, y = check_X_y(
            trusted(X), y, accept_sparse="csc", dtype=(np.float64, np.float32), y_numeric=True
        )
        if sample_weight is not None:
            sample_weight = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
    except ValueError as error:
        raise DataError(str(error)) from None
    if not sp.issparse(X):
        X = np.asfortranarray(X)  # columns are what a path picks
    return X, np.asarray(y, dtype=float), sample_weight
