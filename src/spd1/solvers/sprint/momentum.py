"""Momentum of slow passes over the rows, and of slow sweeps over the columns.

Before a pass y and G = A'(c y) go on by a share k / (k + 3) of their last move, and y is cut to its
domain. A pass that ends with a lower dual objective is taken back, and k begins again at 0. So the
dual objective falls by no more than rounding from one pass that is kept to the next, and k = 0 is
ascent as it was.

After a sweep x and A x go on in the same way, unless the objective is above the one before the
sweep: then they return to where the sweep has led, and k begins again at 0.

That both take fewer passes is measured (docs/laboratory/engine.md), not proved.
"""

from __future__ import annotations

from ...data.strides import add_line
from ...kernel.jit import helper
from .tuning import CLIMB, CROWD, SLOW_START

__all__ = [
    "BEST",
    "FAST_NUMBERS",
    "ON",
    "OTHERS",
    "SINCE",
    "columns_ahead",
    "crowded",
    "go_on",
    "judge",
    "keep_or_return",
    "leap",
    "leap_back",
    "momentum",
    "rows_ahead",
    "settle",
    "sum_anew",
]

# Whether there is momentum; k; the dual objective of the last pass kept; whether others go on where
# rows that do not rest are more than columns
ON, SINCE, BEST, OTHERS = range(4)
FAST_NUMBERS = 4  # so many numbers


@helper
def momentum(fast):
    """The share of the last move that y and G go on by."""
    return fast[SINCE] / (fast[SINCE] + SLOW_START)


@helper
def crowded(fast, y, G):
    """Whether others do better: rows at work, y not zero, are more than the columns they share.

    Then they feel each other however many passes there are, and columns have curvature enough for
    conjugate gradients to be quick.
    """
    if fast[OTHERS] == 0.0:
        return False
    rows, columns = 0, 0
    for i in range(len(y)):
        rows += y[i] != 0.0
    for j in range(len(G)):
        columns += G[j] != 0.0
    return rows > CROWD * columns


@helper
def columns_ahead(share, G, G_last, first, last):
    """Some columns go on by a share of their last move, and become the last ones."""
    for j in range(first, last):
        at = G[j]
        G[j] = at + share * (at - G_last[j])
        G_last[j] = at


@helper
def rows_ahead(b, loss, share, y, y_last, first, last, over_by):
    """Some rows do the same, each within its domain; ``over_by`` gets what that cuts back."""
    for i in range(first, last):
        at = y[i]
        move = share * (at - y_last[i])
        y_last[i] = at
        over_by[i] = 0.0
        if move != 0.0:
            low, high = loss.domain(b[i])
            y[i] = min(max(at + move, low), high)
            over_by[i] = y[i] - (at + move)


@helper
def go_on(A, b, c, loss, fast, y, y_last, G, G_last, over_by):
    """Go on by a share of the last move, y within its domain; y and G become the last ones."""
    share = momentum(fast)
    columns_ahead(share, G, G_last, 0, len(G))
    rows_ahead(b, loss, share, y, y_last, 0, len(y), over_by)
    for i in range(len(y)):
        if over_by[i] != 0.0:
            add_line(A, i, c[i] * over_by[i], G)


@helper
def judge(fast, dual):
    """Take a pass into account; returns whether it must be taken back: the objective has fallen."""
    fallen = False
    if dual >= fast[BEST]:
        fast[BEST] = dual
        fast[SINCE] += 1.0
    else:
        # by no more than rounding it is kept: a pass on its own rises, seen or not
        fallen = not dual >= fast[BEST] - CLIMB * abs(fast[BEST])
        fast[SINCE] = 0.0
    return fallen


@helper
def keep_or_return(b, c, l1, l2, loss, fast, y, y_last, G, G_last):
    """Keep what a pass has led to, or return to where it began if the dual objective has fallen."""
    total, square = 0.0, 0.0
    for i in range(len(y)):
        star = loss.conjugate(y[i], b[i])
        total += c[i] * star if c[i] > 0.0 else 0.0
    for j in range(len(G)):
        over = max(abs(G[j]) - l1, 0.0)
        square += over * over
    if judge(fast, -(total + 0.5 * square / l2)):
        for i in range(len(y)):  # slices would take seconds to compile
            y[i] = y_last[i]
        for j in range(len(G)):
            G[j] = G_last[j]


@helper
def sum_anew(A, y, c, places, shifts, G, G_last):
    """G without the rounding of all the moves; G_last stays as far from it as it was.

    What momentum goes on by is that distance. A rounding that was in it would go on with it.
    """
    for j in range(len(G)):
        G_last[j] -= G[j]
        G[j] = 0.0
    for i in range(len(y)):
        if y[i] != 0.0:
            add_line(A, i, c[i] * y[i], G)
    for k in range(len(places)):
        G[places[k]] -= shifts[k]
    for j in range(len(G)):
        G_last[j] += G[j]


@helper
def leap(L, which, count, share, x, x_last, v, v_last, weight):
    """After a sweep x and v = weight A x - const go on by a share of their last move.

    What the sweep has led to becomes the last ones. A column that is zero, or would go beyond,
    stays where it is, and v follows: so columns that are not visited are the same in both.
    """
    for i in range(len(v)):
        at = v[i]
        v[i] = at + share * (at - v_last[i])
        v_last[i] = at
    for k in range(count):
        j = which[k]
        at = x[j]
        ahead = at + share * (at - x_last[j])
        x[j] = ahead if at * ahead > 0.0 else at
        x_last[j] = at
        if x[j] != ahead:
            add_line(L, j, weight * (x[j] - ahead), v)


@helper
def leap_back(which, count, x, x_last, v, v_last):
    """Return to what the sweep has led to."""
    for i in range(len(v)):
        v[i] = v_last[i]
    for k in range(count):
        x[which[k]] = x_last[which[k]]


@helper
def settle(which, count, x, x_last, v, v_last, trade):
    """Let what is there be the last ones, and the last ones be there if they are to trade places.

    After a leap these are what the sweep has led to, most often the lower of the two.
    """
    for i in range(len(v)):
        at = v[i]
        v[i] = v_last[i] if trade else at
        v_last[i] = at
    for k in range(count):
        j = which[k]
        at = x[j]
        x[j] = x_last[j] if trade else at
        x_last[j] = at
