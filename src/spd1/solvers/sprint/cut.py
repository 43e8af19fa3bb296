"""Ascent on tiles of whole rows: passes on each tile at the same time, and safe sums (CoCoA).

In a round every tile starts from the same G = A'(c y), makes some passes over its own rows and says
by how much G moves. Moves are added up in the order of the tiles:

    G += sum_k d_k;    y_I is what tile I made of it

Each tile has taken its own moves ``care`` times. If |sum_k d_k|^2 <= care sum_k |d_k|^2, the dual
value rises at least by what tiles gained on their own; care is what the last round would have
needed, and never more than the number of tiles, with which this always holds. Where the dual value
falls nevertheless, the round is taken back and the next ones are more careful.

Rounds have momentum: they start from y + beta (y - the y before), beta = k / (k + 3) in the k-th
round, and so does G, which is linear in y. Rows that would leave the domain of phi* stay; their
tiles add the difference to G. Where the dual value falls, momentum starts again from nothing.

What travels in a round is G, the moves, and y: for any number of passes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple
from uuid import uuid4

import numpy as np

from ...certificate.feasible import replace_infeasible
from ...certificate.gap import floor_of
from ...certificate.points import DualPoint, Pair, conjugate_sum, net_conjugate_sum, pair_of
from ...control.steps import NoSteps, Proposal, Seen
from ...data.grid import Grid
from ...engines.serial import Task
from ...engines.work import Kept, Room, TileWork
from ...errors import ParameterError
from ...problem import Problem
from ..base import PairMethod, tied_drift
from ..newton.newton import Newton
from ..rounds import rows_of, stream_of
from ..tuning import BLOCK, WELL_WITHIN
from .local import GAP, READ, REPORT, SIZE, RowSquares, Stay, ascend_on_tile
from .methods import Ascent
from .rhythm import Rhythm, price_of_round
from .tuning import FALLEN, FIRST_ROUNDS, IN_BLOCKS, MOST_CUT_ASCENT, MOST_ROUNDS, SLOW_START
from .workers import in_one_piece

__all__ = ["CutAscent", "GivesWay"]


class GivesWay(NoSteps):
    """No step sizes, but a pace: one that would take too many passes is a reason to give way."""

    seen: tuple[float, float] | None = None  # passes and the relative gap at a look before

    def after_epoch(self, seen: Seen) -> Proposal:
        """Go on, or say that it is slow."""
        method, now = self.method, seen.rel_gap
        passes, before = method.ledger.passes, self.seen
        self.seen = passes, now
        if before is None or not 0.0 < now < math.inf or now <= method.tol:
            return Proposal({})
        gained = math.log(before[1] / now) if before[1] < math.inf else math.inf
        needed = math.log(now / method.tol) / max(gained, 1e-300) * (passes - before[0])
        return Proposal({}, slow=needed > MOST_CUT_ASCENT)


class CutAscentState(NamedTuple):
    """y and A'(c y); ``y_before`` and ``before`` are the same a round ago."""

    y: np.ndarray
    G: np.ndarray
    y_before: np.ndarray
    before: np.ndarray


class CutAscent(PairMethod):
    """Dual ascent on tiles of rows, x tied to y."""

    name = "ascent"
    rule = GivesWay
    fallback = Newton
    maintains = "gradient"
    takes_cuts = True
    remembers = (*PairMethod.remembers, "care", "least_care", "rhythm", "value", "looked", "speed")
    rebuilt = ("moves",)  # left out of checkpoints
    moves: np.ndarray

    @classmethod
    def refuse(cls, problem: Problem) -> None:
        Ascent.refuse(problem)

    @classmethod
    def scales_start(cls, problem: Problem) -> bool:
        del problem
        return True

    def prepare(self, sampling: str) -> None:
        if sampling != "auto":
            raise ParameterError(f"sampling={sampling!r} means nothing to {self.name}")
        p, tiles = self.problem, self.problem.grid.shape[0]
        self.owner = uuid4().hex  # two methods of a run must not mix up what holders keep
        self.squares = [RowSquares(f"{self.owner} squares") for _ in range(tiles)]
        self.care = float(tiles)  # how many times a tile takes its own moves, ...
        self.least_care = 1.0  # ... and at least, since a round was taken back
        self.rhythm = Rhythm(price_of_round(p))
        self.value = -math.inf  # D(y), as far as it was computed
        self.looked = self.speed = 0  # looks; rounds since momentum began
        self.kinks = not (p.loss.quadratic or p.loss.probabilities)
        self.block = BLOCK if p.stored > IN_BLOCKS and not p.grid.dense else 1
        self._pair: Pair | None = None
        self.rebuild()

    def rebuild(self) -> None:
        """Make room for what tiles move."""
        self.moves = np.zeros((self.problem.grid.shape[0], self.problem.d))

    @property
    def grid(self) -> Grid:
        """The tiles, with rows at hand and in one piece each."""
        grid = self.problem.grid.by_rows
        if not grid.dense or grid.row_major:
            return grid

        def copy() -> Grid:
            grid.ledger.entries += grid.stored
            return Grid([[in_one_piece(tile) for tile in row] for row in grid.tiles])

        rows: Grid = grid.facts.get("dense rows", grid.ledger, copy)
        return rows.watched(grid.ledger, grid.crew)

    def begin(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None = None) -> None:
        del x  # it follows from y
        p = self.problem
        G = p.adjoint(p.c * y) if v is None else -v
        self.state = CutAscentState(y.copy(), G, y.copy(), G)
        self.value, self.speed, self._pair = -math.inf, 0, None

    def dual_value(self) -> float:
        """D(y), from sums that are here."""
        value = -(conjugate_sum(self.problem, self.state.y, None)
                  + net_conjugate_sum(self.problem, -self.state.G, None))  # fmt: skip
        return value if math.isfinite(value) else -math.inf

    def epoch(self) -> Iterator[None]:
        """Rounds, until the gap that tiles report is about what the run wants."""
        self._pair = None
        most = FIRST_ROUNDS if self.looked == 0 else MOST_ROUNDS
        self.looked += 1
        for _ in range(most):
            near = self.round()
            yield
            if near:
                return

    def round(self) -> bool:
        """Some passes on every tile, and their sum; whether the gap is about small enough."""
        p, grid, before = self.problem, self.grid, self.state
        tiles = grid.shape[0]
        y, G, held = self.ahead()
        said = np.zeros((tiles, REPORT))
        tasks = [Task(k, 0, self.stay_at(k, y, G, held, said[k])) for k in range(tiles)]
        self.ledger.entries += self.engine.run(grid, tasks)
        read = float(said[:, READ].max())
        self.t += p.n * self.rhythm.passes
        self.updates += p.n * self.rhythm.passes + tiles
        self.ledger.paper_passes += read
        total, apart = np.zeros(p.d), 0.0
        for move in self.moves:
            total += move
            apart += float(move @ move)
            own = self.care * move + G
            self.largest = max(self.largest, float(own @ own))
        self.state = CutAscentState(y, G + total, before.y, before.G)
        value = self.dual_value()
        if value < self.value - FALLEN * max(abs(self.value), floor_of(p)):
            self.take_back(before)
            return False
        self.value, self.speed = value, self.speed + 1
        needed = float(total @ total) / apart if apart > 0.0 else float(tiles)
        self.care = min(max(needed, self.least_care), float(tiles))
        gap, size = float(said[:, GAP].sum()), float(said[:, SIZE].sum())
        self.rhythm = self.rhythm.after(gap, read)
        wanted = WELL_WITHIN * self.tol * max(abs(value), abs(size), floor_of(p))
        return gap * self.rhythm.left() <= wanted

    def ahead(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where a round starts: y, what G takes for A'(c y), and c (y - what G takes it for)."""
        p, (y, G, old_y, old_G) = self.problem, self.state
        beta = self.speed / (self.speed + SLOW_START)
        planned = y + beta * (y - old_y)
        start = planned.copy()
        replace_infeasible(start, y, p.b, p.loss)
        return start, G + beta * (G - old_G), p.c * (start - planned)

    def take_back(self, before: CutAscentState) -> None:
        """Go on from where the round began, without momentum, or with more care."""
        if self.speed == 0:
            self.least_care = min(2.0 * self.care, float(self.problem.grid.shape[0]))
            self.care = max(self.care, self.least_care)
        self.speed = 0
        self.state = before._replace(y_before=before.y, before=before.G)

    def stay_at(
        self, k: int, y: np.ndarray, G: np.ndarray, held: np.ndarray, said: np.ndarray
    ) -> TileWork:
        """The passes over a tile: it gets views of what it moves."""
        p, rows = self.problem, rows_of(self.problem.grid, k)
        key = stream_of(self.key, k, 0)
        stay = Stay(
            float(p.reg.l1), p.mu, self.kinks, self.block, key, self.t, self.rhythm.passes,
            self.care,
        )  # fmt: skip
        which = np.flatnonzero(held[rows])
        given = (
            stay, y[rows], G, (which, held[rows][which]), Kept(f"{self.owner} labels", p.b[rows]),
            Kept(f"{self.owner} weights", p.c[rows]), self.squares[k], p.loss,
            Room(self.moves[k]), Room(said),
        )  # fmt: skip
        return TileWork(ascend_on_tile, given, (1, 8, 9))

    @property
    def x(self) -> np.ndarray:
        """Argmax_t {-G t - l1 |t| - l2/2 t^2}."""
        G, l1, l2 = self.state.G, float(self.problem.reg.l1), self.problem.mu
        return np.asarray((np.minimum(l1 - G, 0.0) - np.minimum(l1 + G, 0.0)) / l2)

    def evaluated(self) -> Pair:
        """The pair (x, y), with v = -G at hand: one product is left to compute, the margins."""
        if self._pair is None:
            p, x = self.problem, self.x
            self._pair = pair_of(p, x, p.margins(x), self.state.y.copy(), -self.state.G)
            self.value = max(self.value, self._pair.dual.value)
        return self._pair

    def iterates(self) -> list[tuple[np.ndarray, np.ndarray | None]]:
        return [(self.x, self.state.y.copy())]

    def restore(self, saved: object) -> None:
        super().restore(saved)  # type: ignore[arg-type]
        self._pair = None

    def drift(self, dual: DualPoint) -> float:
        square = max(self.largest, float(dual.v @ dual.v))
        return tied_drift(self.problem, square, self.updates)
