"""Processor time: what a run takes of the machine, whoever else is on it and however often."""

from __future__ import annotations

import time
from functools import cache
from typing import Any

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
    return time.process_time() - float(_compiling().spent)


@cache
def _compiling() -> Any:
    """Counts from its first call on; Numba holds this lock while it compiles or loads a kernel."""
    from numba.core import event

    class Compiling(event.Listener):
        depth, began, spent = 0, 0.0, 0.0

        def on_start(self, event: Any) -> None:
            if self.depth == 0:
                self.began = time.process_time()
            self.depth += 1

        def on_end(self, event: Any) -> None:
            self.depth -= 1
            if self.depth == 0:
                self.spent += time.process_time() - self.began

    listener = Compiling()
    event.register("numba:compiler_lock", listener)
    return listener
