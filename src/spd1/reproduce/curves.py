"""Figures 1 to 3 before they are drawn: tune every method alike, then run it with three seeds."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..files import replacing
from . import grids
from .pool import Pool
from .problems import Panel
from .runs import COLUMNS, Curve
from .settings import NAMES, Settings

__all__ = ["MethodCurves", "PanelCurves", "file_name", "panel_curves", "tune", "write_csv"]


class MethodCurves(NamedTuple):
    """One method on one panel: the steps it was given and a curve a seed."""

    method: str
    steps: dict[str, float]
    tried: list[dict[str, Any]]  # steps, final objective
    at_edge: bool
    curves: list[Curve]


class PanelCurves(NamedTuple):
    """All methods on one panel."""

    panel: Panel
    optimum: float
    rel_gap: float
    start: float
    methods: dict[str, MethodCurves]

    @property
    def floor(self) -> float:
        """P(x) - P* below this is not told apart from zero."""
        return max(1e-12, self.rel_gap) * max(abs(self.optimum), 1e-3)

    def band(self, method: str, axis: str = "paper_passes") -> tuple[np.ndarray, np.ndarray]:
        """Positions and (lowest, median, highest) of P(x) - P* over the seeds."""
        curves = self.methods[method].curves
        length = min(len(curve.primal) for curve in curves)
        across = np.median([getattr(curve, axis)[:length] for curve in curves], axis=0)
        heights = np.array([curve.primal[:length] for curve in curves]) - self.optimum
        heights = np.maximum(heights, self.floor)
        middle = np.median(heights, axis=0)
        return across, np.array([heights.min(axis=0), middle, heights.max(axis=0)])


def file_name(panel: Panel) -> str:
    """The scratch file of a panel's data."""
    return panel.key


def panel_curves(pool: Pool, panel: Panel, settings: Settings) -> PanelCurves:
    """Everything that figures 1 to 3 show of one panel."""
    shared = {"data": file_name(panel), "name": panel.data, "loss": panel.loss, "l2": panel.l2}
    title = f"{panel.title}, {panel.loss}"
    [found, unit] = pool.run(
        f"{title}: P*", [{"kind": "optimum", **shared}, {"kind": "units", **shared}]
    )
    tried = tune(pool, panel, settings, unit)
    best = {method: grids.best_point(tried[method]) for method in NAMES}
    finals = [
        run_of(panel, method, grids.steps_at(method, best[method], unit), seed, panel.horizon)
        for method in NAMES
        for seed in settings.seeds
    ]
    shown = pool.run(f"{title}: seeds", finals)
    methods = {}
    for method in NAMES:
        curves = [
            Curve.from_lists(result)
            for task, result in zip(finals, shown, strict=True)
            if task["method"] == method
        ]
        mine = [
            {"steps": grids.steps_at(method, point, unit), "final": final}
            for point, final in tried[method].items()
        ]
        edge = grids.at_edge(method, best[method], tried[method])
        steps = grids.steps_at(method, best[method], unit)
        methods[method] = MethodCurves(method, steps, mine, edge, curves)
    return PanelCurves(panel, found["optimum"], found["rel_gap"], found["start"], methods)


def run_of(
    panel: Panel, method: str, steps: dict[str, float], seed: int, horizon: float
) -> dict[str, Any]:
    """The task of one run."""
    return {
        "kind": "run", "data": file_name(panel), "name": panel.data, "loss": panel.loss,
        "l2": panel.l2, "sampling": panel.sampling, "method": method, "steps": steps,
        "seed": seed, "horizon": horizon,
    }  # fmt: skip


def tune(
    pool: Pool, panel: Panel, settings: Settings, unit: dict[str, float]
) -> dict[str, dict[grids.Point, float]]:
    """Method -> points tried, by the rule of ``grids``, with the objective each led to."""
    tried: dict[str, dict[grids.Point, float]] = {method: {} for method in NAMES}

    def run(label: str, points: list[tuple[str, grids.Point]]) -> None:
        tasks = [
            run_of(panel, method, grids.steps_at(method, point, unit), settings.tuning_seed,
                   panel.tuning)
            for method, point in points
        ]  # fmt: skip
        results = pool.run(f"{panel.title}, {panel.loss}: {label}", tasks)
        for (method, point), result in zip(points, results, strict=True):
            tried[method][point] = _final(result, panel.tuning)

    run("coarse tuning", [(method, point) for method in NAMES for point in grids.COARSE[method]])
    searches = {method: grids.fine(method, tried[method]) for method in NAMES}
    points = {method: next(search) for method, search in searches.items()}
    for count in range(len(tried["svrg"]), settings.tries):
        run(f"fine tuning, try {count + 1}", list(points.items()))
        for method, search in searches.items():
            points[method] = search.send(tried[method][points[method]])
    return tried


def _final(result: dict[str, list[float]], horizon: float) -> float:
    """The objective at the end of a try; one that stopped early has diverged."""
    curve = Curve.from_lists(result)
    reached = curve.paper_passes[-1] >= horizon - 1e-9
    return float(curve.primal[-1]) if reached else math.inf


def write_csv(path: Path, panel: PanelCurves) -> None:
    """Every curve of a panel, a row a point."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["data", "loss", "l2", "method", "seed", *COLUMNS, "suboptimality"])
    p = panel.panel
    for method, mine in panel.methods.items():
        for seed, curve in enumerate(mine.curves, start=1):
            for row in zip(*curve, strict=True):
                values = [repr(float(v)) for v in (*row, row[-1] - panel.optimum)]
                writer.writerow([p.data, p.loss, p.l2, method, seed, *values])
    with replacing(path) as stream:
        stream.write(text.getvalue().encode())
