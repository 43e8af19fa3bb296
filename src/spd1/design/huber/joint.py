"""Newton's method for Huber regression in coefficients, intercept and scale at once.

    Phi(x, o, sigma) = sigma + sum_i c_i sigma H((a_i'x + o - b_i) / sigma) + a |x|^2

(see ``scale``). The best sigma for given residuals r is known, so Newton's method works on
F(x, o) = min_sigma Phi. A sample inside, |r_i| <= epsilon sigma, has the curvature
(2 c_i / sigma) z_i z_i' with z_i = (a_i, 1, -r_i / sigma): least squares with two further columns.
A sample outside pulls with a constant force. The equations are solved by Cholesky in whichever is
fewer, columns or rows. By rows the matrix A A' is made once; by columns A'A of tall dense data,
from which is subtracted what samples outside lack of their weight.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ...engines.ledger import Ledger
from ...solvers.newton.linalg.cholesky import damped_cholesky, solve_by
from .objective import best_scale, force_bound, joint_value
from .tuning import (
    BLOCK_ENTRIES,
    DAMPINGS,
    FADE,
    FAINTEST_SCALE,
    IDLE_STEPS,
    LARGEST_JOINT,
    LEAP,
    LEAST_SHARE,
    LEAST_STRIDE,
    LEFT_INSIDE,
    MENDED,
    MENDINGS,
    MOST_JOINT_STEPS,
    RESTS,
    ROUGH_GAIN,
    ROUGH_ROWS,
    SETTLED_SHARE,
    SHORTEST_STEP,
    WORTH_KEEPING_PRODUCTS,
)

__all__ = ["JointNewton", "Place"]


class Normal(NamedTuple):
    """Newton's matrix of the last step: that of the columns, factorised, and of the intercept."""

    factor: Any
    beside: np.ndarray  # A'W 1, ...
    solved: np.ndarray  # ... and what the factor makes of it
    schur: float

    def solve(self, pull: np.ndarray, off: float) -> tuple[np.ndarray, float]:
        """The coefficients and the intercept that take a pull and what is off balance away."""
        x = solve_by(self.factor, pull)
        level = (off - float(self.beside @ x)) / self.schur if self.schur > 0.0 else 0.0
        return x - level * self.solved, level


class Place(NamedTuple):
    """A point, its residuals and its best scale."""

    x: np.ndarray
    level: float
    residual: np.ndarray
    sigma: float


class JointNewton:
    """Newton's equations for one data set.

    Parameters
    ----------
    X : array or SciPy sparse, shape (n, d)
    b, c : arrays of shape (n,)
        Targets, and weights that sum to one.
    epsilon, a : float
        a > 0.
    fit_intercept : bool
    """

    @staticmethod
    def suits(X: Any, a: float) -> bool:
        """Whether a dense factor is small enough."""
        return a > 0.0 and min(X.shape) <= LARGEST_JOINT

    def __init__(
        self, X: Any, b: np.ndarray, c: np.ndarray, epsilon: float, a: float, fit_intercept: bool
    ) -> None:
        self.X = X if sp.issparse(X) else np.asarray(X, dtype=float)
        self.b, self.c, self.epsilon, self.a = b, c, epsilon, a
        self.fit_intercept = fit_intercept
        self.by_rows = X.shape[0] <= X.shape[1]
        self.gram: np.ndarray | None = None
        self.normal: Normal | None = None
        self.pull, self.began = np.zeros(0), np.inf
        self.faintest = 1e-300
        self.stored = int(X.nnz) if sp.issparse(X) else X.shape[0] * X.shape[1]
        self.ledger = Ledger(self.stored)

    def place(self, x: np.ndarray, level: float) -> Place:
        """A point with its residuals and its best scale."""
        residual = np.asarray(self.X @ x).ravel() + level - self.b
        self.ledger.entries += self.stored
        scale = best_scale(residual, self.c, self.epsilon)
        return Place(x, level, residual, max(scale, self.faintest))

    def value(self, place: Place) -> float:
        penalty = self.a * float(place.x @ place.x)
        return joint_value(place.residual, self.c, penalty, place.sigma, self.epsilon)

    def rough_start(self, first: float) -> np.ndarray | None:
        """Where a few steps on some of the rows lead, if there are many: x and the intercept."""
        n, d = self.X.shape
        stride = n // (ROUGH_ROWS * (d + 1))
        if sp.issparse(self.X) or stride < LEAST_STRIDE:
            return None
        c = self.c[::stride]
        if not float(c.sum()) > 0.0:
            return None
        few = JointNewton(
            np.ascontiguousarray(self.X[::stride]), self.b[::stride], c / c.sum(), self.epsilon,
            self.a, self.fit_intercept,
        )  # fmt: skip
        last, found = np.inf, None
        for place, value in few.places(None, first):
            found = place
            if last - value <= ROUGH_GAIN * abs(value):
                break
            last = value
        self.ledger.entries += few.ledger.entries
        if found is None:
            return None
        return np.append(found.x, found.level) if self.fit_intercept else found.x

    def places(
        self, start: Any, first: float, settled: bool = False
    ) -> Iterator[tuple[Place, float]]:
        """Points of Newton's method and their values, until nothing is left to gain.

        While the scale still falls by leaps its place in the equations misleads, and so does the
        curvature of samples outside: first they are left out, and safe. ``settled``: the start is
        near the end.
        """
        self.faintest = FAINTEST_SCALE * first if first > 0.0 else 1e-300
        level = float(np.median(self.b[self.c > 0.0])) if self.fit_intercept else 0.0
        x = np.zeros(self.X.shape[1])
        if start is not None:
            x, level = (start[:-1], float(start[-1])) if self.fit_intercept else (start, 0.0)
        here, idle = self.place(np.array(x, dtype=float), level), 0
        share, joint = (SETTLED_SHARE, True) if settled else (1.0, False)
        value = self.began = self.value(here)
        for _ in range(MOST_JOINT_STEPS):
            goal = self.target(here, share, joint)
            if goal is None:
                return
            t, there, new = self.search(here, value, *goal)
            yield there, new
            change = there.sigma / here.sigma
            share = max(FADE * share, LEAST_SHARE) if joint and t == 1.0 else share
            share = min(share / FADE**2, 1.0) if t < 0.5 else share
            joint = t >= 0.5 and 1.0 / LEAP < change < LEAP
            idle = idle + 1 if value - new <= RESTS * abs(value) else 0
            here, value = there, new
            if idle >= IDLE_STEPS:
                return

    def search(
        self, here: Place, value: float, x: np.ndarray, level: float
    ) -> tuple[float, Place, float]:
        """As far towards the goal as the objective falls."""
        t = 1.0
        while t > SHORTEST_STEP:
            there = self.place(here.x + t * (x - here.x), here.level + t * (level - here.level))
            new = self.value(there)
            if new <= value:
                return t, there, new
            t *= 0.5
        return 0.0, here, value

    def bounds(
        self, place: Place, near: bool, lack: float | None
    ) -> Iterator[tuple[float, np.ndarray]]:
        """What forces prove: those at a point, mended until they lack as little as asked for.

        Near the end first those that the last step has found, which cost less, and last those at a
        point as they are: where the data are fitted exactly these are rounding errors. No ``lack``:
        none is mended.
        """
        if near:
            found = np.zeros_like(self.c)
            live = self.c > 0.0
            found[live] = self.pull / self.c[live]
            yield self.bound(found)
        if self.normal is not None and lack is not None:
            mended = self.mended(place, self.normal, lack)
            if mended is not None:
                yield self.bound(mended)
        if near:
            yield self.bound(self.force(place))

    def bound(self, q: np.ndarray) -> tuple[float, np.ndarray]:
        """What forces prove."""
        self.ledger.entries += self.stored
        return force_bound(self.X, self.b, self.c, q, self.a, self.epsilon, self.fit_intercept)

    def mended(self, place: Place, normal: Normal, lack: float) -> np.ndarray | None:
        """The forces at a point, moved until A'(c q) is about -2 a x; None if they don't get there.

        The dual divides the square of what is left of that by 4 a, which may be tiny. Samples
        inside move as they do in Newton's step, by the matrix of the last one; those outside stay
        at their ends.
        """
        q, most = self.force(place), 2.0 * self.epsilon
        give, lost = np.where(np.abs(q) < most, 2.0 / place.sigma, 0.0), np.inf
        for _ in range(MENDINGS):
            pulled = self.c * q
            pull = np.asarray(self.X.T @ pulled).ravel() + 2.0 * self.a * place.x
            last, lost = lost, float(pull @ pull) / (4.0 * self.a)
            self.ledger.entries += self.stored
            if lost <= lack:
                return q
            if not lost < MENDED * last:
                return None
            x, level = normal.solve(pull, float(pulled.sum()) if self.fit_intercept else 0.0)
            q = np.clip(q - give * (np.asarray(self.X @ x).ravel() + level), -most, most)
            self.ledger.entries += self.stored
        return q

    def force(self, place: Place) -> np.ndarray:
        """q_i, the derivative of the loss of sample i."""
        scaled = place.residual / place.sigma
        return np.asarray(2.0 * np.clip(scaled, -self.epsilon, self.epsilon))

    def target(self, place: Place, share: float, joint: bool) -> tuple[np.ndarray, float] | None:
        """Coefficients and intercept that Newton's step leads to.

        Samples outside have no curvature, so a step may lead far away: they get ``share`` of that
        of the parabola that touches from above, |r| = r^2 / (2 |r_i|) + ..., which is safe at 1.
        """
        live = self.c > 0.0
        size = np.abs(place.residual[live])
        inside = size <= self.epsilon * place.sigma
        reach = np.where(inside, place.sigma, size / (self.epsilon * share))
        weight = 2.0 * self.c[live] / reach
        pull = self.c[live] * self.force(place)[live]
        goal = self.b[live] + place.residual[live] - pull / weight  # where the force would be zero
        border = np.where(inside, -place.residual[live] / place.sigma, 0.0)
        columns = [np.ones(len(pull))] * self.fit_intercept + [border] * joint
        Z = np.array(columns).reshape(len(columns), len(pull)).T
        ends = np.array([0.0] * self.fit_intercept + [float(border @ pull)] * joint)
        solve = self._in_rows if self.by_rows else self._in_columns
        return solve(live, weight, goal, Z, ends)

    def _in_rows(
        self, live: np.ndarray, weight: np.ndarray, goal: np.ndarray, Z: np.ndarray, ends: Any
    ) -> tuple[np.ndarray, float] | None:
        """Unknown are the forces p = weight (A x + Z t - goal), t = (o, step of sigma).

        With x = -A'p / (2 a) and K = A A': p / weight + K p / (2 a) - Z t = -goal, Z'p = ends.
        """
        A = self.X[live] if not np.all(live) else self.X
        if self.gram is None:
            self.ledger.entries += self.stored
            K = A @ A.T
            self.gram = np.asarray(K.toarray() if sp.issparse(K) else K, dtype=float)
        twice = 2.0 * self.a
        H = self.gram.copy()
        diagonal = np.einsum("ii->i", H)  # a view, whatever the order
        diagonal += twice / weight
        found = bordered(H, -twice * goal, twice * Z, Z, ends)
        if found is None:
            return None
        p, t = found
        self.pull = p
        self.ledger.entries += self.stored
        x = np.asarray(A.T @ p).ravel() / -twice
        return x, float(t[0]) if self.fit_intercept else 0.0

    def _in_columns(
        self, live: np.ndarray, weight: np.ndarray, goal: np.ndarray, Z: np.ndarray, ends: Any
    ) -> tuple[np.ndarray, float] | None:
        """Unknown are x and t; with p = weight (A x + Z t - goal): 2 a x + A'p = 0, Z'p = ends."""
        A = self.X[live] if not np.all(live) else self.X
        self.normal = None  # its memory is used again
        self.ledger.entries += 4 * self.stored  # H, two products on the right, the forces
        d, sides = A.shape[1], np.column_stack([goal, Z])
        products = self._from_all(A, sides, weight)
        if products is None:
            products = weighted_products(A, sides, np.sqrt(weight))
        H, right = np.ascontiguousarray(products[:d, :d]), products[:d, d:]
        diagonal = np.einsum("ii->i", H)  # a view, whatever the order
        diagonal += 2.0 * self.a
        B, inner = right[:, 1:], products[d + 1 :, d + 1 :]
        factor = damped_cholesky(H, dampings=DAMPINGS)
        if factor is None:
            return None
        solved = solve_by(factor, right)
        if self.fit_intercept:
            schur = float(inner[0, 0] - B[:, 0] @ solved[:, 1])
            self.normal = Normal(factor, B[:, 0].copy(), solved[:, 1].copy(), schur)
        else:
            self.normal = Normal(factor, np.zeros(d), np.zeros(d), 0.0)
        # x = H^-1 (A'W goal - B t), and (Z'WZ - B'H^-1 B) t = ends + Z'W goal - B'H^-1 A'W goal
        inner = inner - B.T @ solved[:, 1:]
        t = small_solve(inner, ends + products[d + 1 :, d] - B.T @ solved[:, 0])
        x = solved[:, 0] - solved[:, 1:] @ t
        self.pull = weight * (np.asarray(A @ x).ravel() + Z @ t - goal)
        return x, float(t[0]) if self.fit_intercept else 0.0

    def _from_all(self, A: Any, sides: np.ndarray, weight: np.ndarray) -> np.ndarray | None:
        """The same as ``weighted_products`` from the products of all rows, which are kept.

        Samples inside weigh the same, and the most; what others weigh less is subtracted. None
        where that is most of a column, or too little data.
        """
        most = float(weight.max())
        if sp.issparse(A) or A is not self.X or self.stored < WORTH_KEEPING_PRODUCTS:
            return None
        others = np.flatnonzero(weight < most * (1.0 - 1e-12))
        if 2 * len(others) > len(weight):
            return None
        if self.gram is None:
            self.gram = A.T @ A
        d, some = A.shape[1], A[others]
        some *= np.sqrt(most - weight[others])[:, None]
        H = most * self.gram - some.T @ some
        if np.any(np.diagonal(H) < LEFT_INSIDE * most * np.diagonal(self.gram)):
            return None
        scaled = weight[:, None] * sides
        out = np.empty((d + sides.shape[1],) * 2)
        out[:d, :d], out[d:, d:] = H, sides.T @ scaled
        out[d:, :d] = scaled.T @ A  # half the time of the transposed product
        out[:d, d:] = out[d:, :d].T
        return out


def weighted_products(A: Any, sides: np.ndarray, root: np.ndarray) -> np.ndarray:
    """[A, sides]'W [A, sides], W = diag(root^2); dense rows block by block, which stay in cache."""
    n, d = A.shape
    if sp.issparse(A):
        scaled, tail = sp.diags_array(root) @ A, sides * root[:, None]
        beside = np.asarray(scaled.T @ tail)
        return np.block([[(scaled.T @ scaled).toarray(), beside], [beside.T, tail.T @ tail]])
    width = d + sides.shape[1]
    height = max(BLOCK_ENTRIES // width, 1)
    total, block = np.zeros((width, width)), np.empty((min(height, n), width))
    for first in range(0, n, height):
        rows = slice(first, min(first + height, n))
        part = block[: rows.stop - first]
        np.multiply(A[rows], root[rows, None], out=part[:, :d])
        np.multiply(sides[rows], root[rows, None], out=part[:, d:])
        total += part.T @ part
    return total


def bordered(
    H: np.ndarray, right: np.ndarray, B: np.ndarray, C: np.ndarray, ends: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """H p - B t = right and C'p = ends, for positive definite H, whose diagonal changes."""
    factor = damped_cholesky(H, dampings=DAMPINGS)
    if factor is None:
        return None
    solved = solve_by(factor, np.column_stack([right, B]))
    t = small_solve(C.T @ solved[:, 1:], ends - C.T @ solved[:, 0])
    return solved[:, 0] + solved[:, 1:] @ t, t


def small_solve(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Least squares in the border's scale: its two columns may be dependent, or empty."""
    scale = np.sqrt(np.maximum(np.diag(matrix), 1e-300))
    found = np.linalg.lstsq(matrix / np.outer(scale, scale), right / scale, rcond=1e-12)[0]
    return np.asarray(found / scale)
