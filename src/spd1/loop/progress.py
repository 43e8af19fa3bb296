"""The live line that ``verbose=True`` shows."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import Any

from ..result import Progress

__all__ = ["ProgressLine"]


class ProgressLine:
    """Live progress on standard error: pass, primal, dual, relative gap, seconds.

    A terminal shows one line that changes; a file or a pipe gets a line a second.
    """

    def __init__(self, name: str, tol: float) -> None:
        self.out, self.name, self.tol = sys.stderr, name, tol
        self.live = self.out.isatty()
        self.pause = 0.05 if self.live else 1.0
        self.shown = -math.inf
        self.row: Progress | None = None

    def show(self, row: Progress, rel_gap: float, last: bool = False) -> None:
        """Write the row, unless the last one was just written."""
        now = time.perf_counter()
        if row is not self.row and (last or now - self.shown >= self.pause):
            self.shown, self.row = now, row
            self.write(row, rel_gap)
        if last and self.live:
            self.out.write("\n")

    def telling(self, callback: Callable[[Progress], Any] | None) -> Callable[[Progress], Any]:
        """A callback that shows its rows, and tells them to another."""

        def tell(row: Progress) -> Any:
            self.show(row, row.rel_gap, last=row.rel_gap <= self.tol)
            return callback(row) if callback is not None else None

        return tell

    def compiling(self, name: str, begins: bool) -> None:
        """Say that a kernel is being compiled, where the next row will be."""
        if begins:
            text = f"{self.name:8s} compiling {name}"
            self.out.write(f"\r{text:<100s}" if self.live else f"{text}\n")
            self.out.flush()

    def write(self, row: Progress, rel_gap: float) -> None:
        """Write one line, or write over the last one."""
        text = (
            f"{self.name:8s} pass {row.passes:7.1f}  primal {row.primal:.8g}  dual {row.dual:.8g}  "
            f"gap {rel_gap:.1e} (goal {self.tol:.0e})  {row.seconds:.2f} s"
        )
        self.out.write(f"\r{text:<100s}" if self.live else f"{text}\n")
        self.out.flush()
