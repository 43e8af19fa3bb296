"""The live line that ``verbose=True`` shows."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable
from html import escape
from typing import Any

from ..html import in_notebook
from ..result import Progress

__all__ = ["ProgressLine", "width_of"]

NARROW = 80  # columns of a terminal that does not say


class ProgressLine:
    """Live progress on standard error: pass, primal, dual, relative gap, seconds.

    A terminal shows one line that changes and is never wider than it; a file or a pipe gets a line
    a second. A notebook shows a bar, as a display of its own: standard error is red there.
    """

    def __init__(self, name: str, tol: float) -> None:
        self.out, self.name, self.tol = sys.stderr, name, tol
        self.notebook = in_notebook()
        self.live = self.out.isatty() and not self.notebook
        self.pause = 0.05 if self.live else 0.2 if self.notebook else 1.0
        self.shown = -math.inf
        self.first, self.length = 0.0, 0
        self.row: Progress | None = None
        self.display: Any = None

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
            self.put([f"{self.name:8s} compiling {name}", f"compiling {name}"], None)

    def write(self, row: Progress, rel_gap: float) -> None:
        """Write one line, or write over the last one."""
        name, gap = f"{self.name:8s}", f"gap {rel_gap:.1e}"
        goal, time_spent = f"(goal {self.tol:.0e})", f"{row.seconds:.2f} s"
        values = f"primal {row.primal:.8g}  dual {row.dual:.8g}"
        self.put(
            [
                f"{name} pass {row.passes:7.1f}  {values}  {gap} {goal}  {time_spent}",
                f"{name} pass {row.passes:.0f}  {gap} {goal}  {time_spent}",
                f"{name} {gap} {goal}  {time_spent}",
                f"{name} {gap}  {time_spent}",
                gap,
            ],
            self.share(rel_gap),
        )

    def share(self, rel_gap: float) -> float:
        """How much of the way to tol, on a log scale, the gap has come."""
        if not math.isfinite(rel_gap):
            return 0.0
        self.first = self.first or max(rel_gap, 10.0 * self.tol)
        way = math.log(self.first / max(rel_gap, self.tol)) / math.log(self.first / self.tol)
        return min(max(way, 0.0), 1.0)

    def put(self, versions: list[str], share: float | None) -> None:
        """Show the longest version of a text that there is room for."""
        if self.notebook:
            self.put_in_notebook(versions[0], share)
            return
        if self.live:
            room = width_of(self.out) - 1  # the last column would make some terminals wrap
            text = next((one for one in versions if len(one) <= room), versions[-1][:room])
            self.out.write(f"\r{text:<{min(self.length, room)}s}")
            self.length = len(text)
        else:
            self.out.write(f"{versions[0]}\n")
        self.out.flush()

    def put_in_notebook(self, text: str, share: float | None) -> None:
        """Show a bar and the text, over those shown before."""
        from IPython.display import HTML, display

        value = "" if share is None else f'value="{share:.3f}" '
        bar = f'<progress {value}max="1" style="width:12em"></progress>'
        shown = HTML(f'{bar} <span style="font-family:monospace">{escape(text)}</span>')
        if self.display is None:
            self.display = display(shown, display_id=True)
        else:
            self.display.update(shown)


def width_of(stream: Any) -> int:
    """Columns of the terminal that a stream writes to; COLUMNS overrules it, as elsewhere."""
    given = os.environ.get("COLUMNS", "")
    if given.isdigit() and int(given) > 0:
        return int(given)
    try:
        return os.get_terminal_size(stream.fileno()).columns or NARROW
    except (OSError, ValueError, AttributeError):
        return NARROW
