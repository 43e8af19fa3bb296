"""Figures 1 to 3 before they are drawn: tune every method alike, then run it with three seeds."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..io.files import replacing
from .pool import Pool
from .problems import Panel
from .runs import COLUMNS, Curve
from .settings import METHODS, Settings

__all__ = ["MethodCurves", "PanelCurves", "file_name", "panel_curves", "write_csv"]


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
    [found] = pool.run(f"{panel.title}: P*", [{"kind": "optimum", **shared}])
    runs = {"sampling": panel.sampling, **shared}
    grids = pool.run(
        f"{panel.title}: grids",
        [{"kind": "steps", "method": m, "tries": settings.tries, **runs} for m in METHODS],
    )
    tries = [
        {"kind": "run", "method": method, "steps": steps, "seed": settings.tuning_seed,
         "horizon": panel.tuning, **runs}
        for method, grid in zip(METHODS, grids, strict=True)
        for steps in grid
    ]  # fmt: skip
    tried = pool.run(f"{panel.title}, {panel.loss}: tuning", tries)
    chosen: dict[str, tuple[dict[str, float], list[dict[str, Any]]]] = {}
    for method, grid in zip(METHODS, grids, strict=True):
        mine = [
            {"steps": task["steps"], "final": _final(result, panel.tuning)}
            for task, result in zip(tries, tried, strict=True)
            if task["method"] == method
        ]
        chosen[method] = (min(mine, key=lambda one: one["final"])["steps"], mine)
        assert len(mine) == len(grid) == settings.tries
    finals = [
        {"kind": "run", "method": method, "steps": chosen[method][0], "seed": seed,
         "horizon": panel.horizon, **runs}
        for method in METHODS
        for seed in settings.seeds
    ]  # fmt: skip
    shown = pool.run(f"{panel.title}, {panel.loss}: seeds", finals)
    methods = {}
    for method in METHODS:
        curves = [
            Curve.from_lists(result)
            for task, result in zip(finals, shown, strict=True)
            if task["method"] == method
        ]
        steps, mine = chosen[method]
        methods[method] = MethodCurves(method, steps, mine, at_edge(steps, mine), curves)
    return PanelCurves(panel, found["optimum"], found["rel_gap"], found["start"], methods)


def _final(result: dict[str, list[float]], horizon: float) -> float:
    """The objective at the end of a try; one that stopped early has diverged."""
    curve = Curve.from_lists(result)
    reached = curve.paper_passes[-1] >= horizon - 1e-9
    return float(curve.primal[-1]) if reached else math.inf


def at_edge(steps: dict[str, float], tried: list[dict[str, Any]]) -> bool:
    """Whether the best steps have the largest or smallest eta of all that were tried.

    Examples
    --------
    >>> tried = [{"steps": {"eta": eta}} for eta in (0.1, 0.2, 0.4)]
    >>> at_edge({"eta": 0.2}, tried), at_edge({"eta": 0.4}, tried)
    (False, True)
    """
    etas = [one["steps"]["eta"] for one in tried]
    return steps["eta"] in (min(etas), max(etas))


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
