"""Figure 4, our own: the problems of figures 1 and 2 by ``auto`` and by tiles, in seconds.

One run at a time, by processor time. SVRG and SPD1-VR with their tuned steps are drawn beside them.
"""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from typing import Any

import numpy as np

from ..files import replacing
from ..kernel.jit import clock
from ..problem import Problem
from ..solve import solve
from .curves import PanelCurves
from .drawing import (
    ACROSS,
    DASHES,
    frame,
    mark_cut,
    new_figure,
    panel_title,
    save,
    styled,
    title_lines,
)
from .processor import processor_clock
from .settings import NAMES

__all__ = ["CAPTION", "CONTENDERS", "draw", "measure", "write_csv"]

CONTENDERS = {  # name -> method, tile
    "auto": ("auto", None),
    "rows": ("rows", None),
    "spd1-vr tiles": ("spd1-vr", "auto"),
    "spd1 tiles": ("spd1", "auto"),
}
REFERENCES = ("svrg", "spd1-vr")
CAPTION = (
    "Figure 4. The problems of Figures 1 and 2 by seconds of processor time: auto and the tiled "
    "methods with automatic steps, one run at a time; SVRG and one-entry SPD1-VR with their tuned "
    "steps."
)
SMALL = 1e-4  # seconds: where the axis begins
REPEATED = 5  # times that a short run is timed


def measure(problem: Problem, name: str, seconds: float) -> dict[str, list[float]]:
    """Seconds and objective along a run with automatic steps; what was compiled is not counted.

    The seconds are those of the clock, all shortened alike so that they end at the processor time
    of the run: others may use the machine. The fastest of some runs is taken, of one if it is long.
    """
    method, tile = CONTENDERS[name]
    limits: dict[str, Any] = {"tol": 1e-10, "max_passes": 1e6, "tile": tile}
    solve(problem, method, max_seconds=0.01, **limits)  # compile, touch the data
    fastest, found = math.inf, {}
    for _ in range(REPEATED):
        began, start = clock(), processor_clock()
        trace = solve(problem, method, max_seconds=seconds, **limits).trace
        spent, passed = processor_clock() - start, clock() - began
        if spent < fastest:
            best = np.minimum.accumulate(trace.primal)
            times = min(1.0, spent / passed) * trace.seconds
            fastest, found = spent, {"seconds": times.tolist(), "primal": best.tolist()}
        if passed > 0.1 * seconds:
            break
    return found


def draw(folder: Path, panels: list[PanelCurves], runs: dict[str, dict[str, Any]]) -> list[Path]:
    """One panel a problem; ``runs`` holds for each what ``measure`` returned by name."""
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    figure, axes = new_figure(rows, columns, rows * title_lines(panels))
    for ax in axes.flat[len(panels) :]:
        ax.set_visible(False)
    for ax, panel in zip(axes.flat, panels, strict=False):
        _draw_panel(ax, panel, runs[panel.panel.key])
    for row in axes:
        row[0].set_ylabel("P(x) - P*")
    return save(figure, folder, "figure4", legend_from=axes[0, 0])


@styled
def _draw_panel(ax: Any, panel: PanelCurves, runs: dict[str, Any]) -> None:
    top, lowest = 3.0 * panel.start, []
    drawn = []
    for name in CONTENDERS:
        left = np.array(runs[name]["primal"]) - panel.optima[0].value
        drawn.append((name, name, np.array(runs[name]["seconds"]), left))
    for method in REFERENCES:
        across, band = panel.band(method, "seconds")
        drawn.append((method, NAMES[method], across, band[1]))
    for look, label, seconds, left in drawn:
        heights = np.maximum(left, panel.floor)
        lowest.append(float(heights.min()))
        across = np.maximum(seconds, SMALL)
        _line(ax, look, across, np.minimum(heights, 1e3 * top), label)
        mark_cut(ax, across[heights > top], DASHES[look][0])
    ax.set(xscale="log", yscale="log", xlabel=ACROSS["seconds"], title=panel_title(panel))
    ax.minorticks_off()
    frame(ax, panel, min(lowest), top)


def _line(ax: Any, look: str, across: np.ndarray, heights: np.ndarray, label: str) -> None:
    color, marker, line = DASHES[look]
    ax.plot(across, heights, color=color, marker=marker, linestyle=line, label=label,
            markevery=max(1, len(across) // 6))  # fmt: skip


def write_csv(path: Path, panel: PanelCurves, runs: dict[str, Any]) -> None:
    """Every curve of a panel, a row a point."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["data", "loss", "l2", "method", "seconds", "primal", "suboptimality"])
    p = panel.panel
    for name, run in runs.items():
        for seconds, primal in zip(run["seconds"], run["primal"], strict=True):
            numbers = [repr(float(v)) for v in (seconds, primal, primal - panel.optima[0].value)]
            writer.writerow([p.data, p.loss, p.l2, name, *numbers])
    with replacing(path) as stream:
        stream.write(text.getvalue().encode())
