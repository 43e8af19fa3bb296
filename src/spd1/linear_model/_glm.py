"""Generalised linear models with a log link: counts, amounts, and amounts often zero."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _check_sample_weight

from ..errors import DataError, ParameterError
from ..losses import Gamma, Poisson, Squared, Tweedie
from ..regularizers import ElasticNet as Net
from ..result import Result
from ._base import Task
from ._chunked import rowwise
from ._options import number, refuse_unless
from ._regressors import CertifiedRegressor
from .tuning import AS_EXACT, SMALL_FIT

__all__ = ["GammaRegressor", "LogLinkRegressor", "PoissonRegressor", "TweedieRegressor"]


class LogLinkRegressor(CertifiedRegressor):
    """Half the deviance at the mean exp(x'a + intercept), and l2; subclasses say of what power."""

    _default_solver = "lbfgs"
    _exact = AS_EXACT  # smooth: the last digits cost a step

    def _power(self) -> float:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags

    def _check_parameters(self) -> None:
        super()._check_parameters()
        number(self.alpha, "alpha")

    def fit(self, X: Any, y: Any, sample_weight: Any = None, exposure: Any = None) -> Any:
        """Fit the model.

        Parameters
        ----------
        X : array, SciPy sparse or data frame, shape (n, d)
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
        exposure : array of shape (n,), optional
            Above 0; the mean of y is ``exposure * exp(x'a + intercept)``, and ``predict`` gives
            means for an exposure of 1. ``np.exp(offset)`` for those who think in offsets.
        """
        return self._fit(X, y, sample_weight, exposure)

    def _fit(self, X: Any, y: Any, sample_weight: Any, exposure: Any = None) -> Any:
        if exposure is None:
            return super()._fit(X, y, sample_weight)
        return self._fit_exposed(X, y, sample_weight, exposure)

    def _fit_exposed(self, X: Any, y: Any, sample_weight: Any, exposure: Any) -> Any:
        """With exposure E, phi(u + log E; b) = E^(2 - power) phi(u; b / E) up to a constant."""
        exposure = np.ravel(np.asarray(exposure, dtype=np.float64))
        if len(exposure) != len(y) or not np.all((exposure > 0.0) & np.isfinite(exposure)):
            raise DataError("exposure must be a finite number above 0 for every sample")
        weight = np.ones(len(exposure))
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        heavier = weight * exposure ** (2.0 - self._power())
        self._relief = float(weight.sum() / heavier.sum())  # means are taken with other weights
        try:
            return super()._fit(X, np.ravel(y) / exposure, heavier)
        finally:
            del self._relief

    def _run(self, X: Any, tasks: list[Task], weight: np.ndarray | None) -> list[Result]:
        """Solve; of the solutions that dependent columns without penalty leave, the shortest."""
        results = super()._run(X, tasks, weight)
        if self.alpha == 0.0 and not sp.issparse(X) and X.size <= SMALL_FIT:
            mean = np.average(X, axis=0, weights=weight) if self.fit_intercept else 0.0
            _, s, rows = np.linalg.svd(np.asarray(X, dtype=float) - mean, full_matrices=False)
            rows = rows[s > max(X.shape) * np.finfo(X.dtype).eps * s.max(initial=0.0)]
            shortest = (self.coef_ @ rows.T) @ rows
            if self.fit_intercept:
                self.intercept_ += ((self.coef_ - shortest) @ mean).astype(X.dtype)
            self.coef_ = shortest.astype(X.dtype)
        return results

    def _check_targets(self, y: np.ndarray) -> None:
        power, low = self._power(), float(y.min())
        if power > 0.0 and (low < 0.0 or (power >= 2.0 and low == 0.0)):
            wanted = "above 0" if power >= 2.0 else "from 0"
            raise DataError(
                f"Some value(s) of y are out of the valid range of the loss: "
                f"{type(self).__name__} needs targets {wanted}, got {low:g}"
            )
        if power > 0.0 and not np.any(y > 0):
            raise DataError(f"{type(self).__name__} needs a target above 0: all are 0")

    def _loss(self) -> Any:
        power = self._power()
        if power == 0.0:
            return Squared()
        return Poisson() if power == 1.0 else Gamma() if power == 2.0 else Tweedie(power)

    def _regularizer(self, total: float, d: int, target: int) -> Net:
        return Net(l2=float(self.alpha) * getattr(self, "_relief", 1.0))

    def predict(self, X: Any) -> Any:
        """Predicted means; of a dask array a dask array."""
        margins = self._margins(X)
        return rowwise(np.exp, margins) if self._power() > 0.0 else margins

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """D^2, the share of the deviance explained, as in scikit-learn."""
        from sklearn.metrics import d2_tweedie_score

        guess, power = self.predict(X), self._power()
        return float(d2_tweedie_score(y, guess, sample_weight=sample_weight, power=power))


class PoissonRegressor(LogLinkRegressor):
    """Counts with a log-linear mean and l2, and a certificate.

    Minimises ``sum_i w_i (exp(u_i) - b_i u_i) / sum_i w_i + alpha/2 |x|^2``, u_i = x'a_i +
    intercept.

    Parameters
    ----------
    alpha : float, default 1
    fit_intercept : bool, default True
    solver : str, default "auto"
        See ``Ridge``.
    max_iter : int, default 1000
    tol : float, default 1e-6
        Relative duality gap to reach.
    warm_start : bool, default False
    verbose : int, default 0

    Attributes
    ----------
    coef_, intercept_, n_iter_, dual_coef_, dual_gap_, rel_gap_, certificate_, trace_
        See ``LogisticRegression``.

    Examples
    --------
    >>> import numpy as np
    >>> from spd1.linear_model import PoissonRegressor
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> PoissonRegressor(alpha=0.0, tol=1e-8).fit(X, [1.0, 2.0, 4.0]).predict([[3.0]]).round(3)
    array([8.])
    """

    def __init__(
        self,
        *,
        alpha=1.0,
        fit_intercept=True,
        solver="auto",
        max_iter=1000,
        tol=1e-6,
        warm_start=False,
        verbose=0,
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose

    def _power(self) -> float:
        return 1.0


class GammaRegressor(PoissonRegressor):
    """Positive amounts with a log-linear mean and l2, and a certificate.

    Minimises ``sum_i w_i (b_i exp(-u_i) + u_i) / sum_i w_i + alpha/2 |x|^2``, u_i = x'a_i +
    intercept.

    Parameters
    ----------
    alpha, fit_intercept, solver, max_iter, tol, warm_start, verbose
        See ``PoissonRegressor``.

    Attributes
    ----------
    coef_, intercept_, n_iter_, dual_coef_, dual_gap_, rel_gap_, certificate_, trace_
        See ``LogisticRegression``.

    Examples
    --------
    >>> import numpy as np
    >>> from spd1.linear_model import GammaRegressor
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> GammaRegressor(alpha=0.0, tol=1e-8).fit(X, [1.0, 2.0, 4.0]).predict([[3.0]]).round(3)
    array([8.])
    """

    def _power(self) -> float:
        return 2.0


class TweedieRegressor(LogLinkRegressor):
    """Tweedie's family with l2: normal, Poisson, gamma, and between the last two; certified.

    Minimises the mean of half the deviance plus ``alpha/2 |x|^2``. Power 0 is least squares with
    the identity as its link; powers from 1 to 2 have a log link. Others, and other links, lead to
    problems that are not convex and are refused.

    Parameters
    ----------
    power : 0, or float from 1 to 2, default 0
    alpha : float, default 1
    fit_intercept : bool, default True
    link : {"auto", "identity", "log"}
    solver, max_iter, tol, warm_start, verbose
        See ``PoissonRegressor``.

    Attributes
    ----------
    coef_, intercept_, n_iter_, dual_coef_, dual_gap_, rel_gap_, certificate_, trace_
        See ``LogisticRegression``.

    Examples
    --------
    >>> import numpy as np
    >>> from spd1.linear_model import TweedieRegressor
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> model = TweedieRegressor(power=1.5, alpha=0.0, tol=1e-8).fit(X, [1.0, 2.0, 4.0])
    >>> model.predict([[3.0]]).round(3)
    array([8.])
    """

    def __init__(
        self,
        *,
        power=0.0,
        alpha=1.0,
        fit_intercept=True,
        link="auto",
        solver="auto",
        max_iter=1000,
        tol=1e-6,
        warm_start=False,
        verbose=0,
    ):
        self.power = power
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.link = link
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            tags.target_tags.positive_only = float(self.power) > 0.0
        except (TypeError, ValueError):  # refused by fit
            tags.target_tags.positive_only = False
        return tags

    def _power(self) -> float:
        return float(self.power)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        power = number(self.power, "power", -np.inf)
        refuse_unless(
            self.link,
            ("auto", "identity", "log"),
            f"link must be 'auto', 'identity' or 'log', got {self.link!r}",
        )
        if not (power == 0.0 or 1.0 <= power <= 2.0):
            raise ParameterError(
                f"power={power:g}: the problem is convex for power 0 and from 1 to 2, and spd1 "
                "solves no other"
            )
        if (self.link == "log") if power == 0.0 else (self.link == "identity"):
            raise ParameterError(
                f"link={self.link!r} with power={power:g} is a problem that is not convex, which "
                "spd1 does not solve: leave link at 'auto'"
            )
