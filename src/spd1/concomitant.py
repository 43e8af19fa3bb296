"""Huber regression that finds its scale: min over x and sigma, with a certificate for both.

    Phi(x, sigma) = sigma + sum_i c_i sigma H((a_i'x - b_i) / sigma) + a |x|^2
    H(z) = z^2 up to |z| = epsilon, 2 epsilon |z| - epsilon^2 beyond

is convex in both (Huber's concomitant scale, the objective of scikit-learn's HuberRegressor). At
a fixed sigma it is ``sigma + (2 / sigma) P`` with P an ordinary problem: Huber loss with delta =
epsilon sigma and l2 = a sigma. With sigma H(r / sigma) = sup_q { q r - sigma q^2 / 4 } the dual is

    D(q) = - sum_i c_i q_i b_i - |A'(c q)|^2 / (4 a),   |q_i| <= 2 epsilon,  sum_i c_i q_i^2 <= 4

so the dual point of any slice, scaled into that ball, proves a bound for the whole.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .losses import Huber
from .offsets import FORGET, IDLE, LOOKS, MOST_STEPS, TIGHTEST, Patience
from .problem import Problem
from .regularizers import ElasticNet
from .result import Progress, Result, Trace

if TYPE_CHECKING:
    from .intercept import Design

__all__ = ["HuberScale", "best_scale", "joint_bound", "joint_value"]

EXACT = 1e-3  # gap of a slice as a share of the gap in hand: its slope must have the right sign
FAINTEST = 1e-12  # of the first scale: below it the data is fitted exactly


def joint_value(
    residual: np.ndarray, c: np.ndarray, penalty: float, sigma: float, epsilon: float
) -> float:
    """Phi at residuals a_i'x - b_i, with penalty = a |x|^2; its limit at sigma = 0."""
    size = np.abs(residual)
    linear = 2.0 * epsilon * size - sigma * epsilon**2
    inside = size <= epsilon * sigma
    with np.errstate(divide="ignore", invalid="ignore"):
        square = size * size / sigma if sigma > 0 else np.zeros_like(size)
    return float(sigma + c @ np.where(inside, square, linear) + penalty)


def best_scale(residual: np.ndarray, c: np.ndarray, epsilon: float) -> float:
    """The sigma that minimises Phi for given residuals; its derivative increases in sigma.

    Examples
    --------
    >>> import numpy as np
    >>> best_scale(np.array([1.0, -1.0]), np.array([0.5, 0.5]), 1.35)
    1.0
    """
    size = np.abs(residual)
    order = np.argsort(size)
    size, c = size[order], c[order]
    inner = np.concatenate([[0.0], np.cumsum(c * size * size)])  # of the k smallest
    outer = 1.0 - np.concatenate([[0.0], np.cumsum(c)])  # weight of the others
    room = 1.0 - epsilon**2 * np.maximum(outer, 0.0)
    for k in range(len(size) + 1):  # try k residuals inside
        if room[k] <= 0.0:
            continue
        sigma = math.sqrt(inner[k] / room[k])
        left = size[k - 1] if k > 0 else 0.0
        right = size[k] if k < len(size) else math.inf
        if left <= epsilon * sigma * (1 + 1e-12) and epsilon * sigma <= right * (1 + 1e-12):
            return sigma
    return 0.0


def joint_bound(problem: Problem, y: np.ndarray, value: float, sigma: float) -> tuple[float, Any]:
    """Bound and dual point q that a feasible y of the slice at sigma, D(y) = value, proves."""
    epsilon = problem.loss.delta / sigma
    q = 2.0 * y / sigma
    square = float(problem.c @ (q * q))
    linear = -float(problem.c @ (q * problem.b))
    curved = max(linear - 0.25 * sigma * square - 2.0 / sigma * value, 0.0)
    most = min(2.0 / math.sqrt(square), 2.0 * epsilon / np.abs(q).max()) if square > 0 else 0.0
    theta = most if curved <= 0.0 else min(max(0.5 * linear / curved, 0.0), most)
    if linear <= 0.0:
        theta = 0.0
    return theta * linear - theta * theta * curved, theta * q


class Slice(NamedTuple):
    """What solving at one scale has shown."""

    sigma: float
    x: np.ndarray
    value: float
    slope: float


class HuberScale:
    """A search along sigma; ``run`` returns the result and leaves ``sigma``."""

    def __init__(
        self, design: Design, b: np.ndarray, epsilon: float, a: float, weight: Any, options: dict
    ) -> None:
        self.design, self.b, self.epsilon, self.a = design, b, epsilon, a
        self.weight = weight
        n = design.n
        c = np.full(n, 1.0) if weight is None else np.asarray(weight, dtype=float)
        self.c = c / c.sum()
        self.tol, self.callback = options.get("tol", 1e-6), options.get("callback")
        self.options = {k: v for k, v in options.items() if k not in ("tol", "callback")}
        self.x = self.options.pop("x0", None)
        if design.fit_intercept and np.all(b == b[0]):
            self.x = np.append(np.zeros(design.d), b[0])
        self.trace, self.passes, self.seconds = Trace(), 0.0, 0.0
        self.bound, self.q = -math.inf, np.zeros(n)
        self.low: Slice | None = None  # slope < 0: sigma is too small
        self.high: Slice | None = None
        self.best: Slice | None = None

    def residual(self, x: np.ndarray) -> Any:
        coef = x[:-1] if self.design.fit_intercept else x
        level = x[-1] if self.design.fit_intercept else 0.0
        return np.asarray(self.design.X @ coef).ravel() + level - self.b

    def penalty(self, x: np.ndarray) -> float:
        coef = x[:-1] if self.design.fit_intercept else x
        return self.a * float(coef @ coef)

    def first_scale(self) -> float:
        """The best scale of the last fit's residuals, or of the targets about their median."""
        if self.x is not None:
            return best_scale(self.residual(self.x), self.c, self.epsilon)
        level = np.median(self.b[self.c > 0]) if self.design.fit_intercept else 0.0
        return best_scale(self.b - level, self.c, self.epsilon)

    def look(self, sigma: float, tol: float) -> tuple[Slice, str]:
        loss, reg = Huber(self.epsilon * sigma), ElasticNet(l2=self.a * sigma)
        start = {} if self.x is None else {"x0": self.x}
        patience = Patience(LOOKS)
        options = {**self.options, **start, "tol": max(tol, TIGHTEST), "callback": patience}
        result = self.design.solve(self.b, loss, reg, self.weight, **options)
        self.passes += result.passes
        self.seconds += result.seconds
        self.x = result.x
        problem = self.design.problem(self.b, loss, reg, self.weight)
        bound, q = joint_bound(problem, result.y, result.dual, sigma)
        if bound > self.bound:
            self.bound, self.q = bound, q
        residual, penalty = self.residual(result.x), self.penalty(result.x)
        inside = np.abs(residual) <= self.epsilon * sigma
        square = float(self.c[inside] @ residual[inside] ** 2) / sigma**2
        slope = 1.0 - self.epsilon**2 * float(self.c[~inside].sum()) - square
        own = best_scale(residual, self.c, self.epsilon)
        value = joint_value(residual, self.c, penalty, own, self.epsilon)
        found = Slice(sigma, result.x, value, slope)
        if slope <= 0.0 and (self.low is None or sigma >= self.low.sigma):
            self.low = found
        if slope >= 0.0 and (self.high is None or sigma <= self.high.sigma):
            self.high = found
        if self.best is None or value < self.best.value:
            self.best, self.sigma = found, own
        return found, "" if patience.spent else result.status

    def next_scale(self, last: Slice, stuck: int) -> float:
        """The best scale for the residuals in hand until two slices enclose it; then the secant."""
        low, high = self.low, self.high
        if low is None or high is None:
            own = best_scale(self.residual(last.x), self.c, self.epsilon)
            # a step on: alternating alone creeps
            return float(max(own * (own / last.sigma) ** 0.5, 0.1 * last.sigma))
        if stuck >= 2 or high.slope - low.slope <= 0.0:
            return math.sqrt(low.sigma * high.sigma)
        share = -low.slope / (high.slope - low.slope)
        return low.sigma + (high.sigma - low.sigma) * min(max(share, 0.02), 0.98)

    def gap(self) -> tuple[float, float]:
        assert self.best is not None
        gap = max(self.best.value - self.bound, 0.0)
        return gap, gap / max(abs(self.best.value), abs(self.bound), float(np.finfo(float).tiny))

    def run(self) -> Result:
        first = sigma = self.first_scale()
        if sigma <= 0.0:  # fitted exactly by a constant, or by the start
            spread = float(np.abs(self.b).max())
            first = sigma = spread if spread > 0.0 else 1.0
        tol, stuck, width, status = max(EXACT, 0.01 * self.tol), 0, math.inf, ""
        smallest, idle = math.inf, 0
        for _ in range(MOST_STEPS):
            found, ended = self.look(sigma, tol)
            assert self.best is not None
            gap, rel_gap = self.gap()
            row = (self.passes, self.passes, self.seconds)
            self.trace.rows.append(Progress(*row, self.best.value, self.bound, gap, rel_gap))
            if rel_gap <= self.tol:
                status = "converged"
            elif self.callback is not None and self.callback(self.trace.rows[-1]):
                status = "interrupted"
            elif ended in ("interrupted", "max_seconds"):
                status = ended
            idle = 0 if rel_gap < 0.9 * smallest else idle + 1
            smallest = min(smallest, rel_gap)
            if status or idle >= IDLE:
                break
            tol = max(EXACT * min(rel_gap, 1.0), 0.01 * self.tol)
            if idle and idle % FORGET == 0:  # a loose slice has misled the bracket
                self.low = self.high = None
                stuck, width, tol = 0, math.inf, 0.01 * self.tol
                sigma = max(self.sigma, FAINTEST * first)
                continue
            if self.low is not None and self.high is not None:
                now = math.log(self.high.sigma / self.low.sigma)
                stuck, width = (stuck + 1, width) if now > 0.5 * width else (0, now)
            sigma = max(self.next_scale(found, stuck), FAINTEST * first)
        return self.result(status or "max_passes")

    def result(self, status: str) -> Result:
        assert self.best is not None
        gap, rel_gap = self.gap()
        label = f"auto: search along the scale, {len(self.trace)} slices"
        return Result(
            self.best.x, self.q, self.best.value, self.bound, gap, rel_gap, status,
            self.passes, self.seconds, self.trace, label,
        )  # fmt: skip
