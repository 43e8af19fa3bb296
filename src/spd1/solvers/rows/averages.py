"""The average of the points at the end of passes, and which of two pairs to show."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...certificate.feasible import replace_infeasible
from ...certificate.points import Pair, pair_of
from ...problem import Problem

__all__ = ["Sums", "better_of"]


class Sums(NamedTuple):
    """Sums of x and y over the ends of ``passes`` passes, and the point where the first began."""

    x: np.ndarray
    y: np.ndarray
    passes: int
    from_x: np.ndarray
    from_y: np.ndarray

    def plus(self, x: np.ndarray, y: np.ndarray) -> Sums:
        """The same and one more pass."""
        return self._replace(x=self.x + x, y=self.y + y, passes=self.passes + 1)

    def mean(self, problem: Problem, inside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The average; where rounding leads out of bounds and domains it is put back.

        ``inside`` is a y of the domain.
        """
        p = problem
        x = np.clip(self.x / self.passes, p.reg.lower, p.reg.upper)
        y = self.y / self.passes
        replace_infeasible(y, inside, p.b, p.loss)
        return x, y


def better_of(problem: Problem, last: Pair, sums: Sums) -> tuple[Pair, bool]:
    """The pair of the last point or of the average, by gap; whether it is the average."""
    p = problem
    x, y = sums.mean(p, last.dual.y)
    if not (np.all(np.isfinite(x)) and np.all(np.isfinite(y))):
        return last, False
    average = pair_of(p, x, p.margins(x), y, -p.adjoint(p.c * y))
    return (average, True) if not last.gap <= average.gap else (last, False)
