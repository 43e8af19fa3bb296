"""Errors of least squares when one sample is left out, and scorers for predictions made so."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

__all__ = ["AsDecided", "AsLabelled", "AsPredicted", "LeftOut"]


class LeftOut:
    """Errors of ridge regression at every sample when that sample is left out, for any alpha.

    The fit without sample i errs there by r_i / (1 - h_i), r the residual of the fit with it and h
    the diagonal of the matrix that makes fitted values of targets. Both come from one spectral
    decomposition of the data, centred and with the square roots of the weights in its rows.

    Parameters
    ----------
    X : array or SciPy sparse of shape (n, d)
    weight : array of shape (n,)
    centre : bool
        Whether there is an intercept.

    Examples
    --------
    >>> X, y = np.array([[1.0], [2.0], [3.0]]), np.array([[1.0], [1.0], [4.0]])
    >>> LeftOut(X, np.ones(3), False).errors(y, alpha=1.0).ravel().round(3)
    array([ 0.   , -1.364,  2.5  ])
    """

    def __init__(self, X: Any, weight: np.ndarray, centre: bool) -> None:
        n, d = X.shape
        self.weight, self.root, self.centre = weight, np.sqrt(weight), centre
        self.X = X
        self.mean = mean = (
            np.asarray(X.T @ weight).ravel() / weight.sum() if centre else np.zeros(d)
        )
        if not sp.issparse(X):
            self._from_rows(np.asarray(X, dtype=float) - mean)
        elif n <= d + 1:
            self._from_products_of_rows(X, mean)
        else:
            self._from_products_of_columns(X, mean)

    def _from_rows(self, rows: np.ndarray) -> None:
        rows = self.root[:, None] * rows
        self.complete = len(rows) <= rows.shape[1] + int(self.centre)
        if self.complete and self.centre:  # as below
            q = self.root / np.linalg.norm(self.root)
            size = 2.0 * max(float(np.linalg.norm(rows)), 1.0)
            rows = np.column_stack([rows, size * q])
        self.U, s, _ = np.linalg.svd(rows, full_matrices=False)
        self.spectrum = s**2
        if self.complete and self.centre:
            keep = np.arange(len(self.spectrum)) != int(np.argmax(np.abs(self.U.T @ q)))
            self.U, self.spectrum = self.U[:, keep], self.spectrum[keep]

    def _from_products_of_rows(self, X: Any, mean: np.ndarray) -> None:
        across = np.asarray(X @ mean).ravel()
        products = X @ X.T
        K = np.asarray(products.toarray() if sp.issparse(X) else products, dtype=float)
        K = (K - across[:, None] - across[None, :] + mean @ mean) * np.outer(self.root, self.root)
        keep = np.ones(len(K), dtype=bool)
        if self.centre:  # the intercept's direction gets an eigenvalue of its own, and goes
            q = self.root / np.linalg.norm(self.root)
            K += 2.0 * max(float(np.trace(K)), 1.0) * np.outer(q, q)
        values, U = np.linalg.eigh(K)
        if self.centre:
            keep[int(np.argmax(np.abs(U.T @ q)))] = False
        self.U, self.spectrum, self.complete = U[:, keep], np.maximum(values[keep], 0.0), True

    def _from_products_of_columns(self, X: Any, mean: np.ndarray) -> None:
        gram = (X.T @ sp.diags_array(self.weight) @ X).toarray()
        values, V = np.linalg.eigh(gram - self.weight.sum() * np.outer(mean, mean))
        some = values > values.max(initial=0.0) * len(values) * np.finfo(float).eps
        rows = self.root[:, None] * (X @ V[:, some] - mean @ V[:, some])
        self.U, self.spectrum = rows / np.sqrt(values[some]), values[some]
        self.complete = False

    def errors(self, targets: np.ndarray, alpha: float) -> np.ndarray:
        """Target minus prediction of the fit without the sample; targets of shape (n, k)."""
        level = np.average(targets, axis=0, weights=self.weight) if self.centre else 0.0
        y = self.root[:, None] * (targets - level)
        kept = alpha / (self.spectrum + alpha)
        inside = self.U.T @ y
        residual, room = self.U @ (kept[:, None] * inside), (self.U**2) @ kept
        if not self.complete:
            residual += y - self.U @ inside
            room += 1.0 - (self.U**2).sum(axis=1)
            room -= self.weight / self.weight.sum() if self.centre else 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.asarray(residual / (room * self.root)[:, None])
        if np.any(self.weight == 0.0):  # left out as it is
            c = self.root[:, None] * residual / alpha
            x = np.asarray(self.X.T @ c) - np.outer(self.mean, c.sum(axis=0))
            plain = targets - (np.asarray(self.X @ x) - self.mean @ x + level)
            found[self.weight == 0.0] = plain[self.weight == 0.0]
        return found


class AsPredicted(RegressorMixin, BaseEstimator):
    """Says what it is given: scorers then judge predictions made elsewhere."""

    def fit(self, X: Any, y: Any = None) -> Any:
        return self

    def predict(self, X: Any) -> Any:
        return X

    def __sklearn_is_fitted__(self) -> bool:
        return True


class AsDecided(ClassifierMixin, AsPredicted):
    def __init__(self, classes: Any = (0, 1)) -> None:
        self.classes = classes

    @property
    def classes_(self) -> np.ndarray:
        return np.asarray(self.classes)

    def decision_function(self, X: Any) -> Any:
        return X[:, 0] if X.shape[1] == 1 else X

    def predict(self, X: Any) -> Any:
        index = (X[:, 0] > 0).astype(int) if X.shape[1] == 1 else X.argmax(axis=1)
        return self.classes_[index]


class AsLabelled(ClassifierMixin, AsPredicted):
    classes_ = np.array([0, 1])

    def predict(self, X: Any) -> Any:
        return (X > 0).astype(int)
