"""Cross-validated logistic regression: one path a fold, the winner fitted on everything."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import get_scorer
from sklearn.model_selection import check_cv
from sklearn.utils import metadata_routing
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _raise_for_params,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.parallel import Parallel, delayed

from ..errors import ParameterError
from ._classifiers import refuse_targets
from ._cv import folds_of
from ._logistic import LogisticRegression, logistic_net, logistic_ratio, warn_of_penalty
from ._logistic_folds import Fold, FoldModel, by_class, fold_of
from ._logistic_judge import judging
from ._options import flag, number, whole

__all__ = ["LogisticRegressionCV"]

PROOF = ("dual_coef_", "dual_gap_", "rel_gap_", "certificate_", "trace_", "method_")


class LogisticRegressionCV(LogisticRegression):
    """Logistic regression with C, and l1_ratio, found by cross-validation; certified.

    Parameters
    ----------
    Cs : int or array, default 10
        How many, from 1e-4 to 1e4, or which.
    l1_ratios : list of floats in [0, 1], optional
        Default: [0], and with ``use_legacy_attributes`` no axis for it.
    fit_intercept, dual, penalty, solver, tol, max_iter, class_weight, verbose, \
intercept_scaling, random_state, multi_class
        See ``LogisticRegression``.
    cv : int, splitter or None
        Default: 5 stratified folds.
    scoring : str, callable or None
        Default: accuracy. ``score`` follows it.
    n_jobs : int, optional
        Folds at the same time.
    refit : bool, default True
        False: no final fit. ``coef_``, ``intercept_``, ``C_`` and ``l1_ratio_`` are means over the
        folds of what was best on each, as in scikit-learn. Such a mean minimises nothing, so there
        is no ``certificate_``, only ``rel_gaps_``.
    use_legacy_attributes : bool, default False
        True: ``C_`` and ``l1_ratio_`` have an entry a class, ``scores_`` and ``coefs_paths_`` are
        dictionaries by class with axes (folds, Cs, l1_ratios), ``n_iter_`` has one axis in front,
        as in scikit-learn before 1.10.

    Attributes
    ----------
    C_, l1_ratio_ : float
    Cs_, l1_ratios_ : ndarray
    scores_ : ndarray of shape (n_folds, n_l1_ratios, n_Cs)
    coefs_paths_ : ndarray of shape (n_folds, n_l1_ratios, n_Cs, n_classes or 1, d + 1)
        The last column is the intercept, if there is one.
    n_iter_, rel_gaps_ : ndarray of shape (n_folds, n_l1_ratios, n_Cs)
        Looks and relative gaps of all fits on folds.
    coef_, intercept_, classes_, dual_coef_, dual_gap_, rel_gap_, certificate_, trace_
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

    # sample_weight of ``score`` goes where the scorer asks for it
    __metadata_request__score: ClassVar = {"sample_weight": metadata_routing.UNUSED}

    def __init__(
        self,
        *,
        Cs=10,
        l1_ratios=None,
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

    C_: Any
    l1_ratio_: Any
    scores_: Any
    coefs_paths_: Any
    n_iter_: Any

    # What the parent reads: the winner.
    C = property(lambda self: self.__dict__.get("_winner", (1.0, 0.0))[0])
    l1_ratio = property(lambda self: self.__dict__.get("_winner", (1.0, 0.0))[1])

    def _check_penalty(self) -> None:
        if self.penalty == "elasticnet" and self.l1_ratios is None:
            raise ParameterError("l1_ratios must be numbers from 0 to 1 with penalty='elasticnet'")
        for ratio in self._ratios():
            number(ratio, "l1_ratios", 0.0, 1.0)
        if np.ndim(self.Cs) == 0:
            whole(self.Cs, "Cs")
        for C in np.ravel(self.Cs) if np.ndim(self.Cs) else ():
            number(C, "Cs", open_low=True)
        flag(self.refit, "refit")
        flag(self.use_legacy_attributes, "use_legacy_attributes")
        if self.penalty != "deprecated":
            logistic_ratio(self.penalty, 0.0)
            warn_of_penalty(self.penalty, *self._named_ratio(), 1.0)
        self._get_scorer()

    def _named_ratio(self) -> tuple[float | None]:
        """An l1_ratio that contradicts ``penalty``, if there is one."""
        if self.penalty == "elasticnet" or self.l1_ratios is None:
            return (logistic_ratio(self.penalty, 0.0),)
        return (float(np.ravel(self.l1_ratios)[0]),)

    def _ratios(self) -> list[Any]:
        if self.penalty in ("l1", "l2", None):
            return [logistic_ratio(self.penalty, 0.0) or 0.0]
        return [0.0] if self.l1_ratios is None else list(np.ravel(self.l1_ratios))

    def _get_scorer(self) -> Any:
        try:
            return get_scorer("accuracy" if self.scoring is None else self.scoring)
        except ValueError as error:
            raise ParameterError(str(error)) from None

    # The search

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Any:
        """Find C and l1_ratio by cross-validation, then fit on everything.

        Parameters
        ----------
        X : array, SciPy sparse or data frame, shape (n, d)
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            Counts in the scores, too.
        **params
            For the splitter and the scorer; with scikit-learn's metadata routing only.
        """
        _raise_for_params(params, self, "fit")
        if _routing_enabled():
            asked = process_routing(self, "fit", sample_weight=sample_weight, **params)
            self._routed = asked.splitter.split, asked.scorer.score
        else:
            weights = {} if sample_weight is None else {"sample_weight": sample_weight}
            self._routed = {}, weights
        try:
            return self._fit(X, y, sample_weight)
        finally:
            del self._routed

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Any:
        self._check_parameters()
        data, labels, weight = self._checked_data(X, y, sample_weight)
        refuse_targets(labels)
        classes, codes = np.unique(labels, return_inverse=True)
        self._refuse_one_class(classes, codes, weight)
        self.classes_ = classes
        splitting, scoring = self._routed
        folds = folds_of(self.cv, data, labels, classifier=True, **splitting)
        grid = np.logspace(-4, 4, int(self.Cs)) if np.ndim(self.Cs) == 0 else np.ravel(self.Cs)
        self.Cs_, self.l1_ratios_ = np.asarray(grid, dtype=float), np.array(self._ratios(), float)
        judge = judging(self.scoring, self._get_scorer(), classes)
        outcomes: list[Fold] = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(fold_of)(
                self._model(codes, weight, data.shape[1]), data, labels, codes, weight, split,
                self.Cs_, None if self.penalty is None else float(ratio), judge, scoring,
            )
            for split in folds
            for ratio in self.l1_ratios_
        )  # fmt: skip
        self._keep_folds([np.array(part) for part in zip(*outcomes, strict=True)], len(folds))
        if self.refit:
            super()._fit(X, y, sample_weight)
        else:
            self._average()
        self._as_scikit_learn_has_them()
        return self

    def _model(self, codes: np.ndarray, weight: Any, d: int) -> FoldModel:
        """A model for a fold; "balanced" means the classes of all the data."""
        share: Any = self._class_weights(codes, weight)
        model = FoldModel(
            class_weight=None if share is None else dict(zip(self.classes_, share, strict=True)),
            solver=self.solver, multi_class=self.multi_class, fit_intercept=self.fit_intercept,
            intercept_scaling=self.intercept_scaling, tol=self.tol, max_iter=self.max_iter,
            random_state=self.random_state, verbose=self.verbose,
        )  # fmt: skip
        model.classes_, model.n_features_in_ = self.classes_, d
        return model

    def _keep_folds(self, parts: list[np.ndarray], folds: int) -> None:
        scores, coefs, iterations, gaps = parts
        shape = (folds, len(self.l1_ratios_), len(self.Cs_))
        self.scores_ = scores.reshape(shape)
        self.coefs_paths_ = coefs.reshape(shape + coefs.shape[2:])
        self._fold_iterations, self.rel_gaps_ = iterations.reshape(shape), gaps.reshape(shape)
        total = self.scores_.sum(axis=0).T  # C first: among equals the first C wins
        c, k = np.unravel_index(int(np.argmax(total)), total.shape)
        self._winner = float(self.Cs_[c]), float(self.l1_ratios_[k])

    def _average(self) -> None:
        """Without a final fit: the mean of each fold's best, of which nothing is certified."""
        for name in PROOF:
            self.__dict__.pop(name, None)
        folds = len(self.scores_)
        best = [np.argmax(scores.T) for scores in self.scores_]
        c, k = np.unravel_index(best, self.scores_.shape[:0:-1])
        mean = self.coefs_paths_[np.arange(folds), k, c].mean(axis=0)
        d = self.n_features_in_
        self.coef_ = mean[:, :d]
        self.intercept_ = mean[:, -1] if self.fit_intercept else np.zeros(len(mean))
        self._winner = float(self.Cs_[c].mean()), float(self.l1_ratios_[k].mean())

    def _as_scikit_learn_has_them(self) -> None:
        """``C_`` and the others: numbers and arrays, or what ``use_legacy_attributes`` asks for."""
        self.C_, self.l1_ratio_ = self._winner
        self.n_iter_ = self.__dict__.pop("_fold_iterations")
        if not self.use_legacy_attributes:
            return
        rows = self.coefs_paths_.shape[3]
        self.C_, self.l1_ratio_ = np.full(rows, self.C_), np.full(rows, self.l1_ratio_)
        self.scores_, self.coefs_paths_, self.n_iter_ = by_class(
            self.scores_, self.coefs_paths_, self.n_iter_, self.classes_, self.l1_ratios is None
        )

    def _regularizer(self, total: float, d: int) -> Any:
        return logistic_net(self.C, None if self.penalty is None else self.l1_ratio, total)

    # Afterwards

    def score(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> float:
        """The score by ``scoring``.

        Parameters
        ----------
        X : array, SciPy sparse or data frame, shape (n, d)
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
        **params
            For the scorer; with scikit-learn's metadata routing only.
        """
        _raise_for_params(params, self, "score")
        if sample_weight is not None:
            params = {**params, "sample_weight": sample_weight}
        if _routing_enabled():
            params = process_routing(self, "score", **params).scorer.score
        return float(self._get_scorer()(self, X, y, **params))

    def get_metadata_routing(self) -> Any:
        """What the splitter and the scorer ask for."""
        split = MethodMapping().add(caller="fit", callee="split")
        score = MethodMapping().add(caller="score", callee="score")
        score.add(caller="fit", callee="score")
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(splitter=check_cv(self.cv, classifier=True), method_mapping=split)
        return router.add(scorer=self._get_scorer(), method_mapping=score)
