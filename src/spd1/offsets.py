"""Search along the intercept, for losses with corners and l2 > 0 on every feature.

With the intercept fixed at o the problem is strongly convex and its dual has no equality to keep,
which is where Newton's method on the dual is fast. f(o) = min_x P(x, o) is convex, and every
feasible dual point proves a line below it, exact or not:

    f(o) >= D(y; o') + (o - o') s,   s = sum_i c_i y_i

Two lines of opposite slope bound the optimum where they cross, and the same mixture of their
points y balances the intercept. The search stops when the certificate of the problem with its
intercept, not of any slice, is good enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .certificate import Certificate, certify_point
from .losses import as_loss
from .losses.one_sided import OneSided, SquaredOneSided
from .problem import Problem
from .regularizers import ElasticNet
from .result import Progress, Result, Trace
from .solve import solve

if TYPE_CHECKING:
    from .intercept import Design

__all__ = ["OffsetSearch"]

MOST_STEPS = 60
LOOSEST = 1e-2  # relative gap of the first slices
SHARE = 0.1  # of the gap in hand that a slice may leave
TIGHTEST = 1e-13  # relative gap of a slice: nothing below is above rounding
FORGET = 4  # slices in a row that do not shrink the gap: a loose one has misled the bracket
IDLE = 12  # and so many end the search
LOOKS = 50  # at a slice, before the search goes on with what it has
TALL = 5  # rows per column beyond which the stored column of ones wins

ONE_SIDED = {"Hinge": OneSided, "SquaredHinge": SquaredOneSided}
SHIFTED = ("EpsilonInsensitive", "SquaredEpsilonInsensitive", "Absolute", "Quantile")


class Slice(NamedTuple):
    """What solving at one offset has shown."""

    offset: float
    x: np.ndarray
    y: np.ndarray
    primal: float
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


class OffsetSearch:
    """One search; ``run`` returns the result for (x, intercept)."""

    @staticmethod
    def suits(design: Design, loss: Any, reg: ElasticNet) -> bool:
        """Whether slices are easier than the whole."""
        kind = type(as_loss(loss)).__name__
        if kind not in ONE_SIDED and kind not in SHIFTED:
            return False
        smooth = kind.startswith("Squared")
        return reg.mu > 0 and design.n <= TALL * design.d and (reg.plain or not smooth)

    def __init__(
        self, design: Design, b: Any, loss: Any, reg: ElasticNet, weight: Any, options: dict
    ) -> None:
        self.loss = as_loss(loss)
        self.reg, self.weight = reg, weight
        self.whole: Problem = design.problem(b, self.loss, reg, weight)
        self.signs = type(self.loss).__name__ in ONE_SIDED
        b = self.whole.b
        self.rows = _rows_times(design.X, b) if self.signs else design.X
        self.b, self.c = b, self.whole.c
        self.tol = options.get("tol", 1e-6)
        self.options = {k: v for k, v in options.items() if k not in ("tol", "callback", "x0")}
        self.callback = options.get("callback")
        self.y = self.options.pop("y0", None)
        start = options.get("x0")
        self.start = self.first_guess() if start is None else float(np.asarray(start)[-1])
        self.low: Slice | None = None  # slope < 0: the optimum is to the right
        self.high: Slice | None = None
        self.best: Slice | None = None
        self.trace, self.passes, self.seconds = Trace(), 0.0, 0.0

    def first_guess(self) -> float:
        """The optimum without features: a quantile of the targets; for labels, no lean."""
        if self.signs:
            return 0.0
        order = np.argsort(self.b)
        share = np.cumsum(self.c[order])
        level = getattr(self.loss, "q", 0.5)
        return float(self.b[order[min(np.searchsorted(share, level), len(order) - 1)]])

    def slice_problem(self, offset: float) -> Problem:
        if self.signs:
            loss: Any = ONE_SIDED[type(self.loss).__name__]()
            return Problem(self.rows, 1.0 - self.b * offset, loss, self.reg, self.weight)
        return Problem(self.rows, self.b - offset, self.loss, self.reg, self.weight)

    def look(self, offset: float, tol: float) -> tuple[Slice, str]:
        """Solve at one offset and keep what it shows."""
        y0 = None if self.y is None else (self.y * self.b if self.signs else self.y)
        patience = Patience(LOOKS)
        options = {**self.options, "tol": max(tol, TIGHTEST), "callback": patience}
        result = solve(self.slice_problem(offset), y0=y0, **options)
        self.passes += result.passes
        self.seconds += result.seconds
        y = result.y * self.b if self.signs else result.y
        self.y = y
        found = Slice(offset, result.x, y, result.primal, float(self.c @ y))
        if found.slope <= 0.0 and (self.low is None or found.offset >= self.low.offset):
            self.low = found
        if found.slope >= 0.0 and (self.high is None or found.offset <= self.high.offset):
            self.high = found
        if self.best is None or found.primal < self.best.primal:
            self.best = found
        return found, "" if patience.spent else result.status

    def mixture(self) -> np.ndarray | None:
        """The mixture of the two dual points that balances the intercept."""
        if self.low is None or self.high is None:
            return None if self.best is None else self.best.y
        steep = self.high.slope - self.low.slope
        share = self.high.slope / steep if steep > 0.0 else 0.5
        return share * self.low.y + (1.0 - share) * self.high.y

    def next_offset(self, last: Slice, step: float, stuck: int) -> float:
        """Expand until the optimum is between two slices; then the secant, or the middle."""
        low, high = self.low, self.high
        if low is None or high is None:
            return float(last.offset - np.sign(last.slope) * step)
        width = high.offset - low.offset
        if width <= 0.0 or stuck >= 2:
            return 0.5 * (low.offset + high.offset)
        share = -low.slope / max(high.slope - low.slope, 1e-300)
        return low.offset + width * min(max(share, 0.02), 0.98)

    def best_offset(self) -> float:
        assert self.best is not None
        return self.best.offset

    def certificate(self) -> Certificate:
        assert self.best is not None
        x = np.append(self.best.x, self.best.offset)
        return certify_point(x, self.whole, self.mixture())

    def run(self) -> Result:
        step = 1.0 if self.signs else max(float(np.std(self.b)), 1e-3 * abs(self.start), 1e-12)
        offset, tol, stuck, width = self.start, max(LOOSEST, self.tol), 0, np.inf
        status, proof = "", None
        smallest, idle = np.inf, 0
        for _ in range(MOST_STEPS):
            found, ended = self.look(offset, tol)
            proof = self.record()
            if proof.rel_gap <= self.tol:
                status = "converged"
            elif self.callback is not None and self.callback(self.trace.rows[-1]):
                status = "interrupted"
            elif ended in ("interrupted", "max_seconds", "max_passes"):
                status = ended
            idle = 0 if proof.rel_gap < 0.9 * smallest else idle + 1
            smallest = min(smallest, proof.rel_gap)
            bracketed = self.low is not None and self.high is not None
            if status or (bracketed and idle >= IDLE):
                break
            if idle and idle % FORGET == 0:
                self.low = self.high = None
                step, stuck, width = 1e-3 * max(step, abs(offset)), 0, np.inf
                offset, tol = self.best_offset(), max(SHARE * self.tol, TIGHTEST)
                continue
            step *= 2.0
            tol = max(SHARE * min(proof.rel_gap, LOOSEST / SHARE), SHARE * self.tol, TIGHTEST)
            if self.low is not None and self.high is not None:
                now = self.high.offset - self.low.offset
                stuck, width = (stuck + 1, width) if now > 0.5 * width else (0, now)
                if now <= 1e-14 * max(abs(offset), 1.0) and tol <= max(SHARE * self.tol, TIGHTEST):
                    break
            offset = self.next_offset(found, step, stuck)
        assert proof is not None
        if not status:
            return self.finish_whole()
        return self.result(proof, status)

    def record(self) -> Certificate:
        """Certify the whole problem, and add a row to the trace."""
        proof = self.certificate()
        row = (self.passes, self.passes, self.seconds)
        self.trace.rows.append(Progress(*row, proof.primal, proof.dual, proof.gap, proof.rel_gap))
        return proof

    def finish_whole(self) -> Result:
        """The search has come to rest before the gap did: go on with the column of ones."""
        assert self.best is not None
        x0 = np.append(self.best.x, self.best.offset)
        options = {**self.options, "tol": self.tol, "callback": self.callback}
        result = solve(self.whole, x0=x0, y0=self.mixture(), **options)
        result.trace.rows[:0] = self.trace.rows
        return result

    def result(self, proof: Certificate, status: str) -> Result:
        assert self.best is not None
        x = np.append(self.best.x, self.best.offset)
        label = f"auto: search along the intercept, {len(self.trace)} slices"
        return Result(
            x, proof.y, proof.primal, proof.dual, proof.gap, proof.rel_gap, status,
            self.passes, self.seconds, self.trace, label,
        )  # fmt: skip


def _rows_times(X: Any, b: np.ndarray) -> Any:
    """Each row times its label, in the type of the data."""
    if sp.issparse(X):
        signs = sp.diags_array(b.astype(X.dtype))
        return (signs @ X).asformat(X.format)
    return np.asarray(X) * b.astype(np.asarray(X).dtype)[:, None]
