"""The engine of one thread: a round of tasks, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from ..data.grid import Grid

__all__ = ["Engine", "Serial", "Task"]


class Task(NamedTuple):
    """Work on one tile.

    ``work`` gets the tile, a matrix with indices from 0, moves its part of the state in place, and
    returns how many entries it has read.
    """

    row: int
    column: int
    work: Callable[[Any], float]


class Engine(Protocol):
    """Who runs the tasks of a round. They share neither rows nor columns: any order will do."""

    def run(self, grid: Grid, tasks: Sequence[Task]) -> float:
        """Run a round; returns the entries read."""


class Serial:
    """One task after the other, in the order of the round.

    Examples
    --------
    >>> import numpy as np
    >>> from spd1.data.matrix import Dense
    >>> grid = Grid.whole(Dense(np.eye(3)))
    >>> Serial().run(grid, [Task(0, 0, lambda tile: float(tile.stored))])
    9.0
    """

    def run(self, grid: Grid, tasks: Sequence[Task]) -> float:
        """Run a round; returns the entries read."""
        read = 0.0
        for row, column, work in tasks:
            read += work(grid.tiles[row][column])
        return read
