"""Table 1: the data sets, the paper's and those that run."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..problem import Problem
from .problems import PAPER, Source

__all__ = ["CAPTION", "rows"]

CAPTION = (
    "Table 1. Data: the paper's, and what ran. R is the largest row norm, kappa = R^2 / (lambda "
    "gamma) for the logistic loss."
)


def rows(sources: list[Source]) -> list[dict[str, Any]]:
    """One row a panel with real data."""
    found = []
    for source in sources:
        if source.panel not in PAPER:
            continue
        name, n, d, l2 = PAPER[source.panel]
        problem = Problem(source.A, source.b, "logistic", None)
        R = float(np.sqrt(problem.row_norms_squared.max()))
        found.append(
            {
                "paper": name, "paper n": n, "paper d": d, "lambda": l2, "ran": source.name,
                "n": problem.n, "d": problem.d, "stored": int(problem.stored), "R": R,
                "kappa": R**2 / (l2 * problem.gamma),
            }
        )  # fmt: skip
    return found
