"""How hard a problem is for visits to its rows, and how many of them are worth a try."""

from __future__ import annotations

from ...kernel.prices import prices, rates
from ...problem import Problem
from ..interior.tuning import FLOP_SECONDS, LARGEST_SYSTEM, USUAL_STEPS
from ..newton.tuning import FEW_ROWS, TALL, WIDE
from ..tuning import LARGE_DATA, LARGEST_DENSE_COPY, VERY_TALL
from .tuning import (
    FEW_ENTRIES,
    FEWEST_ROUGH_ASCENT,
    HARD_PIECES,
    MOST_ASCENT,
    MOST_ASCENT_OF_PIECES,
    MOST_ROUGH_ASCENT,
)

__all__ = ["few_dense_rows", "hard_pieces", "in_pieces", "passes_worth", "row_ratio"]


def row_ratio(problem: Problem) -> float:
    """Mean of c_i |a_i|^2 / (l2 gamma): how much a row's own square is, beside l2."""
    p = problem
    smooth = p.gamma if p.gamma > 0.0 else 1.0
    return float(p.grid.square_sum / p.n / (p.n * p.mu * smooth))


def few_dense_rows(problem: Problem) -> bool:
    """Whether dense data has few rows, and several columns to each: Gram matrices are small."""
    p = problem
    return bool(p.grid.dense and p.n <= FEW_ROWS and WIDE * p.n <= p.d)


def in_pieces(problem: Problem) -> bool:
    """Whether the loss is made of quadratic pieces, as a squared hinge is, and there is l2."""
    p = problem
    return p.gamma > 0.0 and p.mu > 0.0 and not (p.loss.quadratic or p.loss.probabilities)


def hard_pieces(problem: Problem) -> bool:
    """Whether l2 hardly holds the rows of such a problem back.

    Where labels are noisy most rows stay within their pieces, and few products make a step. Where
    data can be separated few do, and their number is that of the columns: products are many, and
    are given up for visits with momentum. Tall dense data has a small matrix of its columns, and
    on little dense data any way is short; few dense rows have a small matrix of the rows.
    """
    p = problem
    if not in_pieces(p) or (p.grid.dense and p.stored <= LARGE_DATA) or few_dense_rows(p):
        return False
    tall = TALL if p.grid.dense else VERY_TALL
    return p.n <= tall * p.d and row_ratio(p) > HARD_PIECES


def passes_worth(problem: Problem) -> float:
    """Passes that visits to rows get before others are asked."""
    if problem.gamma == 0.0:
        return rough_passes(problem)
    return MOST_ASCENT_OF_PIECES if hard_pieces(problem) else MOST_ASCENT


def rough_passes(problem: Problem) -> float:
    """Passes over the rows of a loss with corners that an interior-point method is worth.

    Its steps are products of dense matrices, as many for hard problems as for others. Roughly
    ``Interior.price``, which is not asked: with it every small fit would import the method and
    SciPy's linear algebra.
    """
    p, at, least = problem, prices(), min(problem.n, problem.d)
    if p.stored <= FEW_ENTRIES:
        return FEWEST_ROUGH_ASCENT
    if least > LARGEST_SYSTEM or p.n * p.d > LARGEST_DENSE_COPY:
        return MOST_ROUGH_ASCENT
    entry = at.entry if p.grid.dense else at.sparse_entry
    flops = USUAL_STEPS * float(p.n) * p.d * least
    passes = flops * FLOP_SECONDS * rates().flop / (entry * p.stored)
    return min(max(passes, FEWEST_ROUGH_ASCENT), MOST_ROUGH_ASCENT)
