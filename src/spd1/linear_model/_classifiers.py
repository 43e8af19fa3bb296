"""What classifiers share: labels to -1 and +1, one class against the rest, weights of classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from ..errors import DataError
from ..regularizers import ElasticNet
from ._base import CertifiedModel, Task, with_callbacks
from ._chunked import rowwise
from ._options import WrongParameterError

__all__ = ["CertifiedClassifier", "log_probabilities", "probabilities", "refuse_targets"]


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
        classes, codes = labels_of(y)
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
            self._refuse_empty_side(b, c)
            name = f"class {self.classes_[k]} against the rest: " if count > 2 else ""
            tasks.append(Task(b, self._loss(), self._regularizer(total, d), c, name))
        return tasks

    def _refuse_empty_side(self, b: np.ndarray, c: np.ndarray | None) -> None:
        if c is not None and not (np.any(c[b > 0] > 0) and np.any(c[b < 0] > 0)):
            raise DataError("class_weight and sample_weight leave a class without weight")

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
            raise WrongParameterError(str(error)) from None

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


def labels_of(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """The classes in order, and the number of each sample's; refused if they are no labels.

    Whole numbers close together are counted, not sorted: few of them are labels without doubt.

    Examples
    --------
    >>> labels_of(np.array([3, 5, 3, 3]))
    (array([3, 5]), array([0, 1, 0, 0]))
    """
    if isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype == np.int64 and len(y):
        least, most = int(y.min()), int(y.max())
        if most - least < len(y) // 2:  # beyond half as many as samples scikit-learn warns
            there = np.bincount(y - least) > 0
            return np.flatnonzero(there) + least, (np.cumsum(there) - 1)[y - least]
    refuse_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    return classes, codes


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
