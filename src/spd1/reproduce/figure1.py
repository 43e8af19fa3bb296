"""Figure 1: logistic loss on the paper's synthetic data, d = 100, 1000, 10000."""

from __future__ import annotations

from pathlib import Path

from .curves import PanelCurves
from .drawing import ACROSS, draw_panels, new_figure, save

__all__ = ["CAPTION", "LOSS", "PANELS", "draw", "draw_curves"]

LOSS = "logistic"
PANELS = ("d100", "d1000", "d10000")
CAPTION = (
    "Figure 1. Logistic loss with l2 = 1e-3 on synthetic data, n = 1000. Median and range of three "
    "seeds."
)


def draw(folder: Path, panels: list[PanelCurves]) -> list[Path]:
    """The paper's picture, and the same by entries read and by seconds."""
    return draw_curves(folder, "figure1", panels)


def draw_curves(folder: Path, name: str, panels: list[PanelCurves]) -> list[Path]:
    """One row by the paper's passes; a second picture by entries read and by seconds."""
    figure, axes = new_figure(1, len(panels))
    draw_panels(axes[0], panels, "paper_passes")
    paths = save(figure, folder, name, legend_from=axes[0, 0])
    others = [axis for axis in ACROSS if axis != "paper_passes"]
    figure, axes = new_figure(len(others), len(panels))
    for place, axis in enumerate(others):
        draw_panels(axes[place], panels, axis, titles=place == 0)
    return paths + save(figure, folder, f"{name}-axes", legend_from=axes[0, 0])
