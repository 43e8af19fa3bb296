"""Regressors: targets as they are, alpha and C to l1 and l2."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from ..errors import DataError
from ..regularizers import ElasticNet as Net
from ._base import CertifiedModel, Task, with_callbacks
from ._options import number

__all__ = ["CertifiedRegressor", "ElasticNet", "Lasso", "Ridge"]


class CertifiedRegressor(RegressorMixin, CertifiedModel):
    """One problem a target; subclasses name the loss and the regularizer."""

    _several_targets = False

    def _loss(self) -> Any:
        raise NotImplementedError

    def _regularizer(self, total: float, d: int, target: int) -> Net:
        """Translate the penalty, given the sum of all weights."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the model.

        Parameters
        ----------
        X : array, SciPy sparse or data frame, shape (n, d)
        y : array of shape (n,); Ridge, Lasso and ElasticNet also take (n, targets)
        sample_weight : array of shape (n,), optional
        """
        return self._fit(X, y, sample_weight)

    @with_callbacks
    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Any:
        self._check_parameters()
        several = self._several_targets
        X, y, weight = self._checked_data(
            X, y, sample_weight, chunks=True, y_numeric=True, multi_output=several
        )
        y = np.asarray(y, dtype=np.float64)
        self._check_targets(y)
        total = float(X.shape[0]) if weight is None else float(weight.sum())
        targets = y.T if y.ndim == 2 else y[None, :]
        tasks = [
            Task(
                np.ascontiguousarray(b),
                self._loss(),
                self._regularizer(total, X.shape[1], k),
                None,
                f"target {k}: " if len(targets) > 1 else "",
            )
            for k, b in enumerate(targets)
        ]
        self._run(X, tasks, weight)
        if y.ndim == 1:
            self.coef_, self.dual_coef_ = self.coef_[0], self.dual_coef_[0]
            self.intercept_ = float(self.intercept_[0])
        return self._end()

    def _check_targets(self, y: np.ndarray) -> None:
        """Refuse targets that the loss can't take."""

    def predict(self, X: Any) -> Any:
        """Predicted targets; of a dask array a dask array."""
        return self._margins(X)


class _SquaredRegressor(MultiOutputMixin, CertifiedRegressor):
    _several_targets = True

    def _loss(self) -> Any:
        return "squared"


class Ridge(_SquaredRegressor):
    """Ridge regression with a certificate.

    Minimises ``sum_i w_i (x'a_i + intercept - b_i)^2 + alpha |x|^2``.

    Parameters
    ----------
    alpha : float or array of one number a target, default 1
    fit_intercept : bool, default True
    copy_X : bool
        X is never changed, whatever this says.
    max_iter : int, optional
        Default 1000.
    tol : float, default 1e-4
        Relative duality gap to reach.
    solver : str, default "auto"
        A method of ``spd1.solve``.
    positive : bool, default False
    random_state : int, RandomState or None

    Attributes
    ----------
    coef_, intercept_, n_iter_, n_features_in_, feature_names_in_
        As in scikit-learn.
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

    def __init__(
        self,
        alpha=1.0,
        *,
        fit_intercept=True,
        copy_X=True,
        max_iter=None,
        tol=1e-4,
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

    def _regularizer(self, total: float, d: int, target: int) -> Net:
        alphas = np.ravel(np.asarray(self.alpha, dtype=float))
        if len(alphas) > 1 and target >= len(alphas):
            raise DataError(f"alpha has {len(alphas)} numbers, y has more targets")
        alpha = float(alphas[target if len(alphas) > 1 else 0])
        return Net(l2=alpha / total, lower=0.0 if self.positive else -math.inf)


class ElasticNet(_SquaredRegressor):
    """Least squares with l1 and l2, and a certificate.

    Minimises ``sum_i w_i (x'a_i + intercept - b_i)^2 / (2 sum_i w_i) + alpha l1_ratio |x|_1 +
    alpha (1 - l1_ratio)/2 |x|^2``.

    Parameters
    ----------
    alpha : float, default 1
    l1_ratio : float in [0, 1], default 0.5
    fit_intercept : bool, default True
    precompute : False
        Nothing else means anything here.
    max_iter : int, default 1000
    copy_X : bool
        X is never changed, whatever this says.
    tol : float, default 1e-4
        Relative duality gap to reach.
    warm_start : bool, default False
    positive : bool, default False
    random_state : int, RandomState or None
    selection : "cyclic"
        Nothing else means anything here.

    Attributes
    ----------
    coef_, intercept_, n_iter_, dual_coef_, dual_gap_, rel_gap_, certificate_, trace_
        See ``Ridge``.

    Examples
    --------
    >>> import numpy as np
    >>> from spd1.linear_model import ElasticNet
    >>> X = np.eye(4)[:, :2]
    >>> ElasticNet(alpha=0.1).fit(X, [2.0, 0.0, 0.0, 0.0]).coef_.round(2)
    array([1.37, 0.  ])
    """

    def __init__(
        self,
        alpha=1.0,
        *,
        l1_ratio=0.5,
        fit_intercept=True,
        precompute=False,
        max_iter=1000,
        copy_X=True,
        tol=1e-4,
        warm_start=False,
        positive=False,
        random_state=None,
        selection="cyclic",
    ):
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.copy_X = copy_X
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection

    def _check_parameters(self) -> None:
        super()._check_parameters()
        number(self.alpha, "alpha")
        number(self.l1_ratio, "l1_ratio", 0.0, 1.0)

    def _regularizer(self, total: float, d: int, target: int) -> Net:
        return net_of(self.alpha, self.l1_ratio, self.positive)


def net_of(alpha: float, l1_ratio: float, positive: bool = False) -> Net:
    """The elastic net in scikit-learn's parameters."""
    lower = 0.0 if positive else -math.inf
    return Net(l1=alpha * l1_ratio, l2=alpha * (1.0 - l1_ratio), lower=lower)


class Lasso(ElasticNet):
    """Least squares with l1, and a certificate.

    Minimises ``sum_i w_i (x'a_i + intercept - b_i)^2 / (2 sum_i w_i) + alpha |x|_1``.

    Parameters
    ----------
    alpha : float, default 1
    fit_intercept, precompute, copy_X, max_iter, tol, warm_start, positive, random_state, selection
        See ``ElasticNet``.

    Attributes
    ----------
    coef_, intercept_, n_iter_, dual_coef_, dual_gap_, rel_gap_, certificate_, trace_
        See ``Ridge``.

    Examples
    --------
    >>> import numpy as np
    >>> from spd1.linear_model import Lasso
    >>> X = np.eye(4)[:, :2]
    >>> Lasso(alpha=0.1, fit_intercept=False).fit(X, [2.0, 0.0, 0.0, 0.0]).coef_.round(2)
    array([1.6, 0. ])
    """

    l1_ratio = 1.0

    def __init__(
        self,
        alpha=1.0,
        *,
        fit_intercept=True,
        precompute=False,
        copy_X=True,
        max_iter=1000,
        tol=1e-4,
        warm_start=False,
        positive=False,
        random_state=None,
        selection="cyclic",
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
