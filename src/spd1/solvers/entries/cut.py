"""SPD1 and SPD1-VR on data that is cut into tiles, in conflict-free rounds.

A tile draws its own entries, as many in a pass as it has, from a stream of its own. Shares are
those of all the data, so that a pass moves every coordinate as far, and in the same direction on
average, as draws from everywhere do; within a round a tile's rows stand for all rows. Time goes by
for all tiles of a round at once: their steps carry the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple
from uuid import uuid4

import numpy as np

from ...data.grid import Grid
from ...engines.serial import Task
from ...engines.work import Kept, TileWork
from ...errors import IncompatibleError
from ..rounds import columns_of, net_of, rounds_of, rows_of, stream_of
from ..tuning import CHUNK
from .base import EntryMethod
from .sampling import choose_sampling, tile_samplers
from .spd1 import SPD1, Averaged, spd1_steps
from .spd1_vr import ENTRIES_A_STEP, SPD1VR, Snapshot, spd1_vr_steps

__all__ = ["CutSPD1", "CutSPD1VR"]


class Steps(NamedTuple):
    """Numbers of some steps on a tile: sizes, which, the stream of draws, entries read by one."""

    sizes: Any
    first: int
    how_many: int
    key: np.uint64
    entries: float


def spd1_on_tile(
    tile: Any, steps: Steps, sampler: Any, b: np.ndarray, weights: np.ndarray, net: Any, loss: Any,
    *state: np.ndarray,
) -> float:  # fmt: skip
    """Steps of Algorithm 1 on a tile; returns the entries read."""
    del tile  # the sampler knows it
    spd1_steps(
        sampler, b, weights, Averaged(*state), loss, net, steps.sizes, steps.first, steps.how_many,
        steps.key,
    )  # fmt: skip
    return steps.entries * steps.how_many


def spd1_vr_on_tile(
    tile: Any, steps: Steps, sampler: Any, b: np.ndarray, weights: np.ndarray, net: Any, loss: Any,
    *state: np.ndarray,
) -> float:  # fmt: skip
    """Inner steps of Algorithm 2 on a tile; returns the entries read."""
    del tile  # the sampler knows it
    spd1_vr_steps(
        sampler, b, weights, Snapshot(*state), loss, net, steps.sizes, steps.first, steps.how_many,
        steps.key,
    )  # fmt: skip
    return steps.entries * steps.how_many


class OnCuts(EntryMethod):
    """What both share: the steps of each tile, and their rounds."""

    on_tile: Any
    moved: ClassVar[int]

    def prepare(self, sampling: str) -> None:
        p = self.problem
        self.owner = uuid4().hex  # two methods of a run must not mix up what holders keep
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
        grid = self.problem.grid
        if self.samplers[row][column] is None:
            return 0
        if not self.uniform:
            return grid.stored_in(row, column)
        rows, columns = rows_of(grid, row), columns_of(grid, column)
        return int(rows.stop - rows.start) * int(columns.stop - columns.start)

    def work_on(self, at: tuple[int, int], first: int, count: int) -> TileWork:
        """Steps on a tile: the function, and views of what they move."""
        p = self.problem
        rows, columns = rows_of(p.grid, at[0]), columns_of(p.grid, at[1])
        sizes, entries = self.sizes()
        key = stream_of(self.key, *at)
        steps = Steps(sizes, first, count, key, entries * p.stored / self.a_pass)
        state = [v[columns if k % 2 == 0 else rows] for k, v in enumerate(self.state)]
        given = (
            steps, self.samplers[at[0]][at[1]], Kept(f"{self.owner} labels", p.b[rows]),
            Kept(f"{self.owner} weights", self.weights[rows]),
            Kept(f"{self.owner} net", net_of(p.net, columns)), p.loss,
        )  # fmt: skip
        written = tuple(len(given) + k for k in range(self.moved))
        return TileWork(self.on_tile, (*given, *state), written)

    def sizes(self) -> tuple[Any, float]:
        """Step sizes as the kernel takes them, and how many entries a step looks at."""
        raise NotImplementedError

    def rounds_of_steps(self, grid: Grid) -> Iterator[list[Task]]:
        """A pass, in pieces that let others look up now and then."""
        for tiles in rounds_of(grid.shape):
            self.let_go_of_others(tiles)
            counts = [self.steps_in(*at) for at in tiles]
            begun, longest = self.t, max(counts)
            for start in range(0, longest, CHUNK):
                tasks = []
                for at, count in zip(tiles, counts, strict=True):
                    some = min(CHUNK, count - start)
                    if some > 0:
                        self.ledger.paper_passes += some / self.a_pass
                        tasks.append(Task(*at, self.work_on(at, begun + start, some)))
                self.t = begun + min(start + CHUNK, longest)
                yield tasks

    def let_go_of_others(self, tiles: list[tuple[int, int]]) -> None:
        """On disk, samplers of a round's tiles may take memory; others are made anew."""
        grid = self.problem.grid
        if grid.at_hand:
            return
        for row, line in enumerate(self.samplers):
            for column, sampler in enumerate(line):
                if sampler is not None and sampler.value is not None and (row, column) not in tiles:
                    sampler.rebuild()
                    self.ledger.entries += 0 if self.uniform else 3 * grid.stored_in(row, column)

    def theory_steps(self) -> dict[str, Any]:
        raise IncompatibleError(
            f"the theorems of {self.name} are about draws from all the data: on a grid use "
            "steps='auto' or a dict"
        )

    def published_steps(self) -> dict[str, Any]:
        return self.theory_steps()


class CutSPD1(OnCuts, SPD1):
    """Algorithm 1, a tile of each row and column of the grid at a time."""

    on_tile = staticmethod(spd1_on_tile)
    moved = 6  # parts of the state that steps write to: all

    def rounds(self, grid: Grid) -> Iterator[list[Task]]:
        return self.rounds_of_steps(grid)

    def sizes(self) -> tuple[Any, float]:
        return self.schedule(), 1.0


class CutSPD1VR(OnCuts, SPD1VR):
    """Algorithm 2, a tile of each row and column of the grid at a time."""

    on_tile = staticmethod(spd1_vr_on_tile)
    moved = 2  # x and y; snapshots stay

    def prepare(self, sampling: str) -> None:
        super().prepare(sampling)
        self.inner_steps = self.a_pass

    def rounds(self, grid: Grid) -> Iterator[list[Task]]:
        self.take_snapshot(grid)
        return self.rounds_of_steps(grid)

    def sizes(self) -> tuple[Any, float]:
        return (self.steps["eta"], self.steps["tau"]), float(ENTRIES_A_STEP)
