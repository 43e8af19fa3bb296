"""Which tol of scikit-learn's leads to a gap: the sweeps of ``estimators.py``.

Fits run in children of this process and are timed and limited by processor time, so that sweeps
need no quiet machine. What they find is kept in a file, and timed later.
"""

from __future__ import annotations

import math
import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from estimators_races import Point, Race, point_of

__all__ = ["Attempt", "adjusted", "sweep"]

PATIENCE = 5.0  # longest fits that the sweep of one variant may take in all
LOOSEST = 2  # the sweep begins at tol = 10^2
CONTENDERS = 1.5  # times the fastest variant's seconds: these are timed again, in turns


class Attempt(NamedTuple):
    """One fit of scikit-learn's."""

    variant: str
    given: dict[str, float]
    seconds: float
    gap: float
    values: list[float]  # the objectives by their definition

    @property
    def label(self) -> str:
        if "max_iter" in self.given:
            return f"{self.variant} iter {self.given['max_iter']:.0e}".strip()
        return f"{self.variant} {format(self.given['tol'], '.0e') if self.given else ''}".strip()


def fit_in_child(model: Any, X: Any, y: np.ndarray, limit: float) -> tuple[float, Point] | None:
    """Processor seconds and answer of a fit; None if it takes longer.

    liblinear can't be interrupted: the child ends by a signal.
    """
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)

    def seconds() -> float:
        clock = time.process_time()
        model.fit(X, y)
        return time.process_time() - clock

    def work() -> None:
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, limit)
        took = seconds()
        if took < 0.1:
            took = min(took, seconds(), seconds())
        send.send((took, point_of(model)))

    child = context.Process(target=work, daemon=True)
    child.start()
    send.close()
    try:
        return receive.recv()
    except EOFError:
        return None  # it took too long, or failed
    finally:
        child.kill()
        child.join()


def adjusted(model: Any, given: dict[str, float]) -> Any:
    """An unfitted copy with some parameters set, inside one-against-the-rest too."""
    inner = "estimator__" if hasattr(model, "estimator") else ""
    return clone(model).set_params(**{inner + key: value for key, value in given.items()})


def sweep(
    race: Race, gaps: list[float], seconds: float
) -> tuple[dict[float, list[Attempt]], Attempt | None]:
    """For each gap the fastest variants, at the loosest tol that reaches it; what came closest."""
    reached: dict[float, list[Attempt]] = {gap: [] for gap in gaps}
    closest: Attempt | None = None

    def attempt(variant: str, model: Any, **given: float) -> Attempt | None:
        nonlocal closest
        best = [min(one.seconds for one in found) for found in reached.values() if found]
        limit = min(seconds, 0.5 + 3.0 * max(best)) if len(best) == len(gaps) else seconds
        got = fit_in_child(adjusted(model, given), race.X, race.y, limit)
        if got is None:
            return None
        one = Attempt(variant, given, got[0], race.certify(got[1]), race.values(got[1]))
        closest = one if closest is None or one.gap < closest.gap else closest
        return one

    for variant, model in race.theirs.items():
        if any(key.split("__")[-1] == "tol" for key in model.get_params()):
            tried = list(tighter(partial(attempt, variant, model), gaps, PATIENCE * seconds))
        else:
            one = attempt(variant, model)
            tried = [one] if one else []
        for gap in gaps:
            found = next((one for one in tried if one.gap <= gap), None)
            if found is None:
                continue
            if list(found.given) == ["tol"] and found.given["tol"] < 10.0**LOOSEST:
                looser = attempt(variant, model, tol=found.given["tol"] * math.sqrt(10.0))
                found = looser if looser is not None and looser.gap <= gap else found
            reached[gap].append(found)
    for found in reached.values():
        found.sort(key=lambda one: one.seconds)
        found[:] = [one for one in found if one.seconds <= CONTENDERS * found[0].seconds]
    return reached, closest


def tighter(
    attempt: Callable[..., Attempt | None], gaps: list[float], patience: float
) -> Iterator[Attempt]:
    """Fits at smaller and smaller tol; if one does not end, with more and more iterations."""
    seen: list[float] = []
    spent = 0.0
    for k in range(-LOOSEST, 13):
        one = attempt(tol=10.0**-k)
        if one is None:
            break
        yield one
        seen.append(one.gap)
        spent += one.seconds
        if one.gap <= min(gaps) or (k >= 5 and one.gap > 0.9 * seen[-3]):
            return  # done, or a smaller tol changes nothing
        if spent > patience:
            return
    for j in range(2, 15):
        more = attempt(tol=10.0**-k, max_iter=round(10.0 ** (j / 2)))
        if more is None:
            return
        yield more
        spent += more.seconds
        if more.gap <= min(gaps) or spent > patience:
            return
