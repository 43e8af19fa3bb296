"""Logistic regression with l2 on few columns: Newton's steps on all of them, penalty by penalty.

    P(x) = sum_i c_i log(1 + exp(-b_i m_i)) + l2/2 |x|^2,     m = A x

An intercept is a last column of ones that pays nothing. Folds of a cross-validation are many small
problems of this kind, each close to the last. With chances q = 1 / (1 + exp(-m)) and e = 1[b = 1]
a step solves

    (A' diag(c q (1 - q)) A + l2) dx = -A'(c (q - e)) - l2 x.

Chances to first order at its end, q + q (1 - q) dm, balance an intercept and are the dual point
that belongs to the step. They prove

    P(x) - D(q) = sum_i c_i KL(q_i | q_i(x)) + |l2 x - v|^2 / (2 l2),     v = -A'(c (q - e)),

a sum of terms that are all >= 0, so that nothing is lost to cancellation.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lapack
from scipy.special import expit, rel_entr

from ..certificate.gap import relative
from ..certificate.tuning import FLOOR_SHARE, UNIT
from .tuning import (
    DESCENT,
    HALVINGS,
    LOGISTIC_COLUMNS,
    LOGISTIC_ENTRIES,
    LOGISTIC_STEPS,
    STEPS_BEYOND,
    WORTH_A_LOOK,
)

__all__ = ["LogisticWalk", "Proven"]


class Proven(NamedTuple):
    """Coefficients, the intercept last, how many steps they took, and what is proven of them."""

    x: np.ndarray
    steps: int
    rel_gap: float


class LogisticWalk:
    """Solutions for one penalty after another on the same data.

    Parameters
    ----------
    X : array of shape (n, d)
    b : array of shape (n,)
        -1 and 1, both of them with weight.
    weight : array of shape (n,), optional
    fit_intercept : bool

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> walk = LogisticWalk(X, np.array([-1.0, 1.0, -1.0, 1.0]), None, True)
    >>> found = walk.step(0.1, 1e-9)
    >>> found.x.shape, found.rel_gap <= 1e-9
    ((2,), True)
    """

    @staticmethod
    def suits(X: Any) -> bool:
        """Whether a factor a step is cheap: small data with few columns, sparse or not."""
        n, d = X.shape
        return bool(n * d <= LOGISTIC_ENTRIES and d <= LOGISTIC_COLUMNS)

    def __init__(self, X: np.ndarray, b: np.ndarray, weight: Any, fit_intercept: bool) -> None:
        n, d = X.shape
        self.d, self.fit_intercept = d, fit_intercept
        self.A = np.ones((n, d + int(fit_intercept)))
        self.A[:, :d] = X
        self.ones = (np.asarray(b) > 0.0).astype(float)
        self.signs = 1.0 - 2.0 * self.ones  # -b
        c = np.ones(n) if weight is None else np.asarray(weight, dtype=float)
        self.c = c / c.sum()
        self.share = float(self.c @ self.ones)
        self.x = np.zeros(self.A.shape[1])
        if fit_intercept:
            self.x[-1] = math.log(self.share / (1.0 - self.share))
        self.start_value = float(self.c @ np.logaddexp(0.0, self.signs * (self.A @ self.x)))
        self.penalised = np.ones(self.A.shape[1])
        self.penalised[d:] = 0.0

    def step(
        self, l2: float, tol: float, goal: float = math.inf, most: int = LOGISTIC_STEPS
    ) -> Proven | None:
        """The solution at l2 > 0, from where the last one is; None if steps do not get to ``tol``.

        Beyond ``tol`` steps go on to ``goal``, as long as they bring something.
        """
        x, best, idle = self.x.copy(), Proven(self.x, 0, math.inf), 0
        m = self.A @ x
        value = self.value(x, m, l2)
        goal = min(goal, tol)
        for count in range(1, min(most, LOGISTIC_STEPS) + 1):
            q = expit(m)
            bend = q * (1.0 - q)
            dx, decrease = self.direction(x, q, bend, l2)
            if not decrease >= 0.0:
                return None
            dm = self.A @ dx
            x, m, new, length = self.search(x, m, value, dx, dm, decrease, l2)
            if length == 1.0 and decrease <= WORTH_A_LOOK * max(1.0, 1e3 * tol) * value:
                rel_gap = self.proven(x, m, new, q + bend * dm, l2)
                idle = 0 if rel_gap <= 0.5 * best.rel_gap else idle + 1
                if rel_gap < best.rel_gap:
                    best = Proven(x, count, rel_gap)
                if best.rel_gap <= goal or (best.rel_gap <= tol and idle >= STEPS_BEYOND):
                    break
            elif length == 0.0:
                break
            value = new
        if not best.rel_gap <= tol:
            return None
        self.x = best.x
        return best

    def value(self, x: np.ndarray, m: np.ndarray, l2: float) -> float:
        slopes = x[: self.d]
        return float(self.c @ np.logaddexp(0.0, self.signs * m)) + 0.5 * l2 * float(slopes @ slopes)

    def direction(
        self, x: np.ndarray, q: np.ndarray, bend: np.ndarray, l2: float
    ) -> tuple[np.ndarray, float]:
        """Newton's step and by how much its model falls; nan if there is no factor."""
        pays = l2 * self.penalised
        gradient = self.A.T @ (self.c * (q - self.ones)) + pays * x
        H = (self.A * (self.c * bend)[:, None]).T @ self.A
        H.flat[:: len(x) + 1] += pays
        _, dx, failed = lapack.dposv(H, -gradient, lower=1)
        if failed:
            return dx, math.nan
        return dx, -0.5 * float(gradient @ dx)

    def search(
        self, x: np.ndarray, m: np.ndarray, value: float, dx: np.ndarray, dm: np.ndarray,
        decrease: float, l2: float,
    ) -> tuple[np.ndarray, np.ndarray, float, float]:  # fmt: skip
        """The first of 1, 1/2, 1/4, ... of a step that lowers the objective as it should."""
        length, rounding = 1.0, 4.0 * UNIT * value
        for _ in range(HALVINGS):
            there, margins = x + length * dx, m + length * dm
            new = self.value(there, margins, l2)
            if new <= value - DESCENT * length * decrease + rounding:
                return there, margins, new, length
            length *= 0.5
        return x, m, value, 0.0

    def proven(self, x: np.ndarray, m: np.ndarray, value: float, q: np.ndarray, l2: float) -> float:
        """The relative gap of x by chances q, made feasible."""
        q = np.clip(q, 0.0, 1.0)
        if self.fit_intercept:  # one class gives as much as is too much of it
            mass = float(self.c @ q)
            if mass > self.share:
                q *= self.share / mass
            else:
                q = 1.0 - (1.0 - q) * ((1.0 - self.share) / (1.0 - mass))
        v = -(self.A.T @ (self.c * (q - self.ones)))
        off = l2 * x[: self.d] - v[: self.d]
        rows = rel_entr(q, expit(m)) + rel_entr(1.0 - q, expit(-m))
        gap = float(self.c @ np.maximum(rows, 0.0)) + float(off @ off) / (2.0 * l2)
        if self.fit_intercept:  # rounding has left something
            gap += abs(float(v[-1])) * (2.0 + float(np.ptp(m)))
        return relative(gap, value, value - gap, FLOOR_SHARE * self.start_value)
