"""Least squares with l2, or with nothing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import DataError
from ..regularizers import ElasticNet as Net
from ._options import RIDGE_WORDS, number, solver_used
from ._regressors import SquaredRegressor

__all__ = ["LinearRegression", "Ridge"]


class Ridge(SquaredRegressor):
    """Ridge regression with a certificate.

    Minimises ``sum_i w_i (x'a_i + intercept - b_i)^2 + alpha |x|^2``.

    Parameters
    ----------
    alpha : float or array of one number a target, default 1
    fit_intercept : bool, default True
    copy_X : bool
        X is never changed, whatever this says.
    max_iter : int, optional
        Looks at the certificate. Default 1000.
    tol : float, default 1e-6
        Relative duality gap to reach. Small data is solved further, nearly to rounding: up to
        200,000 stored entries at this default or below, up to 1,000 above it.
    solver : str, default "auto"
        Accepted from scikit-learn: the problem is the same. "spd1:NAME" is a method of
        ``spd1.solve``.
    positive : bool, default False
    random_state : int, RandomState or None

    Attributes
    ----------
    coef_, intercept_, n_features_in_, feature_names_in_
        As in scikit-learn.
    n_iter_ : ndarray of shape (targets,)
    solver_ : str
        The solver of scikit-learn that was asked for; else what ``method_`` says, which is the
        method that was used.
    dual_coef_, dual_gap_, rel_gap_, certificate_, trace_
        See ``LogisticRegression``; for several targets, one of each.

    Examples
    --------
    >>> import numpy as np
    >>> from spd1.linear_model import Ridge
    >>> model = Ridge(alpha=0.0).fit(np.array([[0.0], [1.0], [2.0]]), [1.0, 3.0, 5.0])
    >>> np.round([model.coef_[0], model.intercept_], 4)
    array([2., 1.])
    """

    _their_words = RIDGE_WORDS
    _early_end = False  # mostly one factor: scikit-learn has no limit to that, either

    def __init__(
        self,
        alpha=1.0,
        *,
        fit_intercept=True,
        copy_X=True,
        max_iter=None,
        tol=1e-6,
        solver="auto",
        positive=False,
        random_state=None,
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.solver = solver
        self.positive = positive
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for value in np.ravel(np.asarray(self.alpha, dtype=object)):
            number(value, "alpha")

    def _check_fits(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> None:
        count, targets = np.size(self.alpha), y.shape[1] if y.ndim == 2 else 1
        if count not in (1, targets):
            raise DataError(
                f"Number of targets and number of penalties do not correspond: {count} != {targets}"
            )

    def _shape_like(self, y: np.ndarray) -> None:
        super()._shape_like(y)
        self.n_iter_ = np.array(self._iterations_done)
        self.solver_ = solver_used(self.solver, self.method_)

    def _regularizer(self, total: float, d: int, target: int) -> Net:
        alphas = np.ravel(np.asarray(self.alpha, dtype=float))
        alpha = float(alphas[target if len(alphas) > 1 else 0])
        return Net(l2=alpha / total, lower=0.0 if self.positive else -math.inf)


class LinearRegression(SquaredRegressor):
    """Least squares without penalty, and a certificate.

    Minimises ``sum_i w_i (x'a_i + intercept - b_i)^2``. Where columns are dependent, the solution
    of least norm on dense data.

    Parameters
    ----------
    fit_intercept : bool, default True
    copy_X : bool
        X is never changed, whatever this says.
    tol : float, default 1e-6
        Relative duality gap to reach. Small data is solved further, nearly to rounding: up to
        200,000 stored entries at this default or below, up to 1,000 above it.
    n_jobs : int, optional
        Targets fitted at the same time; threads of the fit of a single one.
    positive : bool, default False
        Keep coefficients from being negative.

    Attributes
    ----------
    coef_, intercept_, n_features_in_, feature_names_in_
        As in scikit-learn.
    rank_ : int
        Rank of X, centred if there is an intercept. Dense X only.
    singular_ : ndarray of shape (min(n, d),)
        Its singular values.
    n_iter_, dual_coef_, dual_gap_, rel_gap_, certificate_, trace_
        See ``Ridge``.

    Examples
    --------
    >>> import numpy as np
    >>> from spd1.linear_model import LinearRegression
    >>> model = LinearRegression().fit(np.array([[0.0], [1.0], [2.0]]), [1.0, 3.0, 5.0])
    >>> np.round([model.coef_[0], model.intercept_], 4)
    array([2., 1.])
    """

    def __init__(self, *, fit_intercept=True, copy_X=True, tol=1e-6, n_jobs=None, positive=False):
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.tol = tol
        self.n_jobs = n_jobs
        self.positive = positive

    def _regularizer(self, total: float, d: int, target: int) -> Net:
        return Net(lower=0.0 if self.positive else -math.inf)

    def _check_fits(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> None:
        for name in ("rank_", "singular_"):
            self.__dict__.pop(name, None)
        if sp.issparse(X) or self.positive:
            return
        root = 1.0 if weight is None else np.sqrt(weight)[:, None]
        centre = np.average(X, axis=0, weights=weight) if self.fit_intercept else 0.0
        self.singular_ = np.linalg.svd(root * (X - centre), compute_uv=False)
        limit = max(X.shape) * np.finfo(X.dtype).eps * self.singular_.max(initial=0.0)
        self.rank_ = int(np.sum(self.singular_ > limit))

    def _flat_targets(self, y: np.ndarray) -> bool:
        return y.ndim == 1
