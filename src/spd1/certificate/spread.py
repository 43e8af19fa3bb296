"""How rows with room move columns without penalty, and which of these depend on others."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cholesky, qr, solve_triangular

from .tuning import DEPENDENT, FACTORED, INDEPENDENT, ROOMY

if TYPE_CHECKING:
    from ..problem import Problem
    from .free_columns import FreeColumns

__all__ = ["Spread", "room_of", "spread_of"]


class Spread(NamedTuple):
    """How moves of the rows with room change some columns: diag(sqrt(c w)) M = Q R."""

    Q: np.ndarray
    R: np.ndarray
    scale: np.ndarray  # lengths of the columns of diag(sqrt(c w)) M
    order: np.ndarray  # independent columns first
    rank: int
    gain: np.ndarray  # sqrt(w / c)
    error: float  # rounding of the factors, relative to a column
    pivoted: bool  # because some columns are nearly dependent

    def cut(self, rank: int) -> Spread:
        """The same with fewer columns that count as independent."""
        return self._replace(Q=self.Q[:, :rank], R=self.R[:rank, :rank], rank=rank)

    def parts(self, excess: np.ndarray) -> np.ndarray:
        """Multiples of the columns of Q that take the excess of independent columns away."""
        wanted = excess / self.scale[self.independent]
        return np.asarray(solve_triangular(self.R, wanted, trans="T", check_finite=False))

    @property
    def independent(self) -> np.ndarray:
        """Columns that none of the others stands for."""
        return self.order[: self.rank]


def room_of(problem: Problem, y: np.ndarray, free: FreeColumns) -> np.ndarray:
    """How far each y_i is from the ends of the domain of phi*, within reason."""
    most = float(np.abs(y).max())
    room = np.minimum(np.minimum(y - free.ends[0], free.ends[1] - y), most)
    return np.where((problem.c > 0.0) & (room > ROOMY * most), room, 0.0)


def spread_of(problem: Problem, y: np.ndarray, free: FreeColumns, active: np.ndarray) -> Spread:
    """Factor the active columns, weighted by room."""
    room = room_of(problem, y, free)
    gain = np.sqrt(np.divide(room, problem.c, out=np.zeros(problem.n), where=room > 0.0))
    B = np.sqrt(problem.c * room)[:, None] * free.M[:, active]
    scale = np.sqrt(np.einsum("ij,ij->j", B, B))
    scale = np.where(scale > 0.0, scale, 1.0)
    B /= scale
    error = FACTORED * math.sqrt(problem.n)
    if B.shape[1] == 1:
        one = np.ones((1, 1))
        return Spread(B, one, scale, np.zeros(1, dtype=int), int(np.any(B)), gain, error, False)
    R = _well_conditioned(B.T @ B)
    if R is not None:
        Q = solve_triangular(R, B.T, trans="T", check_finite=False).T
        least = float(np.min(np.diagonal(R)))  # a product of B with itself has lost as much
        return Spread(Q, R, scale, np.arange(len(R)), len(R), gain, error / least, False)
    Q, R, order = qr(B, mode="economic", pivoting=True, check_finite=False)
    diagonal = np.abs(np.diagonal(R))
    rank = int(
        np.count_nonzero(diagonal > DEPENDENT * math.sqrt(problem.n) * max(diagonal[0], 0.5))
    )
    return Spread(Q[:, :rank], R[:rank, :rank], scale, order, rank, gain, error, True)


def _well_conditioned(G: np.ndarray) -> np.ndarray | None:
    """R with R'R = G, of unit diagonal, if its columns are far from dependent."""
    try:
        R = cholesky(G, check_finite=False)
    except LinAlgError:
        return None
    return np.asarray(R) if float(np.min(np.diagonal(R))) > INDEPENDENT else None
