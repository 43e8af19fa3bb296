"""Logistic regression: C and l1_ratio to l1 and l2, classes at once, probabilities."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import log_softmax, softmax

from ..design.intercept import Design
from ..regularizers import ElasticNet
from ..result import Result
from ._base import Task
from ._chunked import rowwise
from ._classifiers import CertifiedClassifier, log_probabilities, probabilities
from ._multinomial import SeveralClasses
from ._options import WrongParameterError, number, refuse_unless, warn_of
from ._progress import Watch

__all__ = ["LogisticRegression", "logistic_net", "logistic_ratio"]


class LogisticRegression(SeveralClasses, CertifiedClassifier):
    """Logistic regression with l1, l2 or both, and a certificate.

    Minimises ``C sum_i w_i log(1 + exp(-b_i (x'a_i + intercept))) + l1_ratio |x|_1 +
    (1 - l1_ratio)/2 |x|^2`` for two classes. Three and more are one multinomial model with a row of
    coefficients each, ``C sum_i w_i (log sum_k exp(z_ik) - z_i,b(i))`` and the same penalty. Both
    are scikit-learn's objectives.

    Parameters
    ----------
    penalty : "l2", "l1", "elasticnet" or None, optional
        As in scikit-learn, where it is deprecated in favour of ``l1_ratio`` and ``C=inf``.
    C : float, default 1
        Inverse strength of the penalty; ``inf`` for none.
    l1_ratio : float in [0, 1], default 0
        0 is l2 alone, 1 is l1 alone.
    dual : bool, default False
        Accepted: spd1 always solves both and certifies one with the other.
    tol : float, default 1e-6
        Relative duality gap to reach. Small data is solved further, nearly to rounding: up to
        200,000 stored entries at this default or below, up to 1,000 above it.
    fit_intercept : bool, default True
        The intercept is not penalised.
    intercept_scaling : float, default 1
        With ``solver="liblinear"``, entries of the column that stands for a penalised intercept.
    class_weight : dict, "balanced" or None
    random_state : int, RandomState or None
    solver : str, default "auto"
        A solver of scikit-learn, which asks for the problem that it solves ("liblinear": with a
        penalised intercept), or a method of ``spd1.solve``, such as "spd1:saga".
    max_iter : int, default 1000
        Limit on iterations: looks at the certificate. 1 to 4 end early: they also allow two passes
        over the data each. 0 certifies the starting point.
    verbose : int, default 0
        Above 0 shows a live line.
    warm_start : bool, default False
        Start from the last fit.
    n_jobs : int, optional
        Threads of the one fit; with "ovr" and several classes, classes fitted at the same time.
        None: one, -1: as many as there are cores.
    multi_class : {"multinomial", "ovr"}, default "multinomial"
        What three and more classes are: one model, or one against the rest each. "auto" is the
        former.

    Attributes
    ----------
    coef_, intercept_, classes_, n_features_in_, feature_names_in_
        As in scikit-learn; of float32 data float32, but with ``solver="liblinear"``.
    n_iter_ : ndarray of shape (1,), or with "ovr" (n_classes,)
        Looks at the certificate.
    dual_coef_ : ndarray of shape (1 or n_classes, n)
        The dual point that certifies the coefficients.
    dual_gap_, rel_gap_ : float, or with "ovr" ndarray of shape (n_classes,)
        Certified bound on what is left to gain, in the units of the mean loss, and relative.
    certificate_ : Certificate, or with "ovr" a list of one per class
    trace_ : Trace, or with "ovr" a list of one per class

    Examples
    --------
    >>> import numpy as np
    >>> from spd1.linear_model import LogisticRegression
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), ["no", "no", "yes", "yes"]
    >>> model = LogisticRegression(tol=1e-6).fit(X, y)
    >>> model.predict([[2.5]]), bool(model.rel_gap_ <= 1e-6)
    (array(['yes'], dtype='<U3'), True)
    """

    _default_solver = "lbfgs"
    _least_iterations = 0

    def __init__(
        self,
        penalty="deprecated",
        *,
        C=1.0,
        l1_ratio=0.0,
        dual=False,
        tol=1e-6,
        fit_intercept=True,
        intercept_scaling=1,
        class_weight=None,
        random_state=None,
        solver="auto",
        max_iter=1000,
        verbose=0,
        warm_start=False,
        n_jobs=None,
        multi_class="multinomial",
    ):
        self.penalty = penalty
        self.C = C
        self.l1_ratio = l1_ratio
        self.dual = dual
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state
        self.solver = solver
        self.max_iter = max_iter
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.multi_class = multi_class

    def _check_parameters(self) -> None:
        super()._check_parameters()
        refuse_unless(
            self.multi_class, ("multinomial", "ovr", "auto"),
            f"multi_class must be 'multinomial' or 'ovr', got {self.multi_class!r}",
        )  # fmt: skip
        self._check_penalty()
        refuse_unless(self.dual, (False, True), "dual must be True or False; it changes nothing")

    def _check_penalty(self) -> None:
        number(self.C, "C", open_low=True)
        logistic_ratio(self.penalty, self.l1_ratio)
        warn_of_penalty(self.penalty, self.l1_ratio, self.C)

    def _loss(self) -> Any:
        return "logistic"

    def _regularizer(self, total: float, d: int) -> ElasticNet:
        return logistic_net(self.C, logistic_ratio(self.penalty, self.l1_ratio), total)

    def _starting_points(self, tasks: list[Task], design: Design) -> list[dict[str, Any]]:
        starts = super()._starting_points(tasks, design)
        if self.max_iter != 0 or self._multinomial:
            return starts
        zero = np.zeros(design.d + int(design.fit_intercept))  # where it ends, too
        flat = np.zeros(design.n)  # with a y0 no kernel runs ahead of the first look
        return [{"x0": zero, "y0": flat, **start} for start in starts]

    def _kept_type(self, X: Any, task: Task) -> Any:
        return np.float64 if self.solver == "liblinear" else super()._kept_type(X, task)

    def _keep(self, results: list[Result], watches: list[Watch], dtype: Any = np.float64) -> None:
        super()._keep(results, watches, dtype)
        self.n_iter_ = np.array(self._iterations_done, dtype=np.int32)

    def predict_proba(self, X: Any) -> Any:
        """Probability of each class; with "ovr", those of one against the rest, normalised."""
        scores = self.decision_function(X)
        return rowwise(class_shares if self._multinomial else probabilities, scores)

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithm of the probability of each class."""
        scores = self.decision_function(X)
        return rowwise(class_log_shares if self._multinomial else log_probabilities, scores)


def class_shares(scores: np.ndarray) -> np.ndarray:
    """Probabilities of classes that share one model."""
    return np.asarray(softmax(scores, axis=1))


def class_log_shares(scores: np.ndarray) -> np.ndarray:
    """Their logarithms."""
    return np.asarray(log_softmax(scores, axis=1))


def logistic_ratio(penalty: Any, l1_ratio: Any) -> float | None:
    """Share of l1 that the two parameters ask for; None for no penalty.

    Examples
    --------
    >>> logistic_ratio("deprecated", 0.3), logistic_ratio("l1", 0.0), logistic_ratio(None, 0.0)
    (0.3, 1.0, None)
    """
    if penalty == "deprecated" and l1_ratio is None:
        return 0.0
    if penalty in ("deprecated", "elasticnet"):
        return number(l1_ratio, "l1_ratio", 0.0, 1.0)
    if penalty is None:
        return None
    if penalty not in ("l1", "l2"):
        raise WrongParameterError(
            f"penalty must be 'l1', 'l2', 'elasticnet' or None, got {penalty!r}; better, set "
            "l1_ratio and C"
        )
    return {"l1": 1.0, "l2": 0.0}[penalty]


def logistic_net(C: float, ratio: float | None, total: float) -> ElasticNet:
    """The penalty in units of the mean loss, given the sum of all weights."""
    if ratio is None or math.isinf(C):
        return ElasticNet()
    return ElasticNet(l1=ratio / (C * total), l2=(1.0 - ratio) / (C * total))


def warn_of_penalty(penalty: Any, l1_ratio: Any, C: float) -> None:
    """Say what scikit-learn 1.9 says of ``penalty``, which it is about to drop."""
    if penalty == "deprecated":
        if l1_ratio is None:
            warn_of("'l1_ratio=None' was deprecated in scikit-learn 1.8: set l1_ratio=0", True)
        return
    warn_of(
        "'penalty' was deprecated in scikit-learn 1.8 and goes with its 1.10: set l1_ratio=0 for "
        "'l2', 1 for 'l1', a number between for 'elasticnet', and C=np.inf for None",
        future=True,
    )
    if penalty != "elasticnet" and l1_ratio is not None and 0.0 < l1_ratio < 1.0:
        warn_of(
            f"l1_ratio parameter is only used when penalty is 'elasticnet'. Got (penalty={penalty})"
        )
    if logistic_ratio(penalty, l1_ratio) not in (l1_ratio, None):
        warn_of(
            f"Inconsistent values: penalty={penalty} with l1_ratio={l1_ratio}. penalty counts, and "
            "is deprecated: set l1_ratio only"
        )
    if penalty is None and C != 1.0:
        warn_of("Setting penalty=None will ignore the C and l1_ratio parameters")
