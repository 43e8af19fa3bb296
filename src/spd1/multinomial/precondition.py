"""Approximate inverses of the Newton matrix: what makes conjugate gradients take few steps.

The matrix has a block for every two classes, A' diag(c p_k (1[k = l] - p_l)) A. Three stand-ins:

- whole: all of it, from as many rows as tell about the others. Tall data with few unknowns;
- blocks: those of a class with itself;
- a diagonal, for data with many columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import blas, lapack

from .objective import Objective
from .tuning import (
    BLOCK_MOST,
    CONJUGATE_STEPS,
    DIAGONAL_STEPS,
    EARLY_SHARE,
    FACTOR_DAMPINGS,
    FULL_MOST,
    LOOSE_SHARE,
    ROWS_PER_COLUMN,
    ROWS_PER_UNKNOWN,
    SCALED_COPY,
)

__all__ = ["Blocks", "Diagonal", "Whole", "choose", "newton_matrix"]


def choose(objective: Objective) -> Any:
    """The stand-in that should take the least time; call it with the chances of a point."""
    n, D, K = objective.n, objective.size, objective.K
    unknowns = D * K
    price = 4.0 * objective.stored * K + 40.0 * n * K  # of a step of conjugate gradients
    whole = blocks = np.inf
    if unknowns <= FULL_MOST:
        rows = ROWS_PER_UNKNOWN * unknowns if n > 2 * ROWS_PER_UNKNOWN * unknowns else n
        whole = rows * unknowns**2 + unknowns**3 / 3
    if D <= BLOCK_MOST:
        rows = ROWS_PER_COLUMN * D if n > 2 * ROWS_PER_COLUMN * D else n
        blocks = 2.0 * rows * K * D**2 + K * D**3 / 3 + CONJUGATE_STEPS * price
    if objective.l2 == 0.0 and whole < np.inf:
        return Whole  # without penalty nothing else holds flat directions
    if min(whole, blocks) > DIAGONAL_STEPS * price:
        return Diagonal
    return Whole if whole <= blocks else Blocks


def some_rows(objective: Objective, most: int) -> tuple[Any, float]:
    """Rows that stand for all, always the same ones, and what their weights are multiplied by."""
    if 2 * most >= objective.n:  # half of them would not save much
        return slice(None), 1.0
    rng = np.random.default_rng(0)
    which = np.sort(rng.choice(objective.n, most, replace=False))
    mass = float(objective.c[which].sum())
    return (which, 1.0 / mass) if mass > 0.0 else (slice(None), 1.0)


def newton_matrix(A: np.ndarray, c: np.ndarray, chances: np.ndarray) -> np.ndarray:
    """Lower triangle of the second derivative of the loss; unknowns of a class side by side."""
    n, D = A.shape
    K = len(chances)
    H = np.zeros((K * D, K * D), order="F")
    root = np.sqrt(c)
    step = max(1, SCALED_COPY // (K * D))
    for start in range(0, n, step):
        part = slice(start, min(start + step, n))
        scaled = (root[part] * chances[:, part]).T[:, :, None] * A[part, None, :]
        outer = scaled.reshape(-1, K * D).T  # in column order, as BLAS wants it
        H = blas.dsyrk(-1.0, outer, beta=1.0, c=H, lower=1, overwrite_c=1)
    for k in range(K):
        block = slice(k * D, (k + 1) * D)
        H[block, block] += (A * (c * chances[k])[:, None]).T @ A
    return H


class Whole:
    """The Newton matrix of some rows, factored."""

    early_share = EARLY_SHARE

    def __init__(self, objective: Objective, chances: np.ndarray) -> None:
        D, K = objective.size, objective.K
        most = ROWS_PER_UNKNOWN * D * K if objective.l2 > 0.0 else objective.n
        which, factor = some_rows(objective, most)
        self.exact = isinstance(which, slice)  # all rows: a step needs no correction
        A = objective.dense_rows(which)
        H = newton_matrix(A, factor * objective.c[which], chances[:, which])
        objective.ledger.products += 0.5 * len(A) * (D * K) ** 2
        _fix_means(H, objective)
        self.factor = _factored(H, np.tile(objective.l2_rows.ravel(), K))
        self.shape = (K, D)

    def solve(self, right: np.ndarray) -> np.ndarray:
        flat = np.ascontiguousarray(right.T).ravel()
        return np.asarray(lapack.dpotrs(self.factor, flat, lower=1)[0].reshape(self.shape).T)


def _fix_means(H: np.ndarray, objective: Objective) -> None:
    """What adds the same to all classes changes no score: rows without penalty need a curvature."""
    D, K = objective.size, objective.K
    for j in np.flatnonzero(objective.l2_rows.ravel() == 0.0):
        same = H[j::D, j::D]  # a view: what row j of x is of each class
        same += same.trace() / K**2


class Blocks:
    """The blocks of each class with itself, of some rows, factored."""

    early_share = EARLY_SHARE
    exact = False

    def __init__(self, objective: Objective, chances: np.ndarray) -> None:
        which, factor = some_rows(objective, ROWS_PER_COLUMN * objective.size)
        A = objective.dense_rows(which)
        p, c = chances[:, which], factor * objective.c[which]
        self.factors = []
        for bend in p * (1.0 - p) * c:
            H = np.asfortranarray((A * bend[:, None]).T @ A)
            self.factors.append(_factored(H, objective.l2_rows.ravel()))
        objective.ledger.products += len(p) * len(A) * objective.size**2

    def solve(self, right: np.ndarray) -> np.ndarray:
        out = np.empty_like(right)
        for k, factor in enumerate(self.factors):
            out[:, k] = lapack.dpotrs(factor, right[:, k], lower=1)[0]
        return out


class Diagonal:
    """The diagonal alone."""

    early_share = LOOSE_SHARE
    exact = False

    def __init__(self, objective: Objective, chances: np.ndarray) -> None:
        bend = chances * (1.0 - chances) * objective.c
        diagonal = objective.sums_of_squares(bend) + objective.l2_rows
        self.inverse = 1.0 / np.where(diagonal > 0.0, diagonal, np.inf)

    def solve(self, right: np.ndarray) -> np.ndarray:
        return np.asarray(self.inverse * right)


def _factored(H: np.ndarray, l2: np.ndarray) -> np.ndarray:
    """Cholesky factor of H + diag(l2), its diagonal damped as little as will do."""
    diagonal = np.einsum("ii->i", H)
    diagonal += l2
    diagonal += 1e-300 + UNSEEN * float(diagonal.max())
    for damping in FACTOR_DAMPINGS:
        diagonal *= 1.0 + damping
        factor, failed = lapack.dpotrf(H, lower=1, overwrite_a=0)
        if not failed:
            return np.asarray(factor)
    return np.diag(np.sqrt(diagonal))


UNSEEN = 1e-14  # of the largest: curvature of what some rows do not show
