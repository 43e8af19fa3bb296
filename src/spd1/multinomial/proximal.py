"""A step for problems with l1: the quadratic model is minimised over a working set.

A small set has its Gram matrix made, on which sweeps of coordinate descent find who is zero and
solves on the support do the rest. A large one is swept over column by column.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lapack

from ..certificate.tuning import UNIT
from ..data.convert import as_matrix, column_access
from ..solvers.newton.linalg.gram_kernels import descend_on_gram
from .kernels import descend_by_class
from .objective import Objective, Point
from .smooth import Step, levelled
from .tuning import (
    EARLY,
    EARLY_SHARE,
    FORCING,
    GOAL_SHARE,
    GRAM_MOST,
    GRAM_SHARE,
    MODEL_ROUNDS,
    PUSHES,
    SCALED_COPY,
    SET_GROWTH,
    SET_LEAST,
    SUPPORT_SWEEPS,
)

__all__ = ["Proximal", "WorkingSet", "gram_of"]


class WorkingSet:
    """Coordinates (column, class) that a step moves, classes side by side; intercepts among them.

    Attributes
    ----------
    column, cls : arrays of int
    l1, l2 : arrays
        What each coordinate pays.
    """

    def __init__(self, objective: Objective, chosen: np.ndarray) -> None:
        self.cls, self.column = np.nonzero(chosen.T)
        paid = self.column < objective.d
        self.l1, self.l2 = objective.l1 * paid, objective.l2 * paid

    def __len__(self) -> int:
        return len(self.cls)

    def excess(self, z: np.ndarray, slope: np.ndarray) -> np.ndarray:
        """How far a smooth part with this slope is from balance with the penalty at z."""
        slope = slope + self.l2 * z
        at_zero = np.maximum(np.abs(slope) - self.l1, 0.0)
        return np.asarray(np.where(z == 0.0, at_zero, np.abs(slope + self.l1 * np.sign(z))))


class Proximal:
    """Steps from point to point of one problem."""

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        self.lines: Any = None  # the data by columns, if it is ever swept over

    def step(self, point: Point, goal: float) -> Step:
        """Minimise the model on a working set, until what is left costs the gap little."""
        objective = self.objective
        gradient = objective.adjoint(objective.pulls(point.chances))
        chosen = self.choose(point, gradient)
        work = WorkingSet(objective, chosen)
        old, slope = point.x[work.column, work.cls], gradient[work.column, work.cls]
        z = old.copy()
        if len(work) <= GRAM_MOST:
            end = on_gram(objective, point, work, z, slope, goal)
        else:
            end = self.by_columns(point, work, z, slope, goal)
        move = z - old
        penalty = np.sum(work.l1 * (np.abs(z) - np.abs(old)) + 0.5 * work.l2 * (z * z - old * old))
        decrease = -float(0.5 * move @ (slope + end) + penalty)
        x = np.zeros_like(point.x)
        x[work.column, work.cls] = move
        step = Step(x, objective.scores(x), max(decrease, 0.0))
        return levelled(objective, point, step)

    def choose(self, point: Point, gradient: np.ndarray) -> np.ndarray:
        """The support, intercepts, and those at zero that push hardest to leave it."""
        objective = self.objective
        chosen = point.x != 0.0
        push = np.abs(gradient)
        push[chosen] = 0.0
        wanted = push > PUSHES * objective.l1
        if objective.fit_intercept:
            chosen[-1], wanted[-1] = True, False
        most = int(max(SET_LEAST, SET_GROWTH * np.count_nonzero(chosen)))
        if np.count_nonzero(wanted) > most:
            wanted &= push >= np.partition(push[wanted], -most)[-most]
        return np.asarray(chosen | wanted)

    def by_columns(
        self, point: Point, work: WorkingSet, z: np.ndarray, slope: np.ndarray, goal: float
    ) -> np.ndarray:
        """Coordinate descent over columns of the data; returns the slope of the model's end."""
        objective = self.objective
        if self.lines is None:
            A: Any = column_access(as_matrix(objective.X))
            self.lines = A.transposed() if A.is_dense() else A
        p, c = point.chances, objective.c
        spread = objective.sums_of_squares(c * p * (1.0 - p))[work.column, work.cls]
        scores, mean = np.zeros_like(p), np.zeros(objective.n)
        total = 0.0
        for _ in range(MODEL_ROUNDS):
            worst, gain, read = descend_by_class(
                self.lines, objective.d, work.column, work.cls, work.l1, work.l2, z, slope, spread,
                c, p, scores, mean, 1 + 4 * SUPPORT_SWEEPS,
            )  # fmt: skip
            objective.ledger.entries += read
            total += gain
            if enough(objective, point, worst, total, gain, goal):
                break
        bend = c * p * (scores - mean)
        return np.asarray(slope + objective.adjoint(bend)[work.column, work.cls])


def enough(
    objective: Objective, point: Point, worst: float, decrease: float, gain: float, goal: float,
    share: float = EARLY_SHARE,
) -> bool:  # fmt: skip
    """Whether an excess over l1 costs little: the dual point is scaled by so much.

    Far from the optimum nothing can be proven yet, and rounds that gain little will do.
    """
    if decrease > EARLY * point.value:
        return gain <= share * decrease
    cost = worst / objective.l1 * point.value
    return cost <= max(GOAL_SHARE * goal, FORCING * decrease) or gain <= UNIT * point.value


def on_gram(
    objective: Objective, point: Point, work: WorkingSet, z: np.ndarray, slope: np.ndarray,
    goal: float,
) -> np.ndarray:  # fmt: skip
    """Minimise the model in z; returns the slope of its smooth part, without l2, at the end."""
    H = gram_of(objective, point, work)
    table = np.zeros((len(work), 5))
    table[:, 1], table[:, 2] = work.l1, work.l2
    table[:, 3], table[:, 4] = -np.inf, np.inf
    start, now, before = z.copy(), slope.copy(), 0.0
    for _ in range(MODEL_ROUNDS):
        descend_on_gram(H, table, z, now, SUPPORT_SWEEPS, 0.0)
        solve_on_support(H, work, z, now)
        move = z - start
        change = np.sum(work.l1 * (np.abs(z) - np.abs(start)))
        change += np.sum(0.5 * work.l2 * (z * z - start * start))
        decrease = -float(0.5 * move @ (slope + now) + change)
        worst = float(work.excess(z, now).max())
        if enough(objective, point, worst, decrease, decrease - before, goal, GRAM_SHARE):
            break
        before = decrease
    return now


def solve_on_support(H: np.ndarray, work: WorkingSet, z: np.ndarray, slope: np.ndarray) -> None:
    """Newton's step on all that is not zero, as far as no sign changes; z and slope follow."""
    on = np.flatnonzero((z != 0.0) | (work.l1 == 0.0))
    if not len(on):
        return
    part = np.asfortranarray(H[np.ix_(on, on)])
    diagonal = np.einsum("ii->i", part)
    diagonal += work.l2[on]
    diagonal *= 1.0 + 1e-12
    diagonal += 1e-300
    factor, failed = lapack.dpotrf(part, lower=1, overwrite_a=1)
    if failed:
        return
    right = -(slope[on] + work.l2[on] * z[on] + work.l1[on] * np.sign(z[on]))
    move = lapack.dpotrs(factor, right, lower=1)[0]
    paid = work.l1[on] > 0.0
    crossing = paid & (np.sign(z[on] + move) != np.sign(z[on]))
    length = 1.0
    if crossing.any():
        reach = -z[on][crossing] / move[crossing]
        length = float(reach.min())
    moved = z[on] + length * move
    if crossing.any():
        moved[np.flatnonzero(crossing)[reach <= length]] = 0.0
    change = moved - z[on]
    z[on] = moved
    slope += change @ H[on]


def gram_of(objective: Objective, point: Point, work: WorkingSet) -> np.ndarray:
    """The second derivative of the loss on a working set, with a curvature where it has none.

    Adding the same to all intercepts changes nothing; the term that is added holds them together.
    """
    p, root = point.chances, np.sqrt(objective.c)
    size, K = len(work), objective.K
    H = np.zeros((size, size))
    ends = np.searchsorted(work.cls, np.arange(K + 1))
    if objective.sparse:
        lines = _sparse_lines(objective, work)
        scaled = lines.copy()
        owner = np.repeat(work.cls, np.diff(lines.indptr))
        scaled.data = lines.data * (root * p)[owner, lines.indices]
        H -= (scaled @ scaled.T).toarray()
        for k in range(K):
            block = slice(ends[k], ends[k + 1])
            own = lines[block]
            weighted = own.copy()
            weighted.data = own.data * (objective.c * p[k])[own.indices]
            H[block, block] += (weighted @ own.T).toarray()
    else:
        step = max(1, SCALED_COPY // max(size, 1))
        for start in range(0, objective.n, step):
            rows = slice(start, start + step)
            A = objective.dense_rows(rows)
            scaled = A[:, work.column] * (root[rows] * p[:, rows])[work.cls].T
            H -= scaled.T @ scaled
            for k in range(K):
                block = slice(ends[k], ends[k + 1])
                own = A[:, work.column[block]]
                H[block, block] += (own * (objective.c[rows] * p[k, rows])[:, None]).T @ own
    objective.ledger.products += 0.5 * objective.n * size**2
    free = np.flatnonzero(work.l1 == 0.0)
    if len(free):
        H[np.ix_(free, free)] += float(np.trace(H[np.ix_(free, free)])) / K**2
    return H


def _sparse_lines(objective: Objective, work: WorkingSet) -> Any:
    """Columns of the working set as rows, the column of ones included."""
    turned = objective.turned
    if objective.fit_intercept:
        ones = sp.csr_array(np.ones((1, objective.n)))
        turned = sp.vstack([turned, ones], format="csr")
    return sp.csr_array(turned[work.column])
