"""Generalised linear models with a log link: counts, amounts, and amounts often zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ParameterError
from ._log_link import LogLinkRegressor
from ._options import number, refuse_unless

__all__ = ["GammaRegressor", "PoissonRegressor", "TweedieRegressor"]


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
        Looks at the certificate; 1 to 4 allow two passes over the data each, too.
    tol : float, default 1e-6
        Relative duality gap to reach. Small data is solved further, nearly to rounding: up to
        200,000 stored entries at this default or below, up to 1,000 above it.
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
    the identity as its link; powers from 1 to 2 have a log link. Others, and other links, are
    refused: but for power 1 with the identity, they lead to problems that are not convex.

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
            kind = "another problem" if power == 1.0 else "a problem that is not convex"
            raise ParameterError(
                f"link={self.link!r} with power={power:g} is {kind}, which spd1 does not solve: "
                "leave link at 'auto'"
            )
