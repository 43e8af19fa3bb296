"""What the gap shows from look to look: how far to solve the next model, and how."""

from __future__ import annotations

import math

from ...certificate.points import Pair
from .tuning import (
    FORESEEN,
    GOOD_EPOCH,
    INNER,
    KEEPS_PACE,
    LARGE_GRAM,
    LEAST_INNER,
    SET_GROWN,
    SHARP,
    SHARPEST,
    SLOW_EPOCH,
)

__all__ = ["Pace"]


class Pace:
    """The gap of the last look, what is left of it from epoch to epoch, and what an epoch costs."""

    def __init__(self, look: float, inner: float = INNER) -> None:
        self.tol = 0.0
        self.gap, self.value = math.inf, 0.0
        self.smallest = math.inf
        self.kept = 1.0  # what the last epoch left of the gap
        self.inner = self.most_inner = inner
        self.eps = 0.0
        self.sharp, self.sharpness = SHARP, 1e-2
        self.lazy = 0  # slow epochs since Newton's last step
        self.set_size, self.settled = 0, False
        self.look = look  # seconds, roughly, ...
        self.swept = 0.0  # ... those of sweeps of this epoch, ...
        self.effort = 0.0  # ... and of all of the last one

    def begin_epoch(self) -> None:
        """Count sweeps anew."""
        self.effort, self.swept = self.swept + self.look, 0.0

    def after_look(self, pair: Pair, set_size: int) -> None:
        """Set the goal of the next epoch."""
        gap = pair.gap
        grown = set_size > SET_GROWN * self.set_size
        self.settled = not grown
        self.set_size = set_size
        if gap > GOOD_EPOCH * self.gap and not grown:
            self.sharp = max(0.03 * self.sharp, SHARPEST)
        if gap > SLOW_EPOCH * self.gap and not grown:
            self.lazy += 1
            self.inner = max(0.05 * self.inner, LEAST_INNER)
        elif gap <= GOOD_EPOCH * self.gap:
            self.inner = min(2.0 * self.inner, self.most_inner)
        self.kept = gap / self.gap if 0.0 < self.gap < math.inf else 1.0
        self.gap, self.value = gap, abs(pair.point.value)
        self.smallest = min(gap, self.smallest)
        self.eps = self.inner * gap

    def sweeps_will_do(self, seconds: float) -> bool:
        """Whether epochs of sweeps, at their pace, reach tol before a step of so many seconds."""
        target = self.tol * self.value
        if not 0.0 < self.kept < KEEPS_PACE or target <= 0.0:
            return False
        epochs = max(math.log(self.gap / target) / -math.log(self.kept), 0.0)
        return epochs <= FORESEEN and epochs * self.effort < seconds

    def sharp_goal(self, value: float, fading: float) -> float:
        """What may be left to gain on a Gram matrix; less, by ``fading``, when asked again.

        The gap of a lasso falls with the square root of what is left to gain.
        """
        goal = self.sharpness * self.tol * self.tol * abs(value)
        self.sharpness *= fading
        return goal

    def goal_on_gram(self, lines: int, coordinates: int) -> float:
        """The same for the model of a working set."""
        goal = self.sharp * self.eps
        if self.settled or 2 * lines > coordinates:
            goal *= min(1.0, (lines / LARGE_GRAM) ** 2)
        return max(goal, self.sharp_goal(self.value, 0.03))

    def nearness(self) -> float:
        """How close to l1 a gradient must be for its coordinate to count as able to move."""
        return math.sqrt(max(self.gap, 0.0) / max(self.value, 1e-300))
