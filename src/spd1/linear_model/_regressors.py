"""Regressors: targets as they are, alpha and C to l1 and l2."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import MultiOutputMixin, RegressorMixin

from ..design.intercept import Design
from ..regularizers import ElasticNet as Net
from ._base import CertifiedModel, Task, with_callbacks
from ._gram import check_gram
from ._options import WrongParameterError, number
from ._sparse_path import enet_path
from ._walk import net_of
from .tuning import AS_EXACT, EXACT_SQUARES, TINY_FIT

__all__ = ["CertifiedRegressor", "ElasticNet", "Lasso", "SquaredRegressor"]


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
        self._check_fits(X, y, weight)
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
        self._shape_like(y)
        return self._end()

    def _shape_like(self, y: np.ndarray) -> None:
        """Fitted attributes in scikit-learn's shapes: one target has no axis of its own."""
        if len(self.coef_) == 1 and self._flat_targets(y):
            self.coef_, self.dual_coef_ = self.coef_[0], self.dual_coef_[0]
        if y.ndim == 1:
            self.intercept_ = self.intercept_[0]

    def _flat_targets(self, y: np.ndarray) -> bool:
        """Whether coefficients of y lose their axis of targets; also for y of shape (n, 1)."""
        return True

    def _check_targets(self, y: np.ndarray) -> None:
        """Refuse targets that the loss can't take."""

    def _check_fits(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> None:
        """Refuse parameters that contradict the data."""

    def predict(self, X: Any) -> Any:
        """Predicted targets; of a dask array a dask array."""
        return self._margins(X)


class SquaredRegressor(MultiOutputMixin, CertifiedRegressor):
    """Least squares, for any number of targets."""

    _several_targets = True
    _exact = EXACT_SQUARES

    def _target(self, design: Design) -> float:
        target = super()._target(design)
        tiny = target == EXACT_SQUARES and design.n * design.d <= TINY_FIT
        return AS_EXACT if tiny else target

    def _loss(self) -> Any:
        return "squared"


class ElasticNet(SquaredRegressor):
    """Least squares with l1 and l2, and a certificate.

    Minimises ``sum_i w_i (x'a_i + intercept - b_i)^2 / (2 sum_i w_i) + alpha l1_ratio |x|_1 +
    alpha (1 - l1_ratio)/2 |x|^2``.

    Parameters
    ----------
    alpha : float, default 1
    l1_ratio : float in [0, 1], default 0.5
    fit_intercept : bool, default True
    precompute : bool or array of shape (d, d)
        spd1 makes its own Gram matrix where it pays. One that is given is checked against X.
    max_iter : int, default 1000
        Looks at the certificate; 1 to 4 allow two passes over the data each, too.
    copy_X : bool
        X is never changed, whatever this says.
    tol : float, default 1e-6
        Relative duality gap to reach. Small data is solved further, nearly to rounding: up to
        200,000 stored entries at this default or below, up to 1,000 above it.
    warm_start : bool, default False
    positive : bool, default False
    random_state : int, RandomState or None
    selection : {"cyclic", "random"}
        Accepted: the solution is the same, and spd1 orders its own work.

    Attributes
    ----------
    coef_, intercept_, n_iter_, dual_coef_, dual_gap_, rel_gap_, certificate_, trace_
        See ``Ridge``.
    sparse_coef_ : SciPy sparse array of shape (targets, d)

    Examples
    --------
    >>> import numpy as np
    >>> from spd1.linear_model import ElasticNet
    >>> X = np.eye(4)[:, :2]
    >>> ElasticNet(alpha=0.1).fit(X, [2.0, 0.0, 0.0, 0.0]).coef_.round(2)
    array([1.37, 0.  ])
    """

    _default_solver = "descent"

    def __init__(
        self,
        alpha=1.0,
        *,
        l1_ratio=0.5,
        fit_intercept=True,
        precompute=False,
        max_iter=1000,
        copy_X=True,
        tol=1e-6,
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
        self._check_precompute(False, True)

    def _check_precompute(self, *accepted: Any) -> None:
        given = self.precompute
        if isinstance(given, np.ndarray) or any(given is one for one in accepted):
            return
        if not (isinstance(given, str) and given in accepted):
            names = ", ".join(repr(one) for one in accepted)
            raise WrongParameterError(f"precompute must be {names} or an array, got {given!r}")

    def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True) -> Any:
        """Fit the model.

        Parameters
        ----------
        X : array, SciPy sparse or data frame, shape (n, d)
        y : array of shape (n,) or (n, targets)
        sample_weight : array of shape (n,), optional
        check_input : bool
            Input is checked in either case.
        """
        return self._fit(X, y, sample_weight)

    def _check_fits(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> None:
        if isinstance(self.precompute, np.ndarray):
            check_gram(self.precompute, X, weight, self.fit_intercept)

    def _shape_like(self, y: np.ndarray) -> None:
        super()._shape_like(y)
        if len(self._iterations_done) > 1:
            self.n_iter_ = list(self._iterations_done)

    @property
    def sparse_coef_(self) -> Any:
        """Coefficients as a SciPy sparse array."""
        return sp.csr_array(np.atleast_2d(self.coef_))

    path = staticmethod(enet_path)

    def _regularizer(self, total: float, d: int, target: int) -> Net:
        return net_of(self.alpha, self.l1_ratio, self.positive)


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
        tol=1e-6,
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
