"""The paper reproduced: ``spd1 reproduce all``. One module a figure or table."""

from __future__ import annotations

from .everything import TARGETS, reproduce
from .settings import FULL, QUICK, Settings
from .verdicts import CLAIMS, Verdict, judge

__all__ = ["CLAIMS", "FULL", "QUICK", "TARGETS", "Settings", "Verdict", "judge", "reproduce"]
