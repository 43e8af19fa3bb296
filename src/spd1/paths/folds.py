"""Paths of least squares on the training parts of folds, through products of columns alone.

Products of all rows are made once. Those of a training part are what is left when the products of
the other rows are taken away, so that all folds together cost about two Gram matrices and not one
each. A path on them reads no data. What can't be trusted to differences, or to products at all, is
left to the paths that read data: ``FoldProducts.path`` returns None then.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..certificate.gap import relative
from ..certificate.points import TINY
from ..certificate.tuning import FLOOR_SHARE
from ..design.intercept import constant_columns
from ..engines.blas import one_thread
from ..problem import ROUNDED
from .sets import minimise_products
from .tuning import BLURRED_PRODUCTS, FOLD_COLUMNS, FOLD_COLUMNS_ANYWAY, FOLD_GOAL, LEFT_OF_A_COLUMN

__all__ = ["FoldPath", "FoldProducts"]


class FoldPath(NamedTuple):
    """Coefficients of a path on a training part, a row an alpha, with what is proven of them."""

    coefs: np.ndarray
    intercepts: np.ndarray
    rel_gaps: np.ndarray


class FoldProducts:
    """Products of columns and targets of all rows, ready to be parted into folds.

    Parameters
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)
    weight : array of shape (n,), optional
    fit_intercept : bool

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 3)); y = X[:, 0] + 1.0
    >>> found = FoldProducts(X, y, None, True).path(np.arange(40), np.array([0.1]), 1.0)
    >>> found.coefs.shape, bool(found.rel_gaps.max() <= 1e-6)
    ((1, 3), True)
    """

    @staticmethod
    def suits(X: Any, train: int) -> bool:
        """Whether products are the cheaper way: dense data with more rows than columns, or few."""
        if not isinstance(X, np.ndarray):
            return False
        return bool(X.shape[1] <= min(max(train, FOLD_COLUMNS_ANYWAY), FOLD_COLUMNS))

    def __init__(self, X: np.ndarray, y: np.ndarray, weight: Any, fit_intercept: bool) -> None:
        n, self.d = X.shape
        self.fit_intercept = fit_intercept
        self.weight = np.ones(n) if weight is None else np.asarray(weight, dtype=float)
        # Sums of products about a common centre lose fewest digits when they are taken apart.
        self.centre, self.level = np.zeros(self.d), 0.0
        if fit_intercept:
            self.centre = np.average(np.asarray(X, dtype=float), axis=0, weights=weight)
            flat = constant_columns(X)
            self.centre[flat] = X[0, flat]
            self.level = float(np.average(y, weights=weight))
        self.table = np.empty((n, self.d + 2))
        np.subtract(X, self.centre, out=self.table[:, : self.d])
        self.table[:, self.d] = y - self.level
        self.table[:, -1] = 1.0
        self.table *= np.sqrt(self.weight)[:, None]
        with one_thread():
            self.products = self.table.T @ self.table

    def path(
        self, train: np.ndarray, alphas: np.ndarray, ratio: float, positive: bool = False,
        tol: float = 1e-6, goal: float = math.inf,
    ) -> FoldPath | None:  # fmt: skip
        """The path on some rows; None where products can't prove ``tol``.

        Parameters
        ----------
        train : array of int
            Rows; one may come several times.
        alphas : array of shape (k,)
        ratio : float
            l1_ratio.
        positive : bool
        tol : float
            Relative gap to prove.
        goal : float
            Relative gap to solve to, where it is smaller.
        """
        with one_thread():
            left = self._products_of(train)
            path = left, np.asarray(alphas, dtype=float), ratio, positive, tol
            return self._path(*path, min(goal, FOLD_GOAL * tol))

    def _products_of(self, train: np.ndarray) -> np.ndarray:
        """Those of some rows: directly, or what the others leave, whichever reads fewer rows."""
        times = np.bincount(train, minlength=len(self.table))
        if 2 * len(train) <= len(self.table) or times.max() > 1:
            part = self.table[train]
            return np.asarray(part.T @ part)
        rest = self.table[times == 0]
        return np.asarray(self.products - rest.T @ rest)

    def _path(
        self, left: np.ndarray, alphas: np.ndarray, ratio: float, positive: bool, tol: float,
        goal: float,
    ) -> FoldPath | None:  # fmt: skip
        d, total = self.d, float(left[-1, -1])
        if not total > ROUNDED * self.products[-1, -1]:
            return None
        means = left[-1, : d + 1] / total if self.fit_intercept else np.zeros(d + 1)
        M = left[: d + 1, : d + 1] / total
        M -= np.outer(means, means)
        there = np.diagonal(self.products)[: d + 1] / self.products[-1, -1]
        own = np.diagonal(M)
        if np.any((there > 0.0) & (own <= LEFT_OF_A_COLUMN * there)) or not alphas.min() > 0.0:
            return None
        G, h, square = np.ascontiguousarray(M[:d, :d]), M[:d, d].copy(), float(own[d])
        coefs = self._walk(G, h, square, alphas, ratio, positive, goal)
        rel_gaps = proven(G, h, square, coefs, alphas, ratio, positive)
        if not np.all(rel_gaps <= tol):
            return None
        shift = self.centre + means[:d]
        level = self.level + means[d]
        intercepts = level - coefs @ shift if self.fit_intercept else np.zeros(len(coefs))
        return FoldPath(coefs, intercepts, rel_gaps)

    def _walk(
        self, G: np.ndarray, h: np.ndarray, square: float, alphas: np.ndarray, ratio: float,
        positive: bool, goal: float,
    ) -> np.ndarray:  # fmt: skip
        """From alpha to alpha, each from where the last ended."""
        z, g = np.zeros(self.d), -h
        table = np.zeros((self.d, 5))
        table[:, 3:] = 0.0 if positive else -math.inf, math.inf
        found = np.empty((len(alphas), self.d))
        for k, alpha in enumerate(alphas):
            table[:, 1], table[:, 2] = alpha * ratio, alpha * (1.0 - ratio)
            value = max(0.5 * (square - z @ h + z @ g), TINY)
            blur = BLURRED_PRODUCTS * square / value  # no sweep gets below
            minimise_products(G, h, table, z, g, square, max(goal, blur))
            found[k] = z
        return found


def proven(
    G: np.ndarray, h: np.ndarray, square: float, coefs: np.ndarray, alphas: np.ndarray,
    ratio: float, positive: bool,
) -> np.ndarray:  # fmt: skip
    """Relative gaps of  |A z - b|^2 / 2 + l1 |z| + l2 |z|^2 / 2  by products.

    With residuals r = b - A z and v = A'r the dual point is theta r. What rounding may have hidden,
    of |r|^2 and of every v_j, is counted.
    """
    l1, l2 = alphas * ratio, alphas * (1.0 - ratio)
    inner = coefs @ h
    v = h - coefs @ G
    # |r|^2 = |b|^2 - z'h - z'v: nothing but products
    residual = np.maximum(square - inner - np.sum(coefs * v, axis=1), 0.0)
    primal = 0.5 * residual + l1 * np.abs(coefs).sum(axis=1) + 0.5 * l2 * np.sum(coefs**2, axis=1)
    blur = ROUNDED * np.sqrt(np.diagonal(G) * square)
    pull = (np.maximum(v, 0.0) if positive else np.abs(v)) + blur
    strongest = pull.max(axis=1, initial=0.0)
    theta, conjugate = np.ones(len(l1)), np.zeros(len(l1))
    soft = l2 > 0.0
    over = np.maximum(pull - l1[:, None], 0.0)
    conjugate[soft] = 0.5 * np.sum(over[soft] ** 2, axis=1) / l2[soft]
    hard = ~soft & (strongest > l1)
    theta[hard] = l1[hard] / strongest[hard]
    dual = theta * (square - inner) - 0.5 * theta**2 * residual - conjugate
    gap = np.maximum(primal - dual, 0.0) + ROUNDED * square
    floor = FLOOR_SHARE * 0.5 * square
    return np.array([relative(*each, floor) for each in zip(gap, primal, dual, strict=True)])
