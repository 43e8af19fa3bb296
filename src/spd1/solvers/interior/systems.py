"""Which linear system a step of the interior-point method solves: of rows, of columns, bordered."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .normal import Bordered, Normal
from .tuning import MANY_COLUMNS, MOST_IN_BORDER, ORTHOGONAL

__all__ = ["Cost", "Systems", "cost_by_columns", "cost_by_rows", "rows_cost_less"]


class Cost(NamedTuple):
    """Multiplications of the systems of a run: before the first step, and of each step."""

    once: float
    step: float


def cost_by_rows(n: int, d: int, still: bool, curved: bool = False) -> Cost:
    """What steps by the matrix of the rows cost.

    Where columns stand ``still``, without l1 and bounds, the products of rows are made once, and a
    step is a factor of them. ``curved``: a step takes orthogonal factors, see ``Normal.exact``.
    """
    if curved:
        return Cost(0.0, ORTHOGONAL * n * n * (n + d))
    products, factor = 1.0 * n * n * d, n**3 / 3.0
    return Cost(products, factor) if still else Cost(0.0, products + factor)


def cost_by_columns(n: int, d: int) -> Cost:
    """What steps by the matrix of the columns cost."""
    return Cost(0.0, 1.0 * n * d * d + d**3 / 3.0)


def rows_cost_less(n: int, d: int, still: bool, curved: bool = False) -> bool:
    """Whether a step costs less by the matrix of the rows than by that of the columns."""
    return cost_by_rows(n, d, still, curved).step < cost_by_columns(n, d).step


class Systems:
    """The systems of all steps of a run.

    Parameters
    ----------
    A : array of shape (n, d)
    l2 : array of shape (d,)
    kinks : bool array of shape (d,)
        Columns with l1 or bounds.
    curved : bool
        Whether the loss is no quadratic, see ``Normal.exact``.
    """

    def __init__(self, A: np.ndarray, l2: np.ndarray, kinks: np.ndarray, curved: bool) -> None:
        self.A, self.l2, self.curved = A, l2, curved
        n, d = A.shape
        self.free = (l2 == 0.0) & ~kinks
        border = int(np.count_nonzero(self.free))
        self.still = not np.any(kinks)
        # Few columns have their own matrix, which leaves no border to lose digits with.
        self.by_rows = (
            (not curved or border > 0)
            and d - border > MANY_COLUMNS
            and border <= min(MOST_IN_BORDER, n - 1)
            and rows_cost_less(n, d, self.still, curved)
        )
        self.paid, self.border = A, A[:, :0]
        if self.by_rows and border:
            self.paid, self.border = A[:, ~self.free], A[:, self.free]
        self.gram: np.ndarray | None = None

    def system(self, q: np.ndarray, H: np.ndarray) -> Normal | Bordered:
        """The factored system for the weights of a step."""
        if not self.by_rows:
            few = len(q) < len(H) and float(np.min(H)) > 0.0
            return Normal(self.A, q, H, few, exact=few and self.curved)
        H = H[~self.free]
        if self.still and self.gram is None and not self.curved:  # H is l2 at every step
            scaled = self.paid / np.sqrt(H)
            self.gram = scaled @ scaled.T
        if self.border.shape[1] == 0:
            return Normal(self.paid, q, H, True, gram=self.gram)
        return Bordered(self.paid, self.border, self.free, q, H, self.gram, self.curved)
