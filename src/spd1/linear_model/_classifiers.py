"""Classifiers: labels to -1 and +1 or classes at once, C to l1 and l2."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import expit, log_softmax, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from ..errors import DataError, ParameterError
from ..regularizers import ElasticNet
from ._base import CertifiedModel, Task, with_callbacks
from ._chunked import rowwise
from ._multinomial import SeveralClasses
from ._options import number, refuse_unless

__all__ = ["CertifiedClassifier", "LogisticRegression"]


class CertifiedClassifier(ClassifierMixin, CertifiedModel):
    """One class against the rest; subclasses name the loss and the regularizer."""

    _own_class_only = False  # whether class_weight counts for the class in question alone
    _balances_counts = False  # whether "balanced" counts samples and leaves out their weights

    def _loss(self) -> Any:
        raise NotImplementedError

    def _regularizer(self, total: float, d: int) -> ElasticNet:
        """Translate the penalty, given the sum of all weights."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the model, class by class.

        Parameters
        ----------
        X : array, SciPy sparse, data frame or dask array, shape (n, d)
        y : array of shape (n,)
            Labels of any type.
        sample_weight : array of shape (n,), optional
        """
        return self._fit(X, y, sample_weight)

    @with_callbacks
    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Any:
        self._check_parameters()
        X, y, weight = self._checked_data(X, y, sample_weight, chunks=True)
        refuse_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        self._refuse_one_class(classes, codes, weight)
        self.classes_ = classes
        self._run(X, self._tasks(codes, weight, X.shape[1]), weight)
        return self._end()

    def _refuse_one_class(self, classes: np.ndarray, codes: np.ndarray, weight: Any) -> None:
        if len(classes) < 2:
            raise DataError(
                f"{type(self).__name__} needs samples of at least 2 classes, but the data has only "
                f"one class: {classes[0]}"
            )
        if weight is not None:
            mass = np.bincount(codes, weight)
            if np.any(mass == 0):
                raise DataError(
                    f"class {classes[int(np.argmin(mass))]} has no sample with sample_weight > 0"
                )

    def _tasks(self, codes: np.ndarray, weight: Any, d: int) -> list[Task]:
        count = len(self.classes_)
        share = self._class_weights(codes, weight)
        tasks = []
        for k in range(count) if count > 2 else [1]:
            b = np.where(codes == k, 1.0, -1.0)
            c = weight
            if share is not None:
                if self._own_class_only and count > 2:
                    each = np.where(codes == k, share[k], 1.0)
                else:
                    each = share[codes]
                c = each if weight is None else each * weight
            total = float(len(codes)) if c is None else float(c.sum())
            if c is not None and not (np.any(c[b > 0] > 0) and np.any(c[b < 0] > 0)):
                raise DataError("class_weight and sample_weight leave a class without weight")
            name = f"class {self.classes_[k]} against the rest: " if count > 2 else ""
            tasks.append(Task(b, self._loss(), self._regularizer(total, d), c, name))
        return tasks

    def _class_weights(self, codes: np.ndarray, weight: Any) -> np.ndarray | None:
        wanted = getattr(self, "class_weight", None)
        if wanted is None:
            return None
        weight = None if self._balances_counts else weight
        labels = self.classes_[codes]
        try:
            found = compute_class_weight(
                wanted, classes=self.classes_, y=labels, sample_weight=weight
            )
            return np.asarray(found, dtype=float)
        except (ValueError, TypeError) as error:
            raise ParameterError(str(error)) from None

    def decision_function(self, X: Any) -> Any:
        """Confidence scores: shape (n,) for two classes, else (n, n_classes)."""
        scores = self._margins(X)
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> Any:
        """Class of the highest score; of a dask array a dask array."""
        return rowwise(self._labels_of, self.decision_function(X))

    def _labels_of(self, scores: np.ndarray) -> np.ndarray:
        index = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[index])


def refuse_targets(y: Any) -> None:
    """Refuse targets that are no labels, by name."""
    try:
        check_classification_targets(y)
    except ValueError as error:
        raise DataError(str(error)) from None


def probabilities(scores: np.ndarray) -> np.ndarray:
    """Probabilities of the classes: the logistic function, for several classes normalised."""
    if scores.ndim == 1:
        return np.column_stack([expit(-scores), expit(scores)])
    p = expit(scores)
    total = p.sum(axis=1, keepdims=True)
    some = total > 0.0
    return np.asarray(np.where(some, p / np.where(some, total, 1.0), 1.0 / p.shape[1]))


def log_probabilities(scores: np.ndarray) -> np.ndarray:
    """Their logarithms, without losing the smallest ones for two classes."""
    if scores.ndim == 1:
        return np.column_stack([-np.logaddexp(0.0, scores), -np.logaddexp(0.0, -scores)])
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(probabilities(scores)))


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
    dual : False
        Nothing else means anything here.
    tol : float, default 1e-6
        Relative duality gap to reach.
    fit_intercept : bool, default True
        The intercept is not penalised.
    intercept_scaling : 1
        Nothing else means anything here.
    class_weight : dict, "balanced" or None
    random_state : int, RandomState or None
    solver : str, default "auto"
        A method of ``spd1.solve``.
    max_iter : int, default 1000
        Limit on iterations: looks at the certificate.
    verbose : int, default 0
        Above 0 shows a live line.
    warm_start : bool, default False
        Start from the last fit.
    n_jobs : int, optional
        Threads of the one fit that two classes take; with "ovr", classes fitted at the same time.
        None: one, -1: as many as there are cores. A multinomial fit takes one.
    multi_class : {"multinomial", "ovr"}, default "multinomial"
        What three and more classes are: one model, or one against the rest each. "auto" is the
        former.

    Attributes
    ----------
    coef_, intercept_, classes_, n_iter_, n_features_in_, feature_names_in_
        As in scikit-learn.
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
        number(self.C, "C", open_low=True)
        logistic_ratio(self.penalty, self.l1_ratio)
        refuse_unless(self.dual, (False, True), "dual must be True or False; it changes nothing")

    def _loss(self) -> Any:
        return "logistic"

    def _regularizer(self, total: float, d: int) -> ElasticNet:
        ratio = logistic_ratio(self.penalty, self.l1_ratio)
        if ratio is None or math.isinf(self.C):
            return ElasticNet()
        strength = 1.0 / (self.C * total)
        return ElasticNet(l1=ratio * strength, l2=(1.0 - ratio) * strength)

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
    """Share of l1 that the two parameters ask for; None for no penalty."""
    if penalty in ("deprecated", "elasticnet"):
        return number(l1_ratio, "l1_ratio", 0.0, 1.0)
    if penalty is None:
        return None
    if penalty not in ("l1", "l2"):
        raise ParameterError(
            f"penalty must be 'l1', 'l2', 'elasticnet' or None, got {penalty!r}; better, set "
            "l1_ratio and C"
        )
    ratio = {"l1": 1.0, "l2": 0.0}[penalty]
    if l1_ratio not in (0.0, ratio):
        raise ParameterError(
            f"penalty={penalty!r} contradicts l1_ratio={l1_ratio!r}: set l1_ratio alone"
        )
    return ratio
