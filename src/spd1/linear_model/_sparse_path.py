"""Paths of the lasso and the elastic net in scikit-learn's words."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import DataError, ParameterError
from ..kernel.seeds import check_seed
from ._path import path

__all__ = ["enet_path", "lasso_path"]

#: Parameters of scikit-learn's coordinate descent that don't change the problem.
HINTS = ("random_state", "selection", "max_iter", "X_offset", "X_scale")


def enet_path(
    X: Any,
    y: Any,
    *,
    l1_ratio: float = 0.5,
    eps: float = 1e-3,
    n_alphas: Any = "deprecated",
    alphas: Any = 100,
    precompute: Any = "auto",
    Xy: Any = None,
    copy_X: bool = True,
    coef_init: Any = None,
    verbose: bool = False,
    return_n_iter: bool = False,
    positive: bool = False,
    check_input: bool = True,
    tol: float = 1e-6,
    sample_weight: Any = None,
    **hints: Any,
) -> tuple[Any, ...]:
    """Coefficients of the elastic net for many alphas, without intercept, each certified.

    ``spd1.linear_model.path`` says more of what it finds; this has scikit-learn's parameters and
    results. Targets of several columns are another problem there (multi-task) and refused.

    Parameters
    ----------
    X : array or SciPy sparse, shape (n, d)
    y : array of shape (n,)
    l1_ratio : float in (0, 1], default 0.5
    eps : float, default 1e-3
    alphas : int or array, default 100
        How many, or which. ``n_alphas`` is an older name for how many.
    precompute, Xy, copy_X, coef_init, verbose, check_input
        Accepted: they help scikit-learn on its way and don't change the solution.
    return_n_iter : bool, default False
    positive : bool, default False
    tol : float, default 1e-6
        Relative duality gap of each problem.
    sample_weight : array of shape (n,), optional
    **hints
        Further ones of that kind: random_state, selection, max_iter, X_offset, X_scale.

    Returns
    -------
    alphas : ndarray of shape (k,), decreasing
    coefs : ndarray of shape (d, k)
    dual_gaps : ndarray of shape (k,)
    n_iters : list, if ``return_n_iter``

    Examples
    --------
    >>> import numpy as np
    >>> from spd1.linear_model import lasso_path
    >>> alphas, coefs, gaps = lasso_path(np.eye(2), np.array([4.0, 1.0]), alphas=[1.0, 0.25])
    >>> coefs.round(3)
    array([[2. , 3.5],
           [0. , 0.5]])
    """
    unknown = [name for name in hints if name not in HINTS]
    if unknown:
        raise ParameterError(f"unknown parameters of a path: {', '.join(unknown)}")
    check_seed(hints.get("random_state"))
    if np.ndim(y) == 2 and np.shape(y)[1] > 1:
        raise DataError(
            "a path for several targets is scikit-learn's multi-task problem, whose penalty joins "
            "targets and which spd1 does not solve: call it for one target at a time"
        )
    if n_alphas not in ("deprecated", None):
        alphas = n_alphas
    count = {"n_alphas": 100} if alphas is None or isinstance(alphas, str) else {"alphas": alphas}
    if np.ndim(alphas) == 0 and "alphas" in count:
        count = {"n_alphas": alphas}
    found = path(
        X, np.ravel(y), l1_ratio=l1_ratio, eps=1e-3 if eps is None else eps, fit_intercept=False,
        positive=positive, sample_weight=sample_weight, tol=tol, **count,
    )  # fmt: skip
    results = (found.alphas, found.coefs.T, found.dual_gaps)
    return (*results, list(found.n_iters)) if return_n_iter else results


def lasso_path(X: Any, y: Any, **options: Any) -> tuple[Any, ...]:
    """The path of the lasso: ``enet_path`` with l1_ratio=1, and its other options.

    Examples
    --------
    >>> import numpy as np
    >>> from spd1.linear_model import lasso_path
    >>> lasso_path(np.eye(2), np.array([4.0, 1.0]), alphas=[1.0])[1].round(3)
    array([[2.],
           [0.]])
    """
    options.pop("l1_ratio", None)
    return enet_path(X, y, l1_ratio=1.0, **options)
