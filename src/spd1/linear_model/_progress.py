"""What a fit tells while it runs: scikit-learn's callbacks, with the gap as the progress bar."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from ..result import Progress, Result
from .tuning import FEW_ITERATIONS, PASSES_AN_ITERATION, TINY_FIT

__all__ = ["AT_ONCE", "FOREVER", "STEPS", "Watch", "between", "passes_of", "warn_unless_converged"]

IDLE_LOOKS = 3  # beyond tol, each of which less than halves the gap
AT_ROUNDING = 1e-13  # relative gap, below which the same ends a fit whose tol is out of reach, ...
PATIENT_LOOKS = 20  # ... after so many of them
LEAST_GOAL = 1e-16  # relative gap at which the bar is full where tol is less
AT_ONCE = -1  # as max_iter: after Ctrl-C, a first certified point and no more
FOREVER = 1e15  # passes: max_iter is what limits a fit
STEPS = 20  # of a progress bar: the way from the first gap to tol, in logarithms


class Watch:
    """Callback of one ``solve``: counts iterations, moves the progress bar, hears a stop.

    Parameters
    ----------
    max_iter : int
        Looks after which to stop; 0: at the starting point.
    tol : float
    context : sklearn.callback.CallbackContext, optional
        Task whose ``STEPS`` subtasks are the way to ``tol``.
    estimator : estimator
    polishing : bool
        Whether ``solve`` was asked for less than ``tol``: looks beyond ``tol`` then go on only as
        long as they bring something, and end without a reason to warn of.
    warm : bool
        Whether the run starts where another ended: then no iteration at all may be needed.
    """

    def __init__(
        self,
        max_iter: int,
        tol: float,
        context: Any = None,
        estimator: Any = None,
        polishing: bool = False,
        warm: bool = False,
    ) -> None:
        self.max_iter, self.tol, self.warm = max_iter, tol, warm
        self.context, self.estimator = context, estimator
        self.polishing, self.best, self.idle = polishing, math.inf, 0
        self.looks, self.steps, self.first = 0, 0, math.inf
        self.reason = ""

    def __call__(self, row: Progress) -> bool:
        self.looks += 1
        if self.context is not None and self.advance(self.reached(row.rel_gap)):
            self.reason = "a callback asked to stop"
        elif self.looks > self.max_iter:
            self.reason = "Ctrl-C" if self.max_iter == AT_ONCE else "max_iter"
        return bool(self.reason) or self.settled(row.rel_gap)

    def settled(self, rel_gap: float) -> bool:
        """Whether looks beyond ``tol``, or at rounding short of it, bring nothing any more."""
        done = rel_gap <= self.tol
        if not (done and self.polishing) and not rel_gap <= AT_ROUNDING:
            return False
        self.idle = 0 if rel_gap <= 0.5 * self.best else self.idle + 1
        self.best = min(self.best, rel_gap)
        if self.idle < (IDLE_LOOKS if done else PATIENT_LOOKS):
            return False
        if not done:
            self.reason = "rounding"
        return True

    def reached(self, rel_gap: float) -> int:
        """Steps of the bar that a gap is worth."""
        if not math.isfinite(rel_gap):
            return 0
        if not math.isfinite(self.first):
            self.first = max(rel_gap, 10.0 * self.tol, 10.0 * LEAST_GOAL)
        goal = max(self.tol, LEAST_GOAL)
        way = math.log(self.first / max(rel_gap, goal)) / math.log(self.first / goal)
        return min(max(int(STEPS * way), 0), STEPS - 1)

    def advance(self, steps: int) -> bool:
        """Report the steps of the bar that were done since the last look."""
        stop = False
        while self.steps < steps:
            self.steps += 1
            task = self.context.subcontext(task_name="gap")
            task.call_on_fit_task_begin(estimator=self.estimator)
            stop = task.call_on_fit_task_end(estimator=self.estimator) or stop
        return stop

    def finish(self, status: str = "") -> None:
        """Hear why the run ended, and fill the bar."""
        if status == "max_passes" and not self.reason:  # those that max_iter allows: few
            self.reason, self.looks = "max_iter", max(self.looks, self.max_iter)
        if self.context is not None:
            self.advance(STEPS)

    @property
    def iterations(self) -> int:
        """Looks after which work went on; a direct solution counts as one."""
        return max(min(self.looks, self.max_iter), 0 if self.warm or self.max_iter == 0 else 1)


def passes_of(max_iter: int) -> float:
    """Times that ``max_iter`` lets the data be read; it matters where a whole solve is one look.

    Examples
    --------
    >>> passes_of(2), passes_of(1000)
    (4.0, 1000000000000000.0)
    """
    return PASSES_AN_ITERATION * max_iter if 0 < max_iter < FEW_ITERATIONS else FOREVER


def between(exact: float, tol: float, stored: int) -> float:
    """Gap at which a fit ends: ``exact`` on tiny data, ``tol`` on twice as much or more.

    In between it goes from one to the other, so that a row more makes no difference to notice.

    Examples
    --------
    >>> between(1e-13, 1e-3, 1000), between(1e-13, 1e-3, 2000)
    (1e-13, 0.001)
    """
    share = min(max(math.log2(max(stored, 1) / TINY_FIT), 0.0), 1.0)
    return float(tol**share * exact ** (1.0 - share))


ADVICE: dict[str, str] = {
    "max_iter": "raise max_iter or tol, or scale the features",
    "rounding": "this is as close as rounding allows, raise tol",
    "max_seconds": "raise max_seconds or tol, or scale the features",
}


def warn_unless_converged(
    result: Result, tol: float, watch: Watch, what: str = "", words: str = "", level: int = 3
) -> None:
    """Say which gap was reached, which was asked for, and what to do.

    ``words``: how scikit-learn begins to say that ``max_iter`` was not enough. Filters for warnings
    look for the beginning, so it comes first.
    """
    if result.converged or result.rel_gap <= tol:
        return
    why = watch.reason or {"interrupted": "Ctrl-C"}.get(result.status, result.status)
    advice = ADVICE.get(why, "fit again, with warm_start=True to go on from here")
    begin = ""
    if words and why == "max_iter":
        said = words.format(iterations=watch.iterations)
        begin = f"{said} (so says scikit-learn, and filters look for it; spd1 ran its own method.) "
    warnings.warn(
        f"{begin}{what}stopped by {why} at a relative duality gap of {result.rel_gap:.2g}, "
        f"tol={tol:g} was asked for. The coefficients are the best found, at most "
        f"{result.gap:.3g} above the optimum of {result.primal:.6g}: {advice}.",
        ConvergenceWarning,
        stacklevel=level,
    )


Solver = Callable[..., Result]
