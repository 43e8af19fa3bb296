"""What waits until kernels are compiled: Ctrl-C, and Python's collector.

Numba compiles through callbacks of LLVM: an exception that a signal raises there is printed and
forgotten, and leaves a kernel without machine code. So signals are noted while a kernel is
compiled, and act when it is done, a few seconds later at most.
"""

from __future__ import annotations

import gc
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["Patience", "collector_at_rest", "uninterrupted"]

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Patience:
    """Notes signals between ``begin`` and ``end``; the last ``end`` hands the first of them on.

    Only handlers written in Python are put off, and only where they run: in the main thread.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.noted: list[int] = []
        self.handlers: dict[int, Any] = {}

    def begin(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        self.depth += 1
        if self.depth == 1:
            for number in SIGNALS:
                handler = signal.getsignal(number)
                if callable(handler):
                    self.handlers[number] = handler
                    signal.signal(number, self.note)

    def note(self, number: int, frame: Any) -> None:
        self.noted.append(number)

    def end(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        self.depth -= 1
        if self.depth:
            return
        handlers, self.handlers = self.handlers, {}
        for number, handler in handlers.items():
            signal.signal(number, handler)
        noted, self.noted = self.noted, []
        if noted:
            handlers[noted[0]](noted[0], None)


SIGNALS_HELD = Patience()


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let Ctrl-C wait for the end of a block.

    Examples
    --------
    >>> import signal
    >>> try:
    ...     with uninterrupted():
    ...         signal.raise_signal(signal.SIGINT)
    ...         print("done")
    ... except KeyboardInterrupt:
    ...     print("and out")
    done
    and out
    """
    SIGNALS_HELD.begin()
    try:
        yield
    finally:
        SIGNALS_HELD.end()


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """Nothing is collected meanwhile: a compiler makes much that stays, and looks at it in vain."""
    was_at_work = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_at_work:
            gc.enable()
