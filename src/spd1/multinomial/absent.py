"""Classes without weight: left out, solved without, and put back.

With free intercepts nothing is lost by it. The lower the intercept of a class that no sample has,
the lower the objective, and its coefficients are best at zero: the infimum is the optimum of the
other classes, for which every feasible dual point has p = 0 at the absent one. Put back is a point
that is as good to the last bit: an intercept at which the class has a probability below exp(-NEVER)
in every sample.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import logsumexp

from ..certificate.gap import relative
from ..errors import DataError
from ..result import Result
from .objective import Objective
from .tuning import NEVER

__all__ = ["Present"]


class Present:
    """The part of a problem with an intercept that has weight.

    Parameters
    ----------
    objective : Objective
        With classes whose weights add up to zero.
    """

    def __init__(self, objective: Objective) -> None:
        self.whole = objective
        self.classes = np.flatnonzero(objective.share > 0.0)
        if len(self.classes) < 2:
            raise DataError(
                f"only class {self.classes[0]} has samples with a weight above 0: there is nothing "
                "to tell apart"
            )
        self.rows = np.flatnonzero(objective.c > 0.0)
        self.X = objective.X[self.rows]
        self.labels = np.searchsorted(self.classes, objective.labels[self.rows])
        self.weight = objective.c[self.rows]

    def start(self, x0: Any) -> Any:
        """The rows of a starting point that are needed."""
        if x0 is None or np.shape(x0)[:1] != (self.whole.K,):
            return x0  # refused where it is checked
        return np.asarray(x0, dtype=float)[self.classes]

    def put_back(self, result: Result) -> Result:
        """The result with all classes, and what the absent ones add to the gap."""
        whole, K = self.whole, self.whole.K
        scores = np.asarray(self.X @ result.x[:, :-1].T) + result.x[:, -1]
        x = np.zeros((K, whole.size))
        x[:, -1] = min(0.0, float(logsumexp(scores, axis=1).min())) - NEVER
        x[self.classes] = result.x
        x[:, -1] -= x[:, -1].mean()
        y = np.zeros((whole.n, K))
        y[np.ix_(self.rows, self.classes)] = result.y
        more = (K - len(self.classes)) * math.exp(-NEVER)
        gap, primal = result.gap + more, result.primal + more
        rel_gap = relative(gap, primal, result.dual, result.floor)
        return replace(result, x=x, y=y, gap=gap, primal=primal, rel_gap=rel_gap)
