"""What a reproduction says while it works: what it is at, seconds so far, seconds to go."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

__all__ = ["Progress", "Report", "Talk", "silent"]

PRIOR = 20.0  # seconds of planned work that count as done as planned, before anything is


class Progress(NamedTuple):
    """Where a reproduction stands.

    Examples
    --------
    >>> print(Progress("gisette-like: SPD1-VR, try 5 of 12", 192.0, 1320.0))
    [3:12, about 22 min to go] gisette-like: SPD1-VR, try 5 of 12
    """

    label: str
    seconds: float  # of this call
    left: float  # a guess

    def __str__(self) -> str:
        minutes, seconds = divmod(int(self.seconds), 60)
        left = f"{self.left / 60:.0f} min" if self.left >= 90 else f"{self.left:.0f} s"
        return f"[{minutes}:{seconds:02d}, about {left} to go] {self.label}"


Report = Callable[[Progress], None]


def silent(progress: Progress) -> None:
    """Say nothing."""
    del progress


class Talk:
    """Keeps count of planned and finished work, in seconds as planned, and reports.

    Examples
    --------
    >>> said = []
    >>> talk = Talk(said.append, planned=100.0)
    >>> talk.say("first"); talk.skip(40.0); talk.done(30.0, 10.0); talk.say("second")
    >>> [p.label for p in said], round(said[0].left), said[1].left < 31.0
    (['first', 'second'], 100, True)
    """

    def __init__(self, report: Report = silent, planned: float = 0.0) -> None:
        self.report, self.planned = report, planned
        self.finished = self.spent = 0.0  # work as planned, and the seconds it took
        self.began = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.perf_counter() - self.began

    def say(self, label: str) -> None:
        """Report what is being done."""
        pace = (self.spent + PRIOR) / (self.finished + PRIOR)
        self.report(Progress(label, self.seconds, pace * max(self.planned - self.finished, 0.0)))

    def done(self, work: float, seconds: float) -> None:
        """So much of the plan is finished, and took so many seconds."""
        self.finished += work
        self.spent += seconds if work else 0.0

    def skip(self, work: float) -> None:
        """So much of the plan was finished by an earlier call."""
        self.planned -= work
