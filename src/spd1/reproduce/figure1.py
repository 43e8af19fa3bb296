"""Figure 1: logistic loss on the paper's synthetic data, d = 100, 1000, 10000."""

from __future__ import annotations

from pathlib import Path

from .curves import PanelCurves
from .drawing import ACROSS, draw_panels, new_figure, save, title_lines
from .leads import draw_leads
from .readings import READINGS

__all__ = ["CAPTION", "LOSS", "PANELS", "draw", "draw_curves"]

LOSS = "logistic"
PANELS = ("d100", "d1000", "d10000")
CAPTION = (
    "Figure 1. Logistic loss with lambda = 1e-3 on synthetic data (label noise of variance 1). "
    "Above textbook rivals, below best-tuned ones; SPD1 and SPD1-VR are tuned in both. Median and "
    "range over seeds and draws of the data."
)


def draw(folder: Path, panels: list[PanelCurves]) -> list[Path]:
    """The paper's picture in both readings, leads, and the same by entries read and by seconds."""
    return draw_curves(folder, "figure1", panels)


def draw_curves(folder: Path, name: str, panels: list[PanelCurves]) -> list[Path]:
    """By the paper's passes, a row a reading; leads; then by entries read and by seconds."""
    lines = title_lines(panels)
    figure, axes = new_figure(len(READINGS), len(panels), lines)
    for place, (reading, label) in enumerate(READINGS.items()):
        mine = [panel.read(reading) for panel in panels]
        draw_panels(axes[place], mine, "paper_passes", label, place == 0)
    paths = save(figure, folder, name, legend_from=axes[0, 0])
    paths += draw_leads(folder, f"{name}-leads", panels)
    others = [axis for axis in ACROSS if axis != "paper_passes"]
    figure, axes = new_figure(len(others), len(panels), lines)
    tuned = [panel.read("tuned") for panel in panels]
    for place, axis in enumerate(others):
        draw_panels(axes[place], tuned, axis, READINGS["tuned"], place == 0)
    return paths + save(figure, folder, f"{name}-axes", legend_from=axes[0, 0])
