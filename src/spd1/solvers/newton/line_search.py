"""The way to the minimiser of a model, shortened until the objective falls."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .faces.parts import fill_terms
from .tuning import ARMIJO, FAINTEST_BEND, SHORTEST

__all__ = ["search"]


@np.errstate(over="ignore", invalid="ignore")
def search(
    face: Any, chosen: Any, table: np.ndarray, old: np.ndarray, step: np.ndarray, move: np.ndarray
) -> tuple[float, float]:
    """Move the chosen coordinates of a face by a part t of ``step``; returns the gain, and t.

    ``move`` is what the whole step does to the margins.
    """
    linear, l1, l2 = table[:, 0], table[:, 1], table[:, 2]

    def separable(z: np.ndarray) -> float:
        return float(linear @ z + l1 @ np.abs(z) + 0.5 * (l2 @ (z * z)))

    before = separable(old)
    total = face.value + before
    promised = float(face.slope @ move) + separable(old + step) - before
    t = 1.0 if math.isfinite(promised) else 0.0
    while t > SHORTEST:
        z, m = old + t * step, face.m + t * move
        if face.bounded:
            z = np.clip(z, table[:, 3], table[:, 4])  # rounding must not leave the box
        value = fill_terms(face.part, m, face.slope, face.bend)
        now = value + separable(z)
        if now <= total + ARMIJO * t * promised + 1e-15 * abs(total):
            break
        t *= 0.5
    trust(face, t)
    if t <= SHORTEST:  # a model that promised what is not there: stay
        fill_terms(face.part, face.m, face.slope, face.bend)
        return (math.inf if face.part.least < 1.0 else 0.0), t  # and try a stiffer one
    face.z[chosen], face.m, face.value = z, m, value
    return float(total - now), t


def trust(face: Any, t: float) -> None:
    """A model whose minimiser was too far off has too little curvature in its flat places."""
    part = face.part
    least = (10.0 if t > 1e-3 else 1e3) * part.least if t < 0.5 else 0.2 * part.least
    face.part = part._replace(least=min(max(least, FAINTEST_BEND), 1.0))
