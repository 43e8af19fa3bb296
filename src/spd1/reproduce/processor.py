"""Processor time: what a run takes of the machine, whoever else is on it and however often."""

from __future__ import annotations

import time

from ..kernel.jit import compiling

__all__ = ["processor_clock"]


def processor_clock() -> float:
    """Seconds of processor time of this process, but for those of compiling.

    Examples
    --------
    >>> began = processor_clock()
    >>> time.sleep(0.2)
    >>> processor_clock() - began < 0.15
    True
    """
    return time.process_time() - float(compiling().spent)
