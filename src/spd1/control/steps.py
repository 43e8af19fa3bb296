"""Step sizes: fixed (by hand or by theorem), or found by watching the gap."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import ParameterError

if TYPE_CHECKING:
    from ..solvers.base import Method

__all__ = [
    "AutoSteps",
    "Control",
    "FadingSteps",
    "FixedSteps",
    "NoSteps",
    "Seen",
    "make_steps",
]


class Seen(NamedTuple):
    """What an epoch led to.

    ``gap`` is that of the iterate's own pair, P(x) - D(y), where the method has a y: it falls
    steadily while x and y turn about the saddle point, when P(x) alone may rise and fall. ``lag``
    is the certificate's row terms over its column terms: above 1, y lags behind x.
    """

    gap: float
    x: np.ndarray
    y: np.ndarray
    lag: float
    rel_gap: float = math.inf


FADING_METHODS = ("spd1", "psgd")  # without variance reduction, steps by hand may fade
WORSE = 2.0  # a gap this many times the best one sends the run back to the best point
FORGIVE = 1.2  # after going back, a best gap that was luck is slowly forgotten
STALLED = 1e-3  # epochs that shrink the gap by less than this, ...
PATIENCE = 4  # ... so many of them in a row without failing, have steps that are too small
DIVERGED = 1e8  # fixed steps: a gap this many times the smallest one is called divergence
FAR_WORSE = 10.0  # the same for spd1 and rows, whose first epochs may be wild
MOST_TILT = 1000.0  # noise must not drive the balance away
LAG = 4.0  # row terms of the certificate this many times its column terms: y lags behind x


class Control(ABC):
    """What the outer loop asks of a step-size rule."""

    def start(self, seen: Seen) -> None:
        """Take note of the point that the run starts from."""

    @abstractmethod
    def after_epoch(self, seen: Seen) -> bool:
        """Set the steps of the next epoch; False means that the run has diverged."""


def make_steps(method: Method, steps: Any) -> Control:
    """Read the ``steps`` argument of ``solve``."""
    if isinstance(steps, str):
        if steps == "auto":
            return _automatic(method)
        if steps == "theory":
            return FixedSteps(method, method.theory_steps())
        raise ParameterError(f"unknown steps {steps!r}: 'auto', 'theory' or a dict")
    if not isinstance(steps, dict):
        raise ParameterError(
            f"steps must be 'auto', 'theory' or a dict, not {type(steps).__name__}"
        )
    return FixedSteps(method, _by_hand(method, steps))


def _automatic(method: Method) -> Control:
    """The rule that suits a method."""
    from .balance import BalancedSteps, ColumnSteps, TileSteps

    if not method.step_names:
        return NoSteps()
    rules: dict[str, Callable[[Method], Control]] = {
        "spd1": FadingSteps,
        "rows": BalancedSteps,
        "columns": ColumnSteps,
        "tiles": TileSteps,
    }
    return rules.get(method.control or method.name, AutoSteps)(method)


def _by_hand(method: Method, steps: dict[str, Any]) -> dict[str, float]:
    allowed = method.step_names + (("decay",) if method.name in FADING_METHODS else ())
    if steps and not allowed:
        raise ParameterError(
            f"{method.name} has no step sizes to set: use steps='auto', or name a method that has, "
            f"such as 'rows', 'spd1-vr' or 'svrg'; unknown: {', '.join(sorted(map(str, steps)))}"
        )
    unknown, missing = set(steps) - set(allowed), set(method.step_names) - set(steps)
    if unknown or missing:
        raise ParameterError(
            f"steps of {method.name} take {', '.join(allowed)}"
            + (f"; unknown: {', '.join(sorted(map(str, unknown)))}" if unknown else "")
            + (f"; missing: {', '.join(sorted(missing))}" if missing else "")
        )
    for name, value in steps.items():
        number = isinstance(value, (int, float)) and math.isfinite(value)
        if not number or value < 0 or (value == 0 and name != "decay"):
            raise ParameterError(f"step {name} must be a positive number, got {value!r}")
    return {name: float(value) for name, value in steps.items()}


class NoSteps(Control):
    """For methods that have no step sizes: nothing to set, and nothing can diverge."""

    def after_epoch(self, seen: Seen) -> bool:
        """Go on."""
        del seen
        return True


class FixedSteps(Control):
    """Steps set by hand or by a theorem. ``decay`` divides them by 1 + decay * epoch."""

    def __init__(self, method: Method, steps: dict[str, float]) -> None:
        self.method = method
        self.decay = steps.pop("decay", 0.0)
        self.steps = steps
        self.epochs = 0
        self.smallest = math.inf
        method.steps = dict(steps)

    def after_epoch(self, seen: Seen) -> bool:
        """Let the steps fade; a gap out of all proportion to the first one has diverged."""
        self.epochs += 1
        self.smallest = min(self.smallest, max(seen.gap, 1.0))
        fade = 1.0 + self.decay * self.epochs
        self.method.steps = {name: value / fade for name, value in self.steps.items()}
        return seen.gap < DIVERGED * self.smallest


class AutoSteps(Control):
    """Steps for the variance-reduced methods: a search over powers of two while they work.

    Every epoch is judged by how much it shrinks the certified gap. Larger and smaller steps are
    tried in turn and kept where they do better; an epoch that makes the gap grow sends the run
    back to the best certified point, with smaller steps if it was no trial. Trials that shrink
    the gap are progress all the same, so the search costs little.

    The balance of primal and dual steps is read off the certificate: its row terms vanish when y
    has caught up with x, its column terms when x has caught up with y.
    """

    def __init__(self, method: Method) -> None:
        self.method = method
        self.base = method.default_steps()
        self.home = 0  # steps in force are base * 2**home
        self.trial: int | None = None
        self.tilt = 1.0  # eta / tilt and tau * tilt
        self.move = 1  # next neighbour to try: larger or smaller
        self.rate = 0.0  # log gap reduction an epoch at home, smoothed
        self.stalls = 0  # epochs in a row that changed nothing
        self.epochs = 0
        self.previous = math.inf
        self.best = math.inf
        self.anchor: Seen | None = None
        self._apply()

    def after_epoch(self, seen: Seen) -> bool:
        """Judge the epoch, choose the steps of the next one, go back if it failed."""
        self.epochs += 1
        gap = seen.gap
        if gap < self.best or self.anchor is None:
            self.best, self.anchor = gap, seen
        if gap <= WORSE * self.best:
            known = gap > 0.0 and 0.0 < self.previous < math.inf
            self._judge(math.log(self.previous / gap) if known else 0.0)
            self.previous = gap
        else:
            self._retreat(gap)
        self._balance(seen.lag)
        self._apply()
        return True

    def _judge(self, rate: float) -> None:
        """Keep a trial that beat home; then decide whether the next epoch tries a neighbour."""
        self.stalls = self.stalls + 1 if rate < STALLED else 0
        if self.stalls >= PATIENCE:
            self.home, self.stalls = self.home + 1, 0
        elif self.trial is None:
            self.rate = 0.5 * (self.rate + rate)
        elif rate > max(self.rate, 0.0):
            self.home, self.rate = self.trial, rate
        else:
            self.move = -self.move
        self.trial = self.home + self.move if self.epochs % 2 else None

    def _retreat(self, gap: float) -> None:
        """Back to the best certified point; a failed trial is dropped, a failed home halved."""
        if self.trial is None or not gap < math.inf:
            self.home -= 1 if gap < math.inf else 2
            self.rate = 0.0
        self.trial, self.move = None, -1
        self.previous = self.best
        if gap < math.inf:
            self.best *= FORGIVE
        if self.anchor is not None:
            self.method.begin(self.anchor.x, self.anchor.y)

    def _balance(self, lag: float) -> None:
        """Tilt the steps towards the variable that lags; ``lag`` is row terms over column terms."""
        if len(self.base) == 2 and not 1.0 / LAG <= lag <= LAG:
            wanted = self.tilt * min(max(lag**0.25, 0.25), 4.0)
            self.tilt = min(max(wanted, 1.0 / MOST_TILT), MOST_TILT)

    def _apply(self) -> None:
        power = self.home if self.trial is None else self.trial
        steps = {name: value * 2.0**power for name, value in self.base.items()}
        if len(steps) == 2:
            steps["eta"] /= self.tilt
            steps["tau"] *= self.tilt
        self.method.steps = steps


class FadingSteps(Control):
    """Steps of spd1: Theorem 1's 1/sqrt(t) with estimates for its constants.

    The average that is certified starts anew at epochs 1, 2, 4, 8, ...: it forgets the noisy
    beginning and still covers at least half of the run. If the gap explodes, the run goes
    back to its best point with half the steps.
    """

    def __init__(self, method: Method) -> None:
        self.method = method
        self.method.steps = method.default_steps()
        self.epochs = 0
        self.best = math.inf
        self.anchor: Seen | None = None

    def after_epoch(self, seen: Seen) -> bool:
        """Go back if the gap exploded; forget the older half of the average now and then."""
        self.epochs += 1
        if seen.gap < self.best or self.anchor is None:
            self.best, self.anchor = seen.gap, seen
        if not seen.gap <= FAR_WORSE * self.best:
            self.method.steps = {name: 0.5 * value for name, value in self.method.steps.items()}
            self.method.begin(self.anchor.x, self.anchor.y)
        elif self.epochs & (self.epochs - 1) == 0:
            self.method.restart_average()
        return True
