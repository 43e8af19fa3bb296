"""Row tiles with a maintained gradient: the paper's idea with a whole row for a tile.

A one-entry step of SPD1 misses the cache at every turn. A row lies in one piece, and while it is
visited the full gradient G = A'(c y) can be kept up to date, so no estimate is noisy:

    u = a_i'x;   y_i+ = prox_{sigma_i phi*}(y_i + sigma_i u);   delta = y_i+ - y_i
    x_j = prox_{eta_j g_j}( x_j - eta_j (G_j + k_j c_i a_ij delta) );   G_j += c_i a_ij delta

for j in row i, with eta_j = eta n/k_j and sigma_i = 1/(eta n c_i |a_i|^2). The term k_j c_i a_ij
delta looks ahead: it is what G_j would become if all k_j rows of the column moved alike.

Where every feature has l2 > 0, x can be *tied* to y instead, x_j = argmax_t {-G_j t - g_j(t)}, with
sigma_i = l2 / (c_i |a_i|^2): SDCA's exact step. It wins while the rows are nearly orthogonal, as
they are for d >> n, and gives way to the free x when it slows down.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...certificate.points import DualPoint, Pair, dual_from_margins, pair_of
from ...control.balance import BalancedSteps
from ...control.steps import Proposal
from ...data.grid import Grid
from ...engines.serial import Engine, Serial, Task
from ...errors import IncompatibleError, ParameterError
from ...kernel.rng import shuffle_blocks
from ...problem import Problem
from ..base import Saved, TileMethod, gradient_drift, size_of, typical_labels
from ..newton.newton import Newton
from ..order import rows_a_block
from ..tuning import ENTRIES_A_CHUNK, ENTRIES_A_LOOK
from .averages import Sums, better_of
from .blocks import Copies, Plan, plan_of
from .common import Common, common_of
from .kernels import (
    GRADIENT,
    SHRINK,
    STEP,
    Geometry,
    RowTileState,
    X,
    row_tile_steps,
    tie,
    tied_row_steps,
)
from .tuning import ROWS_A_PIECE

GIVEN, TIED, LOOSE = range(3)  # x as given to begin; as G tells it; on its own, in the table


class RowState(NamedTuple):
    """Iterates and G = A'(c y); ``form`` says where x is. Where x is loose, G is in the table, too.

    The table has a line of four numbers per feature, see ``RowTileState``.
    """

    x: np.ndarray
    y: np.ndarray
    G: np.ndarray
    table: np.ndarray
    form: int


class RowTiles(TileMethod):
    """Rows in fresh random order, each a small exact saddle-point step."""

    name = "rows"
    step_names = ("eta",)
    rule = BalancedSteps
    fallback = Newton
    reads_norms = True
    maintains = "gradient"
    takes_cuts = True
    takes_races = True
    remembers = (*TileMethod.remembers, "alone", "care", "sums", "on_average", "common", "pull")
    alone: bool = False  # whether rows are visited one after the other, whatever the engine
    copies: Copies | None = None
    can_merge: bool = False  # whether there are tiles that can be put together
    care: float = 1.0  # times |a_i|^2 while x is loose: steps of y are so much shorter
    sums: Sums | None = None  # of the passes since the last restart, where these are averaged
    on_average: bool = False  # whether the pair that was shown last is that of the average
    common: Common | None = None  # the direction that is taken out of the rows, where it is, ...
    pull: float = 0.0  # ... and the multiplier w of its row

    @classmethod
    def scales_start(cls, problem: Problem) -> bool:
        del problem
        return True

    def prepare(self, sampling: str) -> None:
        if sampling not in ("auto", "uniform"):
            raise ParameterError(f"sampling={sampling!r} means nothing to rows: it visits them all")
        p = self.problem
        self.dense = p.grid.dense
        self.geometry = Geometry(p.row_norms_squared, p.c)
        self.order = np.arange(p.n)
        self.block = rows_a_block(p)
        self.tied = p.mu > 0 and p.d >= p.n
        if self.tied:  # |a_i|^2 / l2, or a bound of it where l2 differs
            self.tied_geometry = Geometry(p.row_norms_squared / p.mu, p.c)
            simple = p.reg.scalar and p.reg.plain
            self.scale = -1.0 / p.mu if simple else 0.0  # x = scale G
        self.passes_ahead = 1  # before the next look at the certificate
        if self.tied:  # a look at small data costs as much as several passes
            self.passes_ahead = min(max(ENTRIES_A_LOOK // max(p.stored, 1), 2), 8)
        self._pair: Pair | None = None

    @property
    def grid(self) -> Grid:
        return self.problem.grid.by_rows

    def work_with(self, engine: Engine) -> None:
        super().work_with(engine)
        if engine.racing:
            self.maintains = ""  # a look computes what it needs

    def adopt(self, proposal: Proposal) -> None:
        super().adopt(proposal)
        self.alone = self.alone or proposal.alone
        if proposal.care is not None:
            self.care = proposal.care
        if proposal.averaging:
            self.sums = self.no_sums()
            self.split_rows()

    def split_rows(self) -> None:
        """Take the mean out of the rows, where all point its way; x begins anew where it is."""
        if self.common is not None or self.engine.racing:
            return
        common = common_of(self.problem, self.grid)
        if common is not None:
            self.begin(self.point()[0], self.state.y)
            self.common = common

    @property
    def eta(self) -> float:
        """The step in force: rows less their mean are shorter, and it is longer by as much."""
        return self.steps["eta"] * (1.0 if self.common is None else self.common.gain)

    def safe_care(self) -> float:
        """The care with which rows can be relied on to converge."""
        return self.care

    @property
    def averaged(self) -> int:
        """Passes in the average."""
        return 0 if self.sums is None else self.sums.passes

    def no_sums(self) -> Sums:
        """The average of nothing yet: passes begin here."""
        p, (x, _), y = self.problem, self.point(), self.state.y
        return Sums(np.zeros(p.d), np.zeros(p.n), 0, x.copy(), y.copy())

    def level_eta(self) -> float:
        """The eta for which x and y have gone equally far since averages began, each in its steps.

        In a pass x moves by eta n G and y_i by u_i / (eta n c_i |a_i|^2): distances are measured so
        that both would be as long as the gradients. NaN if one of them has not moved.
        """
        p, sums = self.problem, self.sums
        if sums is None or sums.passes == 0:
            return math.nan
        x, y = self.point()[0], self.state.y
        if self.on_average:
            x, y = sums.mean(p, y)
        moves = p.c * (y - sums.from_y)
        way_y = size_of(moves * np.sqrt(self.geometry.row_norms_squared))
        way_x = size_of(x - sums.from_x)
        if not (way_x > 0.0 and way_y > 0.0):
            return math.nan
        return self.steps["eta"] / self.eta * way_x / (p.n * way_y)

    def add_to_average(self) -> None:
        """Take note of where a pass has ended."""
        if self.sums is not None:
            self.sums = self.sums.plus(self.point()[0], self.state.y)

    def restart_average(self) -> None:
        if self.sums is None:
            return
        if self.on_average:
            self.begin(*self.sums.mean(self.problem, self.state.y))
        self.sums = self.no_sums()

    def forget(self) -> None:
        """Let go of what was known of the point before: the method begins at another."""
        self._pair, self.on_average = None, False
        if self.sums is not None:
            self.sums = self.no_sums()

    def begin(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None = None) -> None:
        p = self.problem
        if v is None:
            v = -p.adjoint(p.c * y) if np.any(y) else np.zeros(p.d)
        self.state = RowState(x, self.settled(y), -v, np.zeros((0, 4)), GIVEN)
        self.largest = max(self.largest, size_of(v))
        self.forget()

    def settled(self, y: np.ndarray) -> np.ndarray:
        """A copy of y in which empty rows are solved: no visit would do it.

        Their margin is 0 at any x, so y_i = phi'(0). A bound that a run goes back to may have all
        of y scaled, and that of empty rows would stay so for ever.
        """
        p, y = self.problem, y.copy()
        empty = np.flatnonzero(p.row_norms_squared == 0.0)
        if len(empty) > 0:
            y[empty] = dual_from_margins(p, np.zeros(p.n))[empty]
        return y

    def restore(self, saved: Saved) -> None:
        super().restore(saved)
        self._pair = None

    def loosen(self) -> None:
        """Put x and G side by side: x goes its own way from here."""
        x, G = self.point()
        if self.common is not None:
            self.state = self.state._replace(table=self.common.table_at(x, G), form=LOOSE)
            self.pull = float(self.problem.c @ self.state.y)
            return
        self.state = self.state._replace(table=self.new_table(), form=LOOSE)
        for columns, table in self.tables():
            table[:, X], table[:, GRADIENT] = x[columns], G[columns]

    def new_table(self) -> np.ndarray:
        """Room for four numbers per feature: dense rows read them apart, see ``RowTileState``."""
        return np.empty((self.problem.d, 4), order="F" if self.dense else "C")

    def tables(self) -> list[tuple[slice, np.ndarray]]:
        """Columns, and the table of these; one a column of tiles."""
        return [(slice(0, self.problem.d), self.state.table)]

    def set_steps(self) -> None:
        """eta_j = eta n/k_j and what the prox of l2 divides by."""
        p, eta, common = self.problem, self.eta, self.common
        l2 = p.reg.l2
        norms = p.row_norms_squared if common is None else common.row_norms_squared
        self.geometry = Geometry(norms if self.care == 1.0 else self.care * norms, p.c)
        if common is not None:
            common.set_steps(self.state.table, eta)
            return
        for columns, table in self.tables():
            table[:, STEP] = eta
            if not self.dense:
                table[:, STEP] = eta * p.n / np.maximum(p.grid.column_counts[columns], 1)
            table[:, SHRINK] = 1.0 / (1.0 + table[:, STEP] * (l2[columns] if np.ndim(l2) else l2))

    def rounds(self, grid: Grid) -> Iterator[list[Task]]:
        p = self.problem
        self._pair = None
        if self.tied:
            self.state = self.state._replace(form=TIED)
        else:
            if self.state.form != LOOSE:
                self.loosen()
            self.set_steps()
        self.copies = self.new_copies() if self.side_by_side else None
        for _ in range(self.passes_ahead):
            first = self.t
            # What is left of rows without their mean has no order in memory to make up for a bias.
            block = self.block if self.common is None else 1
            shuffle_blocks(self.order, self.key, first, block)
            for start, stop in self.stretches():
                self.t = first + stop
                self.updates += stop - start
                self.ledger.paper_passes += (stop - start) / p.n
                yield [
                    Task(0, 0, partial(self.visit, part=part, number=number))
                    for number, part in enumerate(self.blocks_of(self.order[start:stop]))
                ]
            if self.common is not None:
                self.pull += self.common.visit(self.state.table, self.eta)
            self.add_to_average()

    @property
    def plan(self) -> Plan:
        """How rows are split among copies."""
        return plan_of(self.problem, self.tied)

    @property
    def side_by_side(self) -> bool:  # type: ignore[override]
        """Whether blocks of rows are visited at the same time, see ``blocks``."""
        one = self.alone or self.engine.racing or isinstance(self.engine, Serial)
        return not one and self.common is None and self.plan.blocks > 1

    def stretches(self) -> Iterator[tuple[int, int]]:
        """First and last + 1 of the rows that are visited before anyone looks up."""
        p = self.problem
        rows = max(1, int(ENTRIES_A_CHUNK * p.n / max(p.stored, p.n)))
        if self.copies is not None:
            rows = -(-p.n // self.plan.stretches)
        for start in range(0, p.n, rows):
            yield start, min(start + rows, p.n)

    def blocks_of(self, rows: np.ndarray) -> list[np.ndarray]:
        """Rows that are visited at the same time: in one block, or in one a copy."""
        count = 1 if self.copies is None else len(self.copies.each)
        return np.array_split(rows, self.engine.n_threads if self.engine.racing else count)

    def new_copies(self) -> Copies:
        """Copies of what the rows of a block read and write, y aside."""
        plan, state = self.plan, self.state
        if self.tied:
            return Copies(state.G, plan.blocks)
        moving = 2 if self.dense else 4  # dense tables have x and G in front, others in between
        return Copies(state.table.ravel(order="K"), plan.blocks, moving * self.problem.d)

    def settle(self) -> None:
        if self.copies is not None:
            self.copies.add_up()

    def visit(self, tile: Any, part: np.ndarray, number: int) -> float:
        """Visit some rows of a tile; returns the entries read."""
        p, state = self.problem, self.state
        mine = None if self.copies is None else self.copies.each[number]
        if self.common is not None:
            split = RowTileState(state.y, state.table, state.y)
            row_tile_steps(
                self.common.tile, p.n, None, p.b, self.geometry, split, p.loss, self.common.net,
                self.eta, part,
            )  # fmt: skip
            return float(len(part) * (p.d + 1))
        for start, count in self.engine.pieces(0, len(part), ROWS_A_PIECE):
            order = part[start : start + count]
            if self.tied:
                tied_row_steps(
                    tile, None, p.b, self.tied_geometry, state.y, state.G if mine is None else mine,
                    p.loss, p.net, self.scale, order,
                )  # fmt: skip
                continue
            table = state.table if mine is None else self.as_table(mine)
            row_tile_steps(
                tile, p.n, None, p.b, self.geometry, RowTileState(state.y, table, state.y), p.loss,
                p.net, self.steps["eta"], order,
            )  # fmt: skip
        return len(part) / p.n * p.stored

    def as_table(self, flat: np.ndarray) -> np.ndarray:
        """A table whose numbers lie in one vector, as kernels are used to it."""
        return flat.reshape(4, -1).T if self.dense else flat.reshape(-1, 4)

    def point(self) -> tuple[np.ndarray, np.ndarray]:
        """X and G as they are now."""
        state = self.state
        if state.form == LOOSE and self.common is not None:
            return state.table[:-1, X].copy(), self.common.gradient(state.table, state.y, self.pull)
        if state.form == LOOSE:
            x, G = np.empty(self.problem.d), np.empty(self.problem.d)
            for columns, table in self.tables():
                x[columns], G[columns] = table[:, X], table[:, GRADIENT]
            return x, G
        if state.form == GIVEN:
            return state.x, state.G
        if self.scale != 0.0:
            return self.scale * state.G, state.G
        x = np.empty(self.problem.d)
        tie(state.G, self.problem.net, x)
        return x, state.G

    def evaluated(self) -> Pair:
        """The pair (x, y), or that of the average if it is better."""
        if self._pair is None:
            self._pair, self.on_average = self.last_pair(), False
            if self.sums is not None and self.sums.passes > 1:
                self._pair, self.on_average = better_of(self.problem, self._pair, self.sums)
        return self._pair

    def last_pair(self) -> Pair:
        """The pair (x, y), with v = -G at hand: one product is left to compute, the margins."""
        p, (x, G) = self.problem, self.point()
        if not np.all(np.isfinite(x)):
            x = np.full(p.d, math.inf)
        if self.engine.racing:  # updates of G may be lost
            G = p.adjoint(p.c * self.state.y)
            self.take_gradient(G)
        self.largest = max(self.largest, size_of(G))
        return pair_of(p, x, p.margins(x), self.state.y.copy(), -G)

    def take_gradient(self, G: np.ndarray) -> None:
        """Put the true G in place of the one kept up to date."""
        if self.state.form != LOOSE:
            self.state.G[:] = G
            return
        for columns, table in self.tables():
            table[:, GRADIENT] = G[columns]

    def drift(self, dual: DualPoint) -> float:
        if self.common is not None:
            return math.inf  # what was taken out rounds, too
        return gradient_drift(self.problem, dual.v, self.updates, self.largest)

    def iterates(self) -> list[tuple[np.ndarray, np.ndarray | None]]:
        return [(self.point()[0].copy(), self.state.y.copy())]

    def default_steps(self) -> dict[str, float]:
        """SDCA's eta = 1/(mu n) where x is tied."""
        p = self.problem
        return {"eta": 1.0 / (p.mu * p.n) if self.tied else self.loose_eta()}

    def loose_eta(self) -> float:
        """The same, but not so large that y could not follow the margins."""
        p = self.problem
        size, L = typical_labels(p)
        eta = size / (L * max(float(p.row_norms_squared.mean()), 1e-300))
        return min(eta, 1.0 / (p.mu * p.n)) if p.mu > 0 else eta

    def theory_steps(self) -> dict[str, Any]:
        raise IncompatibleError("the paper has no theorem for rows: use steps='auto' or a dict")
