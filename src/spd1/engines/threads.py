"""The engine of several threads: the tasks of a round at the same time.

Kernels run without the GIL, and so does BLAS: Python threads that call them run side by side. The
caller is one of them. Results come back in the order of the items, whoever computed them: what is
made of them has the same bits for any number of threads.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextvars import Context, copy_context
from itertools import count
from typing import Any

import numpy as np

from ..data.grid import Grid
from ..kernel.patience import uninterrupted
from ..kernel.team import compiled_kernels, watch
from .cores import available_cores
from .serial import Staleness, Task

__all__ = ["Threads"]

LOOKOUT = 8_000  # looks out for the next round before a thread goes to sleep: about 200 us


class Round:
    """Items that are still to be done, and what came of those that are.

    The caller waits for threads that take part, never for one that has not come yet: waking up
    takes a thread longer than many a round.
    """

    def __init__(self, function: Callable[[Any], Any], items: Sequence[Any]) -> None:
        self.function, self.items = function, items
        self.results: list[Any] = [None] * len(items)
        self.numbers = count()  # the next item: taken by one thread alone
        self.errors: dict[int, BaseException] = {}
        self.context: Context = copy_context()  # NumPy's error state is the caller's
        self.guard, self.left = threading.Lock(), threading.Lock()
        self.left.acquire()
        self.inside, self.closed = 0, False
        self.flag = np.zeros(1, np.int64)  # whether all have left

    def take_part(self) -> None:
        """Do items until none is left, or one has failed."""
        for number in self.numbers:
            if number >= len(self.items) or self.errors:
                return
            try:
                self.results[number] = self.function(self.items[number])
            except BaseException as error:  # the caller raises it
                self.errors[number] = error

    def join(self) -> None:
        """Take part, unless it is over."""
        with self.guard:
            if self.closed:
                return
            self.inside += 1
        self.context.copy().run(self.take_part)
        with self.guard:
            self.inside -= 1
            if self.closed and self.inside == 0:
                self.flag[0] = 1
                self.left.release()

    def close(self, spins: int) -> None:
        """Let nobody in any more, and wait for those who are."""
        with self.guard:
            self.closed, waits = True, self.inside > 0
        if waits:
            if spins:
                watch(self.flag, 0, spins)
            self.left.acquire()

    def outcome(self) -> list[Any]:
        """The results, or the error of the first item that failed.

        Items are taken in order: all before one that failed have run, whoever ran them.
        """
        if self.errors:
            raise self.errors[min(self.errors)]
        return self.results


class Helper:
    """A thread that waits for rounds to take part in.

    Between rounds that follow each other closely it keeps looking out for the next one.
    """

    def __init__(self, number: int, spins: int) -> None:
        self.calls = np.zeros(1, np.int64)  # how often it was called
        self.asleep, self.bell = False, threading.Lock()
        self.bell.acquire()
        self.guard = threading.Lock()
        self.round: Round | None = None
        self.home, self.spins = False, spins
        name = f"spd1-{number}"
        self.thread = threading.Thread(target=self.work, name=name, daemon=True)
        self.thread.start()

    def work(self) -> None:
        heard = 0
        while True:
            if self.spins:
                watch(self.calls, heard, self.spins)
            with self.guard:
                sleeps = self.asleep = bool(self.calls[0] == heard)
            if sleeps:
                self.bell.acquire()
            with self.guard:
                heard, round_, self.round = int(self.calls[0]), self.round, None
                home = self.home
            if round_ is not None:
                round_.join()
            elif home:
                return
            round_ = None  # what it holds may go

    def call(self, round_: Round | None) -> None:
        """Let it take part; None sends it home."""
        with self.guard:
            self.round, self.home = round_, round_ is None
            self.calls[0] += 1
            asleep, self.asleep = self.asleep, False
        if asleep:
            self.bell.release()


class Threads:
    """Tasks of a round at the same time, on threads that end with the ``with`` block.

    They start when there is first something for them to do.

    Parameters
    ----------
    n_threads : int
        How many threads work, the caller's included.

    Examples
    --------
    >>> with Threads(2) as engine:
    ...     engine.map(abs, [-1, 2, -3])
    [1, 2, 3]
    """

    racing = False

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        self.spins = 0  # looks at what others do before a thread goes to sleep
        self.helpers: list[Helper] = []
        self.busy = False

    def __enter__(self) -> Threads:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def staleness(self) -> Staleness | None:
        """None: all values are up to date."""
        return None

    def pieces(self, first: int, count: int, size: int) -> Iterator[tuple[int, int]]:
        """All steps in one piece."""
        del size
        yield first, count

    def run(self, grid: Grid, tasks: Sequence[Task]) -> float:
        """Run a round; returns the entries read."""

        def work(task: Task) -> float:
            return task.work(grid.tiles[task.row][task.column])

        read = 0.0
        for entries in self.map(work, tasks):
            read += entries
        return read

    def map(self, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """The function of every item, in the order of the items.

        All have come to their end when it returns, or raises what the first that failed did.
        Ctrl-C waits for them. A task that asks for threads itself gets none.
        """
        wanted = min(self.n_threads, len(items)) - 1
        if wanted < 1 or self.busy:
            return [function(item) for item in items]
        round_ = Round(function, items)
        with uninterrupted():
            self.busy = True
            try:
                if not self.helpers and self.n_threads <= available_cores() and compiled_kernels():
                    self.spins = LOOKOUT
                while len(self.helpers) < wanted:
                    self.helpers.append(Helper(len(self.helpers) + 1, self.spins))
                for helper in self.helpers[:wanted]:
                    helper.call(round_)
                round_.take_part()
                round_.close(self.spins)
            finally:
                self.busy = False
        return round_.outcome()

    def close(self) -> None:
        """Send the threads home, and wait until they are gone."""
        with uninterrupted():
            helpers, self.helpers = self.helpers, []
            for helper in helpers:
                helper.call(None)
            for helper in helpers:
                helper.thread.join()
