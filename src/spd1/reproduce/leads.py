"""Leads as functions of passes: how far SPD1 is ahead of PSGD, SPD1-VR of SVRG and SAGA."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .curves import PanelCurves
from .drawing import (
    ACROSS,
    DASHES,
    RC,
    mark_cut,
    new_figure,
    panel_title,
    save,
    styled,
    title_lines,
)
from .readings import READINGS
from .settings import NAMES
from .verdicts import LEADS, finish, lead_at

__all__ = ["CAPTION", "PAIRS", "draw_leads"]

PAIRS = (("spd1", "psgd"), ("spd1-vr", "svrg"), ("spd1-vr", "saga"))
CAPTION = (
    "Lead as a function of passes: how many times larger the rival's median P(x) - P* is. Above 1 "
    "the paper's method is ahead; within the grey band (a factor 1.26) the two are level. A curve "
    "ends where one of the two has reached the accuracy of P*; arrows mark what is beyond a factor "
    "1e5. Verdicts take the second half."
)
CURVE_POINTS = 241
DECADES = 5.0  # decades that are shown
CUT_MARKS = 20  # of these points, between arrows along a curve that is cut


def draw_leads(folder: Path, name: str, panels: list[PanelCurves]) -> list[Path]:
    """A row a reading, a panel a problem."""
    figure, axes = new_figure(len(READINGS), len(panels), title_lines(panels))
    for ax, panel in zip(axes[0], panels, strict=True):
        ax.set_title(panel_title(panel), fontsize=RC["axes.titlesize"])
    for row, (reading, label) in zip(axes, READINGS.items(), strict=True):
        for ax, panel in zip(row, panels, strict=True):
            _draw_panel(ax, panel.read(reading))
        row[0].set_ylabel(f"{label}\nlead (factor)")
    return save(figure, folder, name, legend_from=axes[0, 0])


@styled
def _draw_panel(ax: Any, panel: PanelCurves) -> None:
    ends = [0.5, 2.0]
    for k, (a, b) in enumerate(PAIRS):
        passes = np.linspace(0.0, finish(panel, a, b), CURVE_POINTS)
        exponent = lead_at(panel, a, b, passes)
        factor = 10.0 ** np.clip(exponent, -DECADES, DECADES)
        ends += [float(factor.min()), float(factor.max())]
        color, _, line = DASHES[b]
        ax.plot(passes, factor, color=color, linestyle=line, label=f"{NAMES[a]} over {NAMES[b]}")
        some = np.arange(
            5 * (k + 1), CURVE_POINTS - 5, CUT_MARKS
        )  # each curve at places of its own
        mark_cut(ax, passes[some][exponent[some] > DECADES], color)
        mark_cut(ax, passes[some][exponent[some] < -DECADES], color, up=False)
    ax.axhspan(10.0**-LEADS, 10.0**LEADS, color="#999999", alpha=0.3, linewidth=0)
    ax.axvline(0.5 * panel.panel.horizon, color="#777777", linewidth=0.8, linestyle=(0, (1, 2)))
    ax.set(yscale="log", xlabel=ACROSS["paper_passes"], xlim=(0, panel.panel.horizon))
    room = 1.5 if max(ends) < 100.0 else 5.0  # for the arrows
    ax.set_ylim(min(ends) / room, max(ends) * room)
    if max(ends) > 10.0 or min(ends) < 0.1:
        ax.minorticks_off()
