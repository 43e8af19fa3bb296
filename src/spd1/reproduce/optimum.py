"""P* of a problem, proven to 1e-12."""

from __future__ import annotations

from ..problem import Problem
from ..solve import solve

__all__ = ["ACCURACY", "find_optimum"]

ACCURACY = 1e-12  # relative gap


def find_optimum(problem: Problem, method: str = "auto") -> dict[str, float]:
    """Lower bound on P*, with the relative gap that proves it.

    Examples
    --------
    >>> import numpy as np, spd1
    >>> problem = spd1.Problem(np.eye(2), [1.0, -1.0], "squared", spd1.L2(0.5))
    >>> found = find_optimum(problem)
    >>> round(found["optimum"], 12), found["rel_gap"] <= ACCURACY
    (0.25, True)
    """
    result = solve(problem, method, tol=ACCURACY, max_passes=1e6, max_seconds=600)
    start = problem.primal(problem.reg.minimiser(problem.d))
    return {
        "optimum": float(result.dual), "rel_gap": float(result.rel_gap), "start": float(start)
    }  # fmt: skip
