"""Ascent on the columns that have entries, where most have none.

Text and clicks of a few hundred rows leave most of a hundred thousand columns empty. What a pass
does with G = A'(c y) as a whole would take longer than its visits, and G would not fit into the
fastest memory. So columns get new numbers without gaps, and x is spread out at the end: it is zero
where a column is empty.
"""

from __future__ import annotations

import numpy as np

from ...certificate.points import Pair, pair_of
from ...data.matrix import CSR
from ...kernel.jit import kernel
from .tuning import ENTRIES_A_COLUMN, WIDE_ENOUGH
from .workers import AscentWorker

__all__ = ["SqueezedAscentWorker", "squeezed"]


def squeezed(A: CSR) -> tuple[CSR, np.ndarray | None]:
    """Rows whose columns have new numbers, and the old ones; as they are if that gains nothing.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp, spd1
    >>> rows = sp.csr_matrix(([1.0, 2.0], ([0, 1], [7, 7000])), shape=(2, 90_000))
    >>> A = spd1.Problem(rows, [1.0, -1.0], "hinge", spd1.L2(1.0)).grid.matrix
    >>> few, columns = squeezed(A)
    >>> few.shape, few.indices.tolist(), columns.tolist()
    ((2, 2), [0, 1], [7, 7000])
    """
    n, d = A.shape
    if d < WIDE_ENOUGH or A.stored > ENTRIES_A_COLUMN * d:
        return A, None
    indices, columns = np.empty_like(A.indices), np.empty(A.stored, dtype=np.int64)
    used = number_anew(A.indices, np.zeros(d, dtype=np.uint32), indices, columns)
    if 2 * used > d:
        return A, None
    indices.flags.writeable = False  # as all data: one kernel
    return CSR(A.data, indices, A.indptr, (n, used)), columns[:used]


@kernel
def number_anew(indices, numbers, new, columns):
    """Number columns in the order in which rows come upon them: how many there are.

    ``numbers``, zeros, is room for a number a column; ``columns`` gets the old ones.
    """
    used = 0
    for p in range(len(indices)):
        j = indices[p]
        number = numbers[j]
        if number == 0:
            columns[used] = j
            used += 1
            number = numbers[j] = used
        new[p] = number - 1
    return used


class SqueezedAscentWorker(AscentWorker):
    """The kernel of l2 > 0 on the columns that have entries; on all of them if most have."""

    rebuilt = (*AscentWorker.rebuilt, "columns")
    columns: np.ndarray | None = None

    @property
    def width(self) -> int:
        return self.problem.d if self.columns is None else len(self.columns)

    def rebuild(self) -> None:
        super().rebuild()
        if self.team is None and self.problem.grid.crew is None and isinstance(self.A, CSR):
            self.A, self.columns = squeezed(self.A)

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Values of columns where these have their old numbers."""
        if self.columns is None:
            return values
        whole = np.zeros(self.problem.d)
        whole[self.columns] = values
        return whole

    @property
    def x(self) -> np.ndarray:
        return self.spread(super().x)

    def pair(self) -> Pair:
        return pair_of(self.problem, self.x, self.u, self.y.copy(), self.spread(-self.G))
