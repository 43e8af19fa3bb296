"""SPD1 and SPD1-VR on data that is cut into tiles, in conflict-free rounds.

A tile draws its own entries, as many in a pass as it has, from a stream of its own. Shares are
those of all the data, so that a pass moves every coordinate as far, and in the same direction on
average, as draws from everywhere do; within a round a tile's rows stand for all rows. Time goes by
for all tiles of a round at once: their steps carry the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...data.grid import Grid
from ...engines.serial import Task
from ...errors import IncompatibleError
from ..rounds import columns_of, net_of, rounds_of, rows_of, stream_of
from ..tuning import CHUNK
from .base import EntryMethod
from .sampling import Uniform, choose_sampling, tile_samplers
from .spd1 import SPD1, Averaged, spd1_steps
from .spd1_vr import ENTRIES_A_STEP, SPD1VR, Snapshot, spd1_vr_steps

__all__ = ["CutSPD1", "CutSPD1VR"]


class Part(NamedTuple):
    """What a kernel gets of a tile: its sampler, labels, weights, regularizer and stream."""

    sampler: Any
    b: np.ndarray
    weights: np.ndarray
    net: Any
    key: np.uint64
    rows: slice
    columns: slice


class OnCuts(EntryMethod):
    """What both share: the steps of each tile, and their rounds."""

    def prepare(self, sampling: str) -> None:
        p = self.problem
        self.samplers = tile_samplers(p.grid, sampling, self.draws_a_step)
        self.uniform = choose_sampling(p.grid, sampling) == "uniform" or p.grid.dense
        self.a_pass = p.n * p.d if self.uniform else p.stored
        rounds = [[self.steps_in(*at) for at in tiles] for tiles in rounds_of(p.grid.shape)]
        self.ticks = sum(max(counts) for counts in rounds)

    @property
    def time_of_pass(self) -> int:
        return self.ticks

    def steps_in(self, row: int, column: int) -> int:
        """Steps that a pass has for a tile."""
        sampler = self.samplers[row][column]
        if sampler is None:
            return 0
        return sampler.n * sampler.d if isinstance(sampler, Uniform) else int(sampler.stored)

    def part(self, row: int, column: int) -> Part:
        """The parts of the problem that belong to a tile."""
        p = self.problem
        rows, columns = rows_of(p.grid, row), columns_of(p.grid, column)
        key = stream_of(self.key, row, column)
        sampler, net = self.samplers[row][column], net_of(p.net, columns)
        return Part(sampler, p.b[rows], self.weights[rows], net, key, rows, columns)

    def rounds_of_steps(self, grid: Grid) -> Iterator[list[Task]]:
        """A pass, in pieces that let others look up now and then."""
        for tiles in rounds_of(grid.shape):
            counts = [self.steps_in(*at) for at in tiles]
            begun, longest = self.t, max(counts)
            for start in range(0, longest, CHUNK):
                tasks = []
                for at, count in zip(tiles, counts, strict=True):
                    some = min(CHUNK, count - start)
                    if some > 0:
                        self.ledger.paper_passes += some / self.a_pass
                        work = partial(self.steps_on_tile, at=at, first=begun + start, count=some)
                        tasks.append(Task(*at, work))
                self.t = begun + min(start + CHUNK, longest)
                yield tasks

    def steps_on_tile(self, tile: Any, at: tuple[int, int], first: int, count: int) -> float:
        """Steps on a tile; returns the entries read."""
        raise NotImplementedError

    def theory_steps(self) -> dict[str, Any]:
        raise IncompatibleError(
            f"the theorems of {self.name} are about draws from all the data: on a grid use "
            "steps='auto' or a dict"
        )

    def published_steps(self) -> dict[str, Any]:
        return self.theory_steps()


class CutSPD1(OnCuts, SPD1):
    """Algorithm 1, a tile of each row and column of the grid at a time."""

    def rounds(self, grid: Grid) -> Iterator[list[Task]]:
        return self.rounds_of_steps(grid)

    def steps_on_tile(self, tile: Any, at: tuple[int, int], first: int, count: int) -> float:
        del tile  # the sampler knows it
        part, state = self.part(*at), self.state
        views = Averaged(
            *(v[part.columns if k % 2 == 0 else part.rows] for k, v in enumerate(state))
        )
        spd1_steps(
            part.sampler, part.b, part.weights, views, self.problem.loss, part.net,
            self.schedule(), first, count, part.key,
        )  # fmt: skip
        return count * self.problem.stored / self.a_pass


class CutSPD1VR(OnCuts, SPD1VR):
    """Algorithm 2, a tile of each row and column of the grid at a time."""

    def prepare(self, sampling: str) -> None:
        super().prepare(sampling)
        self.inner_steps = self.a_pass

    def rounds(self, grid: Grid) -> Iterator[list[Task]]:
        self.take_snapshot(grid)
        return self.rounds_of_steps(grid)

    def steps_on_tile(self, tile: Any, at: tuple[int, int], first: int, count: int) -> float:
        del tile  # the sampler knows it
        part, state = self.part(*at), self.state
        views = Snapshot(
            *(v[part.columns if k % 2 == 0 else part.rows] for k, v in enumerate(state))
        )
        spd1_vr_steps(
            part.sampler, part.b, part.weights, views, self.problem.loss, part.net,
            (self.steps["eta"], self.steps["tau"]), first, count, part.key,
        )  # fmt: skip
        return ENTRIES_A_STEP * count * self.problem.stored / self.a_pass
