"""One column without penalty, which most fits have: an intercept. The short way to a proof.

The same as ``balance`` and ``vicinity`` do for any number of columns, see there, in half a dozen
walks over the rows instead of sixty: with one column m the factors are a number. With the room w of
each row the move that balances it is w m t, t = v / sum c w m^2, and

    E = w |m| (|v| + its rounding) / sum c w m^2

bounds how far away an exactly feasible dual point is. What does not come out at once is left to
them: columns that the ends of the domain keep from balance.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernel.jit import kernel
from ..problem import ROUNDED
from ..terms import loss_terms_near
from .tuning import FACTORED, MEND_ROUNDS, NOTHING, ROOMY
from .vicinity import Vicinity

if TYPE_CHECKING:
    from ..problem import Problem
    from .free_columns import FreeColumns

__all__ = ["balanced_alone"]


@kernel
def write_terms(m, c, y, terms):
    """Write m c y; returns the sum of their sizes and the largest |y|."""
    size, most = 0.0, 0.0
    for i in range(len(y)):
        terms[i] = m[i] * (c[i] * y[i])
        size += abs(terms[i])
        most = max(most, abs(y[i]))
    return size, most


@kernel
def write_room(m, c, y, low, high, least, most, room):
    """Write how far each y is from the ends of its domain, within reason; returns sum c w m^2."""
    total = 0.0
    for i in range(len(y)):
        w = min(min(y[i] - low[i], high[i] - y[i]), most)
        w = w if (c[i] > 0.0) & (w > least) else 0.0
        room[i] = w
        total += c[i] * w * m[i] * m[i]
    return total


@kernel
def move_rows(m, room, by, nothing, low, high, y, out):
    """Write y + by m room, inside its domain; what is next to nothing is put to zero."""
    for i in range(len(y)):
        there = y[i] + by * m[i] * room[i]
        there = there if abs(there) > nothing else 0.0
        out[i] = min(max(there, low[i]), high[i])


@kernel
def write_reach(m, c, y, low, high, room, share, rows):
    """Write share |m| room; returns the square of c times it, and what is outside of a domain."""
    square, outside = 0.0, 0.0
    for i in range(len(y)):
        reach = share * abs(m[i]) * room[i]
        rows[i] = reach
        square += (c[i] * reach) * (c[i] * reach)
        outside += 0.0 if (y[i] - reach >= low[i]) & (y[i] + reach <= high[i]) else 1.0
    return square, outside


def balanced_alone(
    problem: Problem, y: np.ndarray, free: FreeColumns
) -> tuple[np.ndarray, Vicinity | None]:
    """Y mended for one column that asks v = 0 of both sides, and its vicinity.

    None where that is not as easy as it is for most.
    """
    p, m, (low, high) = problem, free.M[:, 0], free.ends
    terms, room, least = np.empty(p.n), np.empty(p.n), math.inf
    for _ in range(MEND_ROUNDS):
        size, most = write_terms(m, p.c, y, terms)
        v, rounding = -float(np.sum(terms)), ROUNDED * size  # NumPy sums in pairs
        total = write_room(m, p.c, y, low, high, ROOMY * most, most, room)
        if not (0.0 < total < math.inf and 0.0 < size < math.inf and abs(v) < 0.5 * least):
            return y, None
        if abs(v) <= rounding:
            break
        least, out = abs(v), np.empty(p.n)
        move_rows(m, room, v / total, NOTHING * most, low, high, y, out)
        y = out
    else:
        return y, None
    shaky = FACTORED * math.sqrt(p.n)
    if not shaky <= 0.5:
        return y, None
    # 1.01 and shaky: room, sums and products are rounded themselves
    share = 1.01 * (abs(v) + rounding) * (1.0 + shaky / (1.0 - shaky)) / total
    rows = np.empty(p.n)
    square, outside = write_reach(m, p.c, y, low, high, room, share, rows)
    if outside > 0.0 or not (finite_at_ends(p) or finite_around(p, y, rows)):
        return y, None
    columns = np.sqrt(p.column_norms_squared)
    columns *= math.sqrt(square)
    columns[p.free_columns] = 0.0
    return y, Vicinity(rows, columns, np.zeros(1))


def finite_around(problem: Problem, y: np.ndarray, rows: np.ndarray) -> bool:
    """Whether phi* is finite within ``rows`` of y."""
    p = problem
    return math.isfinite(loss_terms_near(np.zeros(p.n), y, rows, p.b, p.c, p.loss)[1])


def finite_at_ends(problem: Problem) -> bool:
    """Whether phi* is known to be finite at both ends of its domain, and so between them."""
    if problem.label_kind != "sign":
        return False
    try:
        kind: Any = type(problem.loss)
        return known_finite(kind, problem.loss)
    except TypeError:  # a loss that holds an array has no hash
        return False


@lru_cache
def known_finite(kind: type, loss: Any) -> bool:
    """The same of a loss of labels; losses of two classes may be equal as tuples."""
    del kind
    ends = [(end, label) for label in (-1.0, 1.0) for end in loss.domain(label)]
    return all(
        math.isfinite(end) and math.isfinite(loss.conjugate(end, label)) for end, label in ends
    )
