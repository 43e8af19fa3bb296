"""Steps of the methods on whole rows and columns: one ratio, read off the certificate."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from .restarts import Restarts
from .steps import Anchored, Proposal, Seen
from .tuning import (
    CALMER,
    CRAWL,
    DOUBT,
    FAR_WORSE,
    FAST,
    FIRST_LOOKS,
    LATE,
    LEVEL,
    MEANT,
    MORE_CARE,
    MOST_PASSES,
    MOST_STEADY,
    MOST_TILT,
    SETTLED,
    SLOW_LOOKS,
    STILL_LOOKS,
    STUCK,
    TWICE,
    VAIN_LOOKS,
)

__all__ = ["BalancedSteps", "CautiousSteps", "ColumnSteps", "TileSteps"]


class BalancedSteps(Anchored):
    """Steps of rows: eta, the balance of primal and dual, follows the certificate.

    Its row terms vanish when y has caught up with x, its column terms when x has caught up with
    y; eta is right when they are level. If the gap explodes, the run goes back to its best point.
    Where tiles work with sums that others left behind, the steps of y are then made shorter (see
    ``Proposal.care``). Other steps may raise the gap at once, however good x is: so gaps are
    compared with the least one since the return, not with the best of all.
    The pace at which the gap shrinks says how many passes may go by before the next look, and
    whether x had better be untied from y. Where the gap stands still, averages go on: see
    ``Restarts``.
    """

    def __init__(self, method: Any) -> None:
        super().__init__(method)
        self.eta = method.default_steps()["eta"]
        self.tilt = 1.0
        self.last = math.inf
        self.looks = 0
        self.slow = 0  # looks that saw little progress
        self.sluggish = 0  # the same in a row, of a tied x, ...
        self.hindered = 0  # ... and of parts that go on with copies of their own
        self.level = math.inf  # the least gap since the last return to the best point, ...
        self.vain = 0  # ... and looks since then
        self.goal, self.idle = math.inf, 0  # half of a best gap, and looks since that was set
        self.steps = {"eta": self.eta}
        self.restarts: Restarts | None = None  # of averages, once nothing else leads on

    def first(self) -> Proposal:
        """The method's own."""
        return Proposal(self.steps, passes_ahead=self.method.passes_ahead)

    def start(self, seen: Seen) -> None:
        """The first pace is measured from here."""
        self.last = seen.gap

    def after_epoch(self, seen: Seen) -> Proposal:
        """Let eta follow the lag, by a factor of two at most."""
        if self.restarts is not None:
            return self.restarts.after_epoch(seen, self.note(seen))
        self.vain = 0 if seen.gap < self.level else self.vain + 1
        self.level = min(self.level, seen.gap)
        anchor, back_to, tied, care = self.note(seen), None, self.method.tied, None
        grew = not seen.gap <= FAR_WORSE * self.last
        pace = self._pace(seen.gap)
        self.last = seen.gap
        self.looks += 1
        self.slow = self.slow + 1 if pace > CRAWL else max(self.slow - 1, 0)
        alone = self.method.side_by_side and self._fails_together(seen.gap, pace)
        if alone:  # judge it by what it does on its own, from where it was best
            self.sluggish, self.slow, self.vain, self.last = 0, 0, 0, self.best
            return Proposal(self.steps, back_to=anchor, passes_ahead=1, alone=True)
        if tied:
            tied = self._stays_tied(pace)
            if not tied:
                self.eta = self.method.loose_eta()
                self.steps = {"eta": self.eta}
                back_to = anchor if self.method.stale and self.vain else None
        else:
            exploded = self._exploded(seen.gap, grew)
            self._balance(seen, exploded)
            back_to = anchor if exploded else None
            if exploded and self.method.stale:
                care = MORE_CARE * self.method.care
        still = self._stands_still()
        slow = self.slow >= SLOW_LOOKS or (still and self.method.on_tiles)
        turns = self.method.stale and self.vain >= VAIN_LOOKS
        if (still or turns) and not tied:
            self.restarts = Restarts(self.method, self.steps["eta"])
            return self.restarts.begin(anchor, slow)
        ahead = self._look_ahead(pace, seen.rel_gap, tied)
        return Proposal(
            self.steps, back_to=back_to, passes_ahead=ahead, tied=tied, slow=slow, care=care
        )

    def _stands_still(self) -> bool:
        """Whether the gap has not been halved for long, whatever eta was tried."""
        self.idle += 1
        if self.best <= self.goal:
            self.goal, self.idle = 0.5 * self.best, 0
        return self.idle >= STILL_LOOKS

    def _fails_together(self, gap: float, pace: float) -> bool:
        """Whether copies that know nothing of each other have gone too far, or gain little."""
        slow = pace > (FAST if self.method.tied else CRAWL)
        self.hindered = self.hindered + 1 if slow else 0
        return self.hindered >= TWICE or not gap <= FAR_WORSE * self.best

    def _stays_tied(self, pace: float) -> bool:
        """Whether the pace is good enough; on cut data any is that leads on."""
        if self.method.side_by_side and self.hindered:
            return True  # it may be the copies
        fast, stuck = (STUCK, 1.0) if self.method.stale else (FAST, STUCK)
        self.sluggish = self.sluggish + 1 if pace > fast else 0
        return self.sluggish < TWICE and pace < stuck

    def _exploded(self, gap: float, grew: bool) -> bool:
        if not self.method.stale:
            return grew or not gap <= FAR_WORSE**3 * self.best
        exploded = not gap <= FAR_WORSE * self.level
        if exploded:
            self.vain, self.level = 0, math.inf
        return exploded

    def _pace(self, gap: float) -> float:
        """What a pass leaves of the gap; a gap of zero that did not stand leaves it infinite."""
        if gap <= 0.0:
            return 0.0
        return (gap / self.last) ** (1.0 / self.method.passes_ahead) if self.last > 0 else math.inf

    def _balance(self, seen: Seen, exploded: bool) -> None:
        lag = seen.lag if 1.0 / MEANT < seen.lag < MEANT else 1.0
        factor = min(max(lag**-0.25, 0.5), 2.0)
        if exploded and not self.method.stale:  # else the fault is with others: more care is taken
            factor = 0.25
            self.best *= FAR_WORSE  # a best gap that the new steps can't reach is forgotten
        self.tilt = min(max(self.tilt * factor, MOST_TILT**-2), MOST_TILT**2)
        self.steps = {"eta": self.eta * self.tilt}

    def _look_ahead(self, pace: float, rel_gap: float, tied: bool) -> int:
        """Passes until the gap asked for can be there, but not too many."""
        if self.looks < (1 if tied else FIRST_LOOKS) or not 0.0 < pace < 1.0:
            return 1
        wanted = math.log(max(self.method.tol / max(rel_gap, 1e-300), 1e-300)) / math.log(pace)
        most = MOST_STEADY if tied or self.looks > SETTLED else MOST_PASSES
        return int(min(max(math.ceil(wanted + LATE), 1), most))


class TileSteps(Anchored):
    """Steps of whole-row tiles: eta tau is known from the data, their ratio follows the lag.

    A lag within LEVEL is left alone: many problems keep a lag of 2 or 3 at any ratio, and would
    push it to its limit.
    The method says by which factor the ratio it starts with may be off; this leeway grows with the
    epochs, because a run that takes long had a first guess that was wrong. If the gap explodes, the
    run goes back to its best point with a smaller product and a smaller eta.
    """

    doubt: ClassVar[float] = DOUBT

    def __init__(self, method: Any) -> None:
        super().__init__(method)
        self.base = method.default_steps()
        self.tilt = 1.0
        self.epochs = 0

    def first(self) -> Proposal:
        """The method's own."""
        return Proposal(dict(self.base))

    def eagerness(self) -> float:
        """Power of the factor by which the ratio changes."""
        return 1.0

    def after_epoch(self, seen: Seen) -> Proposal:
        """Let eta / tau follow the lag, within the leeway."""
        self.epochs += 1
        anchor, back_to = self.note(seen), None
        if not self.exploded(seen.gap):
            lag = max(seen.lag, 1.0 / max(seen.lag, 1e-300))  # it may underflow
            if LEVEL < lag < MEANT:
                self.tilt *= min(max(seen.lag**-0.25, 0.5), 2.0) ** self.eagerness()
        else:
            self.shorten()
            back_to = anchor
        room = min(self.method.leeway * 2.0 ** (self.epochs / self.doubt), MOST_TILT**2)
        self.tilt = min(max(self.tilt, 1.0 / room), room)
        steps = {"eta": self.base["eta"] * self.tilt, "tau": self.base["tau"] / self.tilt}
        return Proposal(steps, back_to=back_to)

    def exploded(self, gap: float) -> bool:
        """Whether the run has gone astray."""
        return not gap <= FAR_WORSE * self.best

    def shorten(self) -> None:
        """A smaller product and a smaller eta."""
        self.base = {"eta": 0.25 * self.base["eta"], "tau": 2.0 * self.base["tau"]}


class CautiousSteps(TileSteps):
    """The same for methods whose first ratio is well founded: a leeway that does not grow.

    Changes fade with the epochs, as those of the adaptive SPDHG do: steps that change for ever may
    keep a method without strong convexity from converging.

    Without strong convexity gaps jump, whatever the steps are, and one that was small by luck says
    nothing: a run that went back from each of these would take ever smaller steps. So only a gap
    that is far above the best one is blamed on steps, and the ratio is not; nothing is if a theorem
    covers their product (``proven_product``).
    """

    doubt = math.inf

    def exploded(self, gap: float) -> bool:
        """By far, or to something that is no number."""
        limit = math.inf if self.method.proven_product else FAR_WORSE**3 * self.best
        return not (gap <= limit and gap < math.inf)

    def shorten(self) -> None:
        """Half the product; a best gap that shorter steps do not come back to is forgotten."""
        self.base = {name: math.sqrt(0.5) * value for name, value in self.base.items()}
        self.best *= FAR_WORSE

    def eagerness(self) -> float:
        """Less and less."""
        return 1.0 / (1.0 + self.epochs / CALMER)


class ColumnSteps(Anchored):
    """Steps of columns: sigma follows the certificate as eta does for rows; y tied needs none."""

    def __init__(self, method: Any) -> None:
        super().__init__(method)
        self.sigma = method.default_steps()["sigma"]
        self.tilt = 1.0
        self.last = math.inf

    def first(self) -> Proposal:
        """The method's own."""
        return Proposal({"sigma": self.sigma})

    def after_epoch(self, seen: Seen) -> Proposal:
        """Let sigma follow the lag; go back to the best point if the gap exploded."""
        anchor, back_to = self.note(seen), None
        if self.method.tied:
            return self.first()
        lag = seen.lag if 1.0 / MEANT < seen.lag < MEANT else 1.0
        factor = min(max(lag**0.25, 0.5), 2.0)
        if not seen.gap <= FAR_WORSE * self.last:
            factor, back_to = 0.25, anchor
        self.last = seen.gap
        self.tilt = min(max(self.tilt * factor, MOST_TILT**-2), MOST_TILT**2)
        return Proposal({"sigma": self.sigma * self.tilt}, back_to=back_to)
