"""Ridge regression on labels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import column_or_1d

from ..errors import DataError
from ..regularizers import ElasticNet
from ._base import Task, with_callbacks
from ._classifiers import CertifiedClassifier, refuse_targets
from ._options import RIDGE_WORDS, number, solver_used
from .tuning import EXACT_WEIGHTS

__all__ = ["RidgeClassifier"]


class RidgeClassifier(CertifiedClassifier):
    """Ridge regression on labels -1 and +1, with a certificate.

    Minimises ``sum_i w_i (x'a_i + intercept - b_i)^2 + alpha |x|^2`` for each class, or each label
    where y has several columns of 0 and 1.

    Parameters
    ----------
    alpha : float, default 1
    fit_intercept : bool, default True
    copy_X : bool
        X is never changed, whatever this says.
    max_iter : int, optional
        Looks at the certificate. Default 1000.
    tol : float, default 1e-6
        Relative duality gap to reach. Small data is solved further, nearly to rounding: up to
        200,000 stored entries at this default or below, up to 1,000 above it.
    class_weight : dict, "balanced" or None
    solver : str, default "auto"
        See ``Ridge``.
    positive : bool, default False
        Keep coefficients from being negative.
    random_state : int, RandomState or None

    Attributes
    ----------
    coef_ : ndarray of shape (d,) for two classes, else (n_classes, d)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    classes_, n_iter_, dual_coef_, dual_gap_, rel_gap_, certificate_, trace_
        See ``LogisticRegression`` and ``Ridge``.

    Examples
    --------
    >>> import numpy as np
    >>> from spd1.linear_model import RidgeClassifier
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
    >>> RidgeClassifier().fit(X, y).predict([[2.9]])
    array([1])
    """

    _exact = EXACT_WEIGHTS
    _their_words = RIDGE_WORDS
    _early_end = False  # as in Ridge

    def __init__(
        self,
        alpha=1.0,
        *,
        fit_intercept=True,
        copy_X=True,
        max_iter=None,
        tol=1e-6,
        class_weight=None,
        solver="auto",
        positive=False,
        random_state=None,
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.class_weight = class_weight
        self.solver = solver
        self.positive = positive
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        number(self.alpha, "alpha")

    def _penalty(self) -> float:
        return float(self.alpha)

    def _regularizer(self, total: float, d: int) -> ElasticNet:
        lower = 0.0 if getattr(self, "positive", False) else -math.inf
        return ElasticNet(l2=self._penalty() / total, lower=lower)

    @with_callbacks
    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Any:
        self._check_parameters()
        X, y, weight = self._checked_data(X, y, sample_weight, multi_output=True)
        targets, weight = self._targets(y, weight)
        self._choose(X, y, targets, weight)
        self._solve_targets(X, targets, weight)
        return self._end()

    def _targets(self, y: Any, weight: Any) -> tuple[np.ndarray, Any]:
        """A column of -1 and +1 a class or label, and weights with those of the classes in them."""
        refuse_targets(y)
        try:
            self._label_binarizer = LabelBinarizer(neg_label=-1, pos_label=1)
            targets = self._label_binarizer.fit_transform(y)
            self.classes_ = self._label_binarizer.classes_
            if not self._multilabel():
                y = column_or_1d(y, warn=True)
            if self.class_weight is not None:
                share = compute_sample_weight(self.class_weight, y)
                weight = share if weight is None else weight * share
        except (ValueError, TypeError) as error:
            raise DataError(str(error)) from None
        if weight is not None and not np.any(weight > 0):
            raise DataError("class_weight and sample_weight leave no sample with weight")
        return np.asarray(targets, dtype=float), weight

    def _multilabel(self) -> bool:
        return bool(self._label_binarizer.y_type_.startswith("multilabel"))

    def _choose(self, X: Any, y: Any, targets: np.ndarray, weight: Any) -> None:
        """What has to be known before the final fit: nothing."""

    def _solve_targets(self, X: Any, targets: np.ndarray, weight: Any) -> None:
        total = float(X.shape[0]) if weight is None else float(weight.sum())
        net = self._regularizer(total, X.shape[1])
        several = targets.shape[1] > 1
        tasks = [
            Task(
                np.ascontiguousarray(b), "squared", net, None,
                f"class {self.classes_[k]} against the rest: " if several else "",
            )
            for k, b in enumerate(targets.T)
        ]  # fmt: skip
        self._run(X, tasks, weight)
        self.n_iter_ = np.array(self._iterations_done)
        self.solver_ = solver_used(getattr(self, "solver", "auto"), self.method_)
        if not several:
            self.coef_ = self.coef_[0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def decision_function(self, X: Any) -> Any:
        """Confidence scores: shape (n,) for two classes, else (n, n_classes)."""
        return self._margins(X)

    def predict(self, X: Any) -> np.ndarray:
        """Class of the highest score; of several labels, those with a score above 0."""
        scores = self.decision_function(X)
        if self._multilabel():
            return np.asarray(self._label_binarizer.inverse_transform(np.sign(scores)))
        index = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[index])
