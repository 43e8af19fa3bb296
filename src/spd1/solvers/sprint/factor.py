"""Ridge regression on few columns: one Gram matrix, one factor, and the proof.

    (A'CA + diag(l2)) x = A'C b,   y = A x - b

There is nothing to choose and nothing to repeat, so no method is set up and no loop begun.
"""

from __future__ import annotations

import numpy as np

from ...certificate.gap import Certificate, certificate_of
from ...certificate.points import pair_of
from ...problem import Problem
from ..newton.linalg.cholesky import damped_cholesky, solve_by
from ..newton.tuning import FEW_COLUMNS, TALL_GRAM

__all__ = ["by_factor", "one_factor"]


def one_factor(problem: Problem) -> bool:
    """Whether this is least squares with l2 > 0 and nothing else, on few columns of dense data."""
    p = problem
    if not (p.loss.quadratic and p.grid.dense and p.grid.shape == (1, 1) and p.grid.at_hand):
        return False
    if not (p.reg.plain and p.reg.scalar and p.d <= FEW_COLUMNS and TALL_GRAM * p.d <= p.n):
        return False
    return bool(p.mu > p.most_faint_l2)


def by_factor(problem: Problem) -> tuple[np.ndarray, Certificate] | None:
    """The solution and what is proven of it; None if there is no factor."""
    p = problem
    weights = None if p.uniform_weights else p.c
    H = np.ascontiguousarray(p.grid.gram(weights))
    factor = damped_cholesky(H, p.mu)
    if factor is None:
        return None
    x = solve_by(factor, p.adjoint(p.c * p.b))
    u = p.margins(x)
    y = u - p.b
    return x, certificate_of(p, pair_of(p, x, u, y, -p.adjoint(p.c * y)))
