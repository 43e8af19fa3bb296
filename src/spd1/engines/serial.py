"""The engine of one thread: a round of tasks, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from ..data.grid import Grid

__all__ = ["Engine", "Serial", "Staleness", "Task"]


class Task(NamedTuple):
    """Work on one tile.

    ``work`` gets the tile, a matrix with indices from 0, moves its part of the state in place, and
    returns how many entries it has read.
    """

    row: int
    column: int
    work: Callable[[Any], float]


class Staleness(NamedTuple):
    """How many steps old the values are that a step reads, where threads share what they write.

    ``mean`` is the number of steps that other threads finish while a thread makes one. ``max`` is
    the largest number that they finished during one piece of a thread's steps: a bound.
    """

    mean: float
    max: int


class Engine(Protocol):
    """Who runs the tasks of a round. They share neither rows nor columns: any order will do.

    ``with engine:`` lets go of what it holds, such as threads, at the end.
    """

    n_threads: int

    @property
    def racing(self) -> bool:
        """Whether its tasks share what they write: then sums kept up to date are worth nothing."""

    @property
    def staleness(self) -> Staleness | None:
        """How old the values were that steps have read; None where all were up to date."""

    def pieces(self, first: int, count: int, size: int) -> Iterator[tuple[int, int]]:
        """Split steps into (first, how many): in pieces of ``size``, if somebody counts them."""

    def run(self, grid: Grid, tasks: Sequence[Task]) -> float:
        """Run a round; returns the entries read."""

    def map(self, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """The function of every item, in the order of the items."""

    def __enter__(self) -> Engine:
        """Begin."""

    def __exit__(self, *_: object) -> None:
        """Let go of what it holds."""


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

    n_threads, racing, staleness = 1, False, None

    def pieces(self, first: int, count: int, size: int) -> Iterator[tuple[int, int]]:
        """All steps in one piece."""
        del size
        yield first, count

    def __enter__(self) -> Serial:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def map(self, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """The function of every item, in the order of the items."""
        return [function(item) for item in items]

    def run(self, grid: Grid, tasks: Sequence[Task]) -> float:
        """Run a round; returns the entries read."""
        read = 0.0
        for row, column, work in tasks:
            read += work(grid.tiles[row][column])
        return read
