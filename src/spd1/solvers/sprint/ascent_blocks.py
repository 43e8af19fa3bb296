"""Dual ascent by several threads that stay in one kernel: the steps of ``ascent`` in blocks of rows.

A pass is split into stretches, and the rows of a stretch into blocks. Each block visits its rows
with a copy of G of its own; then the moves of all copies are added up, block by block, and every
copy starts again from the sum. Looks, norms and the search for rows at rest are cut, too. All cuts
follow from the data: the bits are the same for any number of threads.

Sums of moves may go too far, where blocks see the same columns. Then the dual value falls, which
visits one after the other never make it do: the run goes back to the best point and on with
stretches a quarter as long; if it falls once more, with one block.
"""

from __future__ import annotations

import math

import numpy as np

from ...data.strides import line_dot, own_square, soft_dot
from ...kernel.jit import helper, kernel
from ...kernel.team import WORDS, adjourn, complete, draw, post, task_done
from .ascent import LOOKS, hopeless, shuffle, tol_share, visit_rows
from .tuning import FINER, MERGE_STRIP, ROUNDING

__all__ = ["BOARD", "SUMS", "ascend_together"]

MEASURE, RENEW, VISIT, MERGE, LOOK, SIEVE = range(6)  # kinds of phases
KIND, FIRST, LAST, MANY = WORDS, WORDS + 1, WORDS + 2, WORDS + 3
BOARD = 4  # words that the phases are described by
SUMS = 8  # numbers that a task may hand back


@helper
def measure(A, b, c, l2, loss, first, last, reach, y):
    """c_i |a_i|^2 / l2 of some rows; those without entries are solved at once."""
    for i in range(first, last):
        reach[i] = c[i] * own_square(A, i) / l2
        if not reach[i] > 0.0:
            y[i] = loss.derivative(0.0, b[i])


@helper
def merge(G, copies, first, last, strip):
    """Add what copies have moved since they left G, in some columns; all start from the sum."""
    for start in range(first, last, MERGE_STRIP):
        size = min(MERGE_STRIP, last - start)
        for k in range(size):
            strip[k] = G[start + k]
        for one in range(len(copies)):
            for k in range(size):
                strip[k] += copies[one, start + k] - G[start + k]
        for k in range(size):
            G[start + k] = strip[k]
        for one in range(len(copies)):
            for k in range(size):
                copies[one, start + k] = strip[k]


@helper
def renew(G, copies, first, last):
    """Let all copies be G, in some columns."""
    for one in range(len(copies)):
        for j in range(first, last):
            copies[one, j] = G[j]


@helper
def look_at_rows(A, b, c, reach, loss, l1, scale, G, y, first, last, u, sums):
    """Margins of some rows, and what they add to shift, primal, conjugate and gap."""
    shift, primal, conjugate, gap = 0.0, 0.0, 0.0, 0.0
    for i in range(first, last):
        now = 0.0
        if reach[i] > 0.0:
            now = scale * (line_dot(A, i, G) if l1 == 0.0 else soft_dot(A, i, G, l1))
        shift += abs(now - u[i])
        u[i] = now
        if c[i] > 0.0:
            value, star = loss.phi(now, b[i]), loss.conjugate(y[i], b[i])
            bracket = loss.bracket(now, y[i], b[i], value, star)
            primal += c[i] * value
            conjugate += c[i] * star
            gap += c[i] * (bracket if star < math.inf else math.inf)
    sums[0], sums[1], sums[2], sums[3] = shift, primal, conjugate, gap


@helper
def look_at_columns(G, l1, first, last, sums):
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
        r = reach[i]
        if r > 0.0:
            rests, side = True, -near
            for _ in range(2):
                if rests:
                    y_new = loss.prox_near(y[i] + (u[i] + side) / r, b[i], 1.0 / r, y[i])
                    rests, side = y_new == y[i], near
            if not rests:
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
def cut(count, pieces, k):
    """Where piece k of so many things begins."""
    return count * k // pieces


@kernel
def ascend_together(
    leads, A, b, c, l1, l2, loss, kinks, block, key, limits, plan, ends, board, sums,
    y, G, u, copies, best_y, best_G, best_u, reach, rows, order, blocks, record, outcome,
):  # fmt: skip
    """Run until the gap is reached, the budget is spent or the pace is hopeless.

    Every thread calls it with the same arrays; one leads. See ``ascend`` for what is not here.

    Parameters
    ----------
    plan : (pieces of columns, stretches of a pass, entries of a row, entries worth a merge)
        Passes over so few rows that a stretch would read less are left to one block.
    ends : array of int64
        Where pieces of rows begin and end, for looks.
    board : array of int64
        See ``kernel.team``.
    sums : array of tasks x SUMS
    copies : array of blocks x d
    best_y, best_G, best_u, reach, rows, order, blocks : arrays
        Room to work.
    outcome : array of 4
        Looks, passes, the largest |G|^2 seen and how often moves went too far.
    """
    tol, floor, budget, left = limits
    parts, stretches, a_row, worth = plan
    n, d, pieces, many_blocks = len(y), len(G), len(ends) - 1, len(copies)
    scale = -1.0 / l2
    strip = np.empty(MERGE_STRIP)
    kind, tasks, many, fresh = MEASURE, pieces, False, False
    start, stop, size, active, count, drawn = 0, 0, 1, 0, 0, 0
    looks, ahead, passes_left, failed = 0, 2, 0, 0
    passes, moved, last_moved, wanted, near = 0.0, 0.0, 0.0, 0.0, 0.0
    largest, best = 0.0, -math.inf
    while True:
        if leads:
            board[KIND], board[FIRST], board[LAST] = kind, start, stop
            board[MANY] = 1 if many else 0
            sums[len(sums) - 1, 0] = near
            post(board, tasks)
        k = draw(board, leads)
        while k >= 0:
            now = board[KIND]
            if now == VISIT:
                first, rows_here = board[FIRST], board[LAST] - board[FIRST]
                shared = 1 if board[MANY] == 0 else many_blocks
                low = first + cut(rows_here, shared, k)
                high = first + cut(rows_here, shared, k + 1)
                mine = G if board[MANY] == 0 else copies[k]
                sums[k, 0] = 0.0
                if high > low:
                    sums[k, 0] = visit_rows(
                        A, b, c, reach, loss, l1, scale, y, mine, order[low:high], high - low
                    )
            elif now == MERGE:
                merge(G, copies, cut(d, parts, k), cut(d, parts, k + 1), strip)
            elif now == RENEW:
                renew(G, copies, cut(d, parts, k), cut(d, parts, k + 1))
            elif now == MEASURE:
                measure(A, b, c, l2, loss, ends[k], ends[k + 1], reach, y)
            elif now == SIEVE:
                sums[k, 0] = sieve(
                    reach, b, loss, u, y, sums[len(sums) - 1, 0], ends[k], ends[k + 1], rows
                )
            elif k < pieces:
                look_at_rows(
                    A, b, c, reach, loss, l1, scale, G, y, ends[k], ends[k + 1], u, sums[k]
                )
            else:
                p = k - pieces
                look_at_columns(G, l1, cut(d, parts, p), cut(d, parts, p + 1), sums[k])
            task_done(board)
            k = draw(board, leads)
        if not leads:
            break
        complete(board)
        # What comes next: the leader alone.
        begin = False  # some passes
        if kind == MEASURE:
            for i in range(n):
                if reach[i] > 0.0:
                    rows[count] = i
                    count += 1
            active, begin = count, True
        elif kind == VISIT:
            for k in range(tasks):
                moved += sums[k, 0]
            if many:
                kind, tasks = MERGE, parts
                continue
        elif kind == SIEVE:
            active, begin = 0, True
            for k in range(pieces):
                for p in range(int(sums[k, 0])):
                    rows[active] = rows[ends[k] + p]
                    active += 1
        elif kind == LOOK:
            shift, primal, conjugate, gap = 0.0, 0.0, 0.0, 0.0
            for k in range(pieces):
                shift += sums[k, 0]
                primal += sums[k, 1]
                conjugate += sums[k, 2]
                gap += sums[k, 3]
            total, length, square = 0.0, 0.0, 0.0
            for k in range(pieces, pieces + parts):
                total += sums[k, 0]
                length += sums[k, 1]
                square += sums[k, 2]
            passes += 1.0
            primal += 0.5 * total / l2 + l1 * length / l2
            dual = -(conjugate + 0.5 * total / l2)
            length = max(max(abs(primal), abs(dual)), floor)
            if failed < 2 and not dual >= best - ROUNDING * length:
                failed += 1  # moves went too far: back, and on with more care
                fresh = False
                take_over(best_y, best_u, best_G, y, u, G)
                if passes >= budget:
                    break
            else:
                largest = max(largest, square)
                record[looks, 0], record[looks, 1] = passes, primal
                record[looks, 2], record[looks, 3] = dual, gap
                looks += 1
                if gap <= tol * length or not gap < math.inf or passes >= budget:
                    break
                if looks > 1 and hopeless(record, looks, tol * length, left):
                    break
                if looks == LOOKS:
                    break
                best = dual
                take_over(y, u, G, best_y, best_u, best_G)
                last_moved, near = moved, shift / n
                ahead = 3 if looks == 1 else 8
                if kinks:
                    kind, tasks, ahead = SIEVE, pieces, min(ahead, 4)
                    continue
            begin = True
        if begin:
            wanted, passes_left, stop = 0.0, ahead, active
        elif stop == active:  # the end of a pass
            passes += active / max(count, 1)
            passes_left -= 1
            if moved <= wanted:  # about as small a gap as is asked for
                passes_left = 0
            elif looks > 0 and last_moved > 0.0:
                wanted = last_moved * tol_share(tol, floor, record, looks)
        if active == 0 or (stop == active and passes_left == 0):
            kind, tasks = LOOK, pieces + parts
            continue
        if stop == active:  # the beginning of a pass
            shuffle(rows, active, block, key, drawn, blocks, order)
            drawn += active
            moved, stop = 0.0, 0
            fine = stretches * (FINER if failed > 0 else 1)
            fine = min(fine, int(active * a_row / worth))
            many = fine > 0 and failed < 2
            size = (active + fine - 1) // fine if many else active
            if many and not fresh:
                kind, tasks, fresh = RENEW, parts, True
                continue
            fresh = many
        start, stop = stop, min(stop + size, active)
        kind, tasks = VISIT, many_blocks if many else 1
    if leads:
        outcome[0], outcome[1], outcome[2], outcome[3] = looks, passes, largest, failed
        adjourn(board)
