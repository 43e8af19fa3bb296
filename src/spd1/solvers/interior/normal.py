"""The linear systems of the interior-point method.

    A'p + H dx = -g,     A dx = p / q + e          (p = c dy)

Either dx is eliminated or p, whichever leaves the smaller matrix, and conjugate gradients on the
products with A themselves, preconditioned by the factor, make up for what it lost. Where a Cholesky
factor would lose too much, an orthogonal factor of the stacked matrix takes its place.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cholesky, qr, solve_triangular

from .tuning import DAMPED, LEAST_PIVOT, MOST_REFINEMENTS, REFINED

__all__ = ["Normal"]


class Normal:
    """The factored system for given weights.

    Parameters
    ----------
    A : array of shape (n, d)
    q : array of shape (n,)
        Positive.
    H : array of shape (d,)
        Not negative; zeros only if A has full column rank there.
    by_rows : bool
        Whether to eliminate dx; H must be positive.
    """

    def __init__(self, A: np.ndarray, q: np.ndarray, H: np.ndarray, by_rows: bool) -> None:
        self.A, self.q, self.H, self.by_rows = A, q, H, by_rows
        if by_rows:
            self.root, self.diagonal = (A / np.sqrt(H)).T, 1.0 / q
        else:
            self.root, self.diagonal = np.sqrt(q)[:, None] * A, H
        squares = np.einsum("ij,ij->j", self.root, self.root) + self.diagonal
        self.scale = 1.0 / np.sqrt(np.maximum(squares, 1e-300))
        self.R = self._factor()

    def _factor(self) -> np.ndarray:
        """Upper triangular R with R'R = the scaled matrix."""
        scaled = self.root * self.scale
        M = scaled.T @ scaled
        M[np.diag_indices_from(M)] = 1.0 + DAMPED
        try:
            R: Any = cholesky(M, check_finite=False)
            if float(np.min(np.diagonal(R))) > LEAST_PIVOT:
                return np.asarray(R)
        except LinAlgError:
            pass
        least = math.sqrt(DAMPED)  # in the factor alone: columns may be dependent
        edge = np.diag(np.maximum(np.sqrt(self.diagonal) * self.scale, least))
        R = qr(np.vstack([scaled, edge]), mode="r", check_finite=False, overwrite_a=True)[0]
        return np.asarray(R[: len(self.scale)])

    def solve(self, g: np.ndarray, e: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Dx and p."""
        A, q, H = self.A, self.q, self.H
        if self.by_rows:
            p = self._solved(-e - A @ (g / H))
            return -(g + A.T @ p) / H, p
        dx = self._solved(A.T @ (q * e) - g)
        return dx, q * (A @ dx - e)

    def _times(self, z: np.ndarray) -> np.ndarray:
        return np.asarray(self.root.T @ (self.root @ z) + self.diagonal * z)

    def _preconditioned(self, r: np.ndarray) -> np.ndarray:
        inner = solve_triangular(self.R, self.scale * r, trans="T", check_finite=False)
        return np.asarray(self.scale * solve_triangular(self.R, inner, check_finite=False))

    def _solved(self, rhs: np.ndarray) -> np.ndarray:
        """Preconditioned conjugate gradients: one or two steps where the factor is good."""
        z = self._preconditioned(rhs)
        r = rhs - self._times(z)
        goal = REFINED * float(np.linalg.norm(self.scale * rhs))
        best, least = z, float(np.linalg.norm(self.scale * r))
        s = self._preconditioned(r)
        direction, rs = s, float(r @ s)
        for _ in range(MOST_REFINEMENTS):
            if not (least > goal and rs > 0.0):
                break
            image = self._times(direction)
            bend = float(direction @ image)
            if not bend > 0.0:
                break
            step = rs / bend
            z, r = z + step * direction, r - step * image
            size = float(np.linalg.norm(self.scale * r))
            if size < least:
                best, least = z, size
            s = self._preconditioned(r)
            rs, before = float(r @ s), rs
            direction = s + (rs / before) * direction
        return best
