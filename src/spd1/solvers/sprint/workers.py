"""The kernels with the arrays they work on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...certificate.free_columns import free_columns_of
from ...certificate.gap import Certificate, certificate_of, relative
from ...certificate.points import Pair, pair_of
from ...certificate.segments import shrunk_pair
from ...data.matrix import Dense
from ...kernel.prices import rates
from ...problem import Problem
from ...result import Progress
from ..base import tied_drift
from ..order import rows_a_block
from ..tuning import FEW_LINES, SQUARE
from .ascent import KINKS, SMOOTH, ascend
from .descent import descend
from .gram import dense_matrix_in_sweeps, tall_and_dense
from .hardness import (
    few_dense_rows,
    hard_pieces,
    in_pieces,
    passes_worth,
    pieces_without_visits,
    straight_beyond,
)
from .momentum import FAST_NUMBERS, OTHERS
from .newton_cg import newton_steps
from .proof import fresh_pair
from .together import team_for
from .tuning import (
    A_SPARSE_PAIR,
    CALLS_OF_A_STEP,
    CHEAP_SWEEPS,
    DENSE_MATRICES_WORTH,
    ENTRIES_OF_MUCH,
    EXACTLY,
    FACTOR_OF_SPARSE,
    FEWEST_PASSES,
    FEWEST_PRODUCTS,
    FEWEST_STEPS,
    FEWEST_TRUSTED,
    FEWEST_UNTOLD,
    GRAM_OF_DENSE,
    GRAM_OF_SPARSE,
    HARMLESS_DRIFT,
    IN_BLOCKS,
    LARGEST_WORTH,
    LITTLE_ASCENT,
    LITTLE_SPARSE_ASCENT,
    LITTLE_STEP,
    LITTLE_WORK,
    MATRICES_WORTH,
    MORE_BY_MATRIX,
    MOST_ALONG,
    MOST_DESCENT,
    MOST_NEWTON_CG,
    MOST_TALL_DESCENT,
    MOST_TRIED_DESCENT,
    NEWTON_CG_ALONE,
    NEWTON_CG_OF_PIECES,
    PRODUCTS_A_STEP,
    PRODUCTS_OF_PIECES,
    SMALL_SHARE,
    SMALL_WORK,
    SPARSE_MATRIX,
    TELLING_ROWS,
    TO_ROUNDING,
    TRUSTED_SHARE,
    UNTOLD_DENSE,
    UNTOLD_SPARSE,
    VISITS_A_STEP,
)

__all__ = [
    "AscentWorker",
    "DescentWorker",
    "FreeDescentWorker",
    "NewtonCGWorker",
    "NewtonGramWorker",
    "sparse_matrix_in_sweeps",
    "sweeps_of",
]

NO_PLACES, NO_SHIFTS = np.zeros(0, dtype=np.int64), np.zeros(0)  # of centres
ORDER = np.uint64(1)  # the stream of draws that orders the columns of a sweep


class AscentWorker:
    """The kernel of l2 > 0, x tied to y, and its state."""

    ran = False
    rebuilt: tuple[str, ...] = ("A", "team")  # left out of checkpoints
    fewest_passes = FEWEST_PASSES

    @staticmethod
    def objection(problem: Problem) -> str:
        """What the kernel can't do, or ""."""
        p = problem
        if not free_and_alike(p) or not p.mu > p.most_faint_l2:
            return "the same l2 > 0 for every feature, and no bounds"
        return "a loss of labels or real targets" if p.label_kind == "count" else ""

    def __init__(self, problem: Problem, key: np.uint64) -> None:
        p = self.problem = problem
        self.rebuild()
        self.key, self.updates, self.largest = key, 0.0, 0.0
        self.y, self.u, self.G = np.zeros(p.n), np.zeros(p.n), np.zeros(self.width)
        self.places, self.shifts = NO_PLACES, NO_SHIFTS
        self.watch = SMOOTH if p.loss.quadratic or p.loss.probabilities else KINKS
        self.y_last = self.G_last = self.fast = None  # momentum, where rows can rest
        if self.watch == KINKS:
            self.y_last, self.G_last = np.zeros(p.n), np.zeros(self.width)
            self.fast = np.zeros(FAST_NUMBERS)
            self.fast[OTHERS] = in_pieces(p) and not NewtonCGWorker.objection(p)
        usual = passes_worth(p)
        little = LITTLE_ASCENT if p.grid.dense else LITTLE_SPARSE_ASCENT
        self.most_passes = max(usual, little / p.stored) if self.watch == KINKS else usual
        self.block = rows_a_block(p) if p.stored > IN_BLOCKS else 1

    @property
    def width(self) -> int:
        """Columns that the kernel knows of."""
        return self.problem.d

    def rebuild(self) -> None:
        """Put the rows where the kernel can read them."""
        self.A = in_one_piece(self.problem.grid.by_rows.matrix)
        self.team = team_for(self.problem, self.A)

    def start_from(self, x: np.ndarray, y: np.ndarray, bound: float = -math.inf) -> None:
        """Go on from a feasible y that others have found; x follows from it."""
        del x, bound
        self.y[:], self.G[:] = y, self.problem.adjoint(self.problem.c * y)

    def run(self, limits: Any, record: np.ndarray) -> tuple[int, float]:
        """Call the kernel once: looks and passes; fewer than the limit if there is no hope."""
        p, self.ran = self.problem, True
        settings = (
            p.b, p.c, float(p.reg.l1), p.mu, p.loss, self.watch, self.block, self.key, limits,
        )  # fmt: skip
        momentum = self.places, self.shifts, self.y_last, self.G_last, self.fast
        if self.team is not None:
            state = self.y, self.G, self.u
            looks, passes, largest = self.team.run(settings, *state, momentum, record)
        else:
            looks, passes, largest = ascend(
                self.A, *settings, self.y, self.G, self.u, *momentum, record
            )
        self.updates += passes * p.n
        self.largest = max(self.largest, largest)
        return looks, passes

    @property
    def x(self) -> np.ndarray:
        """Argmax_t {-G t - l1 |t| - l2/2 t^2}."""
        G, l1, l2 = self.G, float(self.problem.reg.l1), self.problem.mu
        if l1 == 0.0:
            return np.asarray(G * (-1.0 / l2))
        return np.asarray((np.minimum(l1 - G, 0.0) - np.minimum(l1 + G, 0.0)) / l2)

    def pair(self) -> Pair:
        """X and y as they are."""
        return pair_of(self.problem, self.x, self.u, self.y.copy(), -self.G)

    def certificate(self, last: Progress, floor: float, tol: float) -> Certificate:
        """What is proven: the kernel's sums where rounding in G can't matter, or new ones.

        With x tied to y the columns' brackets are zero, and the rows' are what the kernel adds up.
        """
        p = self.problem
        drift = tied_drift(p, self.largest, self.updates)
        gap, dual = last.gap + drift, last.dual - drift
        asked_for = tol * max(abs(last.primal), abs(dual), floor)
        harmless = drift <= HARMLESS_DRIFT * max(last.gap, asked_for)
        if harmless and gap >= last.primal - last.dual:
            rel_gap = relative(gap, last.primal, dual, floor)
            return Certificate(last.primal, dual, gap, rel_gap, self.y, floor)
        v = -p.adjoint(p.c * self.y)
        return certificate_of(p, pair_of(p, self.x, self.u, self.y, v))


def in_one_piece(A: Any) -> Any:
    """Dense data whose lines lie in one piece: a copy, if they do not."""
    if not isinstance(A, Dense) or A.values.flags.c_contiguous:
        return A
    values = np.ascontiguousarray(A.values)
    values.flags.writeable = False  # as all data: one kernel
    return Dense(values)


def free_and_alike(problem: Problem) -> bool:
    """Whether every feature has the same l1 and l2, and no bounds."""
    reg = problem.reg
    return bool(reg.scalar and reg.lower == -math.inf and reg.upper == math.inf)


def only_tried(problem: Problem) -> bool:
    """Whether sweeps over columns get fewer passes: Newton's factors are at hand, l2 is faint."""
    p = problem
    return few_dense_rows(p) and p.mu < SMALL_SHARE * p.grid.square_sum / (p.n * p.d)


class DescentWorker:
    """The kernel of l1, and its state."""

    ran = False
    rebuilt = ("L",)  # left out of checkpoints
    free = -1  # the column without penalty

    @staticmethod
    def objection(problem: Problem) -> str:
        """What the kernel can't do, or ""."""
        p = problem
        if not free_and_alike(p) or not (p.reg.l1 > 0.0 or p.mu > p.most_faint_l2):
            return "the same l1 > 0 or l2 > 0 for every feature, and no bounds"
        return "" if p.gamma > 0.0 else "a smooth loss"

    def __init__(self, problem: Problem, key: np.uint64) -> None:
        p = self.problem = problem
        self.key = key
        usual = MOST_DESCENT if p.n <= SQUARE * p.d else MOST_TALL_DESCENT
        tried = only_tried(p)
        self.cheap = p.stored <= CHEAP_SWEEPS and not tried
        self.most_passes = max(usual, LITTLE_WORK / p.stored) if self.cheap else usual
        self.most_passes = MOST_TRIED_DESCENT if tried else self.most_passes
        if not self.cheap and has_a_matrix(p):
            self.most_passes = min(self.most_passes, MATRICES_WORTH * sparse_matrix_in_sweeps(p))
        elif tall_and_dense(p):
            worth = DENSE_MATRICES_WORTH * dense_matrix_in_sweeps(p, p.d)
            self.most_passes = min(self.most_passes, worth)
        # a call begins with two passes, and without momentum
        self.fewest_passes = max(FEWEST_PASSES, ENTRIES_OF_MUCH / p.stored)
        self.rebuild()
        self.flat = float(p.c[0]) if p.loss.quadratic and p.uniform_weights else None
        self.l1, self.l2 = largest_of(p.reg.l1), largest_of(p.reg.l2)
        self.x, self.G, self.best_G = np.zeros(p.d), np.zeros(p.d), np.zeros(p.d)
        self.u, self.y, self.best_y = np.zeros(p.n), np.zeros(p.n), np.zeros(p.n)

    def rebuild(self) -> None:
        """Put the columns where the kernel can read them."""
        A = self.problem.grid.by_columns.matrix
        self.L = in_one_piece(A.transposed()) if isinstance(A, Dense) else A

    def start_from(self, x: np.ndarray, y: Any = None, bound: float = -math.inf) -> None:
        """Go on from an x that others have found; y follows from it."""
        del y, bound
        self.x[:] = x

    def run(self, limits: Any, record: np.ndarray) -> tuple[int, float]:
        """Call the kernel once: looks and passes; fewer than the limit if there is no hope."""
        p, self.ran = self.problem, True
        scratch = np.empty((3, p.d), dtype=np.int64), np.empty((6, p.d)), np.empty((4, p.n))
        looks, passes = descend(
            self.L, p.b, p.c, self.l1, self.l2, p.loss, p.gamma,
            p.loss.growth, self.flat, self.free, np.zeros(3), self.cheap, ORDER, limits,
            self.x, self.u, self.y, self.G, self.best_y, self.best_G, record, *scratch,
        )  # fmt: skip
        return looks, passes

    def pair(self, tol: float = 0.0) -> Pair:
        """X and the best y, made feasible."""
        p = self.problem
        return shrunk_pair(p, self.x.copy(), self.u, self.best_y.copy(), -self.best_G, tol)

    def certificate(self, last: Progress, floor: float, tol: float) -> Certificate:
        """What is proven of x and the best y."""
        del last, floor
        return certificate_of(self.problem, self.pair(tol))


def has_a_matrix(problem: Problem) -> bool:
    """Whether sparse least squares on tall data have columns so few that their matrix is small."""
    p = problem
    return p.loss.quadratic and not p.grid.dense and p.n > SQUARE * p.d and p.d <= FEW_LINES


def sparse_matrix_in_sweeps(problem: Problem) -> float:
    """What the matrix of sparse columns and the steps on it take, beside a sweep over the data."""
    p, rate = problem, rates()
    pairs = p.stored / p.n * rate.scattered_entry / rate.sparse_entry
    return SPARSE_MATRIX + A_SPARSE_PAIR * pairs


class FreeDescentWorker(DescentWorker):
    """The same with l1 and a column of a constant that has no penalty."""

    @staticmethod
    def objection(problem: Problem) -> str:
        """What the kernel can't do, or ""."""
        p, reg = problem, problem.reg
        if not (p.gamma > 0.0 and len(p.free_columns) == 1 and p.d > 1):
            return "a smooth loss, and one column without penalty"
        l1, l2 = (np.delete(np.broadcast_to(v, (p.d,)), p.free_columns) for v in (reg.l1, reg.l2))
        bounded = np.any(np.isfinite(reg.lower)) or np.any(np.isfinite(reg.upper))
        if bounded or not l1[0] > 0.0 or np.any(l1 != l1[0]) or np.any(l2 != l2[0]):
            return "the same l1 > 0 and the same l2 for every other feature, and no bounds"
        known = free_columns_of(p)
        if known is None or known.M[0, 0] == 0.0 or np.any(known.M[:, 0] != known.M[0, 0]):
            return "a column without penalty that is a constant"
        return ""

    def __init__(self, problem: Problem, key: np.uint64) -> None:
        super().__init__(problem, key)
        self.free = int(problem.free_columns[0])

    def pair(self, tol: float = 0.0) -> Pair:
        """X and the best y; what its balance lacks by rounding is mended."""
        del tol
        return pair_of(self.problem, self.x.copy(), self.u, self.best_y.copy(), None)


def sweeps_of(problem: Problem, key: np.uint64) -> DescentWorker:
    """The kernel of l1, with or without a column of a constant."""
    return (FreeDescentWorker if len(problem.free_columns) else DescentWorker)(problem, key)


def largest_of(penalty: Any) -> float:
    """The number that all features have, but for one of zero."""
    return float(np.max(penalty))


def matrix_in_products(problem: Problem) -> float:
    """Products with the curvature that take as long as adding up its matrix, and a factor of it."""
    p, rate = problem, rates()
    if p.grid.dense:
        return GRAM_OF_DENSE * p.d * rate.flop / rate.entry
    pairs = GRAM_OF_SPARSE * p.stored / p.n * rate.scattered_entry
    factor = FACTOR_OF_SPARSE * p.d**3 / p.stored * rate.flop
    return (pairs + factor) / rate.sparse_entry


def worth_of_a_gram(problem: Problem) -> float:
    """The same where steps are made from Python, which sparse data feels."""
    p, rate = problem, rates()
    if p.n <= SQUARE * p.d or p.d > LARGEST_WORTH:
        return math.inf
    calls = 0.0 if p.grid.dense else CALLS_OF_A_STEP / p.stored * rate.call / rate.sparse_entry
    return matrix_in_products(p) + calls


def steps_along(problem: Problem) -> int:
    """How often a step of Newton's is moved to where the objective is lowest along it.

    Rows that are few, and rows far away whose loss is straight there, tell too little of how far a
    step should go. On tall data with squared hinges it was no gain.
    """
    p = problem
    return MOST_ALONG if p.n < p.d or straight_beyond(p) else 0


class NewtonCGWorker:
    """The kernel of smooth losses and l2, one column without it, and its state."""

    ran = False
    rebuilt: tuple[str, ...] = ("A",)  # left out of checkpoints
    fewest_passes = FEWEST_STEPS

    @staticmethod
    def objection(problem: Problem) -> str:
        """What the kernel can't do, or ""."""
        p = problem
        if not p.reg.plain:
            return "l2 and neither l1 nor bounds"
        if p.gamma == 0.0 or p.label_kind == "count":
            return "a smooth loss of labels or real targets"
        if p.mu > p.most_faint_l2:
            return ""
        l2 = np.broadcast_to(np.asarray(p.reg.l2, dtype=float), (p.d,))
        few = len(p.free_columns) == 1 and p.d > 1
        rest = np.delete(l2, p.free_columns) if few else l2
        return "" if few and rest.min() > p.most_faint_l2 else "l2 > 0, but for one feature at most"

    def __init__(self, problem: Problem, key: np.uint64) -> None:
        p = self.problem = problem
        self.key = key  # nothing is drawn
        usual, worth = MOST_NEWTON_CG, worth_of_a_gram(p)
        if hard_pieces(p):  # visits are next, and not a matrix
            usual, worth = NEWTON_CG_OF_PIECES, PRODUCTS_OF_PIECES
        elif pieces_without_visits(p):
            usual, worth = NEWTON_CG_ALONE, math.inf
        self.most_passes = max(usual, SMALL_WORK / p.stored)
        most = min(PRODUCTS_A_STEP, VISITS_A_STEP / p.stored, worth)
        most = int(max(FEWEST_PRODUCTS, most, LITTLE_STEP / p.stored))
        self.products = (most, most, most, steps_along(p))
        self.H, self.told, self.stride = np.empty((0, 0)), np.zeros(2, dtype=np.int64), 1
        self.rebuild()
        self.free, self.at_free = -1, np.zeros(1)
        self.alike = p.reg.scalar and p.mu > p.most_faint_l2
        if self.alike:
            self.l2, self.over = np.empty(p.d), np.empty(p.d)
            self.l2.fill(p.mu)
            self.over.fill(1.0 / p.mu)
        else:
            self.eliminate()
        self.x, self.u, self.y = np.zeros(p.d), np.zeros(p.n), np.zeros(p.n)
        self.bound = -p.conjugate_at_zero

    def eliminate(self) -> None:
        """Features differ in l2, and one may have none."""
        p = self.problem
        self.l2 = np.array(np.broadcast_to(np.asarray(p.reg.l2, dtype=float), (p.d,)))
        if len(p.free_columns):
            self.free = int(p.free_columns[0])
            self.l2[self.free] = 0.0
            known = free_columns_of(p)  # who proves it asks for them, too
            if known is None:
                self.at_free = p.grid.dense_columns(p.free_columns)[:, 0].copy()
            else:
                self.at_free = known.M[:, 0] * known.unit[0]
        self.over = np.divide(1.0, self.l2, out=np.zeros(p.d), where=self.l2 > 0.0)

    @property
    def width(self) -> int:
        """Columns that the kernel knows of."""
        return self.problem.d

    def rebuild(self) -> None:
        """Put the rows where the kernel can read them."""
        self.A = in_one_piece(self.problem.grid.by_rows.matrix)

    def start_from(
        self, x: np.ndarray, y: np.ndarray | None = None, bound: float = -math.inf
    ) -> None:
        """Go on from what others have found: x, a feasible y and the dual objective there."""
        self.x, self.u = x.copy(), self.problem.margins(x)
        if y is not None and bound > self.bound:
            self.y, self.bound = y.copy(), bound

    def believe(self, proof: Certificate) -> None:
        """Go on with the bound that is proven.

        The kernel only counts what y lacks of balance, and the certificate pays for it. A bound
        above the optimum would stay, as no better one comes.
        """
        self.y, self.bound = proof.y.copy(), proof.dual

    def run(self, limits: Any, record: np.ndarray) -> tuple[int, float]:
        """Call the kernel once: looks and passes; fewer than the limit if there is no hope."""
        p, self.ran = self.problem, True
        if limits[0] < TO_ROUNDING:
            limits = (EXACTLY * limits[0], *limits[1:])
        looks, passes, self.bound = newton_steps(
            self.A, p.b, p.c, self.l2, self.over, self.free, self.at_free, self.H,
            self.stride, self.told, p.loss, self.bound, self.products, limits, self.x, self.u,
            self.y, record, np.empty((7, p.d)), np.empty((5, p.n)),
        )  # fmt: skip
        return looks, passes

    def pair(self) -> Pair:
        """X and the best y, sums computed anew."""
        p = self.problem
        if self.alike and p.grid.crew is None:
            return fresh_pair(p, self.A, self.x.copy(), self.y.copy())
        return pair_of(p, self.x.copy(), p.margins(self.x), self.y.copy(), None)

    def certificate(self, last: Progress, floor: float, tol: float) -> Certificate:
        """What is proven of x and the best y."""
        del last, floor, tol
        return certificate_of(self.problem, self.pair())


class NewtonGramWorker(NewtonCGWorker):
    """The same with a matrix of few columns where products are many; of some rows if they are."""

    @staticmethod
    def objection(problem: Problem) -> str:
        """What the kernel can't do, or ""; a step on more columns can't be interrupted for long."""
        if problem.d > LARGEST_WORTH:
            return f"at most {LARGEST_WORTH:,} features, whose matrix one kernel can factorise"
        return NewtonCGWorker.objection(problem)

    def __init__(self, problem: Problem, key: np.uint64) -> None:
        super().__init__(problem, key)
        p, worth = problem, matrix_in_products(problem)
        self.most_passes *= MORE_BY_MATRIX
        share = UNTOLD_DENSE if p.grid.dense else UNTOLD_SPARSE
        untold = int(max(FEWEST_UNTOLD, share * worth))
        trusted = int(max(FEWEST_TRUSTED, TRUSTED_SHARE * worth))
        self.products = (PRODUCTS_A_STEP, untold, trusted, steps_along(p))
        self.H, self.stride = np.zeros((p.d, p.d)), max(1, p.n // (TELLING_ROWS * p.d))
