"""SPD1 and SPD1-VR on tiles: the mini-batches that the paper's appendix asks for.

A step looks at a tile of p consecutive rows by q consecutive columns instead of one entry. With
``eta`` and ``tau`` as in the one-entry methods, a tile moves x by p times and y by q times as
much as an entry does, so that a pass moves them as far whatever the shape.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...control.balance import TileSteps
from ...data.grid import Grid
from ...engines.ledger import Ledger
from ...engines.serial import Task
from ...errors import IncompatibleError, ParameterError
from ...kernel.rng import shuffle_blocks
from ..base import TileMethod, typical_labels
from ..tuning import ENTRIES_A_CHUNK
from .sparse_tiles import sparse_row_steps, sparse_spd1_steps
from .spd1 import SPD1, Schedule
from .spd1_vr import ENTRIES_A_STEP, SPD1VR
from .tile_kernels import (
    RowData,
    Tile,
    Whole,
    gram_of_tiles,
    tile_spd1_steps,
    tile_vr_steps,
    whole_row_steps,
)
from .tuning import SDCA_SHARE

if TYPE_CHECKING:
    from ...problem import Problem


class OnTiles(TileMethod):
    """What the tiled methods share: their tiles and the sampling of these."""

    takes_cuts = False

    def __init__(
        self,
        problem: Problem,
        sampling: str,
        key: np.uint64,
        ledger: Ledger | None = None,
        *,
        shape: Any,
    ) -> None:
        self.shape = shape
        super().__init__(problem, sampling, key, ledger)

    @property
    def grid(self) -> Grid:
        return self.problem.grid if self.dense else self.problem.grid.by_rows

    def prepare(self, sampling: str) -> None:
        if sampling not in ("auto", "uniform"):
            raise ParameterError(f"sampling={sampling!r} means nothing to tiles: leave it out")
        p, (rows, columns) = self.problem, self.shape
        self.dense = p.grid.dense
        self.tile = Tile(rows, columns, self.grid.row_major)
        self.row_blocks: int = -(-p.n // rows)
        self.column_blocks: int = -(-p.d // columns)
        self.a_pass: int = self.row_blocks * self.column_blocks
        self.inner_steps = self.a_pass
        self.column_shares = p.n / np.maximum(p.grid.column_counts, 1)
        self.rows = RowData(p.b, p.c, np.ones(p.n), np.empty((0, 0)))

    def chunks(self, count: int, chunk: int = 0) -> Iterator[tuple[int, int]]:
        """Split by entries: a tile step may be long."""
        tiles = int(ENTRIES_A_CHUNK * self.a_pass / max(self.problem.stored, 1))
        return super().chunks(count, chunk or max(1, tiles))

    def theory_steps(self) -> dict[str, Any]:
        raise IncompatibleError(
            f"the theorems of {self.name} are about one entry a step: with a tile use "
            "steps='auto' or a dict"
        )

    def published_steps(self) -> dict[str, Any]:
        return self.theory_steps()


class TiledSPD1(OnTiles, SPD1):
    """Algorithm 1 with a tile a step."""

    def steps_on(self, tile: Any, first: int, count: int, key: np.uint64) -> float:
        p, s = self.problem, self.steps
        steps = Schedule(s["eta"], s["tau"], self.kind, self.origin, self.window)
        if self.dense:
            tile_spd1_steps(
                tile, p.n, None, self.tile, self.rows, self.state, p.loss, p.net, steps, first,
                count, key,
            )  # fmt: skip
        else:
            sparse_spd1_steps(
                tile, p.n, None, self.tile, self.rows, self.column_shares, self.state, p.loss,
                p.net, steps, (first, count), key,
            )  # fmt: skip
        return count * p.stored / self.a_pass

    def default_steps(self) -> dict[str, float]:
        """Theorem 1 by steps of tiles: the noise falls as if a tile's entries were independent."""
        fewer = math.sqrt(self.a_pass / max(self.problem.stored, 1))
        return {name: fewer * value for name, value in super().default_steps().items()}


class TiledSPD1VR(OnTiles, SPD1VR):
    """Algorithm 2 with tiles for its three entries."""

    def steps_on(self, tile: Any, first: int, count: int, key: np.uint64) -> float:
        p = self.problem
        steps = (self.steps["eta"], self.steps["tau"])
        tile_vr_steps(
            tile, p.n, self.tile, self.rows, self.state, p.loss, self.net, steps, first, count,
            key,
        )  # fmt: skip
        return ENTRIES_A_STEP * count * p.stored / self.a_pass


class WholeRows(OnTiles):
    """SPD1-VR with tiles as wide as the data: no noise, and a snapshot that moves on by itself."""

    name = "spd1-vr"
    step_names = ("eta", "tau")
    rule = TileSteps

    def prepare(self, sampling: str) -> None:
        super().prepare(sampling)
        p, rows = self.problem, self.shape[0]
        norms = p.row_norms_squared * p.c * p.n
        used = norms > 0
        self.typical = float(norms[used].mean()) if used.any() else 1.0
        shares = np.where(used, self.typical / np.where(used, norms, 1.0), 0.0)
        gram = np.empty((p.n, rows) if self.dense and rows > 1 else (0, 0))
        self.rows = RowData(p.b, p.c, shares, gram)
        self.order = np.arange(self.row_blocks)
        self.known = 0 if gram.size else self.row_blocks  # tiles with products of their rows

    def begin(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None = None) -> None:
        p = self.problem
        self.state = Whole(x.copy(), y.copy(), p.adjoint(p.c * y))

    def rounds(self, grid: Grid) -> Iterator[list[Task]]:
        for _, count in self.chunks(self.row_blocks - self.known):
            yield [Task(0, 0, partial(self.multiply_rows, count=count))]
        shuffle_blocks(self.order, self.key, self.t, 1)
        start = self.t
        for first, count in self.chunks(self.row_blocks):
            self.t = first + count
            self.ledger.paper_passes += count / self.row_blocks
            order = self.order[first - start : first - start + count]
            yield [Task(0, 0, partial(self.steps_on, order=order))]

    def multiply_rows(self, tile: Any, count: int) -> float:
        """Products of the rows of the next ``count`` blocks, once a run."""
        gram_of_tiles(tile, self.tile, self.known, self.known + count, self.rows.gram)
        self.known += count
        return count / self.row_blocks * self.problem.stored

    def steps_on(self, tile: Any, order: np.ndarray) -> float:
        """Visit the row blocks of ``order``; returns the entries read."""
        p = self.problem
        steps = (self.steps["eta"], self.steps["tau"])
        if self.dense:
            whole_row_steps(
                tile, p.n, None, self.tile, self.rows, self.state, p.loss, p.net, steps, p.mu,
                order,
            )  # fmt: skip
        else:
            sparse_row_steps(
                tile, p.n, None, self.tile, self.rows, self.column_shares, self.state, p.loss,
                p.net, steps, order,
            )  # fmt: skip
        return len(order) / self.row_blocks * p.stored

    def iterates(self) -> list[tuple[np.ndarray, np.ndarray | None]]:
        return [(self.state.x.copy(), self.state.y.copy())]

    @property
    def leeway(self) -> float:
        """By which factor the first eta / tau may be off: with d >= n only l2 makes x unique."""
        p = self.problem
        if p.mu > 0 and p.d >= p.n and not np.any(p.reg.l1):
            return 1.0 if self.dense else 2.0
        return math.inf

    def default_steps(self) -> dict[str, float]:
        """SDCA's eta ~ 1/(mu n) where that is right; tau so that eta tau |a_i|^2 = 1."""
        p = self.problem
        share = SDCA_SHARE if self.dense else 1.0
        eta = share / (p.mu * p.n) if p.mu > 0 else math.inf
        if self.leeway == math.inf:  # but not so large that y could not follow the margins
            size, L = typical_labels(p)
            eta = min(eta, size / (L * max(float(p.row_norms_squared.mean()), 1e-300)))
        return {"eta": eta, "tau": 1.0 / (eta * self.typical)}
