"""The objective of a multinomial model on its data.

    P(x) = sum_i c_i [log sum_k exp(z_ik) - z_i,b(i)] + sum_jk (l1 |x_jk| + l2/2 x_jk^2),   z = A x

x has a column a class. An intercept is a last row of x that pays nothing, and a column of ones of
A that is never stored. Scores and probabilities have a row a class: sums over classes then run
along contiguous memory.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..data.chunked import is_chunked
from ..data.convert import as_matrix, as_scipy
from ..data.crew import Crew, each, summed
from ..data.store import Store
from ..engines.ledger import Ledger
from ..errors import IncompatibleError
from ..regularizers import ElasticNet
from .checks import checked_labels, checked_weights
from .tuning import KEPT_ENTRIES

__all__ = ["Objective", "Point", "softmax"]


class Point(NamedTuple):
    """Coefficients and what follows from them."""

    x: np.ndarray
    scores: np.ndarray
    chances: np.ndarray
    log_sums: np.ndarray
    value: float


def softmax(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of the classes, and log sum_k exp(z_k), of each column.

    Examples
    --------
    >>> p, log_sum = softmax(np.array([[0.0], [0.0]]))
    >>> p.ravel().tolist(), float(log_sum[0]) == math.log(2.0)
    ([0.5, 0.5], True)
    """
    top = scores.max(axis=0)
    p = scores - top
    np.exp(p, out=p)
    total = p.sum(axis=0)
    p /= total
    return p, np.log(total) + top


class Objective:
    """Data, classes, weights and penalty.

    Parameters
    ----------
    X : array or SciPy sparse, shape (n, d)
    labels : array of shape (n,)
        Class of each sample, 0 .. classes - 1.
    classes : int
    weight : array of shape (n,), optional
        Not negative; normalised to a sum of one.
    reg : ElasticNet
        The same for every coefficient, without bounds.
    fit_intercept : bool
    ledger : Ledger, optional
        Who counts what is read.

    Attributes
    ----------
    crew : Crew, optional
        Who does products with the data, several threads or nobody.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> one = Objective(X, np.array([0, 1, 2]), 3, None, ElasticNet(l2=1.0), True)
    >>> round(one.at(np.zeros((2, 3))).value, 6) == round(math.log(3.0), 6)
    True
    """

    def __init__(
        self, X: Any, labels: Any, classes: int, weight: Any, reg: ElasticNet, fit_intercept: bool,
        ledger: Ledger | None = None,
    ) -> None:  # fmt: skip
        if not (reg.scalar and math.isinf(reg.lower) and math.isinf(reg.upper)):
            raise IncompatibleError(
                "a multinomial model has one l1 and one l2 for all coefficients and no bounds"
            )
        self.reg, self.l1, self.l2 = reg, float(reg.l1), float(reg.l2)
        self.fit_intercept = fit_intercept
        self._set_data(X)
        self.K = int(classes)
        self.labels = checked_labels(labels, self.n, self.K)
        self.c = checked_weights(weight, self.n)
        self.share = np.bincount(self.labels, self.c, minlength=self.K)  # weight of each class
        self.l2_rows = np.full((self.size, 1), self.l2)
        if fit_intercept:
            self.l2_rows[-1] = 0.0
        self.ledger = Ledger(self.stored) if ledger is None else ledger
        self.own = np.arange(self.n)
        self.crew: Crew | None = None

    def _set_data(self, X: Any) -> None:
        if isinstance(X, Store) or is_chunked(X):
            raise IncompatibleError(
                f"several classes at once need data in memory, not a {type(X).__name__}: fit one "
                "class against the rest (LogisticRegression(multi_class='ovr'))"
            )
        A: Any = as_matrix(X)
        self.n, self.d, self.stored = int(A.rows()), int(A.columns()), int(A.stored)
        self.size = self.d + int(self.fit_intercept)
        self.sparse = not A.is_dense()
        if self.sparse:
            self.X = sp.csr_array(as_scipy(A), dtype=float)
            self.turned = sp.csr_array(self.X.T)
        else:
            self.X = np.asarray(A.values, dtype=float)

    # Products

    def scores(self, x: np.ndarray) -> np.ndarray:
        """Z = (A x)': one row a class."""
        self.ledger.entries += self.stored
        slopes = x[: self.d]
        if self.crew is not None:
            z = self._scores_by_rows(slopes)
        elif self.sparse:
            z = np.ascontiguousarray(np.asarray(self.X @ np.ascontiguousarray(slopes)).T)
        else:
            z = slopes.T @ self.X.T
        if self.fit_intercept:
            z += x[-1][:, None]
        return z

    def adjoint(self, q: np.ndarray) -> np.ndarray:
        """A'q': the shape of x."""
        self.ledger.entries += self.stored
        out = np.empty((self.size, len(q)))
        if self.crew is not None:
            out[: self.d] = self._adjoint_by_pieces(q)
        elif self.sparse:
            out[: self.d] = self.turned @ np.ascontiguousarray(q.T)
        else:
            np.matmul(self.X.T, q.T, out=out[: self.d])
        if self.fit_intercept:
            out[-1] = q.sum(axis=1)
        return out

    # The same by several threads, over a cut that follows from the data alone

    def _scores_by_rows(self, slopes: np.ndarray) -> np.ndarray:
        z = np.empty((slopes.shape[1], self.n))
        slopes = np.ascontiguousarray(slopes)

        def work(rows: slice) -> None:
            part = _lines(self.X, rows) if self.sparse else self.X[rows]
            z[:, rows] = np.asarray(part @ slopes).T

        each(self.crew, self.n, float(self.stored) * len(z), work)
        return z

    def _adjoint_by_pieces(self, q: np.ndarray) -> np.ndarray:
        entries = float(self.stored) * len(q)
        if not self.sparse:
            return summed(
                self.crew, self.n, entries, self.d * len(q),
                lambda rows: np.asarray(self.X[rows].T @ q[:, rows].T),
            )  # fmt: skip
        right = np.ascontiguousarray(q.T)
        out = np.empty((self.d, len(q)))

        def work(columns: slice) -> None:
            out[columns] = _lines(self.turned, columns) @ right

        each(self.crew, self.d, entries, work)
        return out

    def _softmax(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.crew is None:
            return softmax(scores)
        p, log_sums = np.empty_like(scores), np.empty(self.n)

        def work(rows: slice) -> None:
            p[:, rows], log_sums[rows] = softmax(scores[:, rows])

        each(self.crew, self.n, float(scores.size), work)
        return p, log_sums

    def dense_rows(self, which: Any) -> np.ndarray:
        """Some rows of A, the column of ones included; all of a small one are kept."""
        if isinstance(which, slice) and self.n * self.size <= KEPT_ENTRIES:
            self.ledger.entries += self.n * self.size
            return self._all_rows
        return self._dense_rows(which)

    @cached_property
    def _all_rows(self) -> np.ndarray:
        return self._dense_rows(slice(None))

    def _dense_rows(self, which: Any) -> np.ndarray:
        rows = self.X[which].toarray() if self.sparse else self.X[which]
        self.ledger.entries += rows.size
        return np.column_stack([rows, np.ones(len(rows))]) if self.fit_intercept else rows

    def sums_of_squares(self, w: np.ndarray) -> np.ndarray:
        """sum_i w_ki a_ij^2: the shape of x."""
        self.ledger.entries += self.stored
        out = np.empty((self.size, len(w)))
        if self.sparse:
            out[: self.d] = self._squares @ np.ascontiguousarray(w.T)
        else:
            step = max(1, 4_000_000 // max(self.d, 1))
            out[: self.d] = 0.0
            for start in range(0, self.n, step):
                part = self.X[start : start + step]
                out[: self.d] += (part * part).T @ w[:, start : start + step].T
        if self.fit_intercept:
            out[-1] = w.sum(axis=1)
        return out

    @cached_property
    def _squares(self) -> Any:
        turned = self.turned.copy()
        turned.data = turned.data**2
        return turned

    @cached_property
    def squares_of_rows(self) -> np.ndarray:
        """|a_i|^2 of sparse data."""
        self.ledger.entries += self.stored
        squares = sp.csr_array((self.X.data**2, self.X.indices, self.X.indptr), self.X.shape)
        return np.asarray(squares.sum(axis=1)).ravel()

    @cached_property
    def largest(self) -> np.ndarray:
        """Largest entry of each column in size, 1 for empty ones."""
        top = np.ones(self.size)
        top[: self.d] = np.asarray(abs(self.X).max(axis=0).todense()).ravel() if self.sparse else (
            np.abs(self.X).max(axis=0)
        )  # fmt: skip
        return np.where(top > 0.0, top, 1.0)

    # Values

    def at(self, x: np.ndarray) -> Point:
        """The point with these coefficients."""
        return self.point(x, self.scores(x))

    def point(self, x: np.ndarray, scores: np.ndarray) -> Point:
        """The same, where the scores are known."""
        chances, log_sums = self._softmax(scores)
        loss = float(self.c @ (log_sums - scores[self.labels, self.own]))
        return Point(x, scores, chances, log_sums, loss + self.penalty(x))

    def penalty(self, x: np.ndarray) -> float:
        """Sum of l1 |x| + l2/2 x^2 over all but the intercepts."""
        slopes = x[: self.d].ravel()
        value = 0.5 * self.l2 * float(np.dot(slopes, slopes)) if self.l2 > 0.0 else 0.0
        return value + self.l1 * float(np.abs(slopes).sum()) if self.l1 > 0.0 else value

    def pulls(self, chances: np.ndarray) -> np.ndarray:
        """c_i (p_ik - e_ik): the derivative of the loss in the scores."""
        q = chances.copy()
        q[self.labels, self.own] -= 1.0
        q *= self.c
        return q

    def start(self) -> np.ndarray:
        """No coefficients, and the intercepts of a constant prediction."""
        x = np.zeros((self.size, self.K))
        if self.fit_intercept:
            level = np.log(np.maximum(self.share, 1e-300))
            x[-1] = level - level.mean()
        return x

    @cached_property
    def start_value(self) -> float:
        """The objective there."""
        if not self.fit_intercept:
            return math.log(self.K)
        seen = self.share[self.share > 0.0]
        return float(-np.sum(seen * np.log(seen)))


def _lines(A: Any, which: slice) -> Any:
    """Some lines of a sparse matrix, as a view."""
    first, last = A.indptr[which.start], A.indptr[which.stop]
    ends = A.indptr[which.start : which.stop + 1] - first
    shape = (which.stop - which.start, A.shape[1])
    return sp.csr_array((A.data[first:last], A.indices[first:last], ends), shape=shape)
