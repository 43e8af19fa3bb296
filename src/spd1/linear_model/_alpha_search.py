"""The search for alpha of least squares: by leaving out one sample at a time, or by folds."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import check_scoring, get_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _raise_for_params,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.multiclass import type_of_target

from ..errors import ParameterError
from ._base import CertifiedModel, Task
from ._left_out import AsDecided, AsLabelled, AsPredicted, LeftOut
from ._options import checked_alphas, flag, refuse_unless
from ._ridge import Ridge
from ._ridge_classifier import RidgeClassifier
from ._rounded import kept_type

__all__ = ["AlphaSearch"]


class AlphaSearch(CertifiedModel):
    """What RidgeCV and RidgeClassifierCV share: the search."""

    _classifies = False
    alpha_per_target = False
    gcv_mode: Any = None
    alphas: Any
    cv: Any
    scoring: Any
    fit_intercept: Any
    store_cv_results: Any
    class_weight: Any
    tol: Any
    classes_: Any
    alpha_: Any
    best_score_: Any
    _fit: Any

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Any:
        """Find alpha, then fit on everything.

        Parameters
        ----------
        X : array, SciPy sparse or data frame, shape (n, d)
        y : array of shape (n,) or (n, targets)
        sample_weight : array of shape (n,), optional
        **params
            For the scorer or the splitter; with scikit-learn's metadata routing only.
        """
        _raise_for_params(params, self, "fit")
        if self.gcv_mode == "svd" and sp.issparse(X):
            warnings.warn(
                "The 'svd' mode is not supported for sparse X in scikit-learn; here it makes no "
                "difference",
                FutureWarning,
                stacklevel=2,
            )
        self._given = {} if sample_weight is None else {"sample_weight": sample_weight}
        self._given.update(params)
        try:
            return self._fit(X, y, sample_weight)
        finally:
            del self._given
            self.__dict__.pop("_dtype", None)

    def _checked_data(
        self, X: Any, y: Any, sample_weight: Any, chunks: bool = False, **options: Any
    ) -> tuple:
        """As everywhere, but in double precision: alphas may be tiny."""
        del chunks  # samples are left out one by one
        found = super()._checked_data(X, y, sample_weight, **options)
        self._dtype = found[0].dtype
        return (found[0].astype(np.float64, copy=False), *found[1:])

    def _kept_type(self, X: Any, task: Task) -> Any:
        """Of the data that was given."""
        return kept_type(self._dtype, task.reg)

    def get_metadata_routing(self) -> Any:
        """What the scorer and the splitter ask for."""
        scored = MethodMapping().add(caller="fit", callee="score")
        split = MethodMapping().add(caller="fit", callee="split")
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(scorer=self._scorer(), method_mapping=scored)
        return router.add(splitter=self.cv, method_mapping=split)

    def _scorer(self) -> Any:
        if self.scoring is None:  # by name: a scorer that asks the estimator would route in circles
            return get_scorer("accuracy" if self._classifies else "r2")
        return check_scoring(self, scoring=self.scoring)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("store_cv_results", "alpha_per_target"):
            flag(getattr(self, name), name)
        refuse_unless(
            self.gcv_mode, (None, "auto", "svd", "eigen"),
            f"gcv_mode must be None, 'auto', 'svd' or 'eigen', got {self.gcv_mode!r}",
        )  # fmt: skip
        if self.cv is not None:
            for name in ("store_cv_results", "alpha_per_target"):
                if getattr(self, name):
                    raise ParameterError(f"cv!=None and {name}=True are incompatible")
        self._grid()

    def _grid(self) -> np.ndarray:
        """The alphas as they were given; leaving one out divides by them."""
        return checked_alphas(self.alphas, closed=self.cv is not None)

    def _search(self, X: Any, y: Any, targets: np.ndarray, weight: Any) -> None:
        """Set ``alpha_``, ``best_score_`` and, if asked for, ``cv_results_``."""
        self.__dict__.pop("cv_results_", None)
        if self.cv is not None:
            self._search_folds(X, y)
            return
        alphas, judge = self._grid(), self._judge(y, targets, weight)
        weight = np.ones(len(targets)) if weight is None else weight
        found = LeftOut(X, weight, bool(self.fit_intercept))
        kept, scores = [], []
        for alpha in alphas:
            errors = found.errors(targets, float(alpha))
            results, score = judge(errors)
            kept.append(results)
            scores.append(score)
        best = np.argmax(np.nan_to_num(np.array(scores), nan=-np.inf), axis=0)
        self.alpha_ = alphas[best]
        self.best_score_ = np.take_along_axis(np.array(scores), np.atleast_1d(best)[None], 0)[0] \
            if np.ndim(best) else scores[int(best)]  # fmt: skip
        if self.store_cv_results:
            shaped = np.stack(kept, axis=-1)
            self.cv_results_ = shaped if np.ndim(y) == 2 or self._classifies else shaped[:, 0]

    def _judge(self, y: Any, targets: np.ndarray, weight: Any) -> Any:
        """What makes results to keep and a score, the larger the better, of errors."""
        apart = self.alpha_per_target and targets.shape[1] > 1
        if self.scoring is None:
            w = np.ones((len(targets), 1)) if weight is None else np.reshape(weight, (-1, 1))

            def by_squares(errors: np.ndarray) -> tuple[np.ndarray, Any]:
                squares = w * errors**2
                return squares, -squares.mean(axis=0 if apart else None)

            return by_squares
        scorer, params = self._scorer(), {} if weight is None else {"sample_weight": weight}
        if _routing_enabled():
            params = process_routing(self, "fit", **self._given).scorer.score
        flat = np.ndim(y) == 1

        def by_scorer(errors: np.ndarray) -> tuple[np.ndarray, Any]:
            guess = targets - errors
            if self._classifies:
                several = type_of_target(y).startswith("multilabel")
                one = AsLabelled() if several else AsDecided(self.classes_)
                return guess, scorer(one, guess, y, **params)
            if apart:
                columns = zip(guess.T, targets.T, strict=True)
                return guess, [scorer(AsPredicted(), g, t, **params) for g, t in columns]
            pair = (guess[:, 0], targets[:, 0]) if flat else (guess, targets)
            return guess, scorer(AsPredicted(), *pair, **params)

        return by_scorer

    def _search_folds(self, X: Any, y: Any) -> None:
        options: dict[str, Any] = {"fit_intercept": self.fit_intercept, "tol": self.tol}
        if self._classifies:
            options["class_weight"] = self.class_weight
        model: Any = (RidgeClassifier if self._classifies else Ridge)(**options)
        if _routing_enabled():
            model.set_fit_request(sample_weight=True)
        grid = GridSearchCV(
            model, {"alpha": self._grid()}, cv=self.cv, scoring=self._scorer(), refit=False
        )
        grid.fit(X, y, **self._given)
        self.alpha_, self.best_score_ = grid.best_params_["alpha"], grid.best_score_
