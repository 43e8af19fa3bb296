"""Figure 3: squared hinge loss on the data of figure 2."""

from __future__ import annotations

from pathlib import Path

from .curves import PanelCurves
from .figure1 import draw_curves

__all__ = ["CAPTION", "LOSS", "PANELS", "draw"]

LOSS = "squared_hinge"
PANELS = ("colon", "gisette", "rcv1-uniform", "rcv1")
CAPTION = (
    "Figure 3. Squared hinge SVM on the data of Figure 2. Above textbook rivals, below best-tuned "
    "ones; SPD1 and SPD1-VR are tuned in both. Median and range over seeds."
)


def draw(folder: Path, panels: list[PanelCurves]) -> list[Path]:
    """The paper's picture in both readings, leads, and the same by entries and by seconds."""
    return draw_curves(folder, "figure3", panels)
