"""What commands print: plain words for people, JSON for scripts, a bar while they wait."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from ..io import Data
from ..kernel.announce import watching
from ..models.labels import label_text
from ..models.scaling import entries_of
from ..result import Progress as Row

__all__ = ["GapBar", "describe_data", "plain_json", "print_json", "say", "share_bar"]


def say(text: str, **options: Any) -> None:
    """Print a line to standard output: a terminal breaks it between words, a file has it whole."""
    console = Console(highlight=False, markup=False, emoji=False)
    console.print(text, soft_wrap=not console.is_terminal, **options)


def plain_json(value: Any) -> Any:
    """What JSON can hold: arrays as lists, numbers that are not finite as null."""
    if isinstance(value, dict):
        return {str(k): plain_json(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_json(v) for v in value]
    if isinstance(value, np.ndarray):
        return plain_json(value.tolist())
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_json(value: Any) -> None:
    """Print one JSON object on standard output."""
    print(json.dumps(plain_json(value), indent=2, allow_nan=False))


def describe_data(data: Data) -> str:
    """Shape, density and labels in one sentence."""
    (n, d), stored = data.A.shape, entries_of(data.A)
    share = 100 * stored / (n * d)
    text = f"{n:,} rows, {d:,} features, {stored:,} stored entries ({share:.3g} % of the matrix)"
    if data.b is None:
        return text + ", no labels"
    values, counts = np.unique(data.b, return_counts=True)
    if len(values) <= 4:
        pairs = zip(values.tolist(), counts, strict=True)
        return text + ", labels " + " and ".join(f"{label_text(v)} ({c:,})" for v, c in pairs)
    if values.dtype.kind in "fiub":
        return text + f", targets from {values.min():g} to {values.max():g}"
    return text + f", {len(values)} different labels"


@contextmanager
def share_bar(what: str, shown: bool = True) -> Iterator[Callable[[float], None]]:
    """A bar on standard error for work that knows what share of it is done."""
    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not shown) as bar:
        task = bar.add_task(what, total=1.0)
        yield lambda share: bar.update(task, completed=share)


class GapBar:
    """A live bar on standard error: how much of the way, on a log scale, the gap has come.

    While kernels are compiled it says so, instead of lines that would run through it.
    """

    def __init__(self, tol: float, shown: bool) -> None:
        self.tol, self.first = tol, 0.0
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[state]}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
            disable=not shown,
        )
        self.task = self.bar.add_task("solving", total=1.0, state="")
        self.live = shown and self.bar.console.is_terminal
        self.compilations = ExitStack()

    def __enter__(self) -> Callable[[Row], bool]:
        if self.live:
            self.compilations.enter_context(watching(self.compile))
        self.bar.start()
        return self.update

    def __exit__(self, *_: object) -> None:
        self.bar.stop()
        self.compilations.close()

    def compile(self, name: str, begins: bool) -> None:
        """Say that a kernel is being compiled, or no longer."""
        if begins:
            self.bar.update(self.task, description="compiling", state=name)
        else:
            self.bar.update(self.task, description="solving", state="")

    def update(self, row: Row) -> bool:
        """Show a row of the trace; never asks the run to stop."""
        gap = row.rel_gap
        if math.isfinite(gap) and gap > 0:
            self.first = self.first or max(gap, 10.0 * self.tol)
            share = math.log(self.first / gap) / math.log(self.first / self.tol)
            state = f"gap {gap:.1e}, goal {self.tol:.0e}, pass {row.passes:.0f}"
            self.bar.update(self.task, completed=min(max(share, 0.0), 1.0), state=state)
        return False
