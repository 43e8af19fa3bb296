"""How hard a problem is for visits to its rows, and how many of them are worth a try."""

from __future__ import annotations

import math

import numpy as np

from ...data.strides import line_dot
from ...kernel.jit import kernel
from ...kernel.prices import prices, rates
from ...losses import EpsilonInsensitive, Hinge, Logistic, Squared, SquaredHinge
from ...problem import Problem
from ..interior.tuning import FLOP_SECONDS, LARGEST_SYSTEM, USUAL_STEPS
from ..newton.tuning import FEW_ROWS, TALL, WIDE
from ..tuning import LARGE_DATA, LARGEST_DENSE_COPY, VERY_TALL
from .tuning import (
    FEW_ENTRIES,
    FEW_PIECES,
    FEW_ROUGH_LINES,
    FEWEST_OVERLAP_ROWS,
    FEWEST_ROUGH_ASCENT,
    HARD_PIECES,
    MOST_ASCENT,
    MOST_ASCENT_OF_PIECES,
    MOST_OVERLAP_ROWS,
    MOST_ROUGH_ASCENT,
    MOST_ROUGH_SPARSE,
    OVERLAP_SHARE,
)

__all__ = [
    "few_dense_rows",
    "hard_pieces",
    "in_pieces",
    "least_l2",
    "passes_worth",
    "pieces_without_visits",
    "row_overlap",
    "row_ratio",
    "share_of_l1",
    "straight_beyond",
    "visited",
]

#: Losses that most fits are about: a kernel takes seconds to compile.
WORTH_A_KERNEL = (Logistic, Hinge, SquaredHinge, Squared)
#: On sparse rows the others take four times as long to 1e-3.
WORTH_ON_SPARSE_ROWS = (*WORTH_A_KERNEL, EpsilonInsensitive)


def visited(problem: Problem) -> bool:
    """Whether there is a kernel that visits rows of such a loss."""
    p = problem
    much = p.grid.dense and p.stored > FEW_ENTRIES
    return type(p.loss) in (WORTH_A_KERNEL if much else WORTH_ON_SPARSE_ROWS)


def row_ratio(problem: Problem) -> float:
    """Mean of c_i |a_i|^2 / (l2 gamma): how much a row's own square is, beside l2.

    Columns without l2, an intercept for one, do not count; infinite if none has any.
    """
    p = problem
    smooth = p.gamma if p.gamma > 0.0 else 1.0
    beside = p.n * least_l2(p) * smooth
    return float(p.grid.square_sum / p.n / beside) if beside > 0.0 else math.inf


def least_l2(problem: Problem) -> float:
    """The smallest l2 of the columns that have one; 0 if none has."""
    least = problem.mu
    if least > 0.0 or problem.reg.scalar:
        return least
    l2 = np.asarray(problem.reg.l2, dtype=float)
    return float(np.min(l2, where=l2 > 0.0, initial=math.inf)) if np.any(l2 > 0.0) else 0.0


@kernel
def products_of_pairs(A, rows, line):
    """Squares of the products of some rows, summed over all pairs, and the sum of their squares.

    ``line`` is all zero and as long as a row, to work with.
    """
    pairs, squares = 0.0, 0.0
    for p in range(len(rows)):
        i = rows[p]
        for k in range(A.line_length(i)):
            j, a = A.at(i, k)
            line[j] += a
        for q in range(p):
            product = line_dot(A, rows[q], line)
            pairs += 2.0 * product * product
        squares += line_dot(A, i, line)
        for k in range(A.line_length(i)):
            line[A.at(i, k)[0]] = 0.0
    return pairs, squares


def row_overlap(problem: Problem) -> float:
    """How much rows feel each other: n times the mean square of the cosine of two, from a sample.

    It is n / d where columns are alike and independent, and up to n where all rows are one.

    Examples
    --------
    >>> import numpy as np, spd1
    >>> alike, apart = (spd1.Problem(A, np.ones(5), "squared", spd1.ElasticNet(0.1, 1.0))
    ...                 for A in (np.ones((5, 9)), np.eye(5, 9)))
    >>> row_overlap(alike), row_overlap(apart)
    (5.0, 0.0)
    """
    grid = problem.grid.by_rows

    def find() -> float:
        wanted = math.isqrt(int(2.0 * OVERLAP_SHARE * grid.n))  # products are half of its square
        most = min(max(wanted, FEWEST_OVERLAP_ROWS), MOST_OVERLAP_ROWS)
        rows = np.arange(0, grid.n, -(-grid.n // most))
        count = len(rows)
        if count < 2:
            return 0.0
        pairs, squares = products_of_pairs(grid.matrix, rows, np.zeros(grid.d))
        problem.grid.ledger.entries += count * float(problem.stored) / grid.n
        mean = pairs / (count * (count - 1))
        return float(grid.n * mean / (squares / count) ** 2) if squares > 0.0 else 0.0

    return float(problem.grid.facts.get("row overlap", problem.grid.ledger, find))


def few_dense_rows(problem: Problem) -> bool:
    """Whether dense data has few rows, and several columns to each: Gram matrices are small."""
    p = problem
    return bool(p.grid.dense and p.n <= FEW_ROWS and WIDE * p.n <= p.d)


def pieces_of(problem: Problem) -> bool:
    """Whether the loss is made of quadratic pieces, as a squared hinge is."""
    p = problem
    return p.gamma > 0.0 and not (p.loss.quadratic or p.loss.probabilities)


def in_pieces(problem: Problem) -> bool:
    """The same, and l2 > 0 for every column."""
    return problem.mu > 0.0 and pieces_of(problem)


def straight_beyond(problem: Problem) -> bool:
    """Whether the loss is quadratic and goes on as straight lines, as Huber's does."""
    return math.isfinite(problem.loss.L) and pieces_of(problem)


def pieces_without_visits(problem: Problem) -> bool:
    """Whether a loss in quadratic pieces has many rows and no kernel that visits them.

    Huber and squared insensitive losses on sparse data with n >= d: Newton's method on the dual,
    which had these, took 1.1 to 300 times as long as Newton's steps. With fewer rows, and on dense
    data with less than four rows a column, it was the faster one as often.
    """
    p = problem
    if not pieces_of(p) or visited(p):
        return False
    return p.n >= (FEW_PIECES * p.d if p.grid.dense else p.d) and least_l2(p) > 0.0


def hard_pieces(problem: Problem) -> bool:
    """Whether l2 hardly holds the rows of such a problem back.

    Where labels are noisy most rows stay within their pieces, and few products make a step. Where
    data can be separated few do, and their number is that of the columns: products are many, and
    are given up for visits with momentum. Tall dense data has a small matrix of its columns, and
    on little dense data any way is short; few dense rows have a small matrix of the rows.
    """
    p = problem
    if not in_pieces(p) or not visited(p) or few_dense_rows(p):
        return False
    if p.grid.dense and p.stored <= LARGE_DATA:
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
    if p.stored <= FEW_ENTRIES and least <= FEW_ROUGH_LINES:
        return FEWEST_ROUGH_ASCENT
    most = MOST_ROUGH_ASCENT if p.grid.dense else MOST_ROUGH_SPARSE
    if least > LARGEST_SYSTEM or p.n * p.d > LARGEST_DENSE_COPY:
        return most
    entry = at.entry if p.grid.dense else at.sparse_entry
    flops = USUAL_STEPS * float(p.n) * p.d * least
    passes = flops * FLOP_SECONDS * rates().flop / (entry * p.stored)
    return min(max(passes, FEWEST_ROUGH_ASCENT), most)


def share_of_l1(problem: Problem) -> float:
    """The l1 over the least one that moves no column but those without penalty."""
    p = problem
    pull = p.pull_at_zero
    if len(p.free_columns):  # an intercept of least squares, which comes first
        pull = p.adjoint(p.c * (np.dot(p.c, p.b) - p.b))
        pull[p.free_columns] = 0.0
    return float(np.max(p.reg.l1)) / max(float(np.max(np.abs(pull))), 1e-300)
