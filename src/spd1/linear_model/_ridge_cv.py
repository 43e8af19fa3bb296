"""Ridge regression with alpha found by leaving out one sample at a time, or by folds."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import DataError
from ..regularizers import ElasticNet as Net
from ._alpha_search import AlphaSearch
from ._regressors import SquaredRegressor
from ._ridge_classifier import RidgeClassifier

__all__ = ["RidgeCV", "RidgeClassifierCV"]


class RidgeCV(AlphaSearch, SquaredRegressor):
    """Ridge regression with alpha found by cross-validation; certified.

    Parameters
    ----------
    alphas : array of positive numbers, default (0.1, 1, 10)
    fit_intercept : bool, default True
    scoring : str, callable or None
        Default: the negative mean squared error if ``cv`` is None, else R^2.
    cv : int, splitter or None
        None leaves out one sample at a time, for all alphas at the price of one decomposition.
    gcv_mode : None or {"auto", "svd", "eigen"}
        Accepted: the answer is the same, and spd1 picks its own way.
    store_cv_results : bool, default False
    alpha_per_target : bool, default False
    tol : float, default 1e-10
        Relative duality gap of the final fit; scikit-learn's has no such parameter.

    Attributes
    ----------
    alpha_ : float, or ndarray of shape (targets,)
    best_score_ : float, or ndarray of shape (targets,)
    cv_results_ : ndarray of shape (n, n_alphas) or (n, targets, n_alphas)
        Squared errors of samples left out, times their weights, or predictions if ``scoring`` is
        given.
    coef_, intercept_, n_iter_, dual_coef_, dual_gap_, rel_gap_, certificate_, trace_
        Of the final fit, see ``Ridge``.

    Examples
    --------
    >>> import numpy as np
    >>> from spd1.linear_model import RidgeCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 20)); y = X[:, 0] + 0.1 * rng.normal(size=60)
    >>> RidgeCV(alphas=[0.01, 0.1, 1000.0]).fit(X, y).alpha_
    np.float64(0.1)
    """

    def __init__(
        self,
        alphas=(0.1, 1.0, 10.0),
        *,
        fit_intercept=True,
        scoring=None,
        cv=None,
        gcv_mode=None,
        store_cv_results=False,
        alpha_per_target=False,
        tol=1e-10,
    ):
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.scoring = scoring
        self.cv = cv
        self.gcv_mode = gcv_mode
        self.store_cv_results = store_cv_results
        self.alpha_per_target = alpha_per_target
        self.tol = tol

    def _check_fits(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> None:
        if self.cv is None and len(y) < 2:
            raise DataError("leaving one sample out needs 2 of them; n_samples=1")
        self._search(X, y, y if y.ndim == 2 else y[:, None], weight)

    def _regularizer(self, total: float, d: int, target: int) -> Net:
        alphas = np.ravel(self.alpha_)
        return Net(l2=float(alphas[target if len(alphas) > 1 else 0]) / total)


class RidgeClassifierCV(AlphaSearch, RidgeClassifier):
    """Ridge regression on labels, alpha found by cross-validation; certified.

    Parameters
    ----------
    alphas, fit_intercept, scoring, cv, store_cv_results, tol
        See ``RidgeCV``.
    class_weight : dict, "balanced" or None

    Attributes
    ----------
    alpha_, best_score_, cv_results_
        See ``RidgeCV``.
    coef_, intercept_, classes_, n_iter_, dual_coef_, dual_gap_, rel_gap_, certificate_, trace_
        Of the final fit, see ``RidgeClassifier``.

    Examples
    --------
    >>> import numpy as np
    >>> from spd1.linear_model import RidgeClassifierCV
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
    >>> RidgeClassifierCV().fit(X, y).predict([[2.9]])
    array([1])
    """

    _classifies = True

    def __init__(
        self,
        alphas=(0.1, 1.0, 10.0),
        *,
        fit_intercept=True,
        scoring=None,
        cv=None,
        class_weight=None,
        store_cv_results=False,
        tol=1e-10,
    ):
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.scoring = scoring
        self.cv = cv
        self.class_weight = class_weight
        self.store_cv_results = store_cv_results
        self.tol = tol

    def _check_parameters(self) -> None:
        self.alpha = 1.0  # the parent's; the search finds its own
        try:
            super()._check_parameters()
        finally:
            del self.alpha

    def _penalty(self) -> float:
        return float(self.alpha_)

    def _choose(self, X: Any, y: Any, targets: np.ndarray, weight: Any) -> None:
        self._search(X, y, targets, weight)
