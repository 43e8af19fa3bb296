"""Labels and weights of a multinomial problem, refused by name if they are none."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..errors import DataError

__all__ = ["checked_labels", "checked_weights"]


def checked_labels(labels: Any, n: int, classes: int) -> np.ndarray:
    """Numbers of classes, one a row of the data."""
    found = np.asarray(labels)
    if found.shape != (n,) or found.dtype.kind not in "iu":
        raise DataError(f"labels must be {n} whole numbers, one a row of the data")
    if classes < 2 or found.min() < 0 or found.max() >= classes:
        raise DataError(f"labels must be from 0 to {classes - 1}, with at least two classes")
    return found.astype(np.intp)


def checked_weights(weight: Any, n: int) -> np.ndarray:
    """Weights of samples, normalised to a sum of one."""
    if weight is None:
        return np.full(n, 1.0 / n)
    c = np.asarray(weight, dtype=float)
    if c.shape != (n,) or not np.all(np.isfinite(c)) or np.any(c < 0.0):
        raise DataError(f"weights must be {n} finite numbers that are not negative")
    total = float(c.sum())
    if not total > 0.0 or not math.isfinite(total):
        raise DataError("weights are zero everywhere, or too large to be added up")
    return c / total
