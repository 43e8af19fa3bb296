"""Figure 6, our own: convergence against staleness, the paper's claim of asynchronous updates.

Delays are emulated first, so that the curves are the same in every run: two blocks of rows go on
with copies of x and G of their own, and see each other's moves only when so many rows have been
visited. Then threads race for real (engine "async"): these curves are not reproducible, and how old
values were is measured.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..datasets import make_synthetic
from ..files import replacing
from ..kernel.rng import key_of
from ..problem import Problem
from ..regularizers import L2
from ..solve import solve, starting_point
from ..solvers.rows.blocks import Plan
from ..solvers.rows.rows import RowTiles
from .drawing import new_figure, save, styled

__all__ = ["CAPTION", "Race", "draw", "measure_races", "write_csv"]

RACE_SHAPE = (1024, 256)
DELAYS = (0, 16, 64, 256, 512)  # rows
THREADS = (1, 2, 4)
RACE_LAMBDA = 0.02
LEAST_GAP = 1e-9
MOST_EPOCHS = 30
COLOURS = ("#000000", "#0072B2", "#009E73", "#E69F00", "#D55E00")
RACE_ABOUT = (
    f"synthetic, n = {RACE_SHAPE[0]}, d = {RACE_SHAPE[1]}\nlogistic, lambda = {RACE_LAMBDA:g}"
)
CAPTION = (
    "Figure 6. Convergence against staleness, logistic loss, n = 1024, d = 256. Left: rows whose "
    "two blocks see each other's moves only after so many rows (emulated, reproducible). Middle "
    "and right: threads that share x and y without locks (not reproducible), with the number of "
    "steps that others finish during one, as measured."
)


class Race(NamedTuple):
    """One curve: relative gaps over passes, and how many steps old values were, mean and most."""

    panel: str
    label: str
    passes: np.ndarray
    rel_gaps: np.ndarray
    mean: float
    most: float


class Delayed(RowTiles):
    """Rows in two blocks that meet every so many rows; steps as they are first set."""

    delay = 1

    @property
    def plan(self) -> Plan:
        return Plan(2, -(-self.problem.n // (2 * self.delay)))

    @property
    def side_by_side(self) -> bool:  # type: ignore[override]
        return True


def measure_races() -> list[Race]:
    """Run all: some seconds."""
    A, b = make_synthetic(*RACE_SHAPE, seed=6)
    problem = Problem(A, b, "logistic", L2(RACE_LAMBDA))
    emulated = [_emulated(problem, delay) for delay in DELAYS]
    raced = [_raced(problem, method, n) for method in ("rows", "spd1-vr") for n in THREADS]
    return emulated + raced


def _emulated(problem: Problem, delay: int) -> Race:
    """Epochs of one pass with the steps that rows begin with, from the usual start."""
    worker = (Delayed if delay else RowTiles)(problem, "auto", key_of(0))
    if isinstance(worker, Delayed):
        worker.delay = delay
    worker.adopt(worker.rule(worker).first())
    worker.begin(*starting_point(problem, None, None, RowTiles))
    gaps = [worker.evaluated().gap]
    while len(gaps) <= MOST_EPOCHS and gaps[-1] > LEAST_GAP:
        for _ in worker.epoch():
            pass
        gaps.append(worker.evaluated().gap)
    scale = abs(worker.evaluated().point.value)
    passes = np.arange(len(gaps), dtype=float)
    label = f"{delay} rows" if delay else "no delay"
    return Race("rows, emulated delays", label, passes, np.array(gaps) / scale, delay / 2, delay)


def _raced(problem: Problem, method: str, threads: int) -> Race:
    found = solve(problem, method, tol=1e-7, max_passes=500, engine="async", n_threads=threads)
    assert found.staleness is not None
    mean, most = found.staleness
    label = f"{threads} thread{'s' * (threads > 1)}: {mean:.2g} steps old"
    trace = found.trace
    return Race(f"{method}, threads that race", label, trace.passes, trace.rel_gap, mean, most)


def draw(folder: Path, races: list[Race]) -> list[Path]:
    """One panel a kind of race."""
    panels = list(dict.fromkeys(race.panel for race in races))
    figure, axes = new_figure(1, len(panels), title_lines=3)
    for ax, panel in zip(axes[0], panels, strict=True):
        _draw_panel(ax, panel, [race for race in races if race.panel == panel])
    return save(figure, folder, "figure6")


@styled
def _draw_panel(ax: Any, title: str, races: list[Race]) -> None:
    for race, colour in zip(races, COLOURS, strict=False):
        ax.plot(race.passes, race.rel_gaps, color=colour, label=race.label)
    ax.set(yscale="log", xlabel="entries read / entries stored", title=f"{title}\n{RACE_ABOUT}")
    ax.set_ylabel("relative duality gap")
    ax.legend(frameon=False, fontsize=6.0)


def write_csv(path: Path, races: list[Race]) -> None:
    """Every point."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["panel", "run", "passes", "rel_gap", "mean_staleness", "max_staleness"])
    for race in races:
        for passes, gap in zip(race.passes, race.rel_gaps, strict=True):
            row = float(passes), float(gap), float(race.mean), float(race.most)
            writer.writerow([race.panel, race.label, *map(repr, row)])
    with replacing(path) as stream:
        stream.write(text.getvalue().encode())
