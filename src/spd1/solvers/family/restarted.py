"""Restarts from the mean, as PDLP has them (Applegate et al. 2021): its constants, our certificate.

Without strong convexity a mean comes closer like 1/N, and the last point turns about the solution.
Where the gap grows at least like the distance (linear programs, and losses and regularizers in
linear pieces) a method that begins anew at its mean, whenever the gap has fallen by a constant
factor, converges linearly. Applegate, Hinder, Lu & Lubin (*Mathematical Programming* 2023) prove it
for Chambolle & Pock's steps and for extragradient steps on linear programs, by a normalised gap.
"""

from __future__ import annotations

import numpy as np

from .whole import Iterate, WholeMatrix

__all__ = ["Restarted"]

SUFFICIENT, NECESSARY = 0.2, 0.8  # what is left of the gap at the last restart
LONGEST = 0.36  # share of all iterations that may go by without a restart
ITERATIONS_A_LOOK = 4  # at whether to restart: products are at hand, so a look reads nothing


class Restarted(WholeMatrix):
    """A whole-matrix method that goes on from its mean now and then."""

    remembers = (*WholeMatrix.remembers, "origin", "origin_gap", "last_gap", "length")

    def begin(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None = None) -> None:
        super().begin(x, y, v)
        self.mark()

    def mark(self) -> None:
        """A restart: here the next mean begins."""
        self.origin, self.averaged, self.length = self.state.now, 0.0, 0
        self.origin_gap = self.last_gap = self._evaluate(self.state.now).gap

    def count_towards_restart(self) -> None:
        """An iteration is over."""
        self.length += 1
        if self.length % ITERATIONS_A_LOOK == 0:
            self.consider_restart()

    def consider_restart(self) -> None:
        """Go on from the better of iterate and mean if it is good enough, or it has been long."""
        now, mean = self.state.now, self.state.mean
        gaps = [self._evaluate(at).gap for at in (now, mean)]
        gap, at = min(zip(gaps, (now, mean), strict=True), key=lambda one: one[0])
        enough = gap <= SUFFICIENT * self.origin_gap
        worse = gap <= NECESSARY * self.origin_gap and gap > self.last_gap
        self.last_gap = gap
        if not (enough or worse or self.length >= LONGEST * self.t):
            return
        self.state = self.state._replace(now=at, before=at, mean=at)
        self.leave(at)
        self.mark()

    def leave(self, at: Iterate) -> None:
        """Take note of where the next part begins, ``origin`` being where this one did."""
        del at
