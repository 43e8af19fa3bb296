"""Figures 1 to 3 before they are drawn: what every method did on a panel, in both readings."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..files import replacing
from .problems import Panel
from .readings import TEXTBOOK
from .runs import COLUMNS, Curve
from .settings import NAMES

__all__ = ["MethodCurves", "Optimum", "PanelCurves", "Shown", "write_csv"]

OWN = ("spd1", "spd1-vr")  # tuned in both readings


class Optimum(NamedTuple):
    """P* of one draw of the data, how well it is known, and P at the start."""

    value: float
    rel_gap: float
    start: float

    @property
    def floor(self) -> float:
        """P(x) - P* below this is not told apart from zero."""
        return max(1e-12, self.rel_gap) * max(abs(self.value), 1e-3)


class Shown(NamedTuple):
    """A run that is shown: on which draw of the data, with which seed."""

    draw: int
    seed: int
    curve: Curve


class MethodCurves(NamedTuple):
    """One method on one panel: the steps it was given (on the first draw) and a curve a run."""

    method: str
    steps: dict[str, float]
    tried: list[dict[str, Any]]  # steps, final objective
    at_edge: bool
    runs: list[Shown]


class PanelCurves(NamedTuple):
    """All runs on one panel: ``methods`` by name, textbook runs under theirs; an optimum a draw."""

    panel: Panel
    optima: list[Optimum]
    methods: dict[str, MethodCurves]

    @property
    def floor(self) -> float:
        """P(x) - P* below this is not told apart from zero."""
        return max(optimum.floor for optimum in self.optima)

    @property
    def start(self) -> float:
        """P(x) - P* at the start, the largest of the draws."""
        return max(optimum.start - optimum.value for optimum in self.optima)

    def band(self, method: str, axis: str = "paper_passes") -> tuple[np.ndarray, np.ndarray]:
        """Positions and (lowest, median, highest) of P(x) - P* over seeds and draws."""
        runs = self.methods[method].runs
        length = min(len(run.curve.primal) for run in runs)
        across = np.median([getattr(run.curve, axis)[:length] for run in runs], axis=0)
        left = [run.curve.primal[:length] - self.optima[run.draw].value for run in runs]
        heights = np.maximum(np.array(left), self.floor)
        middle = np.median(heights, axis=0)
        return across, np.array([heights.min(axis=0), middle, heights.max(axis=0)])

    def read(self, reading: str) -> PanelCurves:
        """The panel with the rivals of a reading under their plain names.

        Of two textbook runs of a method the one with the lower median at the end is taken; the
        other stays under its own name.
        """
        if reading == "tuned":
            return self._replace(methods={name: self.methods[name] for name in NAMES})
        methods = {name: self.methods[name] for name in OWN}
        ends = {name: float(self.band(name)[1][1][-1]) for name in TEXTBOOK}
        for rival in dict.fromkeys(TEXTBOOK.values()):
            mine = sorted((name for name in TEXTBOOK if TEXTBOOK[name] == rival), key=ends.get)  # type: ignore[arg-type]
            methods[rival] = self.methods[mine[0]]
            methods |= {name: self.methods[name] for name in mine[1:]}
        order = (*NAMES, *(name for name in methods if name not in NAMES))
        return self._replace(methods={name: methods[name] for name in order})


def write_csv(path: Path, panel: PanelCurves) -> None:
    """Every curve of a panel, a row a point."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = ["data", "loss", "l2", "method", "draw", "seed", *COLUMNS, "suboptimality"]
    writer.writerow(names)
    p = panel.panel
    for method, mine in panel.methods.items():
        for run in mine.runs:
            optimum = panel.optima[run.draw].value
            for row in zip(*run.curve, strict=True):
                values = [repr(float(v)) for v in (*row, row[-1] - optimum)]
                where = [run.draw + 1, run.seed]
                writer.writerow([p.data, p.loss, p.l2, method, *where, *values])
    with replacing(path) as stream:
        stream.write(text.getvalue().encode())
