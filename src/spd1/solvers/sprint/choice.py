"""Which kernel takes a problem, and which goes on with what another has given up."""

from __future__ import annotations

import math

import numpy as np

from ...kernel.prices import rates
from ...problem import Problem
from ..tuning import FEW_LINES, MEDIUM_DATA, SQUARE, VERY_TALL
from .factor import one_factor
from .free import lifted
from .gram import tall_and_dense
from .hardness import (
    few_dense_rows,
    hard_pieces,
    in_pieces,
    least_l2,
    pieces_without_visits,
    row_overlap,
    row_ratio,
    share_of_l1,
    visited,
)
from .trial import products_of_a_step, trial_pays
from .tuning import (
    A_COPY,
    CHEAP_SPARSE,
    COLUMNS_COPY,
    CROWDED_COLUMNS,
    EASY_ENOUGH,
    EASY_FEW_COLUMNS,
    EASY_LOGISTIC,
    EASY_MUCH,
    EASY_NET,
    EASY_ROUGH,
    EASY_SQUARE,
    EASY_TALL,
    EASY_VERY_TALL,
    FAINT_NET,
    FAINT_ROWS,
    FAINT_WIDE_ROWS,
    FELT_BEFORE_A_COPY,
    FELT_IN_NETS,
    FEW_A_ROW,
    FEW_ALIKE_COLUMNS,
    FEW_ENTRIES,
    FEW_PIECES,
    FEWEST_SMOOTHED,
    HARD_PIECES,
    HARD_ROUGH,
    HARD_SHARE,
    LEAST_L1_SHARE,
    LITTLE_DENSE_DATA,
    LITTLE_SQUARE_DATA,
    LITTLE_TALL_DATA,
    MANY_DIGITS,
    MOST_ADDED_UP,
    MOST_EASY_ENTRIES,
    MOST_ENTRIES,
    MOST_IN_USE,
    MOST_SHORT_PIECES,
    MUCH_DATA,
    PIECES_APART,
    PROX_ROW,
    PROX_SHORT_ROW,
    PROX_TALL_ROW,
    ROWS_AT_HAND,
    SEPARABLE,
    SEPARABLE_RATIO,
    SHARED_PRODUCTS,
    SHORT_PIECES,
    SHORT_ROW,
    SMALL_COPY,
    STRONG_L1,
    TALL_SWEEPS,
    TELLING_SPARSE,
    TELLING_TALL,
    TO_ROUNDING,
    TRIED_DENSE,
    TRIED_SPARSE,
    UNTRIED_SHARE,
    VERY_EASY,
    VERY_FEW_ROWS,
    WIDE_IN_USE,
    WIDEST_FAINT,
)
from .workers import (
    AscentWorker,
    DescentWorker,
    FreeDescentWorker,
    NewtonCGWorker,
    sparse_matrix_in_sweeps,
    worth_of_a_gram,
)

__all__ = [
    "BY_MATRIX",
    "FROM_ANYWHERE",
    "REASONS",
    "THEN",
    "kind_of",
    "next_kind",
    "steps_do_better",
]

REASONS = {
    "ascent": "row by row in one kernel, x tied to y",
    "descent": "column by column in one kernel",
    "newton-cg": "Newton's steps by conjugate gradients in one kernel",
    "newton-gram": "Newton's steps on few columns in one kernel",
    "factor": "least squares with l2 on few columns: one factor",
    "gram": "least squares with l1 on tall data: the Gram matrix of columns that move",
}
THEN = ", then "  # between the kernels of a sprint
BY_MATRIX = ("factor", "gram")  # no kernel: a matrix, and the proof
BY_STEPS = ("newton-cg", "newton-gram")
FROM_ANYWHERE = (*BY_STEPS, "descent")  # kernels that may begin at any x


def kind_of(problem: Problem, tol: float = 1e-3) -> str:
    """Which kernel takes the problem, a key of ``REASONS``; "" if none does.

    Examples
    --------
    >>> import numpy as np, spd1
    >>> kind_of(spd1.Problem(np.eye(3), [1.0, 2.0, 3.0], "squared", spd1.L1(0.1)))
    'descent'
    """
    p = problem
    if p.grid.shape != (1, 1) or not 0 < p.stored <= MOST_EASY_ENTRIES:
        return ""
    if one_factor(p):
        return "factor"
    if not visited(p):
        steps = p.stored <= MOST_ENTRIES and (newton_suits(p) or pieces_without_visits(p))
        return newton_kind(p) if steps and not NewtonCGWorker.objection(p) else ""
    if swept_with_an_intercept(p):
        return "descent"
    near = lifted(p)
    if near is not None and p.grid.row_major and kind_of(near, tol) == "ascent":
        return newton_kind(p) if steps_do_better(p) else "ascent"  # the other columns decide
    if p.stored > MOST_ENTRIES:
        return "ascent" if very_easy(p) or corners_on_much_data(p) else ""
    if few_dense_rows(p) and factors_settle(p, tol):
        return ""
    if p.loss.quadratic and p.grid.dense and p.reg.plain:
        return ""  # and so do factors of dense least squares
    if p.gamma > 0.0 and (surely_easy(p) or newton_suits(p)):
        return newton_kind(p)
    small = p.stored <= SMALL_COPY  # else nothing is copied to have lines of the other kind
    if short_rows(p) and not DescentWorker.objection(p) and (small or not p.grid.row_major):
        return "descent"
    at_hand = (small or p.grid.row_major) and not exactly_on_factors(p, tol)
    if at_hand and not AscentWorker.objection(p) and rows_are_easy(p):
        return "ascent"
    if DescentWorker.objection(p) or p.reg.l1 == 0.0:
        return ""
    if tall_and_dense(p):
        return "gram"
    if gram_is_cheap(p):
        return ""
    if not p.grid.row_major:
        return "descent"
    copied = p.stored <= MUCH_DATA or (p.stored <= COLUMNS_COPY and not columns_alike(p))
    return "descent" if copied else ""


def swept_with_an_intercept(problem: Problem) -> bool:
    """Whether problems with l1 have a column of a constant, and are swept all the same.

    Dense least squares are centred instead, and few columns of tall data have a matrix.
    """
    p = problem
    most = COLUMNS_COPY if p.grid.row_major else MOST_ENTRIES
    if p.stored > most or FreeDescentWorker.objection(p):
        return False
    if not p.loss.quadratic:
        return not (p.grid.row_major and p.stored > MUCH_DATA and columns_alike(p))
    if p.grid.dense:
        return False
    few = p.n > SQUARE * p.d and p.d <= FEW_LINES and p.stored > MUCH_DATA
    return not few or sparse_matrix_in_sweeps(p) > rows_in_sweeps(p)


def columns_alike(problem: Problem) -> bool:
    """Whether very tall rows of a logistic loss have few columns, and several entries each."""
    p = problem
    few = p.d <= FEW_ALIKE_COLUMNS and p.n >= VERY_TALL * p.d
    return few and p.loss.probabilities and p.stored > FEW_A_ROW * p.n


def steps_do_better(problem: Problem) -> bool:
    """Whether little tall data with an intercept had better go to Newton's steps at once.

    A prox of a logistic loss is as much as twenty entries, and centres of an intercept are moved.
    """
    p = problem
    little = p.n > SQUARE * p.d and p.stored <= LITTLE_TALL_DATA and p.mu == 0.0
    return little and p.loss.probabilities and not NewtonCGWorker.objection(p)


def factors_settle(problem: Problem, tol: float) -> bool:
    """Whether few dense rows are best left to small Gram matrices: l2 alone, and many digits.

    That is so for smooth losses on very few rows: pieces of a loss and a small l2 took steps in the
    span of the rows ten times as long as visits to them (colon-cancer, leukemia).
    """
    p = problem
    return p.reg.plain and p.loss.probabilities and p.n <= VERY_FEW_ROWS and tol < MANY_DIGITS


def exactly_on_factors(problem: Problem, tol: float) -> bool:
    """Whether x is asked for to rounding where visits to rows that rest would end with a small gap.

    Its square root is what x is off by. On sparse data and tall data Newton's steps go on.
    """
    p = problem
    pieces = p.gamma > 0.0 and not (p.loss.quadratic or p.loss.probabilities)
    return pieces and tol < TO_ROUNDING and p.reg.plain and p.grid.dense and p.n < p.d


def very_easy(problem: Problem) -> bool:
    """Whether l2 holds every row of much sparse data back: a few visits to each will do.

    Smooth losses, that is: Newton's method on the dual took two thirds of the time with hinges.
    """
    p = problem
    rows = p.grid.row_major and not p.grid.dense and p.gamma > 0.0
    if not rows or AscentWorker.objection(p) or p.reg.l1 > 0.0:
        return False
    return row_ratio(p) <= EASY_MUCH


def corners_on_much_data(problem: Problem) -> bool:
    """Whether a hinge, or a relative of it, on much data had better go row by row, with momentum.

    Where l2 holds rows back Newton's method on the dual is as good, and so it is on data that can
    be separated: there few rows are left in the end, and the matrix of these is small.
    """
    p = problem
    if p.gamma > 0.0 or not p.grid.row_major or AscentWorker.objection(p) or p.reg.l1 > 0.0:
        return False
    ratio = row_ratio(p)
    return ratio >= HARD_ROUGH and (p.n > SEPARABLE * p.d or ratio <= SEPARABLE_RATIO)


def short_rows(problem: Problem) -> bool:
    """Whether tall data has so few entries a row that columns hardly feel each other."""
    p = problem
    short = p.n > SQUARE * p.d and p.d > FEW_LINES and p.stored <= FEW_A_ROW * p.n
    return short and not hard_pieces(p)


def very_short_rows(problem: Problem) -> bool:
    """Whether rows are so many and so short that beginning one costs as much as its entries.

    Visits begin a row twice and take a prox, matrices of the curvature skip from entry to entry:
    products took 0.5 to 1.3 of the time of the best of them (generated data, 3 to 9 entries a row).
    """
    p = problem
    rows = p.grid.row_major and p.stored > SMALL_COPY  # else there are sweeps over columns
    return rows and p.n >= VERY_TALL * p.d and p.stored <= FEW_A_ROW * p.n


def newton_suits(problem: Problem) -> bool:
    """Whether tall data had better be solved by Newton's steps than row by row.

    Rows that l2 holds back need few visits, and long ones cost the same either way.
    """
    p = problem
    if p.loss.quadratic or NewtonCGWorker.objection(p):
        return False
    if p.grid.crew is not None and p.stored > SHARED_PRODUCTS:
        return False  # several threads share the products of Newton's method elsewhere
    if hard_pieces(p):
        return p.n > PIECES_APART * p.d or pieces_of_short_rows(p)
    if p.n <= SQUARE * p.d:
        return exponentials_count(p) or pieces_of_short_rows(p) or hard_logistic_rows(p)
    if pieces_on_dense_rows(p):
        return False
    if very_short_rows(p):
        return True
    if not visits_take_longer(p):
        return False
    if newton_kind(p) == "newton-gram":  # with a matrix in reserve
        if p.grid.dense or p.n <= TELLING_SPARSE * p.d:
            return True
        if p.loss.probabilities and row_ratio(p) <= EASY_LOGISTIC:  # else visits would be taken
            return True
    return not too_hard_for_products(p)


def pieces_on_dense_rows(problem: Problem) -> bool:
    """Whether a loss in quadratic pieces had better go row by row: dense data, not very tall.

    Which rows are within their pieces changes from step to step, and steps are many. Rows took 0.4
    to 0.7 of the time of conjugate gradients on three of four draws (n 2.7 to 6 times d, ratios 2
    to 350), and 1.0 to 1.5 on one; 1.0 to 2.7 on less than 150,000 entries. With a matrix in
    reserve, which came later: 0.75 at three rows a column, 0.9 and 1.3 (to 1e-3 and 1e-6) at four,
    0.9 and 1.6 at five, 5 and 7 at thirteen.
    """
    p = problem
    if not in_pieces(p) or not p.grid.dense or p.stored <= MEDIUM_DATA:
        return False
    return p.n < FEW_PIECES * p.d and EASY_ENOUGH < row_ratio(p) <= HARD_PIECES


def pieces_of_short_rows(problem: Problem) -> bool:
    """Whether rows are so short that a visit is its overhead above all: a product has none.

    Squared hinges, 3 to 5 entries a row, n = d: products took 0.03 to 0.9 of the time of visits up
    to a ratio of 30, 0.1 to 2.8 at 1000; with 8 a row 0.1 to 1.1. Columns without an entry do not
    count.
    """
    p = problem
    if p.grid.dense or p.stored > SHORT_PIECES * p.n or not in_pieces(p):
        return False
    if row_ratio(p) > MOST_SHORT_PIECES or p.d > WIDE_IN_USE * p.n:
        return False
    least = 1.0 if row_ratio(p) <= HARD_PIECES else CROWDED_COLUMNS
    return p.n >= least * p.d or p.n >= least * columns_in_use(p)


def hard_logistic_rows(problem: Problem) -> bool:
    """Whether dense data has some more rows than columns, and l2 hardly holds these rows back.

    Logistic losses, 203 x 172 to 1320 x 842, means of 43 to 510: products took 0.5 to 1.4 of the
    time of the best of visits, row tiles and matrices on seven of eight draws, 2.4 on one.
    """
    p = problem
    return p.grid.dense and p.loss.probabilities and p.n > p.d and row_ratio(p) > EASY_SQUARE


def visits_take_longer(problem: Problem) -> bool:
    """Whether visits to the rows of tall data are expected to take longer than Newton's steps."""
    p = problem
    if p.mu == 0.0:  # a column without penalty is nothing that the others take
        return True
    short = p.stored <= SHORT_ROW * p.n * rates().exp / rates().sparse_entry
    if short and p.n >= VERY_TALL * p.d and (p.loss.probabilities or row_ratio(p) <= VERY_EASY):
        return True
    if exponentials_count(p):
        return True
    at_hand = p.stored <= SMALL_COPY or not p.grid.row_major
    if at_hand and short_rows(p) and not p.loss.probabilities:
        return False  # columns are visited
    return AscentWorker.objection(p) != "" or row_ratio(p) > EASY_ENOUGH or not rows_are_easy(p)


def exponentials_count(problem: Problem) -> bool:
    """Whether visits to sparse rows are exponentials above all: logistic losses, short rows.

    A product with the curvature is two walks along a row and no more; a visit is a prox, too, and
    with a logistic loss that is as much as twenty entries. Where columns with entries are far more
    than rows, rows hardly feel each other, and a few visits do what takes many products.
    """
    p = problem
    if not p.loss.probabilities or p.grid.dense or p.d > WIDE_IN_USE * p.n:
        return False
    a_prox = p.n * rates().exp / rates().sparse_entry
    if p.d <= SQUARE * p.n:
        return p.stored <= (PROX_TALL_ROW if p.n > SQUARE * p.d else PROX_ROW) * a_prox
    if p.stored > PROX_SHORT_ROW * a_prox or not p.grid.row_major:
        return False
    return columns_in_use(p) <= MOST_IN_USE * p.n


def columns_in_use(problem: Problem) -> int:
    """Columns that have an entry."""
    return int(np.count_nonzero(problem.grid.column_counts))


def surely_easy(problem: Problem) -> bool:
    """Whether l2 is so strong that a few products with the curvature make a step of Newton's.

    No direction is curved more than all rows together. A product reads an entry twice, as a visit
    to its row does, and takes no prox.
    """
    p = problem
    if p.mu <= p.most_faint_l2 or p.loss.quadratic or NewtonCGWorker.objection(p):
        return False
    if p.d > WIDEST_FAINT * p.n:
        return False  # steps go over all columns
    return p.n * row_ratio(p) <= (FAINT_ROWS if p.n >= p.d else FAINT_WIDE_ROWS)


def too_hard_for_products(problem: Problem) -> bool:
    """Whether a matrix of the curvature costs less than the products a step may take.

    A trial on a few rows tells, if it costs little. Else: products grow with the root of the
    curvature along a column over l2. On a9a and on the paper's 1000 x 100 Newton's method with
    matrices took half the time.
    """
    p, worth = problem, worth_of_a_gram(problem)
    bend = p.grid.square_sum / p.n / min(p.n, p.d)
    share = math.sqrt(bend / (least_l2(p) * p.gamma)) / worth
    if share > UNTRIED_SHARE and trial_pays(p, worth):
        most = (TRIED_DENSE if p.grid.dense else TRIED_SPARSE) * worth
        return products_of_a_step(p, most) > most
    return share > HARD_SHARE


def newton_kind(problem: Problem) -> str:
    """Which of the two kernels takes Newton's steps: with a matrix in reserve on tall data.

    Where dense rows are very many beside their columns, samples of them do better elsewhere.
    """
    p = problem
    if p.n <= SQUARE * p.d or p.d > MOST_ADDED_UP:
        return "newton-cg"
    telling = p.stored <= LITTLE_DENSE_DATA or p.n <= TELLING_TALL * p.d
    return "newton-gram" if telling or not p.grid.dense else "newton-cg"


def gram_is_cheap(problem: Problem) -> bool:
    """Whether least squares on tall sparse data had better add up a Gram matrix once and for all.

    It takes a multiplication for every column and entry. Sweeps over columns take as many passes as
    their number that moves asks for: the more, the smaller l1 is beside the one that moves none.
    """
    p, rate = problem, rates()
    if not p.loss.quadratic or p.grid.dense or p.n <= SQUARE * p.d or p.stored <= MUCH_DATA:
        return False
    if p.d > FEW_LINES or p.stored / p.n * rate.scattered_entry > CHEAP_SPARSE * rate.sparse_entry:
        return False
    return sparse_matrix_in_sweeps(p) <= rows_in_sweeps(p)


def rows_in_sweeps(problem: Problem) -> float:
    """What sweeps take, the copy of rows to columns with them, which a matrix does without."""
    sweeps = expected_sweeps(problem)
    return ROWS_AT_HAND * (sweeps + A_COPY) if problem.grid.row_major else sweeps


def expected_sweeps(problem: Problem) -> float:
    """About how many sweeps over the columns least squares with l1 take on tall sparse data."""
    return TALL_SWEEPS / math.sqrt(max(share_of_l1(problem), LEAST_L1_SHARE))


def rows_are_easy(problem: Problem) -> bool:
    """Whether a few dozen visits to every row will do.

    Rows that share few columns hardly feel each other. On tall data they do, unless l2 holds each
    back: the number of passes grows with the mean of c_i |a_i|^2 / (l2 gamma).
    """
    p = problem
    ratio = row_ratio(p)
    if p.reg.l1 > 0.0:
        return rows_of_nets_are_easy(p, ratio)
    if hard_pieces(p):
        return True
    if p.gamma == 0.0:
        few = p.grid.dense and p.n >= VERY_TALL * p.d and p.d <= FEW_LINES
        if few and p.stored > FEWEST_SMOOTHED:
            return ratio <= EASY_FEW_COLUMNS * p.d * p.d / p.n  # else corners are made smooth
        little = p.stored <= FEW_ENTRIES  # passes are microseconds, and momentum does the rest
        return p.n <= p.d or little or ratio <= EASY_ROUGH
    if p.n <= SQUARE * p.d:
        few = p.n <= p.d or p.stored <= FEW_ENTRIES
        return few or ratio <= EASY_SQUARE or in_pieces(p)  # which leave in time
    if p.n < VERY_TALL * p.d:
        return ratio <= EASY_TALL
    # an exponential and a logarithm a visit
    return ratio <= (EASY_LOGISTIC if p.loss.probabilities else EASY_VERY_TALL)


def rows_of_nets_are_easy(problem: Problem, ratio: float) -> bool:
    """The same with an l1 beside l2, where sweeps over the columns that move are the alternative.

    What rows feel of each other, beside l2, tells how many visits they need. The larger l1 is, the
    fewer columns move, and the less sweeps over these cost.
    """
    p = problem
    # rows are copied only where that is no loss
    if p.n > p.d or ratio > (FAINT_NET if p.grid.row_major else EASY_NET):
        return False
    if ratio > EASY_NET and share_of_l1(p) * ratio > STRONG_L1:  # it reads the data once
        return False
    copied = p.grid.row_major and p.stored > SMALL_COPY  # else columns cost next to nothing
    return ratio * row_overlap(p) <= (FELT_BEFORE_A_COPY if copied else FELT_IN_NETS)


def other_for_pieces(kind: str, problem: Problem) -> str:
    """Visits after Newton's steps, or these after visits; "" if both have been tried."""
    if THEN in kind or kind not in ("ascent", *BY_STEPS):
        return ""
    return newton_kind(problem) if kind == "ascent" else "ascent"


def next_kind(kind: str, problem: Problem) -> str:
    """Which kernel goes on with what another has given up; "" if none does.

    What ascent leaves are rows that feel each other, and what conjugate gradients leave are
    columns that do: the matrix of few of these costs a few products.
    """
    p, last = problem, kind.rpartition(THEN)[2]
    if last == "descent" and tall_and_dense(p):
        return "gram"
    if hard_pieces(p) and not AscentWorker.objection(p):
        return other_for_pieces(kind, p)
    if p.stored > MOST_ENTRIES or NewtonCGWorker.objection(p):
        return ""
    others = newton_kind(p)
    if last == "ascent":
        much = p.grid.dense and p.stored > LITTLE_SQUARE_DATA and p.loss.quadratic
        return "" if much and others == "newton-cg" else others
    return "newton-gram" if last == "newton-cg" and p.d <= FEW_LINES else ""
