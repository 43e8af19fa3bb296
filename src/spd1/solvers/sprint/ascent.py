"""Dual ascent row by row, x tied to y: a whole solve for l2 > 0, shrinking and looks included.

With G = A'(c y) and x = -soft(G, l1) / l2, a visit to row i solves its own dual variable exactly:

    u = a_i'x;   y_i+ = prox_{sigma_i phi*}(y_i + sigma_i u),  sigma_i = l2 / (c_i |a_i|^2)
    G += c_i (y_i+ - y_i) a_i

A look computes all margins and with them the gap. Rows that would stay where they are, a margin of
their neighbours' movement included, are left out until the next look.

Where that is slow, and rows can rest, passes have momentum (``momentum``).
"""

from __future__ import annotations

import math

import numpy as np

from ...data.strides import add_line, line_dot, move_line, own_square, soft_dot
from ...kernel.jit import helper, kernel
from ...kernel.rng import index
from ...terms import weighted_terms
from .momentum import BEST, ON, SINCE, crowded, go_on, keep_or_return, sum_anew
from .tuning import (
    APART_ENOUGH,
    FAR_TOO_SLOW,
    LIKELY,
    MEAN_BEND,
    MOMENTUM_STRETCH,
    NEXT_MARK,
    STEADY_PACE,
    STRETCH,
    UNJUDGED_SHARE,
    UNTIL_SLOW,
    WORTH_MOMENTUM,
)

__all__ = ["KINKS", "LOOKS", "SMOOTH", "ascend"]

NO_WATCH, KINKS, SMOOTH = range(3)  # what is watched while rows are visited

LOOKS = 64  # rows of the record of looks
PATIENT = 6  # looks before one that gains nothing is taken for the end


@helper
def shuffle(rows, count, block, key, counter, blocks, order):
    """Write the first ``count`` rows into order, blocks of them at random."""
    parts = (count + block - 1) // block
    for k in range(parts):
        blocks[k] = k
    for k in range(parts - 1, 0, -1):
        other = index(key, counter + k, k + 1)
        blocks[k], blocks[other] = blocks[other], blocks[k]
    at = 0
    for k in range(parts):
        for p in range(blocks[k] * block, min(count, (blocks[k] + 1) * block)):
            order[at] = rows[p]
            at += 1


@helper
def visit_rows(A, b, c, reach, loss, l1, scale, watch, near, y, u, G, order, count, rows):
    """Visit the first rows of an order; where rows can rest, write those that do not into rows.

    G moves with a row when the next one is looked at: one walk along G where there is no l1.

    Returns
    -------
    moved : float
        Squared moves, each by its curvature.
    gap, size : float
        Where rows can rest: the brackets of all rows visited, each at the margin it had, and about
        the objective.
    shift : float
        By how much margins moved since they were last seen, where rows can rest.
    kept : int
        Rows that go on.
    """
    moved, move, before = 0.0, 0.0, order[0]
    gap, size, shift, kept = 0.0, 0.0, 0.0, 0
    for k in range(count + 1):
        i = order[min(k, count - 1)]
        if l1 > 0.0:
            if move != 0.0:
                add_line(A, before, move, G)
            product = soft_dot(A, i, G, l1)
        else:
            product = move_line(A, before, move, i, G)
        if k < count:
            r, margin = reach[i], scale * product
            y_new = loss.prox_near(y[i] + margin / r, b[i], 1.0 / r, y[i])
            step = y_new - y[i]
            if watch == KINKS:
                value, star = loss.phi(margin, b[i]), loss.conjugate(y[i], b[i])
                gap += c[i] * loss.bracket(margin, y[i], b[i], value, star)
                size += c[i] * (value - 0.5 * y[i] * margin)
                shift += abs(margin - u[i])
                if step != 0.0 or not rests(b[i], loss, margin, y[i], r, near):
                    rows[kept] = i
                    kept += 1
            if watch != NO_WATCH:
                u[i] = margin
            y[i] = y_new
            move, before = c[i] * step, i
            moved += move * step * r
    return moved, gap, size, shift, kept


@helper
def gap_of_moves(r, q):
    """What the brackets of smooth rows add up to, over ``moved``, if all rows were like the mean.

    With q the curvature of phi the prox moves y by q / (1 + q r) times what margin and y are
    apart, and the bracket is q / 2 times the square of that.
    """
    return 0.5 * (1.0 + q * r) * (1.0 + q * r) / (q * r) if q * r > 0.0 else 1.0


@helper
def gap_after_one(reach, b, c, loss, u, y, fast):
    """About the gap after one pass that began at y = 0, u the margins that rows had at their turn.

    These came from the rows before them. What the rows after them have done to their margins is not
    known, but it is as much, as the order is random: so it is taken to be the same.
    """
    total = 0.0
    for i in range(len(u)):
        if fast is None:
            total += 0.5 * MEAN_BEND * loss.curvature(0.0, b[i]) * c[i] * u[i] * u[i]
        else:
            margin = 2.0 * u[i] - reach[i] * y[i]
            value, star = loss.phi(margin, b[i]), loss.conjugate(y[i], b[i])
            total += c[i] * loss.bracket(margin, y[i], b[i], value, star)
    return total


@helper
def objective_seen(u, y, b, c, loss):
    """About the objective, from margins of the last visits: |G|^2 / l2 = -sum_i c_i y_i u_i."""
    total = 0.0
    for i in range(len(u)):
        total += c[i] * (loss.phi(u[i], b[i]) - 0.5 * y[i] * u[i])
    return total


@helper
def rests(label, loss, margin, at, r, near):
    """Whether a row stays where it is, even if its margin moves by ``near``."""
    stays, side = True, -near
    for _ in range(2):
        if stays:
            stays = loss.prox_near(at + (margin + side) / r, label, 1.0 / r, at) == at
            side = near
    return stays


@helper
def awake(reach, b, loss, u, y, near, rows):
    """Rows that may move before the next look: those at rest, a margin ``near`` apart, are not."""
    count = 0
    for i in range(len(y)):
        if reach[i] > 0.0 and not rests(b[i], loss, u[i], y[i], reach[i], near):
            rows[count] = i
            count += 1
    return count


@kernel
def ascend(
    A, b, c, l1, l2, loss, watch, block, key, limits, y, G, u, places, shifts, y_last, G_last, fast,
    record
):  # fmt: skip
    """Run until the gap is reached, the budget is spent or the pace is hopeless.

    Parameters
    ----------
    watch : KINKS or SMOOTH
        What tells the gap between looks. KINKS: rows can come to rest, because phi* has a bounded
        domain that margins reach. SMOOTH: how far rows move.
    block : int
        Rows that are visited one after the other, as they lie in memory.
    limits : (tol, floor, most passes of this call, most passes in all)
    y, G, u : arrays
        Where to start, and the end: y, A'(c y), margins of x = -soft(G, l1) / l2.
    places, shifts : arrays
        Columns with a centre, and l2 times it: what G is less than A'(c y) there.
    y_last, G_last, fast : arrays, or None
        Momentum, kept from one call to the next, see ``momentum``. None, where watch is SMOOTH:
        there is none, and nothing of it is compiled.
    record : array of LOOKS x 4
        Passes, primal, dual and gap of each look.

    Returns
    -------
    looks, passes, and the largest |G|^2 seen
    """
    tol, floor, budget, left = limits
    n = len(y)
    scale = -1.0 / l2
    rows, order, blocks = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    reach, over_by = np.empty(n), np.empty(n)
    count, total, start, stored = 0, 0.0, 0.0, 0
    fresh = len(places) == 0
    for i in range(n):
        fresh = fresh and y[i] == 0.0
        stored += A.line_length(i)
        reach[i] = c[i] * own_square(A, i) / l2
        total += reach[i]
        if reach[i] > 0.0:
            rows[count] = i
            count += 1
        else:
            y[i] = loss.derivative(0.0, b[i])
    if fast is None:
        for i in range(n):  # alone, and so many rows at a time: most of these losses are logarithms
            start += c[i] * loss.phi(0.0, b[i])
    of_moves = gap_of_moves(total / max(count, 1), MEAN_BEND * loss.curvature(0.0, b[0]))
    active, passes, looks, near = count, 0.0, 0, math.inf
    drawn, largest, visits = 0, 0.0, 0
    now, before, long_before = math.inf, math.inf, math.inf  # gaps as the last visits saw them
    judged = max(UNTIL_SLOW, UNJUDGED_SHARE * left)  # passes, before which nothing is given up
    mark, mark_gap, next_mark, given_up = 0.0, math.inf, 0.5 * UNTIL_SLOW, False
    while looks < len(record):
        stretch = STRETCH
        if fast is not None and fast[ON] > 0.0:
            stretch = MOMENTUM_STRETCH
        for _ in range(stretch):
            if active == 0:
                break
            if fast is not None and fast[ON] > 0.0:
                go_on(A, b, c, loss, fast, y, y_last, G, G_last, over_by)
            shuffle(rows, active, block, key, drawn, blocks, order)
            drawn += active
            moved, gap, seen, shift, kept = visit_rows(
                A, b, c, reach, loss, l1, scale, watch, near, y, u, G, order, active, rows
            )
            passes += 1.0 if active == count else entries_of(A, order, active) / max(stored, 1)
            visits += 1
            if watch == KINKS:
                near, active = APART_ENOUGH * shift / active, kept
            else:
                gap, seen = of_moves * moved, start
            if fast is not None and fast[ON] > 0.0:
                keep_or_return(b, c, l1, l2, loss, fast, y, y_last, G, G_last)
            now, before, long_before = gap, now, before
            ahead = now * pace(now, before, long_before)
            if watch == SMOOTH and ahead <= tol * max(seen, floor):
                seen = objective_seen(u, y, b, c, loss)
            wanted = tol * max(seen, floor)
            if fresh:  # nothing is known of the pace, but something of what a pass does
                fresh = False
                if gap_after_one(reach, b, c, loss, u, y, fast) <= LIKELY * wanted:
                    break
            if ahead <= wanted or passes + 1.0 >= budget:
                break
            if passes >= next_mark:
                bearable = left - passes
                leave = False
                if fast is not None and fast[ON] == 0.0:
                    bearable = until_momentum(now, mark_gap, passes - mark)
                    leave = crowded(fast, y, G)
                    bearable = WORTH_MOMENTUM if leave else bearable
                if slow(now, mark_gap, passes - mark, wanted, bearable):
                    given_up = leave or passes >= judged
                    if fast is not None and fast[ON] == 0.0 and not leave:
                        fast[ON], fast[SINCE], fast[BEST] = 1.0, 0.0, -math.inf
                        judged, given_up = max(judged, passes + UNTIL_SLOW), False
                mark, mark_gap, next_mark = passes, now, NEXT_MARK * passes
                if given_up:
                    break
        if fast is not None and fast[ON] > 0.0:
            sum_anew(A, y, c, places, shifts, G, G_last)
            passes += 1.0
        for i in range(n):
            u[i] = 0.0
            if reach[i] > 0.0:
                u[i] = scale * (line_dot(A, i, G) if l1 == 0.0 else soft_dot(A, i, G, l1))
        primal, conjugate, gap = weighted_terms(u, y, b, c, loss)
        total, size, square = column_terms(G, l1, l2, u, y, c)
        largest = max(largest, square)
        passes += 1.0
        primal += 0.5 * total / l2 + l1 * size / l2
        dual = -(conjugate + 0.5 * total / l2)
        record[looks, 0], record[looks, 1] = passes, primal
        record[looks, 2], record[looks, 3] = dual, gap
        looks += 1
        size = max(max(abs(primal), abs(dual)), floor)
        if gap <= tol * size or not gap < math.inf or passes >= budget:
            break
        if given_up:
            break
        if looks > 1 and passes > judged and hopeless(record, looks, tol * size, left, looks // 2):
            break
        if fast is not None:  # watch is KINKS, and so known when this is compiled
            active = awake(reach, b, loss, u, y, near, rows)
        elif visits > 1 and now > 0.0:  # what moves tell of the gap, as it has turned out
            off = min(max(gap / max(now * pace(now, before, long_before), 0.1 * now), 0.1), 10.0)
            of_moves, now, before = of_moves * off, now * off, before * off
    return looks, passes, largest


@helper
def entries_of(A, which, count):
    """How many entries some lines have."""
    total = 0
    for k in range(count):
        total += A.line_length(which[k])
    return total


@helper
def pace(now, before, long_before):
    """What a pass leaves of the gap: the mean of two, where there are two.

    Every other pass may gain next to nothing, where many rows pull in one direction.
    """
    if 0.0 < long_before < math.inf:
        return min(math.sqrt(now / long_before), 1.0)
    return min(now / before, 1.0) if 0.0 < before < math.inf else 1.0


@helper
def slow(now, before, passes, wanted, left):
    """Whether the pace of these passes would take far more of them than are left."""
    if before == math.inf:
        return False
    if not (now < before and wanted > 0.0):
        return True
    return now > wanted and (
        math.log(now / wanted) * passes > FAR_TOO_SLOW * left * math.log(before / now)
    )


@helper
def until_momentum(now, before, passes):
    """Passes that may be ahead of passes without momentum: any number where their pace is good.

    Momentum makes slow passes faster and fast ones slower.
    """
    steady = now < before * STEADY_PACE**passes
    return math.inf if steady else WORTH_MOMENTUM


@helper
def column_terms(G, l1, l2, u, y, c):
    """|soft(G)|^2, |soft(G)|_1 and |G|^2.

    Without l1 rows tell it: u = -A G / l2 and G = A'(c y), so |G|^2 = -l2 sum_i c_i y_i u_i. Data
    may have a thousand columns a row, most of them without an entry.
    """
    total, size, square = 0.0, 0.0, 0.0
    if l1 == 0.0:
        for i in range(len(u)):
            square -= c[i] * y[i] * u[i]
        square = max(l2 * square, 0.0)
        return square, 0.0, square
    for j in range(len(G)):
        over = max(abs(G[j]) - l1, 0.0)
        total += over * over
        size += over
        square += G[j] * G[j]
    return total, size, square


@helper
def hopeless(record, looks, wanted, budget, back):
    """Whether the pace of the last ``back`` looks would take more passes than there are."""
    first = looks - 1 - back
    before, now = record[first, 3], record[looks - 1, 3]
    if not now < before:
        return looks > PATIENT
    pace = math.log(before / now) / (record[looks - 1, 0] - record[first, 0])
    return math.log(now / wanted) / pace > budget - record[looks - 1, 0]
