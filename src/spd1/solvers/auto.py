"""method="auto": which method suits a problem, and why."""

from __future__ import annotations

import numpy as np

from ..errors import IncompatibleError
from ..kernel.prices import REFERENCE, Prices, prices, rates
from ..problem import Problem
from .direct import Direct
from .interior.interior import Interior
from .interior.tuning import LARGEST_SYSTEM, MANY_COLUMNS
from .multipliers import Multipliers
from .newton.faces.choose import best_face, few_columns, few_rows, few_rows_one_free
from .newton.learnt import Learnt, learns
from .newton.smooth import hardness
from .newton.tuning import LARGEST_ONCE, TALL
from .sprint.choice import pieces_on_dense_rows
from .sprint.hardness import pieces_without_visits, row_ratio
from .sprint.sprint import REASONS, kind_of
from .sprint.tuning import MOST_ADDED_UP, MOST_ENTRIES
from .sprint.workers import AscentWorker
from .tuning import (
    COUNTS,
    COUNTS_WIDE,
    DENSE_COPIES,
    DENSE_ENOUGH,
    FACTORS_PAY,
    FEW_LINES,
    HARD,
    HARD_ROWS,
    LARGE_DATA,
    MANY_DENSE_COLUMNS,
    MANY_DENSE_ROWS,
    MEDIUM_DATA,
    MODEST_L1,
    MUCH_DENSE_DATA,
    QUITE_WIDE,
    SMALL_L1,
    SPARSE_COPIES,
    SQUARE,
    VERY_TALL,
    VERY_WIDE,
)

__all__ = ["first_taken", "pick"]


def worth_a_matrix(lines: int, sparse: bool) -> float:
    """Lines up to which their matrix takes less than the readings that it saves.

    It takes a multiplication for every entry and line, and sparse data has them added to where an
    index says. ``lines`` is what was found at the reference prices. Dense lines are left at it: the
    price of memory moves with what else a machine does when it is measured.
    """
    return lines * rates().sparse_entry / rates().scattered_entry if sparse else lines


def seconds_of_a_visit(problem: Problem, at: Prices) -> float:
    """What a visit to a sparse row takes: two walks along it, and its prox."""
    p = problem
    prox = at.exp if p.loss.probabilities else 0.0
    return 2.0 * at.sparse_entry * p.stored / p.n + prox


def visits_are_dearer(problem: Problem) -> float:
    """How much more a visit takes here, beside its walks alone, than at the reference prices.

    A product with the data, which is what others are made of, is the walks.
    """
    here, there = (
        seconds_of_a_visit(problem, at) / at.sparse_entry for at in (prices(), REFERENCE)
    )
    return here / there


def many_columns_move(problem: Problem) -> bool:
    """Whether l1 is so small, and the box so wide, that most features will leave zero."""
    p = problem
    if np.any(np.isfinite(p.reg.lower)) or np.any(np.isfinite(p.reg.upper)):
        return False
    return float(np.max(p.reg.l1)) < SMALL_L1 * float(np.max(np.abs(p.pull_at_zero)))


def direct(problem: Problem) -> bool:
    """Whether least squares had better be solved by a factor: square data, a small l2."""
    p = problem
    if not p.loss.quadratic or p.stored < p.n * p.d:
        return False
    return p.d <= min(SQUARE * p.n, LARGEST_ONCE) and hardness(p) > HARD


def unpenalised_and_small(problem: Problem) -> bool:
    """Whether one orthogonal factorisation says it all."""
    try:
        Direct.refuse(problem)
    except IncompatibleError:
        return False
    return True


def pieces_on_few_columns(problem: Problem) -> bool:
    """Whether a loss has corners, and the data so few columns that steps on these cost little.

    Losses of quadratic pieces, too, unless a sample of the rows would tell their curvature.
    """
    p = problem
    if p.n < TALL * p.d or (p.gamma > 0 and p.stored > MEDIUM_DATA):
        return False
    if p.gamma == 0 and p.mu > 0 and p.stored <= LARGE_DATA and not p.grid.dense:
        return False  # sweeps over the rows of little sparse data with l2 are as fast
    try:
        Multipliers.refuse(p)
    except IncompatibleError:
        return False
    return True


def few_rows_without_curvature(problem: Problem) -> bool:
    """Whether a linear program is wide and dense, and many of its columns will move.

    A step of the interior-point method then is one matrix of the rows, and 20 steps will do.
    """
    p = problem
    if p.n >= p.d or p.d <= MANY_COLUMNS or p.stored < DENSE_ENOUGH * p.n * p.d:
        return False
    l1 = np.broadcast_to(np.asarray(p.reg.l1, dtype=float), (p.d,))
    pull = float(np.max(np.abs(p.pull_at_zero[l1 > 0.0]), initial=0.0))
    return float(np.max(l1)) < MODEST_L1 * pull and takes_interior(p)


def square_and_hard(problem: Problem) -> bool:
    """Whether l2 curves large square dense data too little for conjugate gradients on its rows.

    Their matrix, made once, and a factor of it at each step of the interior-point method take less.
    """
    p = problem
    if p.gamma > 0.0 or not p.grid.dense or not p.reg.plain:
        return False
    if p.stored < FACTORS_PAY * rates().flop / rates().entry:
        return False
    if p.n > SQUARE * p.d or p.d > SQUARE * p.n:
        return False
    l2 = np.broadcast_to(np.asarray(p.reg.l2, dtype=float), (p.d,))
    if p.grid.square_sum < HARD * p.n * p.n * float(np.mean(l2)):
        return False
    return takes_interior(p)


def takes_interior(problem: Problem) -> bool:
    """Whether the interior-point method takes a problem of its size."""
    try:
        Interior.refuse(problem)
    except IncompatibleError:
        return False
    return True


def steps_on_tall_rows(problem: Problem) -> bool:
    """Whether sparse rows are so many, and so little held back by l2, that steps are few.

    Logistic losses and least squares on all such data: rows took 1.1 to 12 times as long on 78 of
    82 draws that had gone to them (n / d from 1.8 to 12, 20 to 150 entries a row, 100,000 to
    600,000 in all), and 0.7 to 0.98 of it on the others. Losses in pieces where rows are very many:
    2.4 to 3.7 times as long on 60,000 x 500.
    """
    p = problem
    if p.stored > MOST_ENTRIES:
        return False
    if not (p.loss.probabilities or p.loss.quadratic):
        return p.n >= VERY_TALL * p.d and row_ratio(p) > HARD_ROWS
    return p.n > (p.d if p.loss.quadratic else SQUARE * p.d)


def tied_rows_win(problem: Problem) -> bool:
    """Whether x had better be tied to the rows' dual variables: sparse data, an l2 that counts.

    A pass over short rows is cheap, and a dozen will do; the wider the data, the more alike they
    are to a single step of all.
    """
    p = problem
    if not (p.reg.plain and p.mu > 0 and p.d >= p.n and p.grid.shape == (1, 1)):
        return False
    if p.stored >= DENSE_ENOUGH * p.n * p.d:
        return False
    if p.stored > MEDIUM_DATA:
        least = 0.0 if p.d >= VERY_WIDE * p.n else 1.0
    else:
        least = COUNTS_WIDE if p.d >= QUITE_WIDE * p.n else COUNTS
    # the smaller l2 is, the more visits there are beside the steps of others
    least *= visits_are_dearer(p)
    return p.mu * p.n >= least * float(p.row_norms_squared.mean())


def rows_out_of_hand(problem: Problem) -> bool:
    """Whether Newton's method on the dual would ask tile after tile for sweeps over its rows.

    It copies rows as long as they fit. Beyond, passes on all tiles at the same time took a third
    to a tenth of the rounds (20news-compsci in 4 tiles, hinge and squared hinge, to 1e-4). Dense
    rows are hard for such passes, and half of them or fewer have to be copied: on gisette-like
    in 2 tiles these took 0.6 of the time.
    """
    p, grid = problem, problem.grid
    rows, columns = grid.shape
    share = DENSE_COPIES if grid.dense else SPARSE_COPIES
    if rows == 1 or columns > 1 or not grid.at_hand or share * grid.nbytes <= grid.copies:
        return False
    return not AscentWorker.objection(p)


def much_and_dense(problem: Problem) -> bool:
    """Whether readings of dense data are what counts, rows and columns being many.

    Steps whose curvature is learnt took 0.1 to 0.9 of the time of what was taken before, on 36 of
    40 fits of 2,000 x 4,000 to 20,000 x 2,000, and up to 1.5 of it on the others. On 1,000 x 8,000
    a matrix of the rows took a sixth.

    With a column without penalty, as an intercept has none, logistic regression took 0.2 to 1.0 of
    the time on eight shapes of 2 to 9 million entries (once 1.6: 20 ms instead of 12). Losses in
    pieces took 1.2 to 3 times as long where Newton's method on the dual suits them, and a tenth to
    a half where it does not, on 5,000 x 1,000 and 10,000 x 1,000.
    """
    p = problem
    if not (p.grid.dense and p.grid.at_hand) or p.stored < MUCH_DENSE_DATA or p.loss.quadratic:
        return False
    if p.n < MANY_DENSE_ROWS or p.d < MANY_DENSE_COLUMNS or p.d > QUITE_WIDE * p.n:
        return False
    if p.mu == 0.0 and not p.loss.probabilities and p.n < TALL * p.d:
        return False
    return not Learnt.objection(p)


def rows_in_pieces(problem: Problem) -> bool:
    """Whether a loss in quadratic pieces on few dense columns is one for visits to its rows.

    On 3000 x 250 Newton's method took 0.8 to 2.9 times as long, on 2500 x 900 learnt curvature 0.7
    to 2.4 times.
    """
    p = problem
    return p.d <= MOST_ADDED_UP and p.n > SQUARE * p.d and pieces_on_dense_rows(p)


def pieces_of_few_rows(problem: Problem) -> bool:
    """Whether few rows have a loss in quadratic pieces.

    Steps in their span take a row into its piece and out of it again: 2 to 300 times the time of
    Newton's method on the dual, where pieces are bounds (Huber, both squared losses, to 1e-3, 1e-6
    and 1e-13).
    """
    p = problem
    return p.gamma > 0.0 and p.loss.conjugate_net is not None and not p.loss.quadratic


def pieces_of_large_systems(problem: Problem) -> bool:
    """Whether a loss in pieces on sparse data has no other way: not the matrix of anything.

    Newton's method on the dual had not begun to converge there when learnt curvature was at 1e-6.
    """
    p = problem
    if min(p.n, p.d) <= LARGEST_SYSTEM or p.grid.dense or not pieces_without_visits(p):
        return False
    return not Learnt.objection(p)


def first_taken(problem: Problem, tol: float = 1e-6) -> tuple[str, str]:
    """Name of the method that ``auto`` begins with and the reason, in a few words."""
    kind = kind_of(problem, tol)
    return (kind, REASONS[kind]) if kind else pick(problem)


def pick(problem: Problem) -> tuple[str, str]:
    """Name of the method to run and the reason, in a few words."""
    p = problem
    if p.loss.quadratic and unpenalised_and_small(p):
        return "direct", "least squares without penalty: one factor, the least norm"
    if pieces_on_few_columns(p):
        return "multipliers", "few columns, a loss in pieces: its corners made smooth"
    smooth = p.gamma > 0 or p.label_kind == "count"
    if p.gamma > 0 and not p.loss.quadratic and tied_rows_win(p):
        return "rows", "smooth loss, l2 > 0, sparse, at least as many columns as rows"
    if smooth and few_rows(p) and not pieces_of_few_rows(p):
        return "few-rows", "few rows and l2 alone: Newton in the span of the rows"
    if few_rows_one_free(p):
        return "few-rows", "few rows, l2 but for one column: Newton in the span of the rows"
    face = best_face(p)
    if face == "":
        return "rows", "neither the loss nor its conjugate fits Newton's method"
    if face == "dual" and rows_out_of_hand(p):
        return "ascent", "passes on each tile of rows: they are too many to copy"
    if learns(p):
        return "learnt", "smooth loss, l2 > 0, cut into tiles: one reading a step"
    if p.grid.shape != (1, 1):
        return "newton", "the data is cut into tiles"
    if rows_in_pieces(p):
        return "rows", "quadratic pieces, l2 > 0, dense, more rows than columns"
    if much_and_dense(p):
        return "learnt", "smooth loss, l2 > 0, much dense data: one reading a step"
    if face == "proximal" and few_rows_without_curvature(p):
        return "interior", "nothing is smooth, few rows: one small matrix a step"
    if face == "proximal":
        return "newton", "on the dual with a fading proximal term: nothing is smooth"
    sparse = p.stored < p.n * p.d
    strong = smooth and p.mu > 0 and p.stored > LARGE_DATA
    easy = strong and p.reg.plain
    few = worth_a_matrix(FEW_LINES, sparse)
    if easy and face == "primal" and p.n >= VERY_TALL * p.d and p.d <= few:
        return "newton", "smooth loss, few columns"
    if easy and sparse and face == "primal":
        if steps_on_tall_rows(p):
            return "newton", "smooth loss, l2 > 0, sparse, more rows than columns"
        return "rows", "smooth loss, l2 > 0, large and sparse"
    wide = strong and sparse and p.mu * p.n >= 1.0 and not few_columns(p)
    if wide and not p.reg.plain and many_columns_move(p):
        return "rows", "smooth loss, l2 > 0, a small l1, large and sparse"
    dense = p.stored >= DENSE_ENOUGH * p.n * p.d
    if easy and dense and face == "dual" and p.n > p.d:
        return "rows", "quadratic pieces, l2 > 0, dense, more rows than columns"
    if pieces_of_large_systems(p):
        return "learnt", "quadratic pieces, l2 > 0, sparse, many rows and columns"
    if face == "dual" and square_and_hard(p):
        return "interior", "a loss in pieces, square data, a small l2: one matrix of the rows"
    if face == "dual":
        return "newton", "on the dual, where the kinks of the loss are bounds"
    if not p.reg.plain:
        return "newton", "on the columns that can still move"
    if easy and direct(p):
        return "newton", "least squares, about as many rows as columns: one factor"
    if easy and SQUARE * p.d >= p.n > few:
        return "rows", "smooth loss, l2 > 0, not many more rows than columns"
    return "newton", "smooth loss, few rows or columns"
