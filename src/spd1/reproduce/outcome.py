"""What a reproduction has produced: filled in by ``everything``, shown by ``page``."""

from __future__ import annotations

from typing import Any

from . import figure5, figure6
from .curves import PanelCurves
from .settings import Settings
from .verdicts import Verdict

__all__ = ["Outcome"]


class Outcome:
    """What has been produced so far."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.curves: dict[str, list[PanelCurves]] = {}
        self.runs4: dict[str, dict[str, Any]] = {}
        self.panels4: list[PanelCurves] = []
        self.rates: list[figure5.Rate] = []
        self.races: list[figure6.Race] = []
        self.table1: list[dict[str, Any]] = []
        self.table2: list[dict[str, Any]] = []
        self.verdicts: list[Verdict] = []
        self.missing: list[str] = []
        self.seconds = 0.0  # by the clock on the wall, calls that this one goes on from included
        self.processor = 0.0  # processor time of all tasks
        self.jobs = 1
