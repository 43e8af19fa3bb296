"""How many cores there are to be had."""

from __future__ import annotations

import os

__all__ = ["available_cores"]


def available_cores() -> int:
    """Cores that this process may use: not all that the machine has."""
    if hasattr(os, "process_cpu_count"):
        return os.process_cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
