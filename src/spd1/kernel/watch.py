"""Numba's compiler at work: clocks that leave it out, and signals that wait for it."""

from __future__ import annotations

import time
from contextlib import suppress
from functools import cache
from time import perf_counter
from typing import Any

from .patience import SIGNALS_HELD

__all__ = ["clock", "compiling"]

_spent = 0.0  # seconds that kernels were compiled for, or loaded


def time_compilation() -> None:
    """Numba holds this lock while it compiles a kernel or loads one from disk."""
    from numba.core import event

    class Timing(event.Listener):
        depth, began = 0, 0.0

        def on_start(self, event: Any) -> None:
            if self.depth == 0:
                self.began = perf_counter()
            self.depth += 1

        def on_end(self, event: Any) -> None:
            global _spent
            self.depth -= 1
            if self.depth == 0:
                _spent += perf_counter() - self.began

    event.register("numba:compiler_lock", Timing())


@cache
def _waiting() -> Any:
    """What lets Ctrl-C wait while Numba compiles."""
    from numba.core import event

    class Waiting(event.Listener):
        def on_start(self, event: Any) -> None:
            SIGNALS_HELD.begin()

        def on_end(self, event: Any) -> None:
            SIGNALS_HELD.end()

    return Waiting()


def put_interrupts_off() -> None:
    """Listen to Numba's lock as the last: what is put off is raised there, past nobody."""
    from numba.core import event

    with suppress(ValueError):
        event.unregister("numba:compiler_lock", _waiting())
    event.register("numba:compiler_lock", _waiting())


def clock() -> float:
    """Seconds that pass while nothing is being compiled: what runs are timed and limited by."""
    return perf_counter() - _spent


@cache
def compiling() -> Any:
    """Processor time of compiling, ``spent`` since the first call of this function."""
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
    put_interrupts_off()
    return listener
