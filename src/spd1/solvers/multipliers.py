"""Losses in pieces, on few columns: the method of multipliers, Newton's steps inside.

A loss with corners, phi*(t) = b t + eps |t| on [low, high], is made smooth around a dual point y:

    phi_s(u) = max_t {u t - phi*(t) - s/2 (t - y)^2}
    phi_s'(u) = soft(s y + u - b, eps) / s, clipped to [low, high]: t, a dual point

The sum of these and of l2/2 |x|^2 is minimised over x by Newton's method, whose matrix takes only
the rows that are not at a corner of phi*, about as many as there are columns. Then y follows t, and
s falls. A column without penalty is a column like the others here: once x is a minimum, A'(c t)
balances it, and t is a dual point that hardly needs mending.

A loss of quadratic pieces, with gamma/2 t^2 in its conjugate, is smooth as it is: s = 0, and gamma
takes its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..certificate.gap import floor_of
from ..certificate.points import Pair, pair_of, paired, primal_of, zero_dual
from ..data.blocks import Scratch
from ..errors import IncompatibleError, ParameterError
from ..problem import Problem
from ..terms import domain_ends
from .base import PairMethod
from .newton.linalg.cholesky import damped_cholesky, solve_by
from .newton.newton import Newton
from .newton.tuning import MOST_FREE
from .tuning import (
    CENTRED,
    FEW_LINES,
    FIRST_CORNER,
    LEAST_CORNER,
    LENT,
    MOST_CENTRES,
    MOST_HOPELESS,
    MOST_STEPS_A_CENTRE,
    ON_THE_LINE,
    QUICKLY,
    SHARPENED,
    WELL_WITHIN,
)

__all__ = ["Multipliers"]


class MultipliersState(NamedTuple):
    """x, the dual point in the middle of the smooth corners, and their width s."""

    x: np.ndarray
    y: np.ndarray
    width: float


class Multipliers(PairMethod):
    """Newton's method on smooth corners that become sharper."""

    name = "multipliers"
    fallback = Newton
    most_passes = 1e5
    most_looks = 100
    remembers = (*PairMethod.remembers, "exhausted", "share", "least", "hopeless")

    @classmethod
    def refuse(cls, problem: Problem) -> None:
        super().refuse(problem)
        p, net = problem, problem.loss.conjugate_net
        if net is None or p.loss.quadratic:
            raise IncompatibleError(
                "multipliers is for losses of linear and quadratic pieces that say their "
                "conjugate_net: use method 'newton'"
            )
        free = np.count_nonzero(np.asarray(p.reg.l2) == 0.0)
        if not p.reg.plain or (free > MOST_FREE if np.ndim(p.reg.l2) else free) or free == p.d:
            raise IncompatibleError(
                f"multipliers needs l2 > 0 for every feature but {MOST_FREE}, no l1 and no bounds: "
                "use method 'newton'"
            )
        if not p.grid.dense or p.d > FEW_LINES:
            raise IncompatibleError(
                f"multipliers is for dense data with up to {FEW_LINES} columns: use method 'newton'"
            )

    def prepare(self, sampling: str) -> None:
        if sampling != "auto":
            raise ParameterError(f"sampling={sampling!r} means nothing to multipliers")
        p = self.problem
        self.values = p.grid.tiles[0][0].values
        self.low, self.high = domain_ends(p.b, p.loss)
        net = p.loss.conjugate_net
        assert net is not None
        self.eps, self.gamma = float(net[0]), float(net[1])
        self.l2 = np.array(np.broadcast_to(np.asarray(p.reg.l2, dtype=float), (p.d,)))
        self.free = np.flatnonzero(self.l2 == 0.0)
        self.lent = self.l2
        if len(self.free):  # a little, so that there is a step where no row says anything
            squares, others = p.column_norms_squared, self.l2 > 0.0
            usual = float(self.l2[others].mean()) / max(float(squares[others].mean()), 1e-300)
            self.lent = np.where(others, self.l2, np.maximum(LENT * usual * squares, 1e-300))
        self.scratch = Scratch()
        self.exhausted = False
        self.size = 1.0
        if p.label_kind == "real":
            spread = float(np.std(p.b))
            self.size = spread if spread > 0.0 else max(abs(float(p.b[0])), 1e-300)

    # Where it stands

    def begin(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None = None) -> None:
        """Start at x; y is where the corners are made smooth, if x says that it means anything."""
        del v
        p, warm = self.problem, bool(np.any(x))
        self.exhausted, self.share, self.least, self.hopeless = False, 1.0, np.inf, 0
        middle = y if warm else np.zeros(p.n)
        first = 0.0 if self.gamma > 0.0 else FIRST_CORNER * self.size
        self.state = MultipliersState(x.copy(), np.clip(middle, self.low, self.high), first)
        point = primal_of(p, self.x, self.u)
        self.pair: Pair = paired(p, point, zero_dual(p))

    @property
    def state(self) -> MultipliersState:
        """All that the next epoch depends on."""
        return MultipliersState(self.x, self.y, self.width)

    @state.setter
    def state(self, value: MultipliersState) -> None:
        self.x, self.y, self.width = value
        self.u = self.problem.margins(self.x)
        self.smooth_around(self.y)

    def smooth_around(self, y: np.ndarray) -> None:
        """Put the middle of the corners at y."""
        self.y = y
        self.offset = self.width * y - self.problem.b
        self.dual = self.slope(self.u)

    def slope(self, u: np.ndarray) -> np.ndarray:
        """The derivative of the smooth loss at margins: a dual point."""
        z = self.offset + u
        if self.eps > 0.0:
            z -= np.clip(z, -self.eps, self.eps)
        z *= 1.0 / (self.width + self.gamma)
        return np.asarray(np.clip(z, self.low, self.high, out=z))

    # Steps

    def epoch(self) -> Iterator[None]:
        """Smooth corners, one sharpness after the other, until their gap promises enough."""
        p = self.problem
        for _ in range(MOST_CENTRES):
            steps = 0
            for _ in range(MOST_STEPS_A_CENTRE):
                self.gradient = p.adjoint(p.c * self.dual) + self.l2 * self.x
                rows, columns, wanted = self.gaps()
                if steps and columns <= max(CENTRED * rows, 0.2 * wanted):
                    break
                self.step()
                steps += 1
                yield
            if rows + columns <= wanted:
                self.share *= SHARPENED[0]  # of what it aims at next, if that is not enough
                break
            if steps < MOST_STEPS_A_CENTRE:  # else the corners are sharp enough for now
                self.width *= SHARPENED[0] if steps <= QUICKLY else SHARPENED[1]
            self.smooth_around(self.dual)
        self.look()
        yield

    def gaps(self) -> tuple[float, float, float]:
        """What rows and columns add to the gap at x and t, about, and what they may."""
        p, g = self.problem, self.gradient
        loss, _, rows = p.row_sums(self.u, self.dual)
        value = float(loss) + 0.5 * float(self.l2 @ (self.x * self.x))
        paid = np.where(self.l2 > 0.0, self.l2, np.inf)
        columns = 0.5 * float(g @ (g / paid))
        if len(self.free):  # moving rows to balance it takes as much as a margin each
            reach = self.size + np.abs(self.x[self.free])
            columns += float(np.abs(g[self.free]) @ reach)
        return float(rows), columns, WELL_WITHIN * self.share * self.tol * max(value, floor_of(p))

    def step(self) -> None:
        """One step of Newton's, as far as the slope along it falls."""
        p, g = self.problem, self.gradient
        factor = damped_cholesky(self.curvature(), self.lent)
        self.ledger.products += float(p.d) ** 3 / 3.0
        step = solve_by(factor, -g) if factor is not None else -g / self.lent
        margins = p.margins(step)
        weighted = p.c * margins
        at_zero, bend = float(g @ step), float(self.l2 @ (step * step))
        column_part = float(self.l2 @ (self.x * step))
        low, high, at_low, at_high = 0.0, np.inf, at_zero, 0.0
        share, t = 1.0, self.dual
        for _ in range(MOST_STEPS_A_CENTRE):
            t = self.slope(self.u + share * margins)
            here = float(weighted @ t) + column_part + share * bend
            if not abs(here) > ON_THE_LINE * abs(at_zero):
                break
            if here < 0.0:
                low, at_low = share, here
            else:
                high, at_high = share, here
            if high == np.inf:
                share *= 2.0
                continue
            room = high - low
            share = low - at_low * room / (at_high - at_low)
            share = min(max(share, low + 0.1 * room), high - 0.1 * room)
        self.x = self.x + share * step
        self.u, self.dual = self.u + share * margins, t

    def curvature(self) -> np.ndarray:
        """A' diag(c / (s + gamma)) A over the rows that are at no corner."""
        p, t = self.problem, self.dual
        bend = p.c / (self.width + self.gamma)
        inside = (t > self.low) & (t < self.high)
        if self.eps > 0.0:
            inside &= t != 0.0
        rows = np.flatnonzero(inside)
        if 2 * len(rows) > p.n:
            return p.grid.gram(bend * inside, 1, self.scratch)
        self.ledger.entries += len(rows) * p.d
        weighted = self.values[rows] * np.sqrt(bend[rows])[:, None]
        return np.asarray(weighted.T @ weighted, dtype=float)

    # What it proves

    def look(self) -> None:
        """Take the pair of x and t, both products with A made anew."""
        p = self.problem
        self.u, v = p.margins(self.x), -p.adjoint(p.c * self.dual)
        self.pair = pair_of(p, self.x, self.u, self.dual.copy(), v)
        gap = self.pair.gap
        self.hopeless = 0 if gap < 0.9 * self.least else self.hopeless + 1
        self.least = min(gap, self.least)
        small = self.gamma == 0.0 and self.width < LEAST_CORNER * self.size
        self.exhausted = small or self.hopeless > MOST_HOPELESS or not np.isfinite(gap)
        self.smooth_around(self.dual)
