"""What is said while kernels are compiled, to whom, and how many there were.

Messages go through ``logging``, to the logger ``spd1``. Who has set up logging decides what becomes
of them; where nobody has, they are written to standard error, in notebooks to standard output.
``SPD1_QUIET=1`` silences them, and so does ``logging.getLogger("spd1").setLevel("WARNING")``.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from ..html import in_notebook
from .stamp import PACKAGE, classes_in

__all__ = ["TALLY", "Tally", "watching"]

LOGGER = logging.getLogger(PACKAGE)

# How data is called in messages; kernels know it by its class.
LAYOUTS = {"Dense": "dense data", "CSR": "sparse rows", "CSC": "sparse columns"}

Watcher = Callable[[str, bool], Any]


class Tally:
    """Kernels of this process: how many were found and compiled, and how long that took."""

    def __init__(self) -> None:
        self.found = 0
        self.compiled = 0
        self.seconds = 0.0
        self.watchers: list[Watcher] = []
        self._said: set[str] = set()
        self._name, self._began = "", 0.0

    def begin(self, name: str, foreign: str, kept: bool) -> None:
        """A kernel is about to be compiled: for a user's class, if ``foreign`` names one."""
        if foreign:
            reason = f"compiling kernels for {foreign} (a class of yours: once in every process)"
        elif kept:
            reason = "compiling kernels, once on this machine: a few seconds"
        else:
            reason = "compiling kernels: there is no folder to keep them in"
        if reason not in self._said:
            self._said.add(reason)
            _say(reason)
        _say(f"compiling kernel {self.compiled + 1}, {name}", "opens")
        self._name, self._began = name, time.perf_counter()
        for watcher in list(self.watchers):
            watcher(name, True)

    def end(self) -> None:
        """It is compiled."""
        took = time.perf_counter() - self._began
        self.compiled += 1
        self.seconds += took
        _say(f"compiled {self._name} in {took:.2f} s", "closes", f"{took:.2f} s")
        for watcher in list(self.watchers):
            watcher(self._name, False)

    def load(self) -> None:
        """A kernel was found on disk."""
        self.found += 1


TALLY = Tally()


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """Call ``watcher(name, True)`` when a kernel begins to be compiled, with False when it ends.

    Who watches shows it in a way of their own: nothing is written to standard error meanwhile.

    Examples
    --------
    >>> with watching(lambda name, begins: print(name, begins)):
    ...     TALLY.begin("sum_up", "", True)
    ...     TALLY.end()
    sum_up True
    sum_up False
    """
    TALLY.watchers.append(watcher)
    try:
        yield
    finally:
        TALLY.watchers.remove(watcher)


def readable(name: str, types: Iterable[Any]) -> str:
    """A kernel by its name, the loss and the data it is compiled for."""
    losses, layouts = [], []
    for cls in classes_in(types):
        if cls.__name__ in LAYOUTS:
            layouts.append(LAYOUTS[cls.__name__])
        elif ".losses." in cls.__module__:
            losses.append(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", cls.__name__).lower())
    parts = [name, *(f"for {loss}" for loss in losses[:1]), *(f"on {one}" for one in layouts[:1])]
    return " ".join(parts)


class OneLine(logging.Handler):
    """Writes the end of a compilation behind its beginning, to what is standard error then."""

    def __init__(self) -> None:
        super().__init__()
        self.open = False

    def emit(self, record: logging.LogRecord) -> None:
        part, brief = getattr(record, "part", ""), getattr(record, "brief", "")
        if self.open and part == "closes":
            text = f" {brief}\n"
        else:
            text = ("\n" if self.open else "") + f"{PACKAGE}: {record.getMessage()}"
            text += " ..." if part == "opens" else "\n"
        self.open = part == "opens"
        stream = sys.stdout if in_notebook() else sys.stderr  # which is red in a notebook
        with suppress(OSError, ValueError, AttributeError):  # closed, or none at all
            stream.write(text)
            stream.flush()


WITHOUT_LOGGING = OneLine()


def _say(message: str, part: str = "", brief: str = "") -> None:
    if os.environ.get("SPD1_QUIET"):
        return
    more = {"part": part, "brief": brief}
    if LOGGER.hasHandlers():
        LOGGER.info(message, extra=more)
    elif TALLY.watchers:
        return
    elif LOGGER.level <= logging.INFO > LOGGER.manager.disable and not LOGGER.disabled:
        where = LOGGER.name, logging.INFO, __file__, 0
        WITHOUT_LOGGING.handle(LOGGER.makeRecord(*where, message, (), None, extra=more))
