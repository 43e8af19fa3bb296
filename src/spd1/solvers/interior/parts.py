"""Pieces of the interior-point method: curvatures, a start, and what may be left out."""

from __future__ import annotations

import numpy as np

from ...certificate.free_columns import independent_columns
from ...kernel.jit import kernel
from ...problem import Problem
from .kinks import Kinks

__all__ = ["dependent", "inverse", "loss_curves", "middle"]


@kernel
def loss_curves(u, b, loss, slope, bend):
    """First and second derivative of phi."""
    for i in range(len(u)):
        slope[i] = loss.derivative(u[i], b[i])
        bend[i] = loss.curvature(u[i], b[i])


def dependent(A: np.ndarray, moves: np.ndarray, problem: Problem) -> np.ndarray:
    """Columns without penalty and bounds that others stand for: they may stay where they are."""
    found = np.zeros(A.shape[1], dtype=bool)
    low, high = problem.dual_bounds
    if low is None or high is None:
        return found
    free = np.flatnonzero(moves & (low == 0.0) & (high == 0.0))
    if len(free) < 2:
        return found
    M = A[:, free] / np.abs(A[:, free]).max(axis=0)
    M /= np.sqrt(np.einsum("ij,ij->j", M, M))
    found[free] = True
    found[free[independent_columns(M)]] = False
    return found


def inverse(kinks: Kinks) -> np.ndarray:
    """1 / slope where there are kinks, else 0: no movement at all."""
    return np.where(kinks.any, 1.0 / np.where(kinks.any, kinks.slope, 1.0), 0.0)


def middle(low: np.ndarray, high: np.ndarray, size: float) -> np.ndarray:
    """A point well inside each interval; from a single end, ``size`` away at least.

    Zero, if it is that far from a single end: the end may be thousands of sizes away, and curved
    losses are flat where margins are that large.
    """
    below, above = np.isfinite(low), np.isfinite(high)
    with np.errstate(invalid="ignore"):
        half = np.where(below & above, 0.5 * (high - low), size)
        centre = np.where(below & above, low + half, 0.0)
        step = np.minimum(half, size)
    from_low = np.where(below & ~above, np.maximum(low + size, 0.0), centre)
    found = np.where(above & ~below, np.minimum(high - size, 0.0), from_low)
    near_zero = below & above & (low + 0.1 * step < 0.0) & (high - 0.1 * step > 0.0)
    return np.asarray(np.where(near_zero & (half > size), 0.0, found), dtype=float)
