"""Least squares with l1 on tall dense data: the Gram matrix of the columns that move.

    G = A'CA on a working set,   minimise x'G x / 2 - (A'C b)'x + g(x),   y = A x - b

The set begins with the columns that pull most. The best x on it is found by the matrix alone, a
look at all columns tells the gap and who pulls beyond l1, and these join: a few readings of the
data, whatever the columns have in common, and the matrix of few. Where most columns move, that
would be the matrix of all. Then sweeps over the data may cost less, and are left to others.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...certificate.gap import Certificate, certificate_of
from ...certificate.segments import shrunk_pair
from ...kernel.prices import prices
from ...problem import Problem
from ...regularizers import ElasticNet
from ..newton.linalg.gram import minimise_on_gram
from ..tuning import SQUARE
from .factor import gram_of
from .hardness import share_of_l1
from .tuning import (
    ALL_AT_ONCE,
    ALL_STAY,
    AT_LEAST_JOIN,
    CURVED_BY_L2,
    DENSE_MATRIX,
    DENSE_SWEEPS,
    FEW_OF_LITTLE,
    FEW_PULL,
    FIRST_SET,
    GRAM_FADING,
    GRAM_GOAL,
    GRAM_ROUNDS,
    GRAM_TRIES,
    LARGEST_FIRST_SET,
    LEAST_L1_SHARE,
    MORE_SWEEPS,
    MUCH_DATA,
    SET_GOAL,
    SWEEPS_ALIKE,
    SWEEPS_APART,
)

__all__ = ["by_gram", "dense_matrix_in_sweeps", "on_gram", "tall_and_dense"]


def tall_and_dense(problem: Problem) -> bool:
    """Whether this is least squares with l1, alike for every feature, on tall dense data.

    With an l2 that curves as much as a column does a few sweeps will do, and no matrix is made.
    """
    p = problem
    if not (p.loss.quadratic and p.grid.dense and p.grid.shape == (1, 1) and p.grid.at_hand):
        return False
    if not (p.reg.scalar and p.reg.l1 > 0.0 and p.n > SQUARE * p.d and p.stored > MUCH_DATA):
        return False
    return bool(p.mu <= CURVED_BY_L2 * p.grid.square_sum / p.stored)


def dense_sweeps(problem: Problem) -> float:
    """About how many sweeps over dense columns they take, if columns have little in common."""
    share = max(share_of_l1(problem), LEAST_L1_SHARE)
    return float(DENSE_SWEEPS * share**-MORE_SWEEPS)


def dense_matrix_in_sweeps(problem: Problem, columns: int) -> float:
    """What the matrix of so many columns takes, the looks included, beside a sweep over all."""
    at = prices()
    return DENSE_MATRIX + columns * columns * at.flop / (problem.d * at.entry)


class MovingColumns:
    """The columns of a working set, copies of them, and their products."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.ids = np.zeros(0, dtype=np.intp)
        self.member = np.zeros(problem.d, dtype=bool)
        self.parts: list[np.ndarray] = []  # lines are columns of the data
        self.G = np.zeros((0, 0))

    def __len__(self) -> int:
        return len(self.ids)

    def join(self, which: np.ndarray) -> None:
        """Copy columns, and add their products with each other and with all that are here."""
        p, before = self.problem, len(self.ids)
        new = np.ascontiguousarray(p.grid.matrix.values.T[which], dtype=float)
        p.grid.ledger.entries += new.size
        # all weights alike come last: BLAS makes half of a product with itself
        weighted, alike = (new, p.c[0]) if p.uniform_weights else (new * p.c, 1.0)
        G = np.empty((before + len(which),) * 2)
        G[:before, :before] = self.G
        start = 0
        for part in self.parts:
            end = start + len(part)
            G[start:end, before:] = (part @ weighted.T) * alike
            G[before:, start:end] = G[start:end, before:].T
            start = end
        G[before:, before:] = (new @ weighted.T) * alike
        self.G = G
        self.parts.append(new)
        self.ids = np.concatenate([self.ids, which])
        self.member[which] = True

    def margins(self, x: np.ndarray) -> np.ndarray:
        """A x, where x is zero elsewhere."""
        u, start = np.zeros(self.problem.n), 0
        for part in self.parts:
            end = start + len(part)
            u += x[self.ids[start:end]] @ part
            start = end
        self.problem.grid.ledger.entries += len(self.ids) * self.problem.n
        return u


def by_gram(
    problem: Problem,
    tol: float,
    x: np.ndarray | None = None,
    told: Callable[[Certificate], bool] | None = None,
) -> tuple[np.ndarray, Certificate | None]:
    """The solution, and what is proven of it; None where sweeps had better go on from there.

    From an ``x`` that sweeps have left they are not asked again. Who is ``told`` what every look
    has proven may stop it there.
    """
    p, set_of, swept = problem, MovingColumns(problem), x is not None
    size = abs(p.value_at_zero)
    if x is None and all_at_once(p):
        return on_all(p, tol)
    if x is None:
        x, slope = np.zeros(p.d), p.pull_at_zero.copy()
    else:
        slope = p.adjoint(p.c * (p.margins(x) - p.b))
        set_of.join(np.flatnonzero(x))
    left, rel_gap, best = GRAM_TRIES, 1.0, None
    goal = GRAM_GOAL * tol * tol  # of the objective: the gap falls with its square root
    for _ in range(GRAM_ROUNDS):
        wanted, stay = who_joins(p, set_of, x, slope)
        aim = goal
        if len(wanted):
            if not swept and too_dear(p, len(set_of) + len(wanted), stay):
                return x, None
            set_of.join(wanted)
            aim = max(goal, GRAM_GOAL * (SET_GOAL * rel_gap) ** 2)
        elif best is not None:  # rounding in G, or too little is asked of it
            left, goal = left - 1, GRAM_FADING * goal
        ids = set_of.ids
        z, pull = x[ids], slope[ids]
        minimise_on_gram(set_of.G, table_of(p.reg, len(ids)), z, pull, aim * size)
        x[ids] = z
        c, slope = proven(p, x, set_of.margins(x), tol)
        rel_gap = min(c.rel_gap, 1.0)
        if best is None or c.gap < best[1].gap:
            best = x.copy(), c
        if (told is not None and told(c)) or c.rel_gap <= tol or left == 0:
            break
    assert best is not None
    return best


def all_at_once(problem: Problem) -> bool:
    """Whether the matrix of all columns costs little beside a few looks, and many may move."""
    p = problem
    if dense_matrix_in_sweeps(p, p.d) > ALL_AT_ONCE:
        return False
    pulling = np.count_nonzero(np.abs(p.pull_at_zero) > p.reg.l1)
    return bool(pulling > FEW_OF_LITTLE * p.d)


def on_all(problem: Problem, tol: float) -> tuple[np.ndarray, Certificate]:
    """The same by the matrix of all columns."""
    p = problem
    goal = tol * tol * abs(p.value_at_zero)
    x, slope = np.zeros(p.d), p.pull_at_zero.copy()
    return on_gram(
        gram_of(p), p.reg, x, slope, tol, goal, lambda x: proven(p, x, p.margins(x), tol)
    )


def who_joins(
    problem: Problem, inside: MovingColumns, x: np.ndarray, slope: np.ndarray
) -> tuple[np.ndarray, float]:
    """Columns that pull beyond l1: at first some of them, then up to twice those that have moved.

    Where few pull at zero, they are the ones that will move. Where all that were in the set have
    moved, most of the others will. Returns the share of the set that has moved, too.
    """
    p, here = problem, len(inside)
    pull = np.abs(slope)
    pulling = np.flatnonzero((pull > p.reg.l1) & ~inside.member)
    moved = int(np.count_nonzero(x))
    stay = moved / here if here else FEW_PULL
    if here == 0:
        most = (
            len(pulling)
            if len(pulling) <= FEW_PULL * p.d
            else min(int(FIRST_SET * p.d), LARGEST_FIRST_SET)
        )
    else:
        most = len(pulling) if stay >= ALL_STAY else 2 * moved
    most = max(most, AT_LEAST_JOIN)
    if len(pulling) > most:
        pulling = np.sort(pulling[np.argpartition(-pull[pulling], most)[:most]])
    return pulling, stay


def too_dear(problem: Problem, columns: int, stay: float) -> bool:
    """Whether the matrix of so many columns takes more than sweeps, or than copies may.

    Columns that have nothing in common all stay in the set, and need few sweeps.
    """
    p = problem
    if 8.0 * columns * p.n > p.grid.copies:
        return True
    worth = SWEEPS_APART if stay >= ALL_STAY else SWEEPS_ALIKE
    return dense_matrix_in_sweeps(p, columns) > worth * dense_sweeps(p)


def table_of(reg: ElasticNet, count: int) -> np.ndarray:
    """Its numbers for so many columns, as kernels of models take them."""
    table = np.empty((count, 5))
    table[:] = 0.0, reg.l1, reg.l2, reg.lower, reg.upper
    return table


def proven(
    problem: Problem, x: np.ndarray, u: np.ndarray, tol: float
) -> tuple[Certificate, np.ndarray]:
    """What is proven of x, whose margins are u, and the slope of the loss there."""
    p, y = problem, u - problem.b
    slope = p.adjoint(p.c * y)
    return certificate_of(p, shrunk_pair(p, x.copy(), u, y, -slope, tol)), slope


def on_gram(
    G: np.ndarray,
    reg: ElasticNet,
    x: np.ndarray,
    slope: np.ndarray,
    tol: float,
    goal: float,
    proof: Callable[[np.ndarray], tuple[Certificate, np.ndarray]],
) -> tuple[np.ndarray, Certificate]:
    """The best of a few attempts on a matrix of all columns, each of which goes on from the last.

    ``slope`` is that of the loss at x, and ``goal`` what may be left to gain, about. ``proof`` has
    the certificate of an x and the slope there, from the data, which mends what rounding in G
    spoils.
    """
    table = table_of(reg, len(x))
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
