"""Cross-validated logistic regression: one path a fold, the winner fitted on everything."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.metrics import check_scoring
from sklearn.utils.parallel import Parallel, delayed

from ..design.intercept import Design
from ._classifiers import LogisticRegression, logistic_ratio, refuse_targets
from ._cv import folds_of
from ._options import number, refuse_unless, whole
from ._progress import Watch

__all__ = ["LogisticRegressionCV"]


class LogisticRegressionCV(LogisticRegression):
    """Logistic regression with C, and l1_ratio, found by cross-validation; certified.

    Parameters
    ----------
    Cs : int or array, default 10
        How many, from 1e-4 to 1e4, or which.
    l1_ratios : list of floats in [0, 1], default [0]
    fit_intercept, dual, penalty, solver, tol, max_iter, class_weight, verbose, \
intercept_scaling, random_state, multi_class
        See ``LogisticRegression``.
    cv : int, splitter or None
        Default: 5 stratified folds.
    scoring : str, callable or None
        Default: accuracy.
    n_jobs : int, optional
        Folds at the same time.
    refit : True
        Nothing else means anything here.
    use_legacy_attributes : False
        Nothing else means anything here.

    Attributes
    ----------
    C_, l1_ratio_ : float
    Cs_, l1_ratios_ : ndarray
    scores_ : ndarray of shape (n_folds, n_l1_ratios, n_Cs)
    coefs_paths_ : ndarray of shape (n_folds, n_l1_ratios, n_Cs, n_classes or 1, d + 1)
        The last column is the intercept, if there is one.
    coef_, intercept_, classes_, n_iter_, dual_coef_, dual_gap_, rel_gap_, certificate_, trace_
        Of the final fit, see ``LogisticRegression``.

    Examples
    --------
    >>> import numpy as np
    >>> from spd1.linear_model import LogisticRegressionCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 5)); y = X[:, 0] > 0
    >>> bool(LogisticRegressionCV(Cs=5).fit(X, y).score(X, y) > 0.9)
    True
    """

    def __init__(
        self,
        *,
        Cs=10,
        l1_ratios=(0.0,),
        fit_intercept=True,
        cv=None,
        dual=False,
        penalty="deprecated",
        scoring=None,
        solver="auto",
        tol=1e-6,
        max_iter=1000,
        class_weight=None,
        n_jobs=None,
        verbose=0,
        refit=True,
        intercept_scaling=1.0,
        random_state=None,
        use_legacy_attributes=False,
        multi_class="multinomial",
    ):
        self.Cs = Cs
        self.l1_ratios = l1_ratios
        self.fit_intercept = fit_intercept
        self.cv = cv
        self.dual = dual
        self.penalty = penalty
        self.scoring = scoring
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.refit = refit
        self.intercept_scaling = intercept_scaling
        self.random_state = random_state
        self.use_legacy_attributes = use_legacy_attributes
        self.multi_class = multi_class

    # What the parent reads: the winner.
    C = property(lambda self: getattr(self, "C_", 1.0))
    l1_ratio = property(lambda self: getattr(self, "l1_ratio_", 0.0))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for ratio in self._ratios():
            number(ratio, "l1_ratios", 0.0, 1.0)
        if np.ndim(self.Cs) == 0:
            whole(self.Cs, "Cs")
        for C in np.ravel(self.Cs) if np.ndim(self.Cs) else ():
            number(C, "Cs", open_low=True)
        refuse_unless(
            self.refit, (True,), "refit=False averages the coefficients of folds, which minimise "
            "nothing that could be certified: leave it at True",
        )  # fmt: skip
        refuse_unless(
            self.use_legacy_attributes, (False,), "use_legacy_attributes keeps dictionaries by "
            "class that scikit-learn is about to drop; spd1 never had them: leave it at False",
        )  # fmt: skip

    def _ratios(self) -> list[Any]:
        if self.penalty in ("l1", "l2", None):
            return [logistic_ratio(self.penalty, 0.0) or 0.0]
        return [0.0] if self.l1_ratios is None else list(np.ravel(self.l1_ratios))

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Any:
        for name in ("C_", "l1_ratio_"):
            self.__dict__.pop(name, None)
        self._check_parameters()
        data, labels, weight = self._checked_data(X, y, sample_weight)
        refuse_targets(labels)
        folds = folds_of(self.cv, data, labels, classifier=True)
        grid = np.logspace(-4, 4, int(self.Cs)) if np.ndim(self.Cs) == 0 else np.ravel(self.Cs)
        self.Cs_, self.l1_ratios_ = np.asarray(grid, dtype=float), np.array(self._ratios(), float)
        outcomes = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(self._fold)(data, labels, weight, train, test, float(ratio))
            for train, test in folds
            for ratio in self.l1_ratios_
        )
        shape = (len(folds), len(self.l1_ratios_), len(self.Cs_))
        self.scores_ = np.array([scores for scores, _ in outcomes]).reshape(shape)
        paths = np.array([coefs for _, coefs in outcomes])
        self.coefs_paths_ = paths.reshape(shape + paths.shape[2:])
        mean = self.scores_.mean(axis=0)
        k, c = np.unravel_index(int(np.argmax(mean)), mean.shape)
        self.C_, self.l1_ratio_ = float(self.Cs_[c]), float(self.l1_ratios_[k])
        return super()._fit(X, y, sample_weight)

    def _regularizer(self, total: float, d: int) -> Any:
        if self.penalty is None:
            return super()._regularizer(total, d)
        return _logistic_net(self.C_, self.l1_ratio_, total)

    def _fold(
        self, X: Any, y: Any, weight: Any, train: np.ndarray, test: np.ndarray, ratio: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Scores and coefficients of all Cs on one fold, from the strongest penalty on."""
        classes, codes = np.unique(y[train], return_inverse=True)
        part = None if weight is None else weight[train]
        judge = LogisticRegression(
            class_weight=self.class_weight, solver=self.solver, multi_class=self.multi_class,
            tol=self.tol, random_state=self.random_state, verbose=self.verbose,
        )  # fmt: skip
        judge._exact = math.inf  # folds end at tol
        judge._refuse_one_class(classes, codes, part)
        judge.classes_, judge.n_features_in_ = classes, X.shape[1]
        design = Design(X[train], bool(self.fit_intercept), part)
        order = np.argsort(self.Cs_)
        tasks = judge._tasks(codes, part, design.d)
        rows = len(classes) if judge._multinomial else len(tasks)
        found = np.empty((len(order), rows, design.d + int(design.fit_intercept)))
        for t, task in enumerate(tasks):
            start: dict[str, Any] = {}
            total = float(len(codes)) if task.weight is None else float(task.weight.sum())
            for k in order:
                net = _logistic_net(float(self.Cs_[k]), ratio, total)
                watch = Watch(self._iterations(), self._tol())
                x = judge._solve(design, task._replace(reg=net), watch, start).x
                start = {"x0": x}
                found[k, slice(None) if judge._multinomial else t] = x
        score = check_scoring(judge, scoring=self.scoring)
        scores = []
        for x in found:
            judge.coef_ = x[:, : design.d]
            judge.intercept_ = x[:, -1] if design.fit_intercept else np.zeros(len(x))
            options = {} if weight is None else {"sample_weight": weight[test]}
            scores.append(score(judge, X[test], y[test], **options))
        return np.array(scores, dtype=float), found


def _logistic_net(C: float, ratio: float, total: float) -> Any:
    from ..regularizers import ElasticNet as Net

    if math.isinf(C):
        return Net()
    return Net(l1=ratio / (C * total), l2=(1.0 - ratio) / (C * total))
