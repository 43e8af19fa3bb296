"""Where the row methods of this folder stand."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["CrossSaddle", "Dual", "RowSaddle"]


class Dual(NamedTuple):
    """x as it follows y, y, and G = A'(c y), or G with the pull of a proximal term."""

    x: np.ndarray
    y: np.ndarray
    G: np.ndarray


class RowSaddle(NamedTuple):
    """x and the x before, y, G = A'(c y), and the step that each x_j is up to date with."""

    x: np.ndarray
    before: np.ndarray
    y: np.ndarray
    G: np.ndarray
    last: np.ndarray


class CrossSaddle(NamedTuple):
    """x and y, what is remembered of both, and its gradients G = A'(c y~) and m = A x~.

    ``last`` is the step that each x_j is up to date with, ``push`` room for a column.
    """

    x: np.ndarray
    y: np.ndarray
    x_table: np.ndarray
    y_table: np.ndarray
    G: np.ndarray
    m: np.ndarray
    last: np.ndarray
    push: np.ndarray
