"""PSGD: proximal stochastic gradient descent, a row a step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .lazy import RowMethod


class PSGD(RowMethod):
    """x+ = prox_{eta g}(x - eta n c_i phi'(a_i'x) a_i): no memory, so steps must shrink.

    The mean of the epochs' ends since the last restart is offered beside the last iterate.
    """

    name = "psgd"
    fades = True
    remembers = (*RowMethod.remembers, "total", "epochs")

    def begin(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None = None) -> None:
        super().begin(x, y, v)
        self.total, self.epochs = np.zeros_like(x), 0

    def epoch(self) -> Iterator[None]:
        yield from super().epoch()
        self.total += self.state.x
        self.epochs += 1

    def iterates(self) -> list[tuple[np.ndarray, np.ndarray | None]]:
        points = super().iterates()
        if self.epochs > 1:
            points.append((self.total / self.epochs, None))
        return points
