"""What SPD1 and SPD1-VR share: they draw entries, and theorems cover them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from ...data.grid import Grid
from ...engines.serial import Task
from ...errors import IncompatibleError
from ..base import TileMethod
from ..rounds import stream_of
from .importance import importance_sampler
from .sampling import Uniform, make_sampler

__all__ = ["EntryMethod"]


class EntryMethod(TileMethod):
    """A method whose steps look at entries."""

    step_names = ("eta", "tau")
    takes_races = True
    draws_a_step = 2

    def prepare(self, sampling: str) -> None:
        p = self.problem
        self.sampler: Any = (
            importance_sampler(p)
            if sampling == "importance"
            else make_sampler(self.grid, sampling, self.draws_a_step)
        )
        self.uniform = isinstance(self.sampler, Uniform)
        self.a_pass = p.n * p.d if self.uniform else p.stored  # steps that make up a pass

    @property
    def grid(self) -> Grid:
        return self.problem.grid

    @property
    def lanes(self) -> list[np.uint64]:
        """Keys of the draws that are made at the same time: one, or one a thread that races."""
        if not self.engine.racing:
            return [self.key]
        return [stream_of(self.key, number, 0) for number in range(self.engine.n_threads)]

    @property
    def time_of_pass(self) -> int:
        """Steps of each lane that make up a pass."""
        return -(-self.a_pass // len(self.lanes))

    def side_by_side_steps(self, work: Callable[..., float], count: int) -> Iterator[list[Task]]:
        """``count`` steps of every lane, in chunks; time goes by for all lanes at once."""
        for first, some in self.chunks(count):
            self.t = first + some
            self.ledger.paper_passes += len(self.lanes) * some / self.a_pass
            yield [
                Task(0, 0, partial(work, first=first, count=some, key=key)) for key in self.lanes
            ]

    def demand(self, assumptions: dict[str, bool]) -> None:
        """Refuse steps='theory' by name if an assumption of the theorems fails."""
        assumptions = assumptions | {
            "equal sample weights": self.problem.uniform_weights,
            "sampling='uniform'": self.uniform,
            "one step after the other (engine 'async' has several)": not self.engine.racing,
        }
        missing = [text for text, holds in assumptions.items() if not holds]
        if missing:
            raise IncompatibleError(f"steps='theory' of {self.name} needs " + " and ".join(missing))
