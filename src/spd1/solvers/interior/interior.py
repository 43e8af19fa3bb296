"""A primal-dual interior-point method for small problems, whatever their kinks and scales.

Rows and columns are the same thing twice. With phi*(y) = b y + eps |y| + gamma/2 y^2 on [low, high]
and g(x) = l1 |x| + l2/2 x^2 on [lower, upper] the optimality conditions are

    u - b - gamma y - s = rho,   rho a normal of [low, high] at y,     y one of [-eps, eps] at s
    v     - l2 x    - z = rho',  rho' a normal of [lower, upper] at x, x one of [-l1, l1] at z

with u = A x and v = -A'(c y). Every "normal" becomes a pair of products that equal mu
(``kinks``), Newton's method follows their solution as mu falls to zero (Mehrotra's predictor and
corrector), and the linear systems are those of ``normal``. Losses whose conjugate is no quadratic
(logistic, Poisson) have y = phi'(u) at every step instead, and a line search. Where nothing is
curved (a linear programme) primal and dual variables take steps of their own length.

Columns are scaled to equal length first: x_j is in units of its column.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ...certificate.gap import floor_of
from ...certificate.points import (
    Pair,
    dual_from_margins,
    feasible_dual,
    pair_of,
    paired,
    primal_of,
    zero_dual,
)
from ...certificate.segments import better
from ...control.steps import NoSteps
from ...errors import IncompatibleError, ParameterError
from ...kernel.prices import prices, rates
from ...problem import ROUNDED, Problem
from ...terms import domain_ends
from ..base import Method
from ..tuning import LARGEST_DENSE_COPY
from .kinks import Kinks, Move
from .normal import Bordered, Normal
from .parts import dependent, inverse, loss_curves, middle
from .systems import Systems, cost_by_columns, cost_by_rows
from .tuning import (
    BLOCKED,
    DEAR_PROOF,
    FARTHER,
    FIRST_PRODUCT,
    FLOP_SECONDS,
    LARGEST_SYSTEM,
    MOST_HALVINGS,
    MOST_STARTS,
    NEAR_PROOF,
    NO_PRODUCT,
    NOT_AHEAD,
    READINGS_A_STEP,
    RECENTRED,
    STEP_SECONDS,
    STEP_SHARE,
    UNPROMISING,
    USUAL_STEPS,
)

__all__ = ["Interior"]


PRIMAL = (1, 2)  # kinks whose variable is primal, s and x; their pushes are dual, and vice versa


class InteriorState(NamedTuple):
    """The four kinks of rows and columns, five arrays each."""

    rows: np.ndarray
    tubes: np.ndarray
    columns: np.ndarray
    signs: np.ndarray


class Direction(NamedTuple):
    """A step of all four."""

    rows: Move
    tubes: Move
    columns: Move
    signs: Move


class Interior(Method):
    """Newton's method on products that fall to zero together."""

    name = "interior"
    step_names = ()
    rule = NoSteps
    most_passes = 1e6
    most_looks = 200
    takes_cuts = True
    remembers = (*Method.remembers, "least", "weakest", "waited", "exhausted", "last", "farther")
    rebuilt = ("A", "size", "systems")  # left out of checkpoints

    @classmethod
    def refuse(cls, problem: Problem) -> None:
        super().refuse(problem)
        n, d, loss = problem.n, problem.d, problem.loss
        if loss.conjugate_net is None and not (problem.gamma > 0 or problem.label_kind == "count"):
            raise IncompatibleError(
                f"interior needs a smooth loss, or one that says its conjugate_net; "
                f"{type(loss).__name__} is neither: use method 'rows'"
            )
        large = n * d > LARGEST_DENSE_COPY or 8.0 * n * d > problem.grid.copies
        if large or min(n, d) > LARGEST_SYSTEM:
            raise IncompatibleError(
                f"interior is for small problems, up to {LARGEST_SYSTEM} rows or columns and "
                f"{LARGEST_DENSE_COPY:,} entries; this is {n} x {d}: use method 'auto'"
            )

    @classmethod
    def price(cls, problem: Problem) -> float:
        """Seconds that it will take, about."""
        n, d, curved = problem.n, problem.d, problem.loss.conjugate_net is None
        cost = cost_by_rows(n, d, problem.reg.plain, curved)
        columns = cost_by_columns(n, d)
        # Orthogonal factors of few rows are taken whatever they cost, but for columns without l2.
        chosen = n < d and curved and len(problem.free_columns) == 0
        if not chosen and columns.step < cost.step:
            cost = columns
        rate = rates()
        reading = 1.0 * n * d * prices().far_entry
        step = (
            FLOP_SECONDS * rate.flop * cost.step
            + READINGS_A_STEP * reading
            + STEP_SECONDS * rate.call
        )
        return FLOP_SECONDS * rate.flop * cost.once + USUAL_STEPS * step

    def prepare(self, sampling: str) -> None:
        if sampling != "auto":
            raise ParameterError(f"sampling={sampling!r} means nothing to interior")
        p = self.problem
        self.kept_rows = np.flatnonzero(p.c > 0.0)
        lower, upper = (np.broadcast_to(np.asarray(v), (p.d,)) for v in (p.reg.lower, p.reg.upper))
        everything = self.all_rows()
        moves = (lower < upper) & np.any(everything != 0.0, axis=0)
        moves &= ~dependent(everything, moves, p)
        self.kept = np.flatnonzero(moves)
        self.fixed = p.reg.minimiser(p.d)
        self.offset = everything @ np.where(moves, 0.0, self.fixed)
        self.take_columns(everything)
        self.b, self.c = p.b[self.kept_rows] - self.offset, p.c[self.kept_rows]
        self.targets = p.b[self.kept_rows]
        numbers = (np.broadcast_to(np.asarray(v, float), (p.d,)) for v in (p.reg.l1, p.reg.l2))
        l1, l2 = (v[self.kept] for v in numbers)
        self.l1, self.l2 = l1 / self.unit, l2 / self.unit**2
        self.box = lower[self.kept] * self.unit, upper[self.kept] * self.unit
        ends = domain_ends(p.b, p.loss)
        self.ends = ends[0][self.kept_rows], ends[1][self.kept_rows]
        net = p.loss.conjugate_net
        self.curved = net is None
        self.eps: float
        self.gamma: float
        self.eps, self.gamma = net if net is not None else (0.0, 0.0)
        self.least, self.weakest, self.waited, self.exhausted = math.inf, math.inf, 0, False
        self.pair: Pair | None = None
        self.last = 1.0  # share of the last step that was taken
        self.farther = 0  # starts that led nowhere

    def all_rows(self) -> np.ndarray:
        """A dense copy of the rows that count."""
        return self.problem.grid.dense_rows()[self.kept_rows].astype(float)

    def take_columns(self, everything: np.ndarray) -> None:
        """Columns that can move, in units in which their entries are near 1."""
        A = everything[:, self.kept]
        largest = np.abs(A).max(axis=0, initial=0.0)
        A /= np.where(largest > 0.0, largest, 1.0)
        length = largest * np.sqrt(np.einsum("ij,ij->j", A, A) / max(len(A), 1))
        self.unit = 2.0 ** np.round(np.log2(np.where(length > 0.0, length, 1.0)))
        self.A = A * (np.where(largest > 0.0, largest, 1.0) / self.unit)
        self.size = np.abs(self.A)
        self.systems: Systems | None = None  # made by the first step

    def rebuild(self) -> None:
        """Copy the columns again."""
        self.take_columns(self.all_rows())

    # Where it stands

    def begin(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None = None) -> None:
        """Start in the middle of everything.

        x and y are not used: a start at an end of a domain would be a bad one.
        """
        del x, y, v
        self.farther = 0
        self.start()

    def start(self) -> None:
        """Start in the middle of everything, columns as far from a single bound as that."""
        p = self.problem
        self.least, self.weakest, self.waited, self.exhausted = math.inf, math.inf, 0, False
        self.last = 1.0
        spread = float(np.sqrt(np.mean((self.b - np.mean(self.b)) ** 2)))
        size = (
            1.0
            if p.label_kind in ("sign", "count")
            else max(spread, 1e-3 * float(np.abs(self.b).max()))
        )
        size = size if size > 0.0 else 1.0
        wide = size / self.gamma if self.gamma > 0.0 else size
        at = np.zeros(len(self.b)) if self.curved else middle(*self.ends, wide)
        self.rows = Kinks(*self._row_bounds(), at)
        tube = np.full(len(self.b), self.eps if self.eps > 0.0 else math.inf)
        self.tubes = Kinks(-tube, tube, np.zeros(len(self.b)))
        inside = FARTHER**self.farther * size / math.sqrt(max(len(self.l1), 1))
        self.columns = Kinks(*self.box, middle(*self.box, inside))
        sign = np.where(self.l1 > 0.0, self.l1, math.inf)
        self.signs = Kinks(-sign, sign, np.zeros(len(self.l1)))
        u = self.A @ self.columns.w
        if self.curved:
            self.rows.w = self.row_curves(u)[0]
        force = -(self.A.T @ (self.c * self.rows.w)) - self.l2 * self.columns.w
        mu, d = self.first_product(u), max(len(self.l1), 1)
        self.rows.push(u - self.b - self.gamma * self.rows.w, mu)
        self.tubes.push(self.rows.w, mu)
        self.columns.push(force, mu / d)
        self.signs.push(self.columns.w, mu / d)
        self.pair = self.look()

    def first_product(self, u: np.ndarray) -> float:
        """Well above the objective: steps from small products would be blocked at once."""
        p = self.problem
        margins = np.zeros(p.n)
        margins[self.kept_rows] = u + self.offset
        value = float(p.row_sums(margins, np.zeros(p.n))[0])
        size = max(abs(value), abs(p.start_value), 1e-300) if math.isfinite(value) else 1.0
        return FIRST_PRODUCT * size

    def _row_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Bounds that push; y = phi'(u) stays inside by itself."""
        if not self.curved:
            return self.ends
        return np.full(len(self.b), -math.inf), np.full(len(self.b), math.inf)

    @property
    def state(self) -> InteriorState:
        """All products."""
        return InteriorState(
            self.rows.state, self.tubes.state, self.columns.state, self.signs.state
        )

    @state.setter
    def state(self, value: InteriorState) -> None:
        kept = self.least, self.weakest, self.waited, self.exhausted, self.last
        self.start()
        self.rows.state, self.tubes.state, self.columns.state, self.signs.state = value
        self.least, self.weakest, self.waited, self.exhausted, self.last = kept
        self.pair = self.look()

    # Steps

    def epoch(self) -> Iterator[None]:
        """One predictor, one corrector, one step."""
        if not self.exhausted:
            with np.errstate(all="ignore"):
                self.step()
            self.ledger.entries += self.problem.stored * (2.0 + min(self.A.shape) / 4.0)
            self.pair = self.look()
            gap, force = self.pair.gap, self.force
            gained = gap < 0.9 * self.least or (self.curved and force < 0.7 * self.weakest)
            self.waited = 0 if gained else self.waited + 1
            self.least, self.weakest = min(gap, self.least), min(force, self.weakest)
            self.exhausted = self.exhausted or self.waited >= UNPROMISING or self.finished()
            if self.exhausted and self.farther < MOST_STARTS - 1 and np.any(self.columns.any):
                self.farther += 1
                self.start()
        yield

    def finished(self) -> bool:
        """Whether the products are so small that nothing will come of their becoming smaller."""
        return 0.0 < self.mean_product() < NO_PRODUCT * floor_of(self.problem)

    @property
    def force(self) -> float:
        """What is left of the columns' condition, in all."""
        return float(np.abs(self.pull()).sum())

    def pull(self) -> np.ndarray:
        """What is left of the condition of each column."""
        pull = self.A.T @ (self.c * self.rows.w) + self.l2 * self.columns.w + self.signs.w
        return np.asarray(pull + self.columns.rho)

    def step(self) -> None:
        """Aim at mu = 0, see how far that goes, aim at what is realistic, and go there."""
        u = self.A @ self.columns.w
        tubes, signs = inverse(self.tubes), inverse(self.signs)
        if self.curved:
            W, slope = 1.0 / np.maximum(self.row_curves(u)[1], 1e-300), u
        else:
            W = self.gamma + self.rows.slope + tubes
            slope = self.b + self.gamma * self.rows.w
        H = self.l2 + self.columns.slope + signs
        if self.systems is None:
            kinks = self.columns.any | self.signs.any
            self.systems = Systems(self.A, self.l2, kinks, self.curved)
        try:
            normal = self.systems.system(self.c / W, H)
        except (ValueError, np.linalg.LinAlgError):
            self.exhausted = True
            return
        force = self.A.T @ (self.c * self.rows.w)
        curves = self.residual(slope, u), tubes, signs, force
        ahead = self.direction(normal, curves, 0.0, None)
        mu = self.mean_product()
        goal = 0.0
        if mu > 0.0:
            t = self.room(ahead, 1.0)
            share = (self.mean_product(ahead, t) / mu) ** 3
            goal = mu * min(max(share, 1e-8), 1.0)
            past = ahead if min(t) > 0.1 else None
            if self.curved:  # where models are rough, products must not run ahead of them
                assert self.pair is not None
                goal, past = max(goal, min(mu, NOT_AHEAD * self.pair.gap)), None
            if self.last < BLOCKED:  # products that differ much block each other: make them alike
                goal, past = max(goal, RECENTRED * mu), None
            ahead = self.direction(normal, curves, goal, past)
        if not all(np.all(np.isfinite(move.w)) for move in ahead):
            self.exhausted = True
            return
        primal, dual = self.room(ahead, STEP_SHARE)
        if self.curved:
            primal = dual = self.searched(u, ahead.columns.w, primal, mu)
        for k, (kinks, move) in enumerate(zip(self.kinks, ahead, strict=True)):
            kinks.take(move, *((primal, dual) if k in PRIMAL else (dual, primal)))
        if self.curved:
            self.rows.w = self.row_curves(self.A @ self.columns.w)[0]
        self.last = min(primal, dual)
        self.exhausted = self.exhausted or max(primal, dual) < 1e-9

    def row_curves(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Slope and bend of phi at margins."""
        slope, bend = np.empty(len(u)), np.empty(len(u))
        loss_curves(u + self.offset, self.targets, self.problem.loss, slope, bend)
        return slope, bend

    def searched(self, u: np.ndarray, dx: np.ndarray, t: float, mu: float) -> float:
        """The share of a step after which the objective has not grown by more than products say."""
        du, x = self.A @ dx, self.columns.w
        here = self.value_at(u, x)
        most = here + 4.0 * mu + 1e-12 * abs(here)
        for _ in range(MOST_HALVINGS):
            if self.value_at(u + t * du, x + t * dx) <= most:
                break
            t *= 0.5
        return t

    def value_at(self, u: np.ndarray, x: np.ndarray) -> float:
        """The objective inside the bounds."""
        p = self.problem
        margins = np.zeros(p.n)
        margins[self.kept_rows] = u + self.offset
        value = float(p.row_sums(margins, np.zeros(p.n))[0])
        value += 0.5 * float(self.l2 @ (x * x)) + float(self.l1 @ np.abs(x))
        return value if math.isfinite(value) else math.inf

    def direction(
        self, normal: Normal | Bordered, curves: Any, mu: float, past: Direction | None
    ) -> Direction:
        """Newton's step towards products of mu."""
        left, tubes, signs, force = curves
        mu_columns = mu / max(len(self.l1), 1)
        were = past if past is not None else (None, None, None, None)
        k1, k2 = self.rows.aim(mu, were[0]), self.tubes.aim(mu, were[1])
        k3, k4 = self.columns.aim(mu_columns, were[2]), self.signs.aim(mu_columns, were[3])
        y, _, x, z = (kinks.w for kinks in self.kinks)
        e = left + (k1 - self.rows.rho) + tubes * (y - k2)
        g = force + self.l2 * x + z + signs * (x - k4) + k3
        dx, p = normal.solve(g, e)
        dy = p / self.c
        ds, dz = tubes * (y + dy - k2), signs * (x + dx - k4)
        return Direction(
            self.rows.pushes(dy, mu, were[0]),
            self.tubes.pushes(ds, mu, were[1]),
            self.columns.pushes(dx, mu_columns, were[2]),
            self.signs.pushes(dz, mu_columns, were[3]),
        )

    def residual(self, slope: np.ndarray, u: np.ndarray) -> np.ndarray:
        """What is left of the rows' conditions, unless it may be the rounding of u."""
        left = slope + self.tubes.w + self.rows.rho - u
        noise = ROUNDED * (self.size @ np.abs(self.columns.w) + np.abs(self.b))
        return np.where(np.abs(left) <= noise, 0.0, left)

    @property
    def kinks(self) -> tuple[Kinks, Kinks, Kinks, Kinks]:
        """Those of y, s, x and z."""
        return self.rows, self.tubes, self.columns, self.signs

    def room(self, ahead: Direction, most: float) -> tuple[float, float]:
        """The shares of a step of primal and of dual variables: all, or ``most`` of what fits.

        Where something is curved, the two are tied to each other.
        """
        rooms = [kinks.room(move) for kinks, move in zip(self.kinks, ahead, strict=True)]
        primal = min(1.0, most * min(room[k not in PRIMAL] for k, room in enumerate(rooms)))
        dual = min(1.0, most * min(room[k in PRIMAL] for k, room in enumerate(rooms)))
        if self.curved or self.gamma > 0.0 or np.any(self.l2 > 0.0):
            primal = dual = min(primal, dual)
        return primal, dual

    def mean_product(
        self, ahead: Direction | None = None, shares: tuple[float, float] = (0.0, 0.0)
    ) -> float:
        """The mean of all products, weighted as the objective weights them."""
        total, count, d = 0.0, 0.0, max(len(self.l1), 1)
        for k, kinks in enumerate(self.kinks):
            t = shares if k in PRIMAL else shares[::-1]
            products = kinks.products(None if ahead is None else ahead[k], *t)
            rows = k < 2
            total += float(self.c @ products) if rows else float(products.sum())
            count += float(self.c @ kinks.pairs) if rows else float(kinks.pairs.sum()) / d
        return total / count if count > 0.0 else 0.0

    # What it proves

    def look(self) -> Pair:
        """The pair of where it stands, in the units of the problem."""
        p = self.problem
        x = self.fixed.copy()
        x[self.kept] = self.columns.w / self.unit
        x = np.clip(x, p.reg.lower, p.reg.upper)
        u = p.margins(x)
        if self.far_from_proof():
            assert self.pair is not None
            return paired(p, primal_of(p, x, u), self.pair.dual)
        guess = dual_from_margins(p, u)
        y = guess.copy()
        y[self.kept_rows] = np.clip(self.rows.w, *self.ends)
        pair = pair_of(p, x, u, y, -p.adjoint(p.c * y))
        zero = zero_dual(p)
        if not pair.dual.value > zero.value:
            dual = pair.dual if self.curved else feasible_dual(p, guess)
            pair = paired(p, pair.point, better(p, zero, better(p, pair.dual, dual)))
        return pair

    def far_from_proof(self) -> bool:
        """Whether products alone say that the gap is far too large, where proofs are dear."""
        p = self.problem
        if self.pair is None or p.n * len(p.free_columns) ** 2 < DEAR_PROOF:
            return False
        unbalanced = float(np.abs(self.pull()) @ np.abs(self.columns.w))
        size = max(abs(self.pair.point.value), floor_of(p))
        return self.mean_product() + unbalanced > NEAR_PROOF * self.tol * size

    def evaluated(self) -> Pair:
        """The pair of the last step."""
        assert self.pair is not None
        return self.pair

    def iterates(self) -> list[tuple[np.ndarray, np.ndarray | None]]:
        return [(self.evaluated().point.x, self.evaluated().dual.y)]

    def default_steps(self) -> dict[str, float]:
        return {}

    def theory_steps(self) -> dict[str, Any]:
        raise IncompatibleError("interior has no step sizes: use steps='auto'")
