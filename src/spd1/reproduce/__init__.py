"""The paper reproduced: ``spd1 reproduce all``. One module a figure or table."""

from __future__ import annotations

from .everything import TARGETS, reproduce
from .settings import FULL, LONG, QUICK, Settings
from .verdicts import CLAIMS, Verdict, judge

__all__ = [
    "CLAIMS",
    "FULL",
    "LONG",
    "QUICK",
    "TARGETS",
    "Settings",
    "Verdict",
    "judge",
    "reproduce",
]
