"""Whether a method had better give way: it would need longer than its fall-back would in all."""

from __future__ import annotations

import math

from .tuning import DEARER, HEARD, MOST_IDLE

__all__ = ["Prospect"]


class Prospect:
    """Watches how fast the relative gap of a run falls.

    Parameters
    ----------
    tol : float

    Examples
    --------
    >>> prospect = Prospect(tol=1e-6)
    >>> [prospect.bleak(seconds, 1.0, price=1.0) for seconds in (0.1, 0.4, 7.0)]
    [False, False, True]
    """

    def __init__(self, tol: float) -> None:
        self.tol = tol
        self.seen: list[tuple[float, float]] = []  # seconds, logarithm of the best gap so far
        self.idle = 0  # looks without any gain
        self.seconds = 0.0

    def bleak(self, seconds: float, rel_gap: float, price: float) -> bool:
        """Whether the pace of the second half of the run so far would take dearly long."""
        self.seconds = seconds
        last = self.seen[-1][1] if self.seen else math.inf
        best = min(last, math.log(max(rel_gap, 1e-300)) if rel_gap < math.inf else math.inf)
        self.idle = 0 if best < last - 1e-4 or not self.seen else self.idle + 1
        self.seen.append((seconds, best))
        if seconds < HEARD * price:
            return False
        earlier = [look for look in self.seen[:-1] if look[0] <= 0.5 * seconds]
        if not earlier:
            return False
        then, before = earlier[-1]
        if not math.isfinite(before - best):
            return not math.isfinite(best)
        rate = (before - best) / (seconds - then)
        return rate * DEARER * price < best - math.log(self.tol)

    @property
    def exhausted(self) -> bool:
        """Whether nothing has been gained for very long."""
        return self.idle >= MOST_IDLE
