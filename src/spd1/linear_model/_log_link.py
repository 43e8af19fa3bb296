"""What models with a log link share: exposures, offsets, the shortest of many solutions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _check_sample_weight

from ..design.intercept import Design
from ..errors import DataError
from ..losses import Gamma, Poisson, Squared, Tweedie
from ..regularizers import ElasticNet as Net
from ..result import Result
from ._base import Task
from ._chunked import rowwise
from ._options import number
from ._progress import Watch
from ._regressors import CertifiedRegressor
from .tuning import AS_EXACT, SMALL_FIT

__all__ = ["LogLinkRegressor"]


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

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        exposure: Any = None,
        offset: Any = None,
    ) -> Any:
        """Fit the model.

        Parameters
        ----------
        X : array, SciPy sparse or data frame, shape (n, d)
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
        exposure : array of shape (n,), optional
            Above 0; the mean of y is ``exposure * exp(x'a + intercept)``, and ``predict`` gives
            means for an exposure of 1.
        offset : array of shape (n,), optional
            The same in logarithms: what is added to ``x'a + intercept`` before the link, and which
            ``predict`` takes for 0.
        """
        return self._fit(X, y, sample_weight, exposure, offset)

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, exposure: Any = None, offset: Any = None
    ) -> Any:
        if offset is not None:
            offset = _a_number_each(offset, "offset", len(y))
            if self._power() == 0.0:  # the identity is its link
                y, offset = np.ravel(y) - offset, None
        if exposure is None and offset is None:
            return super()._fit(X, y, sample_weight)
        shares = np.ones(len(y)) if offset is None else np.exp(offset)
        if exposure is not None:
            shares = shares * _a_number_each(exposure, "exposure", len(y))
        if not np.all((shares > 0.0) & np.isfinite(shares)):
            raise DataError("exposure, or exp(offset), must be a finite number above 0 everywhere")
        return self._fit_exposed(X, y, sample_weight, shares)

    def _fit_exposed(self, X: Any, y: Any, sample_weight: Any, exposure: np.ndarray) -> Any:
        """With exposure E, phi(u + log E; b) = E^(2 - power) phi(u; b / E) up to a constant."""
        weight = np.ones(len(exposure))
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        heavier = weight * exposure ** (2.0 - self._power())
        self._relief = float(weight.sum() / heavier.sum())  # means are taken with other weights
        try:
            return super()._fit(X, np.ravel(y) / exposure, heavier)
        finally:
            del self._relief

    def _solve(self, design: Design, task: Task, watch: Watch, start: dict[str, Any]) -> Result:
        """Solve; of the solutions that dependent columns without penalty leave, the shortest."""
        result, X = super()._solve(design, task, watch, start), design.X
        if self.alpha != 0.0 or sp.issparse(X) or X.size > SMALL_FIT:
            return result
        mean = np.average(X, axis=0, weights=design.weight) if self.fit_intercept else 0.0
        _, s, rows = np.linalg.svd(np.asarray(X, dtype=float) - mean, full_matrices=False)
        rows = rows[s > max(X.shape) * np.finfo(X.dtype).eps * s.max(initial=0.0)]
        coef = result.x[None, : design.d]
        shortest = (coef @ rows.T) @ rows
        level = result.x[design.d :] + (coef - shortest) @ mean if self.fit_intercept else []
        return replace(result, x=np.append(shortest, level))

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


def _a_number_each(values: Any, name: str, count: int) -> np.ndarray:
    """A finite number for every sample, refused by name if it is not."""
    try:
        found = np.ravel(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError):
        raise DataError(f"{name} must be a number for every sample") from None
    if len(found) != count or not np.all(np.isfinite(found)):
        raise DataError(f"{name} must be a finite number for every sample: {count} of them")
    return found
