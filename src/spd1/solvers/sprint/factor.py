"""Least squares with l2 alone on few columns: one factor, and the proof.

    (A'CA + l2) x = A'C b,   y = A x - b

There is nothing to choose, so no method is set up and no loop begun.
"""

from __future__ import annotations

import numpy as np

from ...certificate.gap import Certificate, certificate_of
from ...certificate.points import pair_of
from ...problem import Problem
from ..newton.linalg.cholesky import damped_cholesky, solve_by
from ..newton.tuning import FEW_COLUMNS, TALL_GRAM

__all__ = ["by_factor", "one_factor"]


def few_tall_columns(problem: Problem) -> bool:
    """Whether this is least squares, alike for every feature, on few columns of dense data."""
    p = problem
    if not (p.loss.quadratic and p.grid.dense and p.grid.shape == (1, 1) and p.grid.at_hand):
        return False
    return bool(p.reg.scalar and p.d <= FEW_COLUMNS and TALL_GRAM * p.d <= p.n)


def one_factor(problem: Problem) -> bool:
    """Whether this is least squares with l2 > 0 and nothing else, on few columns of dense data."""
    p = problem
    return few_tall_columns(p) and p.reg.plain and bool(p.mu > p.most_faint_l2)


def by_factor(problem: Problem) -> tuple[np.ndarray, Certificate] | None:
    """The solution and what is proven of it; None if there is no factor."""
    p = problem
    factor = damped_cholesky(gram_of(p), p.mu)
    if factor is None:
        return None
    x = solve_by(factor, p.adjoint(p.c * p.b))
    u = p.margins(x)
    y = u - p.b
    return x, certificate_of(p, pair_of(p, x, u, y, -p.adjoint(p.c * y)))


def gram_of(problem: Problem) -> np.ndarray:
    """A'CA."""
    p = problem
    return np.ascontiguousarray(p.grid.gram(None if p.uniform_weights else p.c))
