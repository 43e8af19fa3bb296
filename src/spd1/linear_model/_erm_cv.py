"""Cross-validation for every loss: one path a fold, the winner fitted on everything."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..errors import DataError
from ..losses import as_loss
from ..regularizers import ElasticNet
from ._base import Task
from ._classifiers import refuse_targets
from ._erm import ERMClassifier, ERMRegressor
from ._erm_search import CrossValidated, Samples

__all__ = ["ERMClassifierCV", "ERMRegressorCV", "cross_validated", "score_of_zeros"]


class ERMClassifierCV(CrossValidated, ERMClassifier):
    """``ERMClassifier`` with the strength of its penalty found by cross-validation; certified.

    The penalty is ``alpha (l1_ratio |x|_1 + (1 - l1_ratio)/2 |x|^2)``.

    Parameters
    ----------
    loss : str or loss, default "logistic"
    l1_ratio : float in [0, 1], default 0
    alphas : int or array, default 30
        How many, or which.
    eps : float, default 1e-4
        Smallest alpha as a share of the largest.
    cv : int, splitter or None
        Default: 5 stratified folds.
    scoring : str, callable or None
        Default: the mean loss of the samples left out, times -1.
    rule : {"best", "one-se"}
        "one-se" takes the strongest penalty within one standard error of the best score.
    n_jobs : int, optional
        Folds at the same time.
    lower, upper, fit_intercept, class_weight, tol, max_iter, max_seconds, solver, warm_start, \
random_state, verbose
        See ``ERMClassifier``.

    Attributes
    ----------
    alpha_ : float
    alphas_ : ndarray of shape (n_alphas,), decreasing
    scores_ : ndarray of shape (n_folds, n_alphas)
    coef_, intercept_, classes_, n_iter_, dual_coef_, dual_gap_, rel_gap_, certificate_, trace_
        Of the final fit, see ``LogisticRegression``.

    Examples
    --------
    >>> import numpy as np
    >>> from spd1.linear_model import ERMClassifierCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 3)); y = X[:, 0] > 0
    >>> ERMClassifierCV("smoothed_hinge", alphas=5).fit(X, y).predict([[2.0, 0.0, 0.0]])
    array([ True])
    """

    def __init__(
        self,
        loss="logistic",
        *,
        l1_ratio=0.0,
        alphas=30,
        eps=1e-4,
        cv=None,
        scoring=None,
        rule="best",
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
        self.l1_ratio = l1_ratio
        self.alphas = alphas
        self.eps = eps
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
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

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Any:
        self._check_parameters()
        given = X, y, sample_weight  # with feature names
        X, y, weight = self._checked_data(X, y, sample_weight)
        refuse_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self._refuse_one_class(self.classes_, codes, weight)
        self._search(X, y, weight, classifier=True)
        return super()._fit(*given)

    def _fold_tasks(self, y: np.ndarray, weight: Any, d: int) -> list[Task]:
        codes = np.searchsorted(self.classes_, y)
        return list(self._tasks(codes, weight, d))

    def _fold(self, train: Samples, test: Samples) -> list[float]:
        lacking = np.setdiff1d(self.classes_, train.y)
        if len(lacking):
            raise DataError(
                f"a fold has no sample of class {lacking[0]} to train on: use fewer folds, or "
                "stratified ones"
            )
        return super()._fold(train, test)

    def _judge(self, coef: np.ndarray, level: np.ndarray) -> Any:
        judge = ERMClassifier(self.loss)
        judge.classes_, judge.coef_, judge.intercept_ = self.classes_, coef, level
        return judge


class ERMRegressorCV(CrossValidated, ERMRegressor):
    """``ERMRegressor`` with the strength of its penalty found by cross-validation; certified.

    The penalty is ``alpha (l1_ratio |x|_1 + (1 - l1_ratio)/2 |x|^2)``.

    Parameters
    ----------
    loss : str or loss, default "squared"
    l1_ratio, alphas, eps, cv, scoring, rule, n_jobs
        See ``ERMClassifierCV``; folds are not stratified.
    lower, upper, fit_intercept, tol, max_iter, max_seconds, solver, warm_start, random_state, \
verbose
        See ``ERMClassifier``.

    Attributes
    ----------
    alpha_, alphas_, scores_
        See ``ERMClassifierCV``.
    coef_, intercept_, n_iter_, dual_coef_, dual_gap_, rel_gap_, certificate_, trace_
        Of the final fit, see ``LogisticRegression``.

    Examples
    --------
    >>> import numpy as np
    >>> from spd1.linear_model import ERMRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 20)); y = X[:, 0] + 0.1 * rng.normal(size=60)
    >>> model = ERMRegressorCV("huber", l1_ratio=1.0, alphas=10, rule="one-se").fit(X, y)
    >>> np.flatnonzero(model.coef_)
    array([0])
    """

    def __init__(
        self,
        loss="squared",
        *,
        l1_ratio=0.0,
        alphas=30,
        eps=1e-4,
        cv=None,
        scoring=None,
        rule="best",
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
        self.l1_ratio = l1_ratio
        self.alphas = alphas
        self.eps = eps
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
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

    def _check_fits(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> None:
        self._search(X, y, weight, classifier=False)

    def _fold_tasks(self, y: np.ndarray, weight: Any, d: int) -> list[Task]:
        return [Task(np.ascontiguousarray(y), as_loss(self.loss), ElasticNet(), weight)]

    def _judge(self, coef: np.ndarray, level: np.ndarray) -> Any:
        judge = ERMRegressor(self.loss)
        judge.coef_, judge.intercept_ = coef[0], level[0]
        return judge


def cross_validated(
    search: ERMClassifierCV | ERMRegressorCV,
    everything: Samples,
    folds: Iterable[tuple[Samples, Samples]],
) -> Any:
    """A search that has tried all alphas on folds that were prepared apart; without a final fit."""
    search._check_parameters()
    if isinstance(search, ERMClassifierCV):
        search.classes_ = np.unique(everything.y)
    search._try_alphas(everything, folds)
    return search


def score_of_zeros(search: ERMClassifierCV | ERMRegressorCV, samples: Samples) -> float:
    """What a model whose coefficients are all zero scores: fails where ``scoring`` does."""
    if isinstance(search, ERMClassifierCV):
        search.classes_ = np.unique(samples.y)
    zeros = np.zeros((1, samples.X.shape[1])), np.zeros(1)
    return search._score(samples.X, samples.y, *zeros, samples.weight)
