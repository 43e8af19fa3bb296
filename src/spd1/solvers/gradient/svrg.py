"""SVRG: variance-reduced gradient (Johnson & Zhang 2013; proximal: Xiao & Zhang 2014)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .lazy import RowMethod


class SVRG(RowMethod):
    """PSGD with the derivatives of a snapshot as memory; n inner steps to a snapshot."""

    name = "svrg"
    needs_smooth_loss = True

    def epoch(self) -> Iterator[None]:
        self.remember_here()
        yield from super().epoch()

    def theory_steps(self) -> dict[str, Any]:
        """Eta = 0.1 / L, the choice of Xiao & Zhang (2014)."""
        return {"eta": 0.1 / self.smoothness()}
