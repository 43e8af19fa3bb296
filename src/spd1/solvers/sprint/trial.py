"""Conjugate gradients on a few rows: how many products with the data a step of Newton's will take.

The mean curvature of a column tells little: what counts is how many of its sizes there are. A few
rows a column show them, and on very tall data they are few of all rows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...data.matrix import CSR, Dense
from ...kernel.prices import prices
from ...problem import Problem
from ..tuning import VERY_TALL
from .tuning import STEPS_OF_A_RUN, TRIAL_ACCURACY, TRIAL_PRODUCTS, TRIAL_ROWS, TRIAL_SHARE

__all__ = ["products_of_a_step", "trial_pays"]


def trial_pays(problem: Problem, worth: float) -> bool:
    """Whether a trial costs little beside the matrices of Newton's steps, ``worth`` products each.

    Examples
    --------
    >>> import numpy as np, spd1
    >>> rng = np.random.default_rng(0)
    >>> A, b = rng.normal(size=(20000, 50)), np.sign(rng.normal(size=20000))
    >>> p = spd1.Problem(A, b, "logistic", spd1.L2(1e-4))
    >>> trial_pays(p, 10.0), trial_pays(p, 0.01)
    (True, False)
    """
    p, at = problem, prices()
    if (
        p.n < VERY_TALL * p.d
        or not (p.grid.at_hand and p.grid.row_major)
        or not math.isfinite(worth)
    ):
        return False
    entry = at.entry if p.grid.dense else at.sparse_entry
    product = 2.0 * entry * p.stored
    trial = TRIAL_PRODUCTS * (product * TRIAL_ROWS * p.d / p.n + at.call)
    return trial <= TRIAL_SHARE * STEPS_OF_A_RUN * worth * product


def products_of_a_step(problem: Problem, most: float = TRIAL_PRODUCTS) -> int:
    """Products with the curvature at zero until little of the gradient is left, on a few rows.

    At most so many, as far as anybody wants to know.

    Examples
    --------
    >>> import numpy as np, spd1
    >>> rng = np.random.default_rng(0)
    >>> A, b = rng.normal(size=(4000, 50)), np.sign(rng.normal(size=4000))
    >>> B = A * np.logspace(0, 3, 50) @ np.linalg.qr(rng.normal(size=(50, 50)))[0]
    >>> one, other = (
    ...     products_of_a_step(spd1.Problem(X, b, "logistic", spd1.L2(1e-4))) for X in (A, B)
    ... )
    >>> 2 * one < other
    True
    """
    p = problem
    l2 = np.array(np.broadcast_to(np.asarray(p.reg.l2, dtype=float), (p.d,)))
    limit = min(int(most) + 1, TRIAL_PRODUCTS)
    name = (
        f"{limit} products of a step {float(l2.min())!r} {float(l2.mean())!r} {float(l2.max())!r}"
    )
    found = p.facts.get(p.grid.fact(name), p.grid.ledger, lambda: count(p, l2, limit))
    return int(found)


@np.errstate(all="ignore")  # what overflows is no reason against products: they give up themselves
def count(problem: Problem, l2: np.ndarray, limit: int) -> int:
    """The same, counted."""
    p = problem
    rows = np.arange(0, p.n, max(1, p.n // (TRIAL_ROWS * p.d)))
    M = some_rows(p.grid.matrix, rows)
    weights = p.c[rows] * (p.n / len(rows) / max(p.gamma, 1e-300))
    squares = M * M if isinstance(M, np.ndarray) else M.power(2)
    diagonal = l2 + transposed_times(squares, weights)
    diagonal[diagonal <= 0.0] = 1.0
    r = transposed_times(M, p.c[rows] * p.b[rows])
    z = r / diagonal
    q, rz, taken = z.copy(), total(r, z), 0
    enough = TRIAL_ACCURACY**2 * rz
    while taken < limit and rz > enough:
        Hq = transposed_times(M, weights * times(M, q)) + l2 * q
        taken += 1
        curvature = total(q, Hq)
        if not curvature > 0.0:
            break
        r -= rz / curvature * Hq
        z = r / diagonal
        before, rz = rz, total(r, z)
        q = z + rz / before * q
    entries = M.size if isinstance(M, np.ndarray) else M.nnz
    p.grid.ledger.entries += 2.0 * entries * (taken + 1)
    return taken


def some_rows(A: Any, rows: np.ndarray) -> Any:
    """These rows, as NumPy or SciPy know them."""
    if isinstance(A, Dense):
        return np.asarray(A.values[rows], dtype=float)
    assert isinstance(A, CSR)
    first = A.indptr[rows].astype(np.int64)
    counts = A.indptr[rows + 1].astype(np.int64) - first
    ends = np.concatenate(([0], np.cumsum(counts)))
    at = np.arange(int(ends[-1])) + np.repeat(first - ends[:-1], counts)
    parts = A.data[at].astype(float, copy=False), A.indices[at].astype(np.int64), ends
    return sp.csr_array(parts, shape=(len(rows), A.shape[1]))


# No BLAS here: its threads may be many, and add up in another order.


def total(a: np.ndarray, b: np.ndarray) -> float:
    return float((a * b).sum())


def times(M: Any, v: np.ndarray) -> np.ndarray:
    return np.einsum("ij,j->i", M, v) if isinstance(M, np.ndarray) else np.asarray(M @ v)


def transposed_times(M: Any, v: np.ndarray) -> np.ndarray:
    return np.einsum("ij,i->j", M, v) if isinstance(M, np.ndarray) else np.asarray(M.T @ v)
