"""Huber regression, its scale found along with it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..certificate.gap import Certificate, relative
from ..design.huber.objective import best_scale, joint_value
from ..design.huber.scale import HuberScale
from ..design.intercept import Design
from ..regularizers import ElasticNet as Net
from ..result import Result
from ._base import Task
from ._options import number
from ._progress import Watch
from ._regressors import CertifiedRegressor
from .tuning import EXACT_HUBER

__all__ = ["HuberRegressor"]


class HuberRegressor(CertifiedRegressor):
    """Regression that outliers can't pull far, its scale found along with it, certified.

    Minimises over x, intercept and sigma scikit-learn's objective ``sum_i w_i (sigma +
    sigma H((x'a_i + intercept - b_i) / sigma)) + alpha |x|^2``, H(z) = z^2 up to epsilon and
    2 epsilon |z| - epsilon^2 beyond; the certificate covers sigma too. For a scale of your own
    use ``ERMRegressor(loss=Huber(delta))``.

    Parameters
    ----------
    epsilon : float, default 1.35
        From 1; the smaller, the more samples count as outliers.
    max_iter : int, default 1000
        Looks at the certificate; 1 to 4 allow two passes over the data each, too.
    alpha : float, default 1e-4
    warm_start : bool, default False
    fit_intercept : bool, default True
    tol : float, default 1e-6
        Relative duality gap to reach. Small data is solved further, nearly to rounding: up to
        200,000 stored entries at this default or below, up to 1,000 above it.

    Attributes
    ----------
    scale_ : float
        sigma.
    outliers_ : ndarray of bool
        Samples beyond epsilon times the scale.
    coef_, intercept_, n_iter_, dual_coef_, dual_gap_, rel_gap_, certificate_, trace_
        See ``LogisticRegression``; in the units of the objective divided by the sum of weights.

    Examples
    --------
    >>> import numpy as np
    >>> from spd1.linear_model import HuberRegressor
    >>> X = np.arange(20.0)[:, None]
    >>> y = 2.0 * X[:, 0] + np.tile([0.1, -0.1], 10)
    >>> y[3] = 100.0
    >>> model = HuberRegressor().fit(X, y)
    >>> model.coef_.round(1), bool(model.outliers_[3])
    (array([2.]), True)
    """

    _exact = EXACT_HUBER

    def __init__(
        self,
        *,
        epsilon=1.35,
        max_iter=1000,
        alpha=0.0001,
        warm_start=False,
        fit_intercept=True,
        tol=1e-6,
    ):
        self.epsilon = epsilon
        self.max_iter = max_iter
        self.alpha = alpha
        self.warm_start = warm_start
        self.fit_intercept = fit_intercept
        self.tol = tol

    def _check_parameters(self) -> None:
        super()._check_parameters()
        number(self.epsilon, "epsilon", 1.0)
        number(self.alpha, "alpha")

    def _loss(self) -> Any:
        return "huber"

    def _regularizer(self, total: float, d: int, target: int) -> Net:
        return Net(l2=self.alpha / total)

    _chunks = False  # its scale is searched for with the residuals at hand

    def _search(self, design: Design, task: Task, options: dict[str, Any]) -> HuberScale:
        epsilon, a = float(self.epsilon), float(task.reg.l2)
        return HuberScale(design, task.b, epsilon, a, design.weight, options)

    def _solve(self, design: Design, task: Task, watch: Watch, start: dict[str, Any]) -> Result:
        options = {**self._settings(design), **start, "callback": watch}
        search = self._search(design, task, options)
        result = search.run()
        self.scale_ = np.float64(search.sigma)
        self.outliers_ = np.abs(search.residual(result.x)) > self.epsilon * search.sigma
        return result

    def _certified(self, design: Design, task: Task, result: Result, x: np.ndarray) -> Certificate:
        """With the scale that is best for x; it is float64."""
        search, epsilon = self._search(design, task, {}), float(self.epsilon)
        with np.errstate(all="ignore"):
            residual = search.residual(x)
            sigma = best_scale(residual, search.c, epsilon)
            value = joint_value(residual, search.c, search.penalty(x), sigma, epsilon)
        self.scale_, self.outliers_ = np.float64(sigma), np.abs(residual) > epsilon * sigma
        gap = max(value - result.dual, 0.0)
        return Certificate(value, result.dual, gap, relative(gap, value, result.dual), result.y)
