"""What is proven of x and y where every feature has the same l2 and nothing else: one kernel.

The certificate of small fits was four kernels: A x, A'(c y), sums over rows and sums over columns.
Each is a walk, and a call from Python that takes as long as a thousand entries.
"""

from __future__ import annotations

import math

import numpy as np

from ...certificate.points import DualPoint, Pair, PrimalPoint
from ...data.strides import add_line, line_dot
from ...kernel.jit import kernel
from ...problem import Problem
from ...terms import weighted_terms

__all__ = ["fresh_pair"]


def fresh_pair(problem: Problem, A: object, x: np.ndarray, y: np.ndarray) -> Pair:
    """The pair of x and y, all sums made anew; rows of A are read once.

    For l2 alone, the same for every feature and no fainter than rounding: any y is feasible that
    is in the domain of phi*.
    """
    p = problem
    u, v = np.empty(p.n), np.empty(p.d)
    primal, conjugate, rows, columns = walk_once(A, p.b, p.c, p.mu, p.loss, x, y, u, v)
    p.grid.ledger.entries += p.stored
    point = PrimalPoint(x, u, primal if math.isfinite(primal) else math.inf)
    bound = -conjugate if math.isfinite(conjugate) else -math.inf
    return Pair(point, DualPoint(y, v, bound), rows, columns)


@kernel
def walk_once(A, b, c, l2, loss, x, y, u, v):
    """Write A x into u and -A'(c y) into v, a row's part of both while it is at hand.

    Returns
    -------
    primal, conjugate : float
        Of rows and columns.
    rows, columns : float
        The brackets of the gap.
    """
    for j in range(len(v)):
        v[j] = 0.0
    for i in range(len(u)):
        u[i] = line_dot(A, i, x)
        if y[i] != 0.0:
            add_line(A, i, -c[i] * y[i], v)
    primal, conjugate, rows = weighted_terms(u, y, b, c, loss)
    inverse = 1.0 / l2
    square, star, apart = 0.0, 0.0, 0.0
    for j in range(len(v)):  # squares of v or of l2 x would underflow for a tiny l2
        s = v[j] * inverse
        square += x[j] * x[j]
        star += v[j] * s
        apart += (x[j] - s) * (x[j] - s)
    return primal + 0.5 * l2 * square, conjugate + 0.5 * star, rows, 0.5 * l2 * apart
