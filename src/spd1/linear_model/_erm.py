"""The general estimators: any loss, any regularizer of the family, custom ones too."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from ..errors import IncompatibleError
from ..losses import as_loss
from ..regularizers import ElasticNet
from ._chunked import rowwise
from ._classifiers import CertifiedClassifier, log_probabilities, probabilities
from ._regressors import CertifiedRegressor
from .tuning import EXACT_WEIGHTS

__all__ = ["ERMClassifier", "ERMRegressor"]


def _logistic(estimator: Any) -> bool:
    if as_loss(estimator.loss).probabilities:
        return True
    raise AttributeError("only the logistic loss has probabilities")


def _kind(loss: Any) -> str:
    return str(as_loss(loss).label_kind)


class ERMClassifier(CertifiedClassifier):
    """Regularized empirical risk on labels: any loss, weights and bounds per feature.

    Minimises ``sum_i w_i phi(b_i; x'a_i + intercept) / sum_i w_i + sum_j (l1_j |x_j| +
    l2_j/2 x_j^2)`` with ``lower_j <= x_j <= upper_j``; several classes one against the rest.

    Parameters
    ----------
    loss : str or loss, default "logistic"
        A name of ``spd1.LOSSES``, an instance, or a class of yours. Losses for real targets see
        labels -1 and +1.
    l1, l2 : float or array of shape (d,), default 0 and 1e-3
    lower, upper : float or array of shape (d,)
        Bounds; the intercept has none.
    fit_intercept : bool, default True
    class_weight : dict, "balanced" or None
    tol : float, default 1e-6
        Relative duality gap to reach. Small data is solved further, nearly to rounding: up to
        200,000 stored entries at this default or below, up to 1,000 above it.
    max_iter : int, default 1000
        Looks at the certificate; 1 to 4 allow two passes over the data each, too.
    max_seconds : float, optional
    solver : str, default "auto"
        A method of ``spd1.solve``.
    warm_start : bool, default False
    random_state : int, RandomState or None
    verbose : int, default 0
    n_jobs : int, optional
        Classes fitted at the same time; threads of the one fit that two classes take. None: one,
        -1: as many as there are cores.

    Attributes
    ----------
    coef_, intercept_, classes_, n_iter_, dual_coef_, dual_gap_, rel_gap_, certificate_, trace_
        See ``LogisticRegression``.

    Examples
    --------
    >>> import numpy as np
    >>> from spd1.linear_model import ERMClassifier
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
    >>> ERMClassifier("smoothed_hinge", l2=0.1, lower=0.0).fit(X, y).predict([[2.9]])
    array([1])
    """

    _exact = EXACT_WEIGHTS

    def __init__(
        self,
        loss="logistic",
        *,
        l1=0.0,
        l2=1e-3,
        lower=-math.inf,
        upper=math.inf,
        fit_intercept=True,
        class_weight=None,
        tol=1e-6,
        max_iter=1000,
        max_seconds=None,
        solver="auto",
        warm_start=False,
        random_state=None,
        verbose=0,
        n_jobs=None,
    ):
        self.loss = loss
        self.l1 = l1
        self.l2 = l2
        self.lower = lower
        self.upper = upper
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.solver = solver
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if _kind(self.loss) == "count":
            raise IncompatibleError(
                f"{type(as_loss(self.loss)).__name__} is for counts, not for labels: use "
                "ERMRegressor or PoissonRegressor"
            )
        self._regularizer(1.0, 0)

    def _loss(self) -> Any:
        return as_loss(self.loss)

    def _regularizer(self, total: float, d: int) -> ElasticNet:
        net = ElasticNet(self.l1, self.l2, self.lower, self.upper)
        if d:
            net.bind(d)  # refuses vectors of another length
        return net

    @available_if(_logistic)
    def predict_proba(self, X: Any) -> Any:
        """Probability of each class, for the logistic loss."""
        return rowwise(probabilities, self.decision_function(X))

    @available_if(_logistic)
    def predict_log_proba(self, X: Any) -> Any:
        """Logarithm of the probability of each class, for the logistic loss."""
        return rowwise(log_probabilities, self.decision_function(X))


class ERMRegressor(CertifiedRegressor):
    """Regularized empirical risk on targets: any loss, weights and bounds per feature.

    Minimises ``sum_i w_i phi(b_i; x'a_i + intercept) / sum_i w_i + sum_j (l1_j |x_j| +
    l2_j/2 x_j^2)`` with ``lower_j <= x_j <= upper_j``. With the Poisson loss ``predict`` gives
    means, the exponential of the linear part.

    Parameters
    ----------
    loss : str or loss, default "squared"
    l1, l2, lower, upper, fit_intercept, tol, max_iter, max_seconds, solver, warm_start
        See ``ERMClassifier``.
    random_state : int, RandomState or None
    verbose : int, default 0
    n_jobs : int, optional
        Targets fitted at the same time; threads of the fit of a single one.

    Attributes
    ----------
    coef_, intercept_, n_iter_, dual_coef_, dual_gap_, rel_gap_, certificate_, trace_
        See ``LogisticRegression``.

    Examples
    --------
    >>> import numpy as np, spd1
    >>> from spd1.linear_model import ERMRegressor
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), [1.0, 3.0, 5.0]
    >>> ERMRegressor(spd1.Huber(1.0), l2=0.0, upper=1.5).fit(X, y).coef_.round(3)
    array([1.5])
    """

    def __init__(
        self,
        loss="squared",
        *,
        l1=0.0,
        l2=1e-3,
        lower=-math.inf,
        upper=math.inf,
        fit_intercept=True,
        tol=1e-6,
        max_iter=1000,
        max_seconds=None,
        solver="auto",
        warm_start=False,
        random_state=None,
        verbose=0,
        n_jobs=None,
    ):
        self.loss = loss
        self.l1 = l1
        self.l2 = l2
        self.lower = lower
        self.upper = upper
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.solver = solver
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if _kind(self.loss) == "sign":
            raise IncompatibleError(
                f"{type(as_loss(self.loss)).__name__} is for labels, not for targets: use "
                "ERMClassifier"
            )
        ElasticNet(self.l1, self.l2, self.lower, self.upper)

    def _loss(self) -> Any:
        return as_loss(self.loss)

    def _regularizer(self, total: float, d: int, target: int) -> ElasticNet:
        net = ElasticNet(self.l1, self.l2, self.lower, self.upper)
        net.bind(d)  # refuses vectors of another length
        return net

    def predict(self, X: Any) -> np.ndarray:
        """Predicted targets."""
        margins: np.ndarray = self._margins(X)
        return np.exp(margins) if _kind(self.loss) == "count" else margins
