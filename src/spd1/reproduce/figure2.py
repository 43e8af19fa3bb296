"""Figure 2: logistic loss on three real data sets."""

from __future__ import annotations

from pathlib import Path

from .curves import PanelCurves
from .figure1 import draw_curves

__all__ = ["CAPTION", "LOSS", "PANELS", "draw"]

LOSS = "logistic"
PANELS = ("colon", "gisette", "rcv1", "rcv1-uniform")
CAPTION = "Figure 2. Logistic loss on real data, l2 as in Table 1. Median and range of three seeds."


def draw(folder: Path, panels: list[PanelCurves]) -> list[Path]:
    """The paper's picture, and the same by entries read and by seconds."""
    return draw_curves(folder, "figure2", panels)
