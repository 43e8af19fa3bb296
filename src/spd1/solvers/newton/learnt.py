"""Steps whose curvature is learnt from the steps before (L-BFGS), for data that is cut, or much.

    p = -H (grad loss(x) + l2 x);    x + p is where the next round looks

H has the last steps s and changes z of the gradient, H z = s for each in turn, and beneath them a
first guess: the curvature of each column, or on dense data that of some rows (``linalg/sampled``).
Where rows are whole a round is one reading and one message to a worker: x goes there, margins and
the sum of slopes come back. y = phi'(u) and v = -A'(c y) are known then, so every round is a look.

One column may have no penalty, as an intercept has none. A look then moves y until that column
balances, and reads the data for the new v. So there is one where the gradient says that it may be
the last, and now and then.

A step that gains too little is shortened here: margins on the way are known, and so is the best
point of it. That costs a second round, and is rare.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from copy import copy
from typing import NamedTuple

import numpy as np

from ...certificate.points import Pair, dual_from_margins, pair_of, paired, primal_of
from ...control.steps import NoSteps, Proposal, Seen
from ...data.slopes import rows_of
from ...errors import IncompatibleError, ParameterError
from ...problem import Problem
from ..base import PairMethod
from .faces.choose import best_face, one_free
from .faces.parts import fill_terms, loss_part
from .linalg.sampled import SampledRows, rows_to_sample
from .newton import Newton
from .smooth import SmoothDirection
from .tuning import (
    FEWEST_SAMPLED,
    LEARNT_ROWS,
    LEARNT_SHARE,
    LEAST_ANGLE,
    LEAST_GAIN,
    LINE_STEPS,
    MAY_BE_LAST,
    MEMORY_BYTES,
    MOST_LEARNT,
    SAMPLED_AGAIN,
    STEPS_A_LOOK,
    STEPS_KEPT,
    WATCHED,
)

__all__ = ["Learnt", "learns"]


def learns(problem: Problem) -> bool:
    """Whether ``auto`` had better learn the curvature than ask for products with it.

    Least squares have one curvature: conjugate gradients are as good. Few columns, or few rows,
    have a small matrix. A loss in pieces has its kinks, which Newton's method on the dual finds.
    """
    p = problem
    if p.grid.shape == (1, 1) or p.loss.quadratic or Learnt.objection(p):
        return False
    return best_face(p) == "primal" and SmoothDirection(p).way == "cg"


class LearntPace(NoSteps):
    """No step sizes, but a pace: one that would take too many passes is a reason to give way."""

    def __init__(self, method: Learnt) -> None:
        super().__init__(method)
        self.seen: list[tuple[float, float]] = []  # passes and the relative gap at every look

    def after_epoch(self, seen: Seen) -> Proposal:
        """Go on, or say that it is slow: by what the second half of all looks has gained."""
        method, now = self.method, seen.rel_gap
        self.seen.append((method.ledger.passes, now))
        if len(self.seen) < WATCHED or not method.tol < now < math.inf:
            return Proposal({}, slow=len(self.seen) >= WATCHED and now == math.inf)
        passes, before = self.seen[len(self.seen) // 2]
        gained = math.log(before / now) if before < math.inf else math.inf
        needed = math.log(now / method.tol) / max(gained, 1e-300)
        return Proposal({}, slow=needed * (method.ledger.passes - passes) > MOST_LEARNT)


class LearntState(NamedTuple):
    """x, its margins, A'(c phi'(u)), and the last steps with the changes of the gradient."""

    x: np.ndarray
    u: np.ndarray
    G: np.ndarray
    steps: np.ndarray
    changes: np.ndarray


class Learnt(PairMethod):
    """L-BFGS with a look in every round."""

    name = "learnt"
    rule = LearntPace
    fallback = Newton
    takes_cuts = True
    remembers = (*PairMethod.remembers, "count", "value", "sampled", "exhausted")

    @classmethod
    def objection(cls, problem: Problem) -> str:
        """What is missing, or ""."""
        if not problem.gamma > 0.0:
            return "a smooth loss"
        if not (problem.reg.plain and (problem.mu > 0.0 or one_free(problem))):
            return "l2 > 0 for every feature but one, no l1 and no bounds"
        return ""

    @classmethod
    def refuse(cls, problem: Problem) -> None:
        missing = cls.objection(problem)
        if missing:
            raise IncompatibleError(f"{cls.name} needs {missing}: use method 'newton'")

    def prepare(self, sampling: str) -> None:
        if sampling != "auto":
            raise ParameterError(f"sampling={sampling!r} means nothing to {self.name}")
        p = self.problem
        self.l2 = np.array(np.broadcast_to(np.asarray(p.reg.l2, dtype=float), (p.d,)))
        self.part = loss_part(p)
        self.slope, self.bend = np.empty(p.n), np.empty(p.n)
        self.rows = rows_of(p.b, p.c)
        self.most = int(min(STEPS_KEPT, max(MEMORY_BYTES / (16.0 * p.d), 2.0)))
        self.count, self.value = 0, math.inf  # steps so far, P(x)
        self.sampled: SampledRows | None = None

    def begin(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None = None) -> None:
        del y, v
        self.exhausted, self.count, self.sampled = False, 0, None
        nothing = np.zeros((0, self.problem.d))
        self.state = LearntState(x.copy(), *self.asked(x), nothing, nothing)
        self.value = self.value_at(x, self.state.u)
        self.pair = self.looked()

    def asked(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Margins at x, and A'(c phi'(u)): one round where rows are whole."""
        p = self.problem
        if p.grid.whole_rows:
            return p.grid.slopes(self.rows, x, p.loss)
        u = p.margins(x)
        return u, p.adjoint(p.c * dual_from_margins(p, u))

    def looked(self) -> Pair:
        """The pair at x."""
        p, (x, u, G, _, _) = self.problem, self.state
        return pair_of(p, x.copy(), u.copy(), dual_from_margins(p, u), -G)

    def far(self) -> bool:
        """Whether a look would read the data, and find a gap that is not small enough yet.

        The gap is about the square of the gradient over twice the curvature that a column is sure
        of: its l2, or that of the loss where it has none.
        """
        if self.problem.mu > 0.0 or self.count % STEPS_A_LOOK == 0:
            return False
        x, _, G, _, _ = self.state
        sure = np.where(self.l2 > 0.0, self.l2, self.scale)
        expected = 0.5 * float(np.sum((G + self.l2 * x) ** 2 / sure))
        return expected > MAY_BE_LAST * self.tol * abs(self.value)

    def seen(self) -> Pair:
        """The pair at x; where a look would be early, x and the dual point of the last one."""
        if not self.far():
            return self.looked()
        p, (x, u, _, _, _) = self.problem, self.state
        return paired(p, primal_of(p, x.copy(), u.copy()), self.pair.dual)

    def value_at(self, x: np.ndarray, u: np.ndarray) -> float:
        """P(x)."""
        loss = fill_terms(self.part, u, self.slope, self.bend)
        value = float(loss) + 0.5 * float(self.l2 @ (x * x))
        return value if math.isfinite(value) else math.inf

    def guess(self, vector: np.ndarray) -> np.ndarray:
        """The first guess of H times a vector."""
        if self.sampled is not None:
            return self.sampled.solve(vector)
        return vector / self.scale

    def take_stock(self) -> None:
        """Renew the first guess from the curvature at x."""
        p, u = self.problem, self.state.u
        fill_terms(self.part, u, self.slope, self.bend)
        self.scale = self.l2 + (float(self.bend.mean()) + 1e-300) * p.column_norms_squared + 1e-300
        if not p.grid.dense or self.count % SAMPLED_AGAIN:
            return
        count = rows_to_sample(p.grid, LEARNT_SHARE, LEARNT_ROWS)
        if count < FEWEST_SAMPLED:
            return
        fresh = SampledRows(p.grid, self.l2, p.column_norms_squared, count)
        sampled = fresh if self.sampled is None else copy(self.sampled)
        self.sampled = sampled if sampled.at(self.bend) else None

    def direction(self, gradient: np.ndarray) -> np.ndarray:
        """-H times the gradient: the two loops of L-BFGS."""
        steps, changes = self.state.steps, self.state.changes
        q, shares = gradient.copy(), np.zeros(len(steps))
        products = np.einsum("kj,kj->k", steps, changes)
        for k in range(len(steps) - 1, -1, -1):
            shares[k] = float(steps[k] @ q) / products[k]
            q -= shares[k] * changes[k]
        q = self.guess(q)
        if len(steps):
            z = changes[-1]
            q *= products[-1] / float(z @ self.guess(z))
        for k in range(len(steps)):
            q += (shares[k] - float(changes[k] @ q) / products[k]) * steps[k]
        return -q

    @np.errstate(over="ignore", invalid="ignore")
    def epoch(self) -> Iterator[None]:
        """One step."""
        self.take_stock()
        x, u, G, _, _ = self.state
        gradient = G + self.l2 * x
        step = self.direction(gradient)
        promised = float(gradient @ step)
        wanted = self.value + LEAST_GAIN * promised + 1e-15 * abs(self.value)
        there = x + step
        new_u, new_G = self.asked(there)
        value = self.value_at(there, new_u)
        if not value <= wanted and promised < 0.0:
            t = self.best_on_the_way(step, new_u - u)
            there = x + t * step
            new_u, new_G = self.asked(there)
            value = self.value_at(there, new_u)
        self.count += 1
        if not value < self.value:  # rounding: nothing is left to gain
            self.exhausted = True
            self.pair = self.looked()
        else:
            self.learn(there, new_u, new_G, gradient)
            self.value = value
            self.pair = self.seen()
        yield

    def learn(self, x: np.ndarray, u: np.ndarray, G: np.ndarray, before: np.ndarray) -> None:
        """Take a point, and keep what the way to it says of the curvature."""
        state = self.state
        step, change = x - state.x, G + self.l2 * x - before
        steps, changes = state.steps, state.changes
        if step @ change > LEAST_ANGLE * math.sqrt((step @ step) * (change @ change)):
            steps = np.vstack([steps, step])[-self.most :]
            changes = np.vstack([changes, change])[-self.most :]
        self.state = LearntState(x, u, G, steps, changes)

    def best_on_the_way(self, step: np.ndarray, move: np.ndarray) -> float:
        """The t in (0, 1) with the least P(x + t step): Newton's steps within a bracket."""
        x, u, _, _, _ = self.state
        if not np.all(np.isfinite(move)):
            return 1e-3
        flat, curved = float(self.l2 @ (x * step)), float(self.l2 @ (step * step))
        low, high, t = 0.0, 1.0, 1.0
        for _ in range(LINE_STEPS):
            fill_terms(self.part, u + t * move, self.slope, self.bend)
            slope = float(self.slope @ move) + flat + t * curved
            bend = float(self.bend @ (move * move)) + curved
            low, high = (t, high) if slope < 0.0 else (low, t)
            next_t = t - slope / bend if bend > 0.0 else math.nan
            if not low < next_t < high:
                next_t = 0.5 * (low + high)
            if abs(next_t - t) <= 1e-3 * t:
                break
            t = next_t
        return t

    def restore(self, saved: object) -> None:
        super().restore(saved)  # type: ignore[arg-type]
        self.pair = self.looked()
