"""Least squares on few columns: one Gram matrix, and the proof.

    G = A'CA,   minimise x'G x / 2 - (A'C b)'x + g(x),   y = A x - b

With l2 alone that is one factor. With l1 it is sweeps over G, and steps of Newton's on it. There is
nothing else to choose, so no method is set up and no loop begun.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...certificate.gap import Certificate, certificate_of
from ...certificate.points import pair_of
from ...certificate.segments import shrunk_pair
from ...problem import Problem
from ...regularizers import ElasticNet
from ..newton.linalg.cholesky import damped_cholesky, solve_by
from ..newton.linalg.gram import minimise_on_gram
from ..newton.tuning import FEW_COLUMNS, TALL_GRAM
from .tuning import GRAM_FADING, GRAM_GOAL, GRAM_TRIES

__all__ = ["by_factor", "by_gram", "few_tall_columns", "on_gram", "one_factor"]


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


def by_gram(problem: Problem, tol: float) -> tuple[np.ndarray, Certificate]:
    """The same with l1."""
    p = problem

    def proof(x: np.ndarray) -> tuple[Certificate, np.ndarray]:
        u = p.margins(x)
        y = u - p.b
        slope = p.adjoint(p.c * y)
        return certificate_of(p, shrunk_pair(p, x.copy(), u, y, -slope, tol)), slope

    slope = p.pull_at_zero.copy()
    goal = tol * tol * abs(p.value_at_zero)  # the gap falls with its square root
    return on_gram(gram_of(p), p.reg, np.zeros(p.d), slope, tol, goal, proof)


def on_gram(
    G: np.ndarray,
    reg: ElasticNet,
    x: np.ndarray,
    slope: np.ndarray,
    tol: float,
    goal: float,
    proof: Callable[[np.ndarray], tuple[Certificate, np.ndarray]],
) -> tuple[np.ndarray, Certificate]:
    """The best of a few attempts on a matrix of the columns, each of which goes on from the last.

    ``slope`` is that of the loss at x, and ``goal`` what may be left to gain, about. ``proof`` has
    the certificate of an x and the slope there, from the data, which mends what rounding in G
    spoils.
    """
    table = np.empty((len(x), 5))
    table[:] = 0.0, reg.l1, reg.l2, reg.lower, reg.upper
    goal *= GRAM_GOAL
    best: tuple[np.ndarray, Certificate] | None = None
    for _ in range(GRAM_TRIES):
        minimise_on_gram(G, table, x, slope, goal)
        c, slope = proof(x)
        if best is None or c.gap < best[1].gap:
            best = x.copy(), c
        if c.rel_gap <= tol:
            break
        goal *= GRAM_FADING
    assert best is not None
    return best


def gram_of(problem: Problem) -> np.ndarray:
    """A'CA."""
    p = problem
    return np.ascontiguousarray(p.grid.gram(None if p.uniform_weights else p.c))
