"""SAGA (Defazio, Bach & Lacoste-Julien 2014)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .lazy import RowMethod


class SAGA(RowMethod):
    """PSGD with each row's last derivative as memory."""

    name = "saga"
    needs_smooth_loss = True
    remember = True

    def begin(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None = None) -> None:
        super().begin(x, y, v)
        self.remember_here()

    def theory_steps(self) -> dict[str, Any]:
        """Eta = 1 / (3 L), the choice of the SAGA paper."""
        return {"eta": 1.0 / (3.0 * self.smoothness())}
