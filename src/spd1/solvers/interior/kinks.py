"""Kinks as complementarity: a variable between bounds, and what pushes it against them.

    rho = up - down,     up (high - w) = mu,     down (w - low) = mu,     up, down >= 0

At mu = 0 this says that rho is a normal of [low, high] at w. Bounds may be infinite.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

__all__ = ["Kinks", "Move"]


class Move(NamedTuple):
    """A step of w and of both pushes."""

    w: np.ndarray
    up: np.ndarray
    down: np.ndarray


class Kinks:
    """Bounds, and the state: w, its distances to both bounds, and both pushes.

    The distances are kept on their own: they become small differences of large numbers.

    Parameters
    ----------
    low, high : arrays
    w : array
        Strictly between them.
    """

    def __init__(self, low: np.ndarray, high: np.ndarray, w: np.ndarray) -> None:
        self.low, self.high = low, high
        self.has_up, self.has_down = np.isfinite(high), np.isfinite(low)
        self.any = self.has_up | self.has_down
        self.pairs = self.has_up.astype(float) + self.has_down
        self.place(w)
        self.up, self.down = np.zeros(len(w)), np.zeros(len(w))

    def place(self, w: np.ndarray) -> None:
        """Put w there."""
        self.w = w
        self.above = np.where(self.has_up, self.high - w, 1.0)
        self.below = np.where(self.has_down, w - self.low, 1.0)

    def push(self, rho: np.ndarray, mu: float) -> None:
        """Start with products of mu at least, and pushes that lean towards rho."""
        self.up = np.where(self.has_up, np.maximum(rho, 0.0) + mu / self.above, 0.0)
        self.down = np.where(self.has_down, np.maximum(-rho, 0.0) + mu / self.below, 0.0)

    @property
    def rho(self) -> np.ndarray:
        """What pushes w, up and down."""
        return self.up - self.down

    @property
    def slope(self) -> np.ndarray:
        """How much rho grows with w."""
        return self.up / self.above + self.down / self.below

    def aim(self, mu: np.ndarray | float, past: Move | None) -> np.ndarray:
        """What rho is to be if w stays; ``past`` is a step whose curvature is made up for."""
        above = below = mu
        if past is not None:
            above, below = mu + past.up * past.w, mu - past.down * past.w
        return np.where(self.has_up, above / self.above, 0.0) - np.where(
            self.has_down, below / self.below, 0.0
        )

    def pushes(self, dw: np.ndarray, mu: np.ndarray | float, past: Move | None) -> Move:
        """The step of the pushes that goes with a step of w."""
        above = below = mu
        if past is not None:
            above, below = mu + past.up * past.w, mu - past.down * past.w
        up = np.where(self.has_up, (above + self.up * dw) / self.above - self.up, 0.0)
        down = np.where(self.has_down, (below - self.down * dw) / self.below - self.down, 0.0)
        return Move(dw, up, down)

    def room(self, move: Move) -> tuple[float, float]:
        """The largest shares of a step that keep w inside, and both pushes positive."""
        inside = min(
            _share(self.above, -move.w, self.has_up), _share(self.below, move.w, self.has_down)
        )
        return inside, min(
            _share(self.up, move.up, self.has_up), _share(self.down, move.down, self.has_down)
        )

    def products(self, move: Move | None = None, t: float = 0.0, t_push: float = 0.0) -> np.ndarray:
        """Sum of both products, now or after shares of a step of w and of the pushes."""
        if move is None:
            return np.asarray(
                self.up * self.above * self.has_up + self.down * self.below * self.has_down
            )
        above, below = self.above - t * move.w, self.below + t * move.w
        up, down = self.up + t_push * move.up, self.down + t_push * move.down
        return np.asarray(up * above * self.has_up + down * below * self.has_down)

    def take(self, move: Move, t: float, t_push: float) -> None:
        """Move by shares of a step of w and of the pushes."""
        self.w = self.w + t * move.w
        self.above = np.where(self.has_up, self.above - t * move.w, 1.0)
        self.below = np.where(self.has_down, self.below + t * move.w, 1.0)
        self.up, self.down = self.up + t_push * move.up, self.down + t_push * move.down

    @property
    def state(self) -> np.ndarray:
        """All five arrays."""
        return np.stack([self.w, self.above, self.below, self.up, self.down])

    @state.setter
    def state(self, value: np.ndarray) -> None:
        self.w, self.above, self.below, self.up, self.down = (row.copy() for row in value)


def _share(here: np.ndarray, step: np.ndarray, there: np.ndarray) -> float:
    """The largest share of a step after which nothing that is there is negative."""
    falls = there & (step < 0.0)
    return float(np.min(here[falls] / -step[falls])) if np.any(falls) else math.inf
