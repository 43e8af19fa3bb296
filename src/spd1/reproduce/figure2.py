"""Figure 2: logistic loss on three real data sets."""

from __future__ import annotations

from pathlib import Path

from .curves import PanelCurves
from .figure1 import draw_curves

__all__ = ["CAPTION", "LOSS", "PANELS", "draw"]

LOSS = "logistic"
PANELS = ("colon", "gisette", "rcv1-uniform", "rcv1")
CAPTION = (
    "Figure 2. Logistic loss on real data, lambda as in Table 1. Above textbook rivals, below "
    "best-tuned ones; SPD1 and SPD1-VR are tuned in both. Median and range over seeds."
)


def draw(folder: Path, panels: list[PanelCurves]) -> list[Path]:
    """The paper's picture in both readings, leads, and the same by entries and by seconds."""
    return draw_curves(folder, "figure2", panels)
