"""Huber regression that finds its scale: min over x and sigma, with a certificate for both.

Small data are left to Newton's method in everything at once (``joint``). Else a search along
sigma: at a fixed sigma the objective Phi of ``objective`` is ``sigma + (2 / sigma) P`` with P
an ordinary problem, Huber loss with delta = epsilon sigma and l2 = a sigma, and the dual point
of any slice, scaled into the dual's ball, proves a bound for the whole.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...kernel.jit import clock
from ...losses import Huber
from ...regularizers import ElasticNet
from ...result import Progress, Result, Trace
from ...solvers.newton.newton import Newton
from ..intercept import Design
from .joint import JointNewton
from .objective import best_scale, force_bound, joint_bound, joint_value, least_forces
from .tuning import (
    EXACT,
    FAINTEST_SLICE,
    FORGET,
    IDLE_SLICES,
    MENDED_GAIN,
    MOST_SLICES,
    NEARLY_MET,
    SLICE_LOOKS,
    TIGHTEST,
    UNPROVEN,
)

__all__ = ["HuberScale", "best_scale", "joint_bound", "joint_value"]


class Slice(NamedTuple):
    """What solving at one scale has shown."""

    sigma: float
    x: np.ndarray
    value: float
    slope: float


class Patience:
    """Callback that ends a run after so many looks, and remembers that it did."""

    def __init__(self, looks: int) -> None:
        self.left, self.spent = looks, False

    def __call__(self, row: Progress) -> bool:
        del row
        self.left -= 1
        self.spent = self.left < 0
        return self.spent


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
        limit = self.options.pop("max_passes", None)
        self.max_passes = Newton.most_passes if limit is None else float(limit)
        if design.fit_intercept and np.all(b == b[0]):
            self.x = np.append(np.zeros(design.d), b[0])
        self.trace, self.passes, self.seconds = Trace(), 0.0, 0.0
        self.bound, self.q = 0.0, np.zeros(n)  # no objective is below: q = 0 proves it
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
        patience = Patience(SLICE_LOOKS)
        options = {**self.options, **start, "tol": max(tol, TIGHTEST), "callback": patience}
        options["max_passes"] = max(self.max_passes - self.passes, 1e-3)
        result = self.design.solve(self.b, loss, reg, self.weight, **options)
        self.passes += result.passes + 1.0  # and the residuals of what was found
        self.seconds += result.seconds
        self.x = result.x
        problem = self.design.problem(self.b, loss, reg, self.weight)
        bound, q = joint_bound(problem, result.y, result.dual, sigma)
        if bound > self.bound:
            self.bound, self.q = bound, q
        residual, penalty = self.residual(result.x), self.penalty(result.x)
        self.prove_exact(result.x, residual)
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

    def prove_exact(self, x: np.ndarray, residual: np.ndarray) -> None:
        """Where all targets are met the scale is zero, and slices say little of the forces q.

        They are residuals over sigma there, both of them rounding. The least q whose pull is that
        of the penalty proves as much as there is to prove.
        """
        met = np.abs(residual).max() <= NEARLY_MET * np.abs(self.b).max()
        if not met or self.a <= 0.0:
            return
        X, level = self.design.X, self.design.fit_intercept
        q = least_forces(X, self.c, x[:-1] if level else x, self.a, level)
        bound, q = force_bound(X, self.b, self.c, q, self.a, self.epsilon, level)
        if bound > self.bound:
            self.bound, self.q = bound, q

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
        if JointNewton.suits(self.design.X, self.a) and self.options.get("method") in (
            None,
            "auto",
        ):
            status = self.run_jointly()
            if status:
                return self.result(status, "Newton's method in coefficients and scale")
        return self.run_slices()

    def run_jointly(self) -> str:
        """Newton's method in everything at once; '' if it has come to rest too early."""
        newton = JointNewton(
            self.design.X, self.b, self.c, self.epsilon, self.a, self.design.fit_intercept
        )
        limit = self.options.get("max_seconds") or math.inf
        started = clock()
        try:
            start, first = self.x, self.first_scale()
            rough = newton.rough_start(first) if start is None else None
            start = start if rough is None else rough
            for place, value in newton.places(start, first, settled=rough is not None):
                last = newton.began if self.best is None else self.best.value
                gain = (last - value) / abs(value)
                if self.best is None or value <= self.best.value:
                    x = np.append(place.x, place.level) if self.design.fit_intercept else place.x
                    self.x, self.sigma = x, place.sigma
                    self.best = Slice(place.sigma, x, value, 0.0)
                near = gain <= max(UNPROVEN, self.tol)  # else plain forces prove nothing
                settled = rough is not None and gain <= math.sqrt(self.tol)
                mending = settled or gain <= MENDED_GAIN * self.tol
                lack = 0.1 * self.tol * abs(value) if mending else None
                for bound, q in newton.bounds(place, near, lack):
                    if bound > self.bound:
                        self.bound, self.q = bound, q
                    if self.gap()[1] <= self.tol:
                        break
                self.passes, self.seconds = newton.ledger.passes, clock() - started
                status = self.judge("max_seconds" if self.seconds >= limit else "")
                if status:
                    return status
        except KeyboardInterrupt:
            if self.best is None:
                raise
            return "interrupted"
        return ""

    def judge(self, ended: str) -> str:
        """Add a row to the trace, tell the callback; why to stop now, or ''."""
        assert self.best is not None
        gap, rel_gap = self.gap()
        row = (self.passes, self.passes, self.seconds)
        self.trace.rows.append(Progress(*row, self.best.value, self.bound, gap, rel_gap))
        if rel_gap <= self.tol:
            return "converged"
        if self.callback is not None and self.callback(self.trace.rows[-1]):
            return "interrupted"
        return ended or ("max_passes" if self.passes >= self.max_passes else "")

    def run_slices(self) -> Result:
        """The search along sigma."""
        first = sigma = self.first_scale()
        if sigma <= 0.0:  # fitted exactly by a constant, or by the start
            spread = float(np.abs(self.b).max())
            first = sigma = spread if spread > 0.0 else 1.0
        tol, stuck, width, status = max(EXACT, 0.01 * self.tol), 0, math.inf, ""
        smallest, idle = math.inf, 0
        for _ in range(MOST_SLICES):
            found, ended = self.look(sigma, tol)
            status = self.judge(ended if ended in ("interrupted", "max_seconds") else "")
            rel_gap = self.trace.rows[-1].rel_gap
            idle = 0 if rel_gap < 0.9 * smallest else idle + 1
            smallest = min(smallest, rel_gap)
            if status or idle >= IDLE_SLICES:
                break
            tol = max(EXACT * min(rel_gap, 1.0), 0.01 * self.tol)
            if idle and idle % FORGET == 0:  # a loose slice has misled the bracket
                self.low = self.high = None
                stuck, width, tol = 0, math.inf, 0.01 * self.tol
                sigma = max(self.sigma, FAINTEST_SLICE * first)
                continue
            if self.low is not None and self.high is not None:
                now = math.log(self.high.sigma / self.low.sigma)
                stuck, width = (stuck + 1, width) if now > 0.5 * width else (0, now)
            sigma = max(self.next_scale(found, stuck), FAINTEST_SLICE * first)
        how = f"search along the scale, {len(self.trace)} slices"
        return self.result(status or "max_passes", how)

    def result(self, status: str, how: str) -> Result:
        assert self.best is not None
        gap, rel_gap = self.gap()
        label = f"auto: {how}"
        return Result(
            self.best.x, self.q, self.best.value, self.bound, gap, rel_gap, status,
            self.passes, self.seconds, self.trace, label,
        )  # fmt: skip
