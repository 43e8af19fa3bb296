"""The one place that counts entries read and seconds, and knows when a run has had enough.

An entry is read once a visit: a product, a sweep or a step that goes to a line, a tile or an entry
reads it once, however often it uses what it finds there. Copies of lines count as the lines do; a
small Gram matrix, once it is made, does not. Passes are entries read over entries stored.
"""

from __future__ import annotations

import math

from ..kernel.jit import clock

__all__ = ["Ledger"]

DENSE_SECONDS = 3e-10  # an entry of dense lines, read in order
SPARSE_SECONDS = 1.5e-9  # an entry that is found by its index
PRODUCT_SECONDS = 5e-11  # a multiplication and addition of small matrices


class Ledger:
    """What a run has read and how long it took, and its limits.

    Parameters
    ----------
    stored : int
        Stored entries of the data: a pass.
    max_passes, max_seconds : float, optional
        Limits of the run. Without a limit on passes that of the method holds, see ``allow``.

    Examples
    --------
    >>> ledger = Ledger(stored=100, max_passes=2)
    >>> ledger.entries += 150
    >>> ledger.passes, ledger.spent
    (1.5, False)
    """

    def __init__(
        self, stored: int, max_passes: float | None = None, max_seconds: float | None = None
    ) -> None:
        self.stored = max(stored, 1)
        self.own_limit = max_passes is None
        self.max_passes = math.inf if max_passes is None else max_passes
        self.max_seconds = math.inf if max_seconds is None else max_seconds
        self.entries = 0.0  # whoever reads some adds them here
        self.products = 0.0  # multiplications in small matrices, by those who count them
        self.paper_passes = 0.0  # the paper's own count
        self.seconds = 0.0  # in the method itself: looks at the certificate are not
        self.started = clock()
        self.whole_epochs = False  # whether limits wait for the end of an epoch

    def allow(self, passes: float) -> None:
        """Let a method have so many passes, if the user has said nothing."""
        if self.own_limit:
            self.max_passes = passes

    def seconds_of(self, dense: bool) -> float:
        """What all that was counted should have taken: the same on every machine and every day.

        Decisions are made by it, so that the same run decides the same.
        """
        entry = DENSE_SECONDS if dense else SPARSE_SECONDS
        return entry * self.entries + PRODUCT_SECONDS * self.products

    @property
    def passes(self) -> float:
        """Entries read over entries stored."""
        return self.entries / self.stored

    @property
    def out_of_passes(self) -> bool:
        """Whether the limit on passes is reached."""
        return self.entries >= self.max_passes * self.stored

    @property
    def out_of_time(self) -> bool:
        """Whether the limit on seconds is reached, looks included, compilation not."""
        return clock() - self.started >= self.max_seconds

    @property
    def reached(self) -> str:
        """The limit that is reached, or ''."""
        if self.out_of_passes:
            return "max_passes"
        return "max_seconds" if self.out_of_time else ""

    @property
    def spent(self) -> bool:
        """Whether a method had better come to an end: either limit is reached."""
        if self.whole_epochs:
            return False
        limit = self.max_passes * self.stored
        return self.entries >= limit or clock() - self.started >= self.max_seconds
