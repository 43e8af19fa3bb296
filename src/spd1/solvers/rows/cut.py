"""Rows on data that is cut into tiles, in conflict-free rounds.

A tile (I, J) moves y_I, x_J and G_J. What it takes from the rest was left there by other tiles:

- the margins of its rows: for the columns of other tiles the sums A_IK x_K as they were when tile
  (I, K) was visited last, for its own columns what x_J says now;
- G_J: before its rows are visited, the moves that y_I has made in other columns of tiles since
  the last visit are added.

So a visit reads the tile three times while x is tied: it adds to G_J, visits the rows, and sums up
A_IJ x_J for the others. A loose x adds to G_J row by row, while it looks ahead: twice. With whole
rows (one column of tiles) nothing is left behind, and a visit reads once. Where the gap stands
still, tiles that lie in memory are put together, and the run goes on with all rows in one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from ...certificate.points import Pair, pair_of
from ...control.steps import Proposal
from ...data.grid import Grid
from ...engines.serial import Task
from ...engines.work import Kept, TileWork
from ...kernel.rng import shuffle_blocks
from ..base import size_of, spectral_norm
from ..rounds import columns_of, net_of, rounds_of, rows_of, stream_of
from .kernels import Geometry
from .rows import GIVEN, LOOSE, TIED, RowTiles
from .tuning import COLUMNS_UNDAMPED
from .visit import Visit, sum_up, visit_cut_rows, visit_whole_rows, x_of

__all__ = ["CutRowState", "CutRows"]


class CutRowState(NamedTuple):
    """The state of rows, and what tiles have left for each other: a column a column of tiles.

    ``table`` holds the tables of the columns of tiles one after the other. ``margins`` has the sums
    A_IJ x_J and ``seen`` the y_I that G_J knows of; both are empty where rows are whole.
    """

    x: np.ndarray
    y: np.ndarray
    G: np.ndarray
    table: np.ndarray
    form: int
    margins: np.ndarray
    seen: np.ndarray


class CutRows(RowTiles):
    """Rows of tiles, the tiles of a round side by side."""

    remembers = (*RowTiles.remembers, "fresh", "merged", "whole_rows", "stale", "maintains")
    on_tiles = True
    merged: bool = False  # whether tiles were put together on the way
    fresh: bool = False  # whether tiles have left sums for each other since the run began

    def prepare(self, sampling: str) -> None:
        super().prepare(sampling)
        self.owner = uuid4().hex  # two methods of a run must not mix up what holders keep
        self.whole_rows = self.problem.grid.shape[1] == 1
        self.alone = True  # its tiles run side by side, not blocks of rows
        if self.whole_rows:
            return
        self.stale = True
        self.care = float(self.problem.grid.shape[1])  # so many times a pass a row takes its step
        self.maintains = ""  # a look computes what it needs: sums of tiles are out of date
        if self.tied:
            damped = max(1.0, self.problem.grid.shape[1] ** 2 / COLUMNS_UNDAMPED**2)
            known = self.tied_geometry
            self.tied_geometry = Geometry(known.row_norms_squared * damped, known.weights)

    @property
    def grid(self) -> Grid:
        given = super().grid
        return given.in_one_piece if self.merged else given

    @property
    def can_merge(self) -> bool:  # type: ignore[override]
        """Whether there are tiles that were not put together yet, and these lie in memory."""
        return not self.merged and type(self.problem.grid) is Grid

    def adopt(self, proposal: Proposal) -> None:
        super().adopt(proposal)
        if proposal.merge:
            self.merged = self.whole_rows = True
            self.stale, self.maintains, self.care = False, "gradient", 1.0
            self.owner = uuid4().hex  # parts of vectors are others
            x, _ = self.point()
            self.begin(x, self.state.y)
            if self.sums is not None:
                self.split_rows()

    def begin(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None = None) -> None:
        p, columns = self.problem, 0 if self.whole_rows else self.grid.shape[1]
        if v is None:
            v = -p.adjoint(p.c * y) if np.any(y) else np.zeros(p.d)
        left, y = np.zeros((p.n, columns), order="F"), self.settled(y)
        seen = np.asfortranarray(np.repeat(y[:, None], columns, axis=1))
        self.state = CutRowState(x, y, -v, np.zeros(0), GIVEN, left, seen)
        self.largest = max(self.largest, size_of(v))
        self.forget()
        self.fresh = self.whole_rows  # then there is nothing to leave

    def safe_care(self) -> float:
        """Where margins are a pass old all rows move as if at once: |A|^2 takes |a_i|^2's place."""
        if not self.stale or self.problem.grid.shape[0] == 1:
            return self.care
        norms = self.problem.row_norms_squared
        return max(self.care, spectral_norm(self.problem) ** 2 / max(float(norms.max()), 1e-300))

    def new_table(self) -> np.ndarray:
        return np.empty(4 * self.problem.d)

    def tables(self) -> list[tuple[slice, np.ndarray]]:
        grid = self.grid
        return [(columns_of(grid, q), self.table_of(q)) for q in range(grid.shape[1])]

    def table_of(self, column: int) -> np.ndarray:
        """The table of a column of tiles: in one piece, as kernels are used to it."""
        part = columns_of(self.grid, column)
        return self.as_table(self.state.table[4 * part.start : 4 * part.stop])

    def x_of(self, column: int) -> np.ndarray:
        """The part of x that belongs to a column of tiles."""
        part, state = columns_of(self.grid, column), self.state
        if state.form == GIVEN:
            return np.array(state.x[part])
        loose = state.form == LOOSE
        moved = self.table_of(column) if loose else state.G[part]
        return x_of(moved, not loose, 0.0 if loose else self.scale, net_of(self.problem.net, part))

    def rounds(self, grid: Grid) -> Iterator[list[Task]]:
        if self.common is not None:  # in one piece
            yield from super().rounds(grid)
            return
        p = self.problem
        self._pair = None
        if self.tied:
            changed = self.state.form != TIED
            self.state = self.state._replace(form=TIED)
        else:
            changed = False
            if self.state.form != LOOSE:
                self.loosen()
            self.set_steps()
        if changed or not self.fresh:
            yield self.margins_of_tiles(grid)
        for _ in range(self.passes_ahead):
            first = self.t
            self.t += p.n
            self.updates += p.n
            self.ledger.paper_passes += 1
            rounds = list(rounds_of(grid.shape))  # in a fresh order: a fixed one may go in circles
            order = np.arange(len(rounds))
            shuffle_blocks(order, self.key, first, 1)
            for tiles in (rounds[number] for number in order):
                yield [Task(*at, self.visit_to(at, first)) for at in tiles]
            self.add_to_average()

    def margins_of_tiles(self, grid: Grid) -> list[Task]:
        """Tasks that compute what tiles leave for each other; each writes a place of its own."""
        self.fresh = True
        if self.whole_rows:
            return []
        rows, columns = grid.shape
        places = [(row, column) for row in range(rows) for column in range(columns)]
        return [Task(*at, self.sum_of(at)) for at in places]

    def sum_of(self, at: tuple[int, int]) -> TileWork:
        """A_IJ x_J, for the other tiles of the row."""
        left = self.state.margins[rows_of(self.grid, at[0]), at[1]]
        return TileWork(sum_up, (self.x_of(at[1]), left), (1,))

    def visit_to(self, at: tuple[int, int], first: int) -> TileWork:
        """A visit to the rows of a tile: it gets views of what it moves."""
        p, state, grid = self.problem, self.state, self.grid
        rows, columns = rows_of(grid, at[0]), columns_of(grid, at[1])
        scale, eta = (self.scale, 0.0) if self.tied else (0.0, float(self.steps["eta"]))
        key = stream_of(self.key, *at)
        visit = Visit(p.n, self.tied, scale, eta, key, first, self.block)
        norms = (self.tied_geometry if self.tied else self.geometry).row_norms_squared[rows]
        moved = state.G[columns] if self.tied else self.table_of(at[1])
        given = (
            visit, state.y[rows], moved, self.kept("labels", p.b[rows]),
            self.kept("tied norms" if self.tied else f"norms {self.care:g}", norms),
            self.kept("weights", p.c[rows]), self.kept("net", net_of(p.net, columns)), p.loss,
        )  # fmt: skip
        if self.whole_rows:
            return TileWork(visit_whole_rows, given, (1, 2))
        outside = np.zeros(rows.stop - rows.start)
        for other in range(grid.shape[1]):
            if other != at[1]:
                outside += state.margins[rows, other]
        left, seen = state.margins[rows, at[1]], state.seen[rows, at[1]]
        return TileWork(visit_cut_rows, (*given, outside, seen, left), (1, 2, 9, 10))

    def kept(self, name: str, value: Any) -> Kept:
        """What never changes in a run."""
        return Kept(f"{self.owner} {name}", value)

    def last_pair(self) -> Pair:
        """The pair (x, y); where rows are cut, with all sums made anew, for the next visits too."""
        if self.whole_rows:
            return super().last_pair()
        p, (x, _) = self.problem, self.point()
        if not np.all(np.isfinite(x)):
            x = np.full(p.d, math.inf)
        y = self.state.y.copy()
        G = p.adjoint(p.c * y)
        self.ledger.entries += self.engine.run(self.grid, self.margins_of_tiles(self.grid))
        if self.state.form != LOOSE:  # a loose x has yet to look ahead along moves of y
            self.take_gradient(G)
            self.state.seen[:] = y[:, None]
        return pair_of(p, x, self.state.margins.sum(axis=1), y, -G)
