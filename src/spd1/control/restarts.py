"""Averages that begin anew: what rows goes on with where the gap stands still.

Without strong convexity, as with corners in the loss and l1 alone, x and y turn about the saddle
point instead of coming closer, and steps that follow every lag keep them turning. The average of a
whole turn is close. So eta stays as it is while passes are averaged, and when the average (or the
last point) has become clearly better, the run begins anew from there, with an eta that follows how
far x and y have gone. (The lag says nothing here: with corners it is the same at any eta, and led
eta astray by a factor of a thousand on madelon with hinge and l1.) On a problem that is piecewise
linear this converges linearly: PDLP does the same (Applegate et al. 2021).
"""

from __future__ import annotations

import math
from typing import Any

from .steps import Proposal, Seen
from .tuning import (
    AVERAGED_PASSES,
    FALLEN_GAP,
    FAR_WORSE,
    LEAST_FALL,
    LEAST_STRETCH_PASSES,
    LONG_STRETCH,
    MEANT,
    MORE_CARE,
    MOST_SHIFT,
    TWICE,
)

__all__ = ["Restarts"]


class Restarts:
    """When averages of passes begin anew, and with which eta.

    Parameters
    ----------
    method : Method
        Its ``averaged`` counts the passes in the average; it is only read.
    eta : float
    """

    def __init__(self, method: Any, eta: float) -> None:
        self.method, self.eta = method, eta
        # The gap that a stretch is measured by: at its first look. That of the point where it began
        # may be out of reach, because another eta ties y to the margins in another way.
        self.first_gap = math.inf
        self.least = math.inf  # gap of any restart
        self.before, self.vain = 0, 0  # passes of earlier stretches; restarts in a row without gain

    def begin(self, anchor: Seen, slow: bool) -> Proposal:
        """From the best point on, passes are averaged."""
        merge = self.method.can_merge  # what stands still on tiles goes on in one piece
        care = None if merge else self.method.safe_care()
        if merge or not self.method.stale:
            # Looks that gained nothing have followed a lag that says nothing, where y rests at
            # its corners or the lag is the same at any eta: it may be far off by now.
            self.eta = self.method.loose_eta()
        return self._proposal(back_to=anchor, averaging=True, slow=slow, merge=merge, care=care)

    def after_epoch(self, seen: Seen, anchor: Seen) -> Proposal:
        """Begin anew from what was seen, or from the best point if that led astray."""
        if self.first_gap == math.inf:
            self.first_gap = seen.gap
        stretch = self.method.averaged
        share = LONG_STRETCH * (self.before + stretch) + LEAST_STRETCH_PASSES
        long = stretch >= share
        # In one piece all that a step reads is up to date: nothing is gained by shorter ones, and a
        # gap that grows in a turn about the saddle point falls again.
        stale, care = self.method.stale, MORE_CARE * self.method.care
        limit = FAR_WORSE * self.first_gap if stale else math.inf
        if not (seen.gap <= limit and seen.gap < math.inf):
            self._restart(stretch, 1.0)
            return self._proposal(back_to=anchor, care=care)
        if long or seen.gap <= FALLEN_GAP * self.first_gap:
            self.vain = self.vain + 1 if seen.gap > LEAST_FALL * self.least else 0
            self.least = min(self.least, seen.gap)
            self._restart(stretch, self._factor())
            if self.vain < TWICE:
                return self._proposal(restart_average=True)
            self.vain = 0  # it comes to rest elsewhere: others are in the way
            if self.method.can_merge:
                return self._proposal(back_to=anchor, merge=True)
            return self._proposal(restart_average=True, care=care if stale else None)
        return self._proposal()

    def _factor(self) -> float:
        """Half the way, in logarithms, to the eta with which x and y would go equally far."""
        level = self.method.level_eta() / self.eta
        return (
            min(max(math.sqrt(level), 1.0 / MOST_SHIFT), MOST_SHIFT)
            if 1.0 / MEANT < level < MEANT
            else 1.0
        )

    def _restart(self, stretch: int, factor: float) -> None:
        self.before += stretch
        self.first_gap, self.eta = math.inf, factor * self.eta

    def _proposal(self, **what: Any) -> Proposal:
        return Proposal({"eta": self.eta}, passes_ahead=AVERAGED_PASSES, **what)
