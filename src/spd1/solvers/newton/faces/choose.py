"""Which face suits a problem."""

from __future__ import annotations

import math

import numpy as np

from ....problem import Problem
from ....regularizers import ElasticNet
from ..tuning import (
    FEW_COLUMNS,
    FEW_ROWS,
    FEW_TURNS,
    MOST_FREE,
    MOST_TURNS,
    TALL,
    TALL_GRAM,
    WELL_CURVED,
    WIDE,
)
from .base import Face
from .dual import DualFace
from .free import FreeFace, FreeGramFace
from .primal import PrimalFace, TallFace
from .proximal import ProximalFace
from .span import GramFace

__all__ = [
    "best_face",
    "face_of",
    "few_columns",
    "few_rows",
    "few_rows_one_free",
    "one_free",
    "rows_out_of_reach",
]


def best_face(problem: Problem) -> str:
    """Which face Newton's method works on: 'primal', 'dual', 'proximal', or '' if none will do."""
    if "face" not in problem.notes:
        problem.notes["face"] = _best_face(problem)
    return str(problem.notes["face"])


def _best_face(problem: Problem) -> str:
    smooth_primal = problem.gamma > 0 or problem.label_kind == "count"
    net = problem.loss.conjugate_net
    smooth_dual = (problem.mu > 0 or few_free(problem)) and net is not None
    if not smooth_primal:
        if smooth_dual:
            return "dual"
        return "proximal" if net is not None else ""
    if smooth_dual and net is not None and problem.reg.plain and problem.n <= TALL * problem.d:
        low, high = problem.loss.domain(float(problem.b[0]))
        corners = net[0] > 0.0 or low > -math.inf or high < math.inf
        if corners and (not rows_apart(problem, FEW_TURNS) or few_rows(problem)):
            return "dual"
    return "primal"


def few_free(problem: Problem) -> bool:
    """Whether every column has l2 > 0 but for one or two that have no penalty and no bounds.

    On tall data the proximal term had better be on all columns.
    """
    reg = problem.reg
    if np.ndim(reg.l2) == 0 or problem.n > TALL * problem.d:
        return False
    free = np.asarray(reg.l2) == 0.0
    if not 0 < np.count_nonzero(free) <= min(MOST_FREE, problem.d - 1):
        return False
    fields = (reg.l1, reg.lower, reg.upper)
    l1, lower, upper = (np.broadcast_to(np.asarray(v), free.shape)[free] for v in fields)
    return bool(np.all(l1 == 0.0) and np.all(lower == -math.inf) and np.all(upper == math.inf))


def few_rows(problem: Problem) -> bool:
    """Whether the problem has few rows, and a regularizer that is l2 and nothing else."""
    p = problem
    return p.n <= FEW_ROWS and WIDE * p.n <= p.d and p.reg.plain and p.mu > 0


def few_rows_one_free(problem: Problem) -> bool:
    """The same with a logistic loss and one column that has no l2, as an intercept has none."""
    p = problem
    few = p.n <= FEW_ROWS and WIDE * p.n <= p.d
    return few and p.reg.plain and p.loss.probabilities and one_free(p)


def one_free(problem: Problem) -> bool:
    """Whether one column has no l2, and that of the others is more than rounding.

    The regularizer has no l1 and no bounds.

    Examples
    --------
    >>> import numpy as np, spd1
    >>> p = spd1.Problem(np.eye(3), [1.0, -1.0, 1.0], "logistic", spd1.L2([0.1, 0.2, 0.0]))
    >>> one_free(p), one_free(p.with_regularizer(spd1.L2([0.1, 0.0, 0.0])))
    (True, False)
    """
    p, l2 = problem, np.asarray(problem.reg.l2)
    if l2.ndim == 0 or np.count_nonzero(l2 == 0.0) != 1 or p.d == 1:
        return False
    return bool(l2[l2 > 0.0].min() > p.most_faint_l2)


def rows_apart(problem: Problem, turns: float) -> bool:
    """Whether rows must be put together from tiles, and take more than so many sets of copies."""
    grid = problem.grid
    return grid.shape[1] > 1 and 1.25 * grid.nbytes > turns * grid.copies


def rows_out_of_reach(problem: Problem) -> bool:
    """Whether a dual face would put rows together from tiles, so few at a time that it won't end.

    Up to MOST_TURNS working sets take turns, see ``Choice``. A proximal term wants all of them: it
    moves on after every epoch.
    """
    p = problem
    face = best_face(p)
    if face == "primal" or not rows_apart(p, 1 if face == "proximal" else MOST_TURNS):
        return False
    return not (p.n <= FEW_ROWS and WIDE * p.n <= p.d and p.reg.plain)  # on their Gram matrix


def few_columns(problem: Problem) -> bool:
    """Whether this is least squares with few columns, and an l2 that leaves sweeps much to do."""
    p = problem
    if not (p.loss.quadratic and TALL_GRAM * p.d <= p.n and p.d <= FEW_COLUMNS):
        return False
    return not p.grid.dense or p.grid.square_sum > WELL_CURVED * p.mu * p.n * p.d


def face_of(problem: Problem) -> Face:
    """The face that suits a problem, on a small Gram matrix where there is one."""
    kind = best_face(problem)
    if kind == "primal":
        return TallFace(problem) if few_columns(problem) else PrimalFace(problem)
    if kind == "proximal":
        return ProximalFace(problem)
    if problem.mu == 0.0:
        few = few_rows(problem.with_regularizer(ElasticNet(l2=1.0))) and problem.reg.plain
        return FreeGramFace(problem) if few else FreeFace(problem)
    return GramFace(problem) if few_rows(problem) else DualFace(problem)
