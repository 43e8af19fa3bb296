"""Dual ascent by several threads that stay in one kernel: steps of ``ascent`` in blocks of rows.

A pass is split into stretches, and the rows of a stretch into blocks. Each block visits its rows
with a copy of G of its own; then the moves of all copies are added up, see ``solvers.merging``.
Looks, norms and the search for rows at rest are cut, too. All cuts follow from the data: the bits
are the same for any number of threads.

How often a block takes its own moves is what the last stretch would have needed. Where the dual
value falls nevertheless, the run goes back to the best point, and on with full care: no sum of
moves makes it diverge.

Momentum is that of ``momentum``, in phases: y and G go on, what y is cut back by is added to copies
and merged, and the dual objective is a sum over pieces of rows and columns.
"""

from __future__ import annotations

import math

import numpy as np

from ...data.strides import add_line, line_dot, own_square, soft_dot
from ...kernel.jit import helper, kernel
from ...kernel.team import adjourn, complete, draw, post, task_done
from ..merging import (
    APART,
    FIRST,
    KIND,
    LAST,
    MERGE,
    RENEW,
    SHARED,
    TOGETHER,
    VISIT,
    add_up,
    cut,
    needed_care,
    renew,
)
from ..tuning import MERGE_STRIP
from .ascent import (
    KINKS,
    LOOKS,
    gap_of_moves,
    hopeless,
    objective_seen,
    pace,
    rests,
    shuffle,
    slow,
    until_momentum,
    visit_rows,
)
from .momentum import BEST, ON, SINCE, columns_ahead, crowded, judge, momentum, rows_ahead
from .tuning import (
    APART_ENOUGH,
    FALLEN,
    MEAN_BEND,
    MOMENTUM_STRETCH,
    NEXT_MARK,
    STRETCH,
    UNJUDGED_SHARE,
    UNTIL_SLOW,
    WORTH_MOMENTUM,
)

__all__ = ["PHASE_SETTINGS", "ascend_together"]

MEASURE, LOOK, SIEVE = range(3, 6)  # kinds of phases beside those of a merge, ...
GO_AHEAD, CUT_BACK, GATHER, JUDGE, TAKE_BACK, BARE, SUM, WHOLE = range(
    6, 14
)  # ... and those of momentum
HOW_CAREFUL, HOW_NEAR, HOW_FAR = 0, 1, 2  # settings of a phase that are no whole numbers
PHASE_SETTINGS = 3
VISITED = 5  # numbers that a visit hands back: moved, gap, size, shift, rows that go on


@helper
def measure(A, b, c, l2, loss, first, last, reach, y, sums):
    """c_i |a_i|^2 / l2 of some rows, their sum, and the loss at zero.

    Rows without entries are solved at once.
    """
    total, start = 0.0, 0.0
    for i in range(first, last):
        reach[i] = c[i] * own_square(A, i) / l2
        total += reach[i]
        start += c[i] * loss.phi(0.0, b[i])
        if not reach[i] > 0.0:
            y[i] = loss.derivative(0.0, b[i])
    sums[0], sums[1] = total, start


@helper
def look_along_rows(A, b, c, reach, loss, l1, scale, G, y, first, last, u, sums):
    """Margins of some rows, and what they add to primal, conjugate and gap."""
    primal, conjugate, gap = 0.0, 0.0, 0.0
    for i in range(first, last):
        now = 0.0
        if reach[i] > 0.0:
            now = scale * (line_dot(A, i, G) if l1 == 0.0 else soft_dot(A, i, G, l1))
        u[i] = now
        if c[i] > 0.0:
            value, star = loss.phi(now, b[i]), loss.conjugate(y[i], b[i])
            bracket = loss.bracket(now, y[i], b[i], value, star)
            primal += c[i] * value
            conjugate += c[i] * star
            gap += c[i] * (bracket if star < math.inf else math.inf)
    sums[0], sums[1], sums[2] = primal, conjugate, gap


@helper
def look_along_columns(G, l1, first, last, sums):
    """What some columns add to |soft(G)|^2, |soft(G)|_1 and |G|^2."""
    total, size, square = 0.0, 0.0, 0.0
    for j in range(first, last):
        over = max(abs(G[j]) - l1, 0.0)
        total += over * over
        size += over
        square += G[j] * G[j]
    sums[0], sums[1], sums[2] = total, size, square


@helper
def sieve(reach, b, loss, u, y, near, first, last, rows):
    """Rows that may move before the next look, see ``ascent.awake``; written from ``first`` on."""
    count = 0
    for i in range(first, last):
        if reach[i] > 0.0 and not rests(b[i], loss, u[i], y[i], reach[i], near):
            rows[first + count] = i
            count += 1
    return count


@helper
def take_over(y, u, G, to_y, to_u, to_G):
    """Copy a point."""
    for i in range(len(y)):
        to_y[i], to_u[i] = y[i], u[i]
    for j in range(len(G)):
        to_G[j] = G[j]


@helper
def add_rows(A, c, values, first, last, G):
    """Add c_i values_i a_i of some rows."""
    for i in range(first, last):
        if values[i] != 0.0:
            add_line(A, i, c[i] * values[i], G)


@helper
def conjugates(b, c, loss, y, first, last):
    """What some rows add to the sum of c_i phi_i*(y_i)."""
    total = 0.0
    for i in range(first, last):
        star = loss.conjugate(y[i], b[i])
        total += c[i] * star if c[i] > 0.0 else 0.0
    return total


@helper
def lay_bare(G, G_last, copies, first, last):
    """Let the last G be how far it is from G, and copies be zero: room for a new sum."""
    for j in range(first, last):
        G_last[j] -= G[j]
    for one in range(len(copies)):
        for j in range(first, last):
            copies[one, j] = 0.0


@helper
def make_whole(G, G_last, copies, places, shifts, first, last):
    """G is the sum of the copies, less what columns with a centre take; see ``sum_anew``."""
    for j in range(first, last):
        total = 0.0
        for one in range(len(copies)):
            total += copies[one, j]
        G[j] = total
    for k in range(len(places)):
        if first <= places[k] < last:
            G[places[k]] -= shifts[k]
    for j in range(first, last):
        G_last[j] += G[j]


@kernel
def ascend_together(
    leads, A, b, c, l1, l2, loss, watch, block, key, limits, plan, ends, board, settings, sums,
    y, G, u, places, shifts, y_last, G_last, fast, over_by, copies, best_y, best_G, best_u, reach,
    reach_here, c_here, rows, order, blocks, record, outcome,
):  # fmt: skip
    """Run until the gap is reached, the budget is spent or the pace is hopeless.

    Every thread calls it with the same arrays; one leads. See ``ascend`` for what is not here.

    Parameters
    ----------
    plan : (pieces of columns, stretches of a pass, entries of a row, entries worth a merge)
        Passes over so few rows that a stretch would read less are left to one block.
    ends : array of int64
        Where pieces of rows begin and end, for looks.
    board, settings : arrays
        See ``kernel.team``; what a phase is told beside.
    sums : array of tasks x SUMS
    places, shifts, y_last, G_last, fast : arrays, or None
        See ``ascend``.
    over_by : array, or None
        Room for what rows are cut back by.
    copies : array of blocks x d
    best_y, best_G, best_u, reach, reach_here, c_here, rows, order, blocks : arrays
        Room to work.
    outcome : array of 4
        Looks, passes, the largest |G|^2 seen, and whether moves went too far.
    """
    tol, floor, budget, left = limits
    parts, stretches, a_row, worth = plan
    n, d, pieces, all_blocks = len(y), len(G), len(ends) - 1, len(copies)
    scale = -1.0 / l2
    strip, unit = np.empty(MERGE_STRIP), np.ones(1)
    kind, tasks, many, fresh = MEASURE, pieces, False, False
    start, stop, size, active, count, drawn = 0, 0, 1, 0, 0, 0
    looks, since_look, kept, visits, failed = 0, 0, 0, 0, False
    passes, moved, gap, seen, shift, near = 0.0, 0.0, 0.0, 0.0, 0.0, math.inf
    of_moves, at_zero = 1.0, 0.0
    now, before, long_before = math.inf, math.inf, math.inf  # gaps as the last visits saw them
    judged = max(UNTIL_SLOW, UNJUDGED_SHARE * left)  # passes, before which nothing is given up
    mark, mark_gap, next_mark, given_up = 0.0, math.inf, 0.5 * UNTIL_SLOW, False
    largest, best, care, most = 0.0, -math.inf, float(len(copies)), float(len(copies))
    while True:
        if leads:
            board[KIND], board[FIRST], board[LAST] = kind, start, stop
            board[SHARED] = all_blocks if many else 1
            settings[HOW_CAREFUL], settings[HOW_NEAR] = care if many else 1.0, near
            if fast is not None:
                settings[HOW_FAR] = momentum(fast)
            post(board, tasks)
        k = draw(board, leads)
        while k >= 0:
            what = board[KIND]
            if what == VISIT:
                first, here = board[FIRST], board[LAST] - board[FIRST]
                shared, cautious = board[SHARED], settings[HOW_CAREFUL]
                low, high = first + cut(here, shared, k), first + cut(here, shared, k + 1)
                for p in range(VISITED):
                    sums[k, p] = 0.0
                if high > low:
                    for p in range(low, high):
                        i = order[p]
                        c_here[i], reach_here[i] = cautious * c[i], cautious * reach[i]
                    # Rows that go on are written over those that were visited before them.
                    way, off, size_seen, by, go_on = visit_rows(
                        A, b, c_here, reach_here, loss, l1, scale, watch, settings[HOW_NEAR], y, u,
                        G if shared == 1 else copies[k], order[low:high], high - low,
                        order[low:high],
                    )  # fmt: skip
                    sums[k, 0], sums[k, 1] = way / (cautious * cautious), off / cautious
                    sums[k, 2], sums[k, 3], sums[k, 4] = size_seen / cautious, by, go_on
            elif what == MERGE:
                low, high = cut(d, parts, k), cut(d, parts, k + 1)
                add_up(G, G, copies, unit, True, settings[HOW_CAREFUL], low, high, strip, sums[k])
            elif what == RENEW:
                renew(G, copies, cut(d, parts, k), cut(d, parts, k + 1))
            elif fast is not None and what >= GO_AHEAD:
                low, high = cut(d, parts, k - pieces), cut(d, parts, k - pieces + 1)
                mine, next_one = cut(n, all_blocks, k), cut(n, all_blocks, k + 1)
                if what == GO_AHEAD and k < pieces:
                    rows_ahead(b, loss, settings[HOW_FAR], y, y_last, ends[k], ends[k + 1], over_by)
                elif what == GO_AHEAD:
                    columns_ahead(settings[HOW_FAR], G, G_last, low, high)
                    renew(G, copies, low, high)
                elif what == CUT_BACK:
                    add_rows(A, c, over_by, mine, next_one, copies[k])
                elif what == GATHER:
                    add_up(
                        G, G, copies, unit, True, 1.0, cut(d, parts, k), cut(d, parts, k + 1),
                        strip, sums[k],
                    )  # fmt: skip
                elif what == JUDGE and k < pieces:
                    sums[k, 0] = conjugates(b, c, loss, y, ends[k], ends[k + 1])
                elif what == JUDGE:
                    look_along_columns(G, l1, low, high, sums[k])
                elif what == TAKE_BACK and k < pieces:
                    for i in range(ends[k], ends[k + 1]):
                        y[i] = y_last[i]
                elif what == TAKE_BACK:
                    for j in range(low, high):
                        G[j] = G_last[j]
                elif what == BARE:
                    lay_bare(G, G_last, copies, cut(d, parts, k), cut(d, parts, k + 1))
                elif what == SUM:
                    add_rows(A, c, y, mine, next_one, copies[k])
                else:
                    low, high = cut(d, parts, k), cut(d, parts, k + 1)
                    make_whole(G, G_last, copies, places, shifts, low, high)
            elif what == MEASURE:
                measure(A, b, c, l2, loss, ends[k], ends[k + 1], reach, y, sums[k])
            elif what == SIEVE:
                low, high = ends[k], ends[k + 1]
                sums[k, 0] = sieve(reach, b, loss, u, y, settings[HOW_NEAR], low, high, rows)
            elif k < pieces:
                look_along_rows(
                    A, b, c, reach, loss, l1, scale, G, y, ends[k], ends[k + 1], u, sums[k]
                )
            else:
                p = k - pieces
                look_along_columns(G, l1, cut(d, parts, p), cut(d, parts, p + 1), sums[k])
            task_done(board)
            k = draw(board, leads)
        if not leads:
            break
        complete(board)
        # What comes next: the leader alone.
        begin, ends_pass, ahead_now = False, False, False  # some passes; one of them; y and G ahead
        if kind == MEASURE:
            total = 0.0
            for k in range(pieces):
                total += sums[k, 0]
                at_zero += sums[k, 1]
            for i in range(n):
                if reach[i] > 0.0:
                    rows[count] = i
                    count += 1
            of_moves = gap_of_moves(total / max(count, 1), MEAN_BEND * loss.curvature(0.0, b[0]))
            active, begin = count, True
        elif kind == VISIT:
            for k in range(tasks):
                moved += sums[k, 0]
                gap += sums[k, 1]
                seen += sums[k, 2]
                shift += sums[k, 3]
                if watch == KINKS:
                    low = start + cut(stop - start, tasks, k)
                    for p in range(int(sums[k, 4])):
                        rows[kept] = order[low + p]
                        kept += 1
            if many:
                kind, tasks = MERGE, parts
                continue
            ends_pass = stop == active
        elif fast is not None and kind >= GO_AHEAD:
            if kind == GO_AHEAD:
                kind, tasks = CUT_BACK, all_blocks
                continue
            if kind == CUT_BACK:
                kind, tasks = GATHER, parts
                continue
            if kind == BARE:
                kind, tasks = SUM, all_blocks
                continue
            if kind == SUM:
                kind, tasks = WHOLE, parts
                continue
            if kind == WHOLE:
                kind, tasks, fresh = LOOK, pieces + parts, False
                passes += 1.0
                continue
            if kind == JUDGE:
                total, square = 0.0, 0.0
                for k in range(pieces):
                    total += sums[k, 0]
                for k in range(pieces, pieces + parts):
                    square += sums[k, 0]
                if judge(fast, -(total + 0.5 * square / l2)):
                    kind, fresh = TAKE_BACK, False
                    continue
            ahead_now = fresh = kind == GATHER
            ends_pass = not ahead_now
        elif kind == MERGE:
            together, apart = 0.0, 0.0
            for k in range(parts):
                together += sums[k, TOGETHER]
                apart += sums[k, APART]
            care = needed_care(together, apart, most) if not failed else most
            ends_pass = stop == active
        elif kind == SIEVE:
            active, begin = 0, True
            for k in range(pieces):
                for p in range(int(sums[k, 0])):
                    rows[active] = rows[ends[k] + p]
                    active += 1
        elif kind == LOOK:
            primal, conjugate, gap = 0.0, 0.0, 0.0
            for k in range(pieces):
                primal += sums[k, 0]
                conjugate += sums[k, 1]
                gap += sums[k, 2]
            total, length, square = 0.0, 0.0, 0.0
            for k in range(pieces, pieces + parts):
                total += sums[k, 0]
                length += sums[k, 1]
                square += sums[k, 2]
            passes += 1.0
            primal += 0.5 * total / l2 + l1 * length / l2
            dual = -(conjugate + 0.5 * total / l2)
            length = max(max(abs(primal), abs(dual)), floor)
            if not failed and not dual >= best - FALLEN * length:
                failed, fresh, care = True, False, most
                take_over(best_y, best_u, best_G, y, u, G)
                if fast is not None:
                    fast[SINCE], fast[BEST] = 0.0, -math.inf
                if passes >= budget:
                    break
            else:
                largest = max(largest, square)
                record[looks, 0], record[looks, 1] = passes, primal
                record[looks, 2], record[looks, 3] = dual, gap
                looks += 1
                if gap <= tol * length or not gap < math.inf or passes >= budget or given_up:
                    break
                hard = looks > 1 and passes > judged
                if hard and hopeless(record, looks, tol * length, left, looks // 2):
                    break
                if looks == LOOKS:
                    break
                best = dual
                take_over(y, u, G, best_y, best_u, best_G)
                if watch != KINKS and visits > 1 and now > 0.0:  # what moves tell of the gap
                    told = max(now * pace(now, before, long_before), 0.1 * now)
                    off = min(max(gap / told, 0.1), 10.0)
                    of_moves, now, before = of_moves * off, now * off, before * off
            if watch == KINKS:
                kind, tasks = SIEVE, pieces
                continue
            begin = True
        if fast is not None and fast[ON] > 0.0 and ends_pass and kind <= MERGE:
            kind, tasks = JUDGE, pieces + parts
            continue
        over = False  # whether it is time for a look
        if begin:
            since_look, over = 0, active == 0
        elif ends_pass:
            passes += active / max(count, 1)
            since_look, visits = since_look + 1, visits + 1
            if watch == KINKS:
                near, active = APART_ENOUGH * shift / active, kept
            else:
                gap, seen = of_moves * moved, at_zero
            now, before, long_before = gap, now, before
            ahead = now * pace(now, before, long_before)
            if watch != KINKS and ahead <= tol * max(seen, floor):
                seen = objective_seen(u, y, b, c, loss)
            wanted = tol * max(seen, floor)
            over = ahead <= wanted or passes + 1.0 >= budget
            stretch = STRETCH
            if fast is not None and fast[ON] > 0.0:
                stretch = MOMENTUM_STRETCH
            over = over or active == 0 or since_look >= stretch
            if not over and passes >= next_mark:
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
                over = given_up
        moving = False
        if fast is not None:
            moving = fast[ON] > 0.0
        if over:
            kind, tasks = LOOK, pieces + parts
            if moving:
                kind, tasks = BARE, parts
            continue
        if moving and (begin or ends_pass):
            kind, tasks = GO_AHEAD, pieces + parts
            continue
        if begin or ends_pass or ahead_now:  # the beginning of a pass
            shuffle(rows, active, block, key, drawn, blocks, order)
            drawn += active
            moved, gap, seen, shift, kept, stop = 0.0, 0.0, 0.0, 0.0, 0, 0
            fine = min(stretches, int(active * a_row / worth))
            many = fine > 0
            size = (active + fine - 1) // fine if many else active
            if many and not fresh:
                kind, tasks, fresh = RENEW, parts, True
                continue
            fresh = many
        start, stop = stop, min(stop + size, active)
        kind, tasks = VISIT, all_blocks if many else 1
    if leads:
        outcome[0], outcome[1], outcome[2] = looks, passes, largest
        outcome[3] = 1.0 if failed else 0.0
        adjourn(board)
