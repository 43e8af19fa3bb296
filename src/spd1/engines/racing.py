"""The engine of threads that share all they write, without locks: the paper's claim put to work.

Steps read what others are about to change, and an update may be lost. Methods that take it
converge all the same, but no two runs are alike: **results are not reproducible**. How old the
values are that steps read is measured: see ``Staleness``.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

from .serial import Staleness
from .threads import Threads

__all__ = ["Racing"]


class Racing(Threads):
    """Threads whose tasks share rows and columns.

    Examples
    --------
    >>> with Racing(2) as engine:
    ...     for start, count in engine.pieces(0, 100, 40):
    ...         print(start, count)
    0 40
    40 40
    80 20
    >>> engine.staleness
    Staleness(mean=0.0, max=0)
    """

    racing = True

    def __init__(self, n_threads: int) -> None:
        super().__init__(n_threads)
        self.lock = threading.Lock()
        self.done = 0  # steps of all threads
        self.aged = 0  # steps of others, summed over all pieces
        self.most = 0  # the same of one piece

    def pieces(self, first: int, count: int, size: int) -> Iterator[tuple[int, int]]:
        """Split steps into (first, how many), counting what others do meanwhile."""
        for start in range(first, first + count, size):
            some, before = min(size, first + count - start), self.done
            yield start, some
            with self.lock:
                others = self.done - before
                self.done += some
                self.aged += others
                self.most = max(self.most, others)

    @property
    def staleness(self) -> Staleness | None:
        """How old values were, over all steps so far."""
        return Staleness(self.aged / self.done, self.most) if self.done else None
