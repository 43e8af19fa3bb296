"""Step sizes: fixed (by hand or by theorem), or found by watching the gap.

A rule proposes; the loop disposes. No rule touches a method.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..errors import ParameterError
from .tuning import (
    DIVERGED,
    FAR_WORSE,
    FORGIVE,
    LAG,
    MOST_TILT,
    PATIENCE,
    STALLED,
    WORSE,
)

__all__ = [
    "AutoSteps",
    "FadingSteps",
    "FixedSteps",
    "HasSteps",
    "NoSteps",
    "Proposal",
    "ScaledSteps",
    "Seen",
    "StepRule",
    "make_rule",
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


class Proposal(NamedTuple):
    """What a rule would have the loop do before the next epoch.

    Attributes
    ----------
    steps : dict
        Step sizes by name.
    source : str
        Where they come from: "auto", "theory", "published" or "hand". Methods may have a schedule
        for each.
    back_to : Seen, optional
        The point to go on from, if not where the method stands.
    restart_average : bool
        Whether averages had better start anew.
    passes_ahead : int, optional
        Passes until the next look at the certificate; None: as many as before.
    tied : bool, optional
        Whether the second variable stays tied to the first; None: as it is.
    alone : bool
        Whether parts of the work had better no longer go on with copies of their own.
    slow : bool
        Whether the method had better give way to its fall-back, if ``auto`` has chosen it.
    care : float, optional
        How many times as long as it is a row counts, squared: for what others move meanwhile.
    merge : bool
        Whether tiles had better be put together: nothing is out of date then.
    averaging : bool
        Whether averages of passes had better be certified, too, from here on.
    diverged : bool
        Whether the run is over: fixed steps blew up.
    """

    steps: dict[str, float]
    source: str = "auto"
    back_to: Seen | None = None
    restart_average: bool = False
    passes_ahead: int | None = None
    tied: bool | None = None
    alone: bool = False
    slow: bool = False
    care: float | None = None
    merge: bool = False
    averaging: bool = False
    diverged: bool = False


class HasSteps(Protocol):
    """What rules ask of every method; some ask their own for more. They only read it."""

    @property
    def name(self) -> str:
        """What users call it."""

    @property
    def step_names(self) -> tuple[str, ...]:
        """Names of its step sizes."""

    @property
    def rule(self) -> type[StepRule]:
        """Its automatic steps."""

    @property
    def fades(self) -> bool:
        """Whether steps by hand may fade."""

    def default_steps(self) -> dict[str, float]:
        """Where automatic steps start."""

    def theory_steps(self) -> dict[str, Any]:
        """Step sizes of the theorem that covers the problem, or a refusal by name."""

    def published_steps(self) -> dict[str, Any]:
        """The same as they were printed, where that was mended."""


class StepRule(ABC):
    """What the outer loop asks of a step-size rule; ``method`` is only read."""

    def __init__(self, method: Any) -> None:
        self.method = method

    @abstractmethod
    def first(self) -> Proposal:
        """Steps of the first epoch."""

    def start(self, seen: Seen) -> None:
        """Take note of the point that the run starts from."""

    @abstractmethod
    def after_epoch(self, seen: Seen) -> Proposal:
        """Steps of the next epoch."""


def make_rule(method: HasSteps, steps: Any) -> StepRule:
    """Read the ``steps`` argument of ``solve``."""
    if isinstance(steps, str):
        if steps == "auto":
            return method.rule(method)
        if steps == "theory":
            return FixedSteps(method, method.theory_steps(), "theory")
        if steps == "published":
            return FixedSteps(method, method.published_steps(), "published")
        raise ParameterError(f"unknown steps {steps!r}: 'auto', 'theory', 'published' or a dict")
    if not isinstance(steps, dict):
        raise ParameterError(
            f"steps must be 'auto', 'theory', 'published' or a dict, not {type(steps).__name__}"
        )
    return FixedSteps(method, _by_hand(method, steps), "hand")


def _by_hand(method: HasSteps, steps: dict[str, Any]) -> dict[str, float]:
    allowed = method.step_names + (("decay",) if method.fades else ())
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


class NoSteps(StepRule):
    """For methods that have no step sizes: nothing to set, and nothing can diverge."""

    def first(self) -> Proposal:
        """Nothing."""
        return Proposal({})

    def after_epoch(self, seen: Seen) -> Proposal:
        """Go on."""
        del seen
        return Proposal({})


class FixedSteps(StepRule):
    """Steps set by hand or by a theorem. ``decay`` divides them by 1 + decay * epoch."""

    def __init__(self, method: Any, steps: dict[str, float], source: str) -> None:
        super().__init__(method)
        self.steps = {name: value for name, value in steps.items() if name != "decay"}
        self.decay, self.source = steps.get("decay", 0.0), source
        self.epochs = 0
        self.smallest = math.inf

    def first(self) -> Proposal:
        """The steps as they were given."""
        return Proposal(dict(self.steps), self.source)

    def after_epoch(self, seen: Seen) -> Proposal:
        """Let the steps fade; a gap out of all proportion to the first one has diverged."""
        self.epochs += 1
        self.smallest = min(self.smallest, max(seen.gap, 1.0))
        fade = 1.0 + self.decay * self.epochs
        steps = {name: value / fade for name, value in self.steps.items()}
        return Proposal(steps, self.source, diverged=not seen.gap < DIVERGED * self.smallest)


class Anchored(StepRule):
    """What automatic rules share: they remember the best pair seen, to go back to."""

    def __init__(self, method: Any) -> None:
        super().__init__(method)
        self.best = math.inf
        self.anchor: Seen | None = None

    def note(self, seen: Seen) -> Seen:
        """Keep the best point; returns it."""
        if seen.gap < self.best or self.anchor is None:
            self.best, self.anchor = seen.gap, seen
        return self.anchor


class AutoSteps(Anchored):
    """Steps for the variance-reduced methods: a search over powers of two while they work.

    Every epoch is judged by how much it shrinks the certified gap. Larger and smaller steps are
    tried in turn and kept where they do better; an epoch that makes the gap grow sends the run
    back to the best certified point, with smaller steps if it was no trial. Trials that shrink
    the gap are progress all the same, so the search costs little.

    The balance of primal and dual steps is read off the certificate: its row terms vanish when y
    has caught up with x, its column terms when x has caught up with y.
    """

    def __init__(self, method: Any) -> None:
        super().__init__(method)
        self.base = method.default_steps()
        self.home = 0  # steps in force are base * 2**home
        self.trial: int | None = None
        self.tilt = 1.0  # eta / tilt and tau * tilt
        self.move = 1  # next neighbour to try: larger or smaller
        self.rate = 0.0  # log gap reduction an epoch at home, smoothed
        self.stalls = 0  # epochs in a row that changed nothing
        self.epochs = 0
        self.previous = math.inf

    def first(self) -> Proposal:
        """The method's own."""
        return Proposal(self._steps())

    def after_epoch(self, seen: Seen) -> Proposal:
        """Judge the epoch, choose the steps of the next one, go back if it failed."""
        self.epochs += 1
        gap, anchor, back_to = seen.gap, self.note(seen), None
        if gap <= WORSE * self.best:
            known = gap > 0.0 and 0.0 < self.previous < math.inf
            self._judge(math.log(self.previous / gap) if known else 0.0)
            self.previous = gap
        else:
            self._retreat(gap)
            back_to = anchor
        self._balance(seen.lag)
        return Proposal(self._steps(), back_to=back_to)

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

    def _balance(self, lag: float) -> None:
        """Tilt the steps towards the variable that lags; ``lag`` is row terms over column terms."""
        if len(self.base) == 2 and not 1.0 / LAG <= lag <= LAG:
            wanted = self.tilt * min(max(lag**0.25, 0.25), 4.0)
            self.tilt = min(max(wanted, 1.0 / MOST_TILT), MOST_TILT)

    def _steps(self) -> dict[str, float]:
        power = self.home if self.trial is None else self.trial
        steps = {name: value * 2.0**power for name, value in self.base.items()}
        if len(steps) == 2:
            steps["eta"] /= self.tilt
            steps["tau"] *= self.tilt
        return steps


class ScaledSteps(AutoSteps):
    """The same search where the ratio of the steps is known: only their scale is looked for."""

    def _balance(self, lag: float) -> None:
        del lag


class FadingSteps(Anchored):
    """Steps of spd1: Theorem 1's 1/sqrt(t) with estimates for its constants.

    The average that is certified starts anew at epochs 1, 2, 4, 8, ...: it forgets the noisy
    beginning and still covers at least half of the run. If the gap explodes, the run goes
    back to its best point with half the steps. It has exploded if it is far above that of the
    point where the run began, not if it is far above the best one: an average that swings through
    the saddle point has a small gap for an epoch, and no step size brings that back.
    """

    def __init__(self, method: Any) -> None:
        super().__init__(method)
        self.steps = method.default_steps()
        self.epochs = 0
        self.begun = math.inf  # the gap of where it began, more and more of it

    def first(self) -> Proposal:
        """The method's own."""
        return Proposal(dict(self.steps))

    def start(self, seen: Seen) -> None:
        """Take note of the point that the run starts from."""
        self.begun = seen.gap
        self.note(seen)

    def after_epoch(self, seen: Seen) -> Proposal:
        """Go back if the gap exploded; forget the older half of the average now and then."""
        self.epochs += 1
        anchor = self.note(seen)
        if not (seen.gap <= FAR_WORSE * self.begun and seen.gap < math.inf):
            self.steps = {name: 0.5 * value for name, value in self.steps.items()}
            self.begun *= FORGIVE  # a start near the optimum: some noise must be allowed
            return Proposal(dict(self.steps), back_to=anchor)
        doubled = self.epochs & (self.epochs - 1) == 0
        return Proposal(dict(self.steps), restart_average=doubled)
