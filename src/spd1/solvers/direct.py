"""Least squares without any penalty: one orthogonal factorisation, the solution of least norm.

Where the columns are independent, the solution is unique and is found with columns scaled to equal
length, so that no unit of measurement loses digits. Where they are not, there are many, and the one
of least norm is taken, as scikit-learn does. A gap of rounding is the end: who went on for a
smaller one would come to another of these solutions.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..certificate.points import Pair, dual_from_margins, pair_of
from ..errors import IncompatibleError, ParameterError
from ..problem import Problem
from .base import PairMethod
from .newton.newton import Newton
from .tuning import BY_ROUNDING, DIRECT_FLOPS, LARGEST_DENSE_COPY

__all__ = ["Direct"]


class Direct(PairMethod):
    """One factorisation, and the same once more for what rounding left."""

    name = "direct"
    fallback = Newton
    takes_cuts = True
    remembers = (*PairMethod.remembers, "taken", "exhausted", "final")
    rebuilt = ("rows",)  # left out of checkpoints

    @classmethod
    def refuse(cls, problem: Problem) -> None:
        super().refuse(problem)
        p = problem
        if not (
            p.loss.quadratic and p.reg.plain and np.all(np.asarray(p.reg.l2) <= p.most_faint_l2)
        ):
            raise IncompatibleError(
                "direct is for least squares without any penalty or bounds: use method 'auto'"
            )
        large = p.n * p.d > LARGEST_DENSE_COPY or 8.0 * p.n * p.d > p.grid.copies
        if large or p.n * p.d * min(p.n, p.d) > DIRECT_FLOPS:
            raise IncompatibleError(f"{p.n} x {p.d} is too large for direct: use method 'newton'")

    def prepare(self, sampling: str) -> None:
        if sampling != "auto":
            raise ParameterError(f"sampling={sampling!r} means nothing to direct")
        self.taken, self.exhausted = 0, False

    def begin(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None = None) -> None:
        del y, v
        self.state = x.copy()
        self.taken, self.exhausted = 0, False
        self.pair = self.look()

    def epoch(self) -> Iterator[None]:
        p = self.problem
        if self.taken == 0:
            self.roots = np.sqrt(p.c)
            self.rebuild()
            self.state = self.solved(self.roots * p.b)
        elif self.taken == 1:
            better = self.state + self.solved(self.roots * (p.b - self.pair.point.u))
            if p.primal(better) < self.pair.point.value:
                self.state = better
        self.taken += 1
        self.exhausted = self.taken > 2
        self.pair = self.look()
        size = max(abs(self.pair.point.value), abs(self.pair.dual.value))
        self.final = self.taken > 1 and self.pair.gap <= BY_ROUNDING * size
        yield

    def rebuild(self) -> None:
        """A dense copy of the rows, each times the root of its weight."""
        self.rows = self.roots[:, None] * self.problem.grid.dense_rows()

    def solved(self, b: np.ndarray) -> np.ndarray:
        """The x of least norm among those with the least squares."""
        with np.errstate(all="ignore"):
            size = np.sqrt(np.einsum("ij,ij->j", self.rows, self.rows))
            unit = np.where(size > 0.0, size, 1.0)
            scaled, _, rank, _ = np.linalg.lstsq(self.rows / unit, b, rcond=None)
            scaled[size == 0.0] = 0.0
            if rank == np.count_nonzero(size):
                return np.asarray(scaled / unit)
            least = np.linalg.lstsq(self.rows, b, rcond=None)[0]
            left = [float(np.sum((self.rows @ x - b) ** 2)) for x in (least, scaled / unit)]
        # Badly scaled columns may be lost in the first.
        alike = left[0] <= (1.0 + 1e-10) * left[1] + 1e-20 * float(b @ b)
        return np.asarray(least if alike else scaled / unit)

    def look(self) -> Pair:
        """The pair of x and its residuals."""
        p, x = self.problem, self.state
        u = p.margins(x)
        y = dual_from_margins(p, u)
        return pair_of(p, x, u, y, -p.adjoint(p.c * y))
