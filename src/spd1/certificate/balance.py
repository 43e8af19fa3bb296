"""Columns without penalty: they ask a dual point for v_j = 0, which rounding never grants.

A column without l1, l2 and bounds has g_j*(v) = 0 at v = 0 and infinity elsewhere. No y of doubles
makes a_j'(c y) exactly zero, so three things are done:

1. y is *mended*: moved by weighted least squares, rows in proportion to the room they have inside
   the domain of phi*, until |v_j| is a rounding error, eps sum_i |a_ij c_i y_i|.
2. A *vicinity* is found: bounds E_i so that some exactly feasible dual point lies in y +- E. With
   B = diag(sqrt(c w)) A_free, w the room of each row, B = Q R and e_j a bound of |v_j| and its
   rounding, the move diag(sqrt(w / c)) Q R^-T v makes the columns exact, and
   E = sqrt(w / c) |Q| |R^-T| e, and a bit more because Q and R are rounded. Columns that are
   nearly alike make R^-T, and so E, large.
3. The gap is that of the worst point of the vicinity: see ``terms.loss_terms_near``.

Columns that are combinations of others *to within rounding* can't be proved zero in this way, nor
can those that only rows without room touch. What is left of them, h_k, no more than the rounding of
other columns, stays in the gap as h_k |x_k| for every |x_k| within ``REACH`` times the size of what
is known; the certificate says so.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky, qr, solve_triangular

from ..problem import ROUNDED
from ..terms import loss_domain
from .tuning import (
    BEYOND_PROOF,
    DEPENDENT,
    FACTORED,
    INDEPENDENT,
    MEND_LIMIT,
    MEND_ROUNDS,
    NEARLY,
    NOTHING,
    REFINEMENTS,
    ROOMY,
)
from .twofold import twofold_products

if TYPE_CHECKING:
    from ..problem import Problem

__all__ = ["FreeColumns", "Vicinity", "free_columns_of", "mended", "vicinity"]


class Vicinity(NamedTuple):
    """An exactly feasible dual point lies within ``rows`` of y and ``columns`` of v.

    ``open`` of a column without penalty is zero if it is proved to balance there, and otherwise
    bounds what is left of it; None if there are no such columns.
    """

    rows: np.ndarray
    columns: np.ndarray
    open: np.ndarray | None = None

    def scaled(self, theta: float) -> Vicinity:
        """That of theta y."""
        left = None if self.open is None else theta * self.open
        return Vicinity(theta * self.rows, theta * self.columns, left)

    def mixed(self, theta: float, other: Vicinity) -> Vicinity:
        """That of (1 - theta) y + theta z, the other being that of z."""
        one, two = self.scaled(1.0 - theta), other.scaled(theta)
        left = one.open if two.open is None else two.open
        if one.open is not None and two.open is not None:
            left = one.open + two.open
        return Vicinity(one.rows + two.rows, one.columns + two.columns, left)


class FreeColumns(NamedTuple):
    """The columns without penalty, each divided by a power of two just below its largest entry.

    Of columns that are alike, one.
    """

    which: np.ndarray
    M: np.ndarray
    size: np.ndarray  # absolute values of M
    unit: np.ndarray  # what each was divided by
    up: np.ndarray  # whether v_j > 0 is forbidden
    down: np.ndarray  # whether v_j < 0 is forbidden
    ends: tuple[np.ndarray, np.ndarray]  # of the domain of phi*
    all: bool  # whether they say everything about the rows: only y = 0 balances them

    def residual(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return v = -M'w, and a bound of its rounding.

        NumPy sums in pairs. A sum from the first row to the last of a million, sorted by label,
        is off by a hundred eps, and more if terms are alike.
        """
        v = np.array([-float(np.sum(column * w)) for column in self.M.T])
        return v, ROUNDED * (self.size.T @ np.abs(w))

    def excess(self, v: np.ndarray) -> np.ndarray:
        """The part of v that is forbidden."""
        return np.where(self.up, np.maximum(v, 0.0), 0.0) + np.where(
            self.down, np.minimum(v, 0.0), 0.0
        )


def free_columns_of(problem: Problem) -> FreeColumns | None:
    """The columns without penalty, kept with the problem; None if they are too many to copy."""
    free = problem.free_columns
    if problem.n * len(free) > MEND_LIMIT:
        return None
    if "free columns" not in problem.notes:
        low, high = problem.dual_bounds
        assert low is not None
        assert high is not None
        M = problem.grid.dense_columns(free)
        largest = np.abs(M).max(axis=0)
        unit = np.where(largest > 0.0, np.ldexp(0.5, np.frexp(largest)[1]), 1.0)
        M = M / unit
        low, high = low[free], high[free]
        first = different(M, (low == 0.0) & (high == 0.0))
        free, unit, low, high = free[first], unit[first], low[first], high[first]
        M = np.asfortranarray(M[:, first])
        ends = np.empty(problem.n), np.empty(problem.n)
        loss_domain(problem.b, problem.loss, *ends)
        up, down = high == 0.0, low == 0.0
        spans = span_rows(M[:, up & down], problem.c)
        problem.notes["free columns"] = FreeColumns(free, M, np.abs(M), unit, up, down, ends, spans)
    found: FreeColumns = problem.notes["free columns"]
    return found


def different(M: np.ndarray, both: np.ndarray) -> np.ndarray:
    """One of each set of columns that are alike to the last bit: what holds for it holds for all.

    Of columns that ask the same of both sides, that is; a column and its negative are alike.
    """
    seen: dict[bytes, int] = {}
    for j in range(M.shape[1]):
        column = M[:, j]
        lead = column[np.argmax(column != 0.0)]
        key = (np.sign(lead) * column + 0.0).tobytes() if both[j] else str(j).encode()  # no -0
        seen.setdefault(key, j)
    return np.fromiter(seen.values(), dtype=int, count=len(seen))


def span_rows(M: np.ndarray, c: np.ndarray) -> bool:
    """Whether no row that counts is left free by these columns."""
    rows = M[c > 0.0]
    if M.shape[1] < len(rows) or not len(rows):
        return False
    diagonal = np.abs(np.diagonal(qr(rows.T, mode="r", pivoting=True, check_finite=False)[0]))
    return bool(diagonal[-1] > DEPENDENT * math.sqrt(M.shape[1]) * diagonal[0])


class Spread(NamedTuple):
    """How moves of the rows with room change some columns: diag(sqrt(c w)) M = Q R."""

    Q: np.ndarray
    R: np.ndarray
    scale: np.ndarray  # lengths of the columns of diag(sqrt(c w)) M
    order: np.ndarray  # independent columns first
    rank: int
    gain: np.ndarray  # sqrt(w / c)
    error: float  # rounding of the factors, relative to a column
    pivoted: bool  # because some columns are nearly dependent

    def cut(self, rank: int) -> Spread:
        """The same with fewer columns that count as independent."""
        return self._replace(Q=self.Q[:, :rank], R=self.R[:rank, :rank], rank=rank)

    def parts(self, excess: np.ndarray) -> np.ndarray:
        """Multiples of the columns of Q that take the excess of independent columns away."""
        wanted = excess / self.scale[self.independent]
        return np.asarray(solve_triangular(self.R, wanted, trans="T", check_finite=False))

    @property
    def independent(self) -> np.ndarray:
        """Columns that none of the others stands for."""
        return self.order[: self.rank]


def room_of(problem: Problem, y: np.ndarray, free: FreeColumns) -> np.ndarray:
    """How far each y_i is from the ends of the domain of phi*, within reason."""
    most = float(np.abs(y).max())
    room = np.minimum(np.minimum(y - free.ends[0], free.ends[1] - y), most)
    return np.where((problem.c > 0.0) & (room > ROOMY * most), room, 0.0)


def spread_of(problem: Problem, y: np.ndarray, free: FreeColumns, active: np.ndarray) -> Spread:
    """Factor the active columns, weighted by room."""
    room = room_of(problem, y, free)
    gain = np.sqrt(np.divide(room, problem.c, out=np.zeros(problem.n), where=room > 0.0))
    B = np.sqrt(problem.c * room)[:, None] * free.M[:, active]
    scale = np.sqrt(np.einsum("ij,ij->j", B, B))
    scale = np.where(scale > 0.0, scale, 1.0)
    B /= scale
    error = FACTORED * math.sqrt(problem.n)
    if B.shape[1] == 1:
        one = np.ones((1, 1))
        return Spread(B, one, scale, np.zeros(1, dtype=int), int(np.any(B)), gain, error, False)
    R = _well_conditioned(B.T @ B)
    if R is not None:
        Q = solve_triangular(R, B.T, trans="T", check_finite=False).T
        least = float(np.min(np.diagonal(R)))  # a product of B with itself has lost as much
        return Spread(Q, R, scale, np.arange(len(R)), len(R), gain, error / least, False)
    Q, R, order = qr(B, mode="economic", pivoting=True, check_finite=False)
    diagonal = np.abs(np.diagonal(R))
    rank = int(
        np.count_nonzero(diagonal > DEPENDENT * math.sqrt(problem.n) * max(diagonal[0], 0.5))
    )
    return Spread(Q[:, :rank], R[:rank, :rank], scale, order, rank, gain, error, True)


def _well_conditioned(G: np.ndarray) -> np.ndarray | None:
    """R with R'R = G, of unit diagonal, if its columns are far from dependent."""
    try:
        R = cholesky(G, check_finite=False)
    except LinAlgError:
        return None
    return np.asarray(R) if float(np.min(np.diagonal(R))) > INDEPENDENT else None


def mended(problem: Problem, y: np.ndarray, free: FreeColumns) -> np.ndarray:
    """Move y so that unpenalised columns balance: weighted least squares, a few rounds."""
    best, least, exact = y, math.inf, False
    active = free.up & free.down
    for _ in range(MEND_ROUNDS):
        v, rounding = free.residual(problem.c * y)
        excess = free.excess(v)
        over = np.abs(excess) - rounding
        worst = float(np.sum(np.abs(excess)))
        if not worst < 0.5 * least:
            if exact or worst > NEARLY * float(rounding.sum()):
                return best  # the ends of the domain are in the way, and not rounding
            exact, y, least = True, best, math.inf
            continue
        best, least = y, worst
        if np.all(over <= 0.0):
            return best
        active = active | (over > 0.0)
        move = None if exact else roughly_moved(problem, y, free, active, excess)
        if move is None:
            move = moved(problem, y, free, active, excess)
        if move is None:
            return best
        y = y + move
        gone = np.abs(y) <= NOTHING * float(np.abs(y).max())  # some columns ask for exactly zero
        y = np.clip(np.where(gone, 0.0, y), *free.ends)
        if not np.all(np.isfinite(y)):
            return best
    return best


def roughly_moved(
    problem: Problem, y: np.ndarray, free: FreeColumns, active: np.ndarray, excess: np.ndarray
) -> np.ndarray | None:
    """The move that takes the excess away, by normal equations: fast, and right to few digits."""
    room = room_of(problem, y, free)
    M = free.M[:, active]
    normal = M.T @ ((problem.c * room)[:, None] * M)
    scale = np.sqrt(np.maximum(np.diagonal(normal), 1e-300))
    normal /= np.outer(scale, scale)
    normal[np.diag_indices_from(normal)] += 1e-13
    try:
        factor = cho_factor(normal, check_finite=False)
    except (LinAlgError, ValueError):
        return None
    move = room * (M @ (cho_solve(factor, excess[active] / scale, check_finite=False) / scale))
    return move if np.all(np.isfinite(move)) else None


def moved(
    problem: Problem, y: np.ndarray, free: FreeColumns, active: np.ndarray, excess: np.ndarray
) -> np.ndarray | None:
    """The same by orthogonal factors."""
    spread = spread_of(problem, y, free, active)
    if spread.rank == 0:
        return None
    parts = spread.parts(excess[active][spread.independent])
    return np.asarray(spread.gain * (spread.Q @ parts))


def vicinity(
    problem: Problem, y: np.ndarray, free: FreeColumns
) -> tuple[np.ndarray, Vicinity | None]:
    """Return y, mended a last time, and where an exactly feasible dual point near it is.

    None if y does not balance.
    """
    w = problem.c * y
    if not np.any(w):
        return y, None
    v, rounding = free.residual(w)
    noise = max(float(rounding.max()), ROUNDED * float(np.abs(w).max()))
    if np.any(np.abs(free.excess(v)) + rounding > BEYOND_PROOF * noise):
        return y, None
    active = (free.up & free.down) | (free.up & (v > -rounding)) | (free.down & (v < rounding))
    for _ in range(3):
        around = _around(problem, y, free, active, v, rounding)
        y, v, rounding = around.y, around.v, around.rounding
        left = free.size.T @ (problem.c * around.rows)
        crossing = (free.up & (v + rounding + left > 0.0)) | (
            free.down & (v - rounding - left < 0.0)
        )
        if not np.any(crossing & ~active):
            break
        active |= crossing
    off, proved, rows = np.abs(free.excess(v)) + rounding, around.proved, around.rows
    if np.any(~proved & crossing & (off > 2.0 * noise)):
        return y, None  # a column that nothing can balance
    columns = np.sqrt(problem.column_norms_squared) * float(np.linalg.norm(problem.c * rows))
    columns[problem.free_columns] = 0.0
    sided = ~(free.up & free.down)  # with a bound on the other side: v may be anything beyond 0
    columns[free.which] = np.where(sided, (off + left) * free.unit, 0.0)
    still = np.where(proved | ~crossing, 0.0, (off + left) * free.unit)
    return y, Vicinity(rows, columns, still)


class Around(NamedTuple):
    """Bounds of the rows' moves that make independent active columns exact, and which those are."""

    y: np.ndarray
    v: np.ndarray
    rounding: np.ndarray  # bounds of the error of v
    rows: np.ndarray
    proved: np.ndarray


def _around(
    problem: Problem,
    y: np.ndarray,
    free: FreeColumns,
    active: np.ndarray,
    v: np.ndarray,
    rounding: np.ndarray,
) -> Around:
    """Solve for the move, or bound it."""
    proved = ~np.any(free.M != 0.0, axis=0)  # columns of zeros
    chosen = np.flatnonzero(active & ~proved)
    nothing = Around(y, v, rounding, np.zeros(problem.n), proved)
    if not len(chosen):
        return nothing
    spread = spread_of(problem, y, free, chosen)
    if not spread.rank:
        return nothing
    inverse = np.abs(solve_triangular(spread.R, np.eye(spread.rank), check_finite=False)).T
    shaky = spread.error * inverse.sum(axis=1)  # what rounding of R adds
    while spread.rank and not np.linalg.norm(shaky) <= 0.5:
        spread = spread.cut(spread.rank - 1)
        inverse = inverse[: spread.rank, : spread.rank]  # R is triangular, and so is its inverse
        shaky = spread.error * inverse.sum(axis=1)
    picked = chosen[spread.independent]
    scale = spread.scale[spread.independent]
    if not spread.pivoted:  # the columns are so different that signs do not matter
        known = np.zeros(spread.rank)
        unknown = inverse @ ((np.abs(free.excess(v)) + rounding)[picked] / scale)
    else:
        y, v, rounding = refined(problem, y, free, spread, picked, v, rounding)
        known = spread.parts(free.excess(v)[picked])
        unknown = inverse @ (rounding[picked] / scale)
    size = float(np.linalg.norm(np.abs(known) + unknown))
    unknown += shaky * size / (1.0 - float(np.linalg.norm(shaky)))
    proved[picked] = True
    rows = np.abs(spread.Q @ known) + np.abs(spread.Q) @ (unknown + 0.01 * np.abs(known))
    return Around(y, v, rounding, 1.01 * spread.gain * rows, proved)


def refined(
    problem: Problem,
    y: np.ndarray,
    free: FreeColumns,
    spread: Spread,
    picked: np.ndarray,
    v: np.ndarray,
    rounding: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return y mended by two-fold sums, its v, and bounds of the error of v.

    Columns that are nearly alike make what is left of them count dearly, but what the rounding of y
    leaves is itself a combination of rows: the move that takes it away is as small as rounding.
    """
    best = y, v, rounding
    least = math.inf
    for _ in range(REFINEMENTS):
        sums, error = twofold_products(free.M, problem.c, y)
        if not np.all(np.isfinite(error)):
            break
        parts = spread.parts(free.excess(-sums)[picked])
        size = float(np.linalg.norm(parts))
        if not size < least:
            break
        best, least = (y, -sums, error), size
        y = np.clip(y + spread.gain * (spread.Q @ parts), *free.ends)
    return best
