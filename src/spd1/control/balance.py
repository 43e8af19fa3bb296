"""Steps of the methods on whole rows and columns: one ratio, read off the certificate."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .steps import FAR_WORSE, MOST_TILT, Control, Seen

if TYPE_CHECKING:
    from ..solvers.base import Method

__all__ = ["BalancedSteps", "ColumnSteps", "TileSteps"]

FAST = 0.7  # rows: tied passes that shrink the gap by less give way to the free x, ...
TWICE = 2  # ... which costs more than twice as much, if two looks say so
STUCK = 0.97  # or one that saw next to no progress
CRAWL = 0.8  # a pass that shrinks the gap by less is slow
FIRST_LOOKS = 2  # passes that are looked at one by one
MOST_PASSES = 3  # that may go by between two looks, later, ...
MOST_STEADY = 5  # ... or of a tied x, whose pace is steady, or when the steps have ...
SETTLED = 4  # ... been adjusted so many times
LATE = 0.2  # of a pass: the pace slows down, and a look that comes too early costs another
DOUBT = 25  # epochs that double the leeway of the first balance of steps
LEVEL = 10.0  # whole-row tiles: sums that differ by less are level
MEANT = 1e10  # a lag beyond this means that a mended y has no column terms, and nothing else


class BalancedSteps(Control):
    """Steps of rows: eta, the balance of primal and dual, follows the certificate.

    Its row terms vanish when y has caught up with x, its column terms when x has caught up with
    y; eta is right when they are level. If the gap explodes, the run goes back to its best point.
    The pace at which the gap shrinks says how many passes may go by before the next look, and
    whether x had better be untied from y.
    """

    def __init__(self, method: Method) -> None:
        self.method: Any = method
        self.eta = method.default_steps()["eta"]
        self.tilt = 1.0
        self.last = math.inf
        self.looks = 0
        self.slow = 0  # looks that saw little progress
        self.sluggish = 0  # the same in a row, of a tied x
        self.method.steps = {"eta": self.eta}
        self.best = math.inf
        self.anchor: Seen | None = None

    def start(self, seen: Seen) -> None:
        """The first pace is measured from here."""
        self.last = seen.gap

    def after_epoch(self, seen: Seen) -> bool:
        """Let eta follow the lag, by a factor of two at most."""
        if seen.gap < self.best or self.anchor is None:
            self.best, self.anchor = seen.gap, seen
        grew = not seen.gap <= FAR_WORSE * self.last
        pace = (seen.gap / self.last) ** (1.0 / self.method.passes_ahead) if seen.gap > 0 else 0.0
        self.last = seen.gap
        self.looks += 1
        self.slow = self.slow + 1 if pace > CRAWL else max(self.slow - 1, 0)
        if self.method.tied:
            self.sluggish = self.sluggish + 1 if pace > FAST else 0
            self.method.tied = self.sluggish < TWICE and pace < STUCK
            if not self.method.tied:
                self._untie()
        else:
            self._balance(seen, grew or not seen.gap <= FAR_WORSE**3 * self.best)
        self.method.passes_ahead = self._look_ahead(pace, seen.rel_gap)
        return True

    def _untie(self) -> None:
        self.eta = self.method.default_steps()["eta"]
        self.method.steps = {"eta": self.eta}

    def _balance(self, seen: Seen, exploded: bool) -> None:
        lag = seen.lag if 1.0 / MEANT < seen.lag < MEANT else 1.0
        factor = min(max(lag**-0.25, 0.5), 2.0)
        if exploded:
            factor = 0.25
            self.best *= FAR_WORSE  # a best gap that the new steps can't reach is forgotten
            assert self.anchor is not None
            self.method.begin(self.anchor.x, self.anchor.y)
        self.tilt = min(max(self.tilt * factor, MOST_TILT**-2), MOST_TILT**2)
        self.method.steps = {"eta": self.eta * self.tilt}

    def _look_ahead(self, pace: float, rel_gap: float) -> int:
        """Passes until the gap asked for can be there, but not too many."""
        if self.looks < (1 if self.method.tied else FIRST_LOOKS) or not 0.0 < pace < 1.0:
            return 1
        wanted = math.log(max(self.method.tol / max(rel_gap, 1e-300), 1e-300)) / math.log(pace)
        steady = self.method.tied or self.looks > SETTLED
        most = MOST_STEADY if steady else MOST_PASSES
        return int(min(max(math.ceil(wanted + LATE), 1), most))


class TileSteps(Control):
    """Steps of whole-row tiles: eta tau is known from the data, their ratio follows the lag.

    A lag within LEVEL is left alone: many problems keep a lag of 2 or 3 at any ratio, and would
    push it to its limit.
    The method says by which factor the ratio it starts with may be off; this leeway grows with the
    epochs, because a run that takes long had a first guess that was wrong. If the gap explodes, the
    run goes back to its best point with a smaller product and a smaller eta.
    """

    def __init__(self, method: Any) -> None:
        self.method = method
        self.base = method.default_steps()
        self.tilt = 1.0
        self.epochs = 0
        self.best = math.inf
        self.anchor: Seen | None = None
        self.method.steps = dict(self.base)

    def after_epoch(self, seen: Seen) -> bool:
        """Let eta / tau follow the lag, within the leeway."""
        self.epochs += 1
        if seen.gap < self.best or self.anchor is None:
            self.best, self.anchor = seen.gap, seen
        if seen.gap <= FAR_WORSE * self.best:
            lag = max(seen.lag, 1.0 / seen.lag)
            if LEVEL < lag < MEANT:
                self.tilt *= min(max(seen.lag**-0.25, 0.5), 2.0)
        else:
            self.base = {"eta": 0.25 * self.base["eta"], "tau": 2.0 * self.base["tau"]}
            self.method.begin(self.anchor.x, self.anchor.y)
        room = min(self.method.leeway * 2.0 ** (self.epochs / DOUBT), MOST_TILT**2)
        self.tilt = min(max(self.tilt, 1.0 / room), room)
        self.method.steps = {
            "eta": self.base["eta"] * self.tilt,
            "tau": self.base["tau"] / self.tilt,
        }
        return True


class ColumnSteps(Control):
    """Steps of columns: sigma follows the certificate as eta does for rows; y tied needs none."""

    def __init__(self, method: Method) -> None:
        self.method: Any = method
        self.sigma = method.default_steps()["sigma"]
        self.tilt = 1.0
        self.last = math.inf
        self.best = math.inf
        self.anchor: Seen | None = None
        method.steps = {"sigma": self.sigma}

    def after_epoch(self, seen: Seen) -> bool:
        """Let sigma follow the lag; go back to the best point if the gap exploded."""
        if seen.gap < self.best or self.anchor is None:
            self.best, self.anchor = seen.gap, seen
        if self.method.tied:
            return True
        lag = seen.lag if 1.0 / MEANT < seen.lag < MEANT else 1.0
        factor = min(max(lag**0.25, 0.5), 2.0)
        if not seen.gap <= FAR_WORSE * self.last:
            factor = 0.25
            self.method.begin(self.anchor.x, self.anchor.y)
        self.last = seen.gap
        self.tilt = min(max(self.tilt * factor, MOST_TILT**-2), MOST_TILT**2)
        self.method.steps = {"sigma": self.sigma * self.tilt}
        return True
