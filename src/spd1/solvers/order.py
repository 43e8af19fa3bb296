"""In which order sparse rows are visited: one by one at random, or in blocks as they lie in memory.

A pass over blocks of consecutive rows takes half to nine tenths of the time of one in a fully
random order. But where rows share a direction (a column of ones, popular words) a row that is
always followed by the same others undoes what they do: passes become two to sixty times as many.
"""

from __future__ import annotations

import numpy as np

from ..data.matrix import CSR
from ..problem import Problem
from .tuning import BLOCK, COMMON, COMMON_LEAST, COMMON_ROWS

__all__ = ["common_share", "rows_a_block"]


def rows_a_block(problem: Problem) -> int:
    """Rows that are visited one after the other, as they lie in memory.

    What counts is how much the direction that rows share is, beside l2.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp, spd1
    >>> rng = np.random.default_rng(0)
    >>> A = sp.random(500, 1000, 0.02, "csr", random_state=0)
    >>> A.data -= 0.5
    >>> ones = sp.csr_matrix(sp.hstack([A, np.ones((500, 1))]))
    >>> b = np.sign(rng.standard_normal(500))
    >>> [rows_a_block(spd1.Problem(X, b, "hinge", spd1.L2(1e-3))) for X in (A, ones)]
    [16, 1]
    """
    p = problem
    if p.grid.dense:
        return 1
    paid = np.asarray(p.reg.l2, dtype=float)
    paid = paid[paid > 0.0]  # an intercept may be free
    if p.grid.shape != (1, 1) or not p.grid.at_hand or len(paid.ravel()) == 0:
        return BLOCK
    smooth = p.gamma if p.gamma > 0.0 else 1.0
    of_a_row = float(p.grid.square_sum) / p.n / (p.n * float(paid.mean()) * smooth)
    if of_a_row < COMMON:
        return BLOCK
    share = common_share(p)
    return 1 if share >= COMMON_LEAST and share * of_a_row >= COMMON else BLOCK


def common_share(problem: Problem) -> float:
    """|mean of the rows|^2 over the mean of |a_i|^2, from a sample of them.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp, spd1
    >>> one = spd1.Problem(sp.csr_matrix(np.ones((8, 3))), np.ones(8), "squared", spd1.L2(1.0))
    >>> common_share(one)
    1.0
    """
    grid = problem.grid.by_rows

    def find() -> float:
        A = grid.matrix
        assert isinstance(A, CSR)
        rows = np.arange(0, grid.n, max(1, grid.n // COMMON_ROWS))
        first = A.indptr[rows].astype(np.int64)
        counts = A.indptr[rows + 1].astype(np.int64) - first
        at = np.arange(int(counts.sum()))
        at += np.repeat(first - np.cumsum(counts) + counts, counts)
        values = A.data[at].astype(float, copy=False)
        problem.grid.ledger.entries += len(at)
        total = np.bincount(A.indices[at].astype(np.int64), values, grid.d)
        squares = float((values * values).sum())  # no BLAS here: its threads may be many
        if len(rows) < 2 or squares == 0.0:
            return 0.0
        return max(float((total * total).sum()) - squares, 0.0) / ((len(rows) - 1) * squares)

    return float(problem.grid.facts.get("common share", problem.grid.ledger, find))
