"""Sweeps of coordinate descent by several threads that stay in one kernel.

The model of ``working_set.descend`` by blocks of lines: each block visits its lines with a copy of
the slope of its own; then the moves of all copies are added up, see ``solvers.merging``. The cut
follows from the data: the bits are the same for any number of threads.

How often a block takes its own moves is what the last stretch would have needed. A stretch after
which the model may have risen is taken back, and done again with full care: the model never rises.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....data.crew import Crew
from ....data.strides import add_line, line_dot, shift_along
from ....kernel.jit import by_layout, kernel
from ....kernel.team import adjourn, complete, draw, new_board, post, task_done
from ...merging import (
    APART,
    BOARD,
    FIRST,
    KIND,
    LAST,
    MERGE,
    RENEW,
    SHARED,
    SIDE,
    TASK_SUMS,
    TOGETHER,
    VISIT,
    add_up,
    call_all,
    cut,
    needed_care,
    renew,
)
from ...tuning import (
    MERGE_PIECES,
    MERGE_STRIP,
    TEAM_BLOCKS,
    WORTH_A_MERGE,
    WORTH_A_TEAM,
)
from ..tuning import LINES_A_BLOCK, LONG_LINE, SWEEP_STRETCHES, WORTH_BLOCKS
from .coordinate import best_end, minimiser

__all__ = ["descend_by", "descend_together", "worth_a_team"]

GAINED, HAS_READ = 0, 1  # what a block hands back


def sparse_block(B, ids, which, low, high, table, z, curvature, bend, flat, care, slope, sums):
    """Visit some lines; what they gained, the model's own moves taken ``care`` times."""
    gain, read = 0.0, 0
    for p in range(low, high):
        w = which[p]
        linear, l1, l2, lower, upper = table[w]
        old, h = z[w], care * curvature[w]
        if h + l2 <= 0.0:  # an empty line
            z[w] = best_end(old, linear, l1, lower, upper)
            continue
        line = ids[w]
        read += B.line_length(line)
        gradient = linear + line_dot(B, line, slope)
        new = minimiser(h * old - gradient, h + l2, l1, lower, upper)
        if new != old:
            step = new - old
            z[w] = new
            gain += 0.5 * (h + l2) * step * step
            step *= care
            if flat:
                add_line(B, line, step * bend[0], slope)
            else:
                shift_along(B, line, step, slope, bend)
    sums[0], sums[1] = gain, read


def dense_block(B, ids, which, low, high, table, z, curvature, bend, flat, care, slope, sums):
    """The same for dense lines, see ``descend_dense``: a step is added when the next one reads."""
    gain, read = 0.0, 0
    last, owed = 0, 0.0  # line and step that the slope has not seen yet
    for p in range(low, high):
        w = which[p]
        linear, l1, l2, lower, upper = table[w]
        old, h = z[w], care * curvature[w]
        if h + l2 <= 0.0:
            z[w] = best_end(old, linear, l1, lower, upper)
            continue
        line = ids[w]
        read += len(slope)
        gradient = 0.0
        if owed == 0.0:
            for j in range(len(slope)):
                gradient += B.entry(line, j) * slope[j]
        elif flat:
            for j in range(len(slope)):
                now = slope[j] + B.entry(last, j) * owed
                slope[j] = now
                gradient += B.entry(line, j) * now
        else:
            for j in range(len(slope)):
                now = slope[j] + bend[j] * (B.entry(last, j) * owed)
                slope[j] = now
                gradient += B.entry(line, j) * now
        owed = 0.0
        new = minimiser(h * old - gradient - linear, h + l2, l1, lower, upper)
        if new != old:
            z[w] = new
            gain += 0.5 * (h + l2) * (new - old) * (new - old)
            last, owed = line, care * (new - old) * (bend[0] if flat else 1.0)
    if owed != 0.0:
        for j in range(len(slope)):
            slope[j] += (1.0 if flat else bend[j]) * (B.entry(last, j) * owed)
    sums[0], sums[1] = gain, read


visit_block = by_layout(dense_block, sparse_block)


@kernel
def descend_together(
    leads, B, ids, table, z, curvature, bend, flat, slope, least, sweeps, enough,
    plan, board, settings, sums, sides, copies, which, before, outcome,
):  # fmt: skip
    """Coordinate descent as in ``descend``, by all threads that call it; one leads.

    Parameters
    ----------
    plan : (stretches of a sweep, lines worth a merge, pieces of a merge)
    board, settings : arrays
        See ``kernel.team``; the care of a phase.
    sums : array of tasks x 2
    sides : array of 2 x positions
        The slope before and after a stretch.
    copies : array of blocks x positions
    which, before : arrays
        Room for the lines of a sweep, and for what they were before a stretch.
    outcome : array of 4
        Gain of the last sweep and of the one before, entries read, stretches taken back.
    """
    stretches, worth, parts = plan
    width, all_blocks = len(slope), len(copies)
    strip = np.empty(MERGE_STRIP)
    care, most = float(len(copies)), float(len(copies))
    kind, tasks, start, stop, active, size, many, side = RENEW, parts, 0, 0, 0, 1, True, 0
    sweep, gain, last_gain, read, undone, won = 0, 0.0, 0.0, 0.0, 0.0, 0.0
    if leads:
        for j in range(width):
            sides[0, j] = slope[j]
    while True:
        if leads:
            board[KIND], board[FIRST], board[LAST], board[SIDE] = kind, start, stop, side
            board[SHARED] = all_blocks if many else 1
            settings[0] = care if many else 1.0
            post(board, tasks)
        k = draw(board, leads)
        while k >= 0:
            now, here = board[KIND], board[SIDE]
            if now == VISIT:
                first, count, shared = board[FIRST], board[LAST] - board[FIRST], board[SHARED]
                low, high = first + cut(count, shared, k), first + cut(count, shared, k + 1)
                visit_block(
                    B, ids, which, low, high, table, z, curvature, bend, flat, settings[0],
                    sides[here] if shared == 1 else copies[k], sums[k],
                )  # fmt: skip
            elif now == MERGE:
                low, high = cut(width, parts, k), cut(width, parts, k + 1)
                add_up(
                    sides[here], sides[1 - here], copies, bend, flat, settings[0], low, high,
                    strip, sums[k],
                )  # fmt: skip
            else:
                renew(sides[here], copies, cut(width, parts, k), cut(width, parts, k + 1))
            task_done(board)
            k = draw(board, leads)
        if not leads:
            break
        complete(board)
        if kind == VISIT:
            won = 0.0
            for k in range(tasks):
                won += sums[k, GAINED]
                read += sums[k, HAS_READ]
            if many:
                kind, tasks = MERGE, parts
                continue
            gain += won
        elif kind == MERGE:
            together, apart = 0.0, 0.0
            for k in range(parts):
                together += sums[k, TOGETHER]
                apart += sums[k, APART]
            won -= 0.5 * max(together - care * apart, 0.0)
            if won < 0.0 and care < most:  # the model may have risen: take it back
                for p in range(start, stop):
                    z[which[p]] = before[p]
                care, stop, undone = most, start, undone + 1.0
                kind, tasks = RENEW, parts
                continue
            side = 1 - side
            care = needed_care(together, apart, most)
            gain += max(won, 0.0)
        if stop == active:  # the end of a sweep, or the beginning
            if kind != RENEW:
                sweep += 1
                if sweep == sweeps or (gain <= enough and sweep >= least):
                    break
                last_gain, gain = gain, 0.0
            active = 0
            for w in range(len(ids)):
                pinned = z[w] <= table[w, 3] or z[w] >= table[w, 4]
                if sweep == 0 or not (pinned or (z[w] == 0.0 and table[w, 1] > 0.0)):
                    which[active] = w
                    active += 1
            if active == 0:
                break
            fine = min(stretches, int(active / worth))
            size = (active + fine - 1) // fine if fine > 0 else active
            start, stop = 0, 0
            if fine > 0 and not many:
                many, kind, tasks = True, RENEW, parts
                continue
            many = fine > 0
        start, stop = stop, min(stop + size, active)
        if many:
            for p in range(start, stop):
                before[p] = z[which[p]]
        kind, tasks = VISIT, all_blocks if many else 1
    if leads:
        for j in range(width):
            slope[j] = sides[side, j]
        outcome[0], outcome[1], outcome[2], outcome[3] = gain, last_gain, read, undone
        adjourn(board)


def worth_a_team(crew: Crew | None, entries: float, width: int) -> bool:
    """Whether sweeps are worth several threads: many lines pull at each position."""
    if crew is None or width < LONG_LINE:
        return False
    return entries >= max(WORTH_A_TEAM, WORTH_BLOCKS * width)


def descend_by(
    crew: Crew, B: Any, ids: np.ndarray, entries: float, model: tuple[Any, ...],
    sweeps: tuple[int, int, float],
) -> tuple[float, float, float]:  # fmt: skip
    """Sweeps by a crew: what the last two gained, and the entries read."""
    slope, lines = model[-1], len(ids)
    width, outcome = len(slope), np.zeros(4)
    worth = max(WORTH_A_MERGE * width * lines / entries, TEAM_BLOCKS * LINES_A_BLOCK)
    arguments: list[Any] = [
        B, ids, *model, *sweeps, (SWEEP_STRETCHES, worth, MERGE_PIECES),
        new_board(BOARD), np.zeros(1), np.zeros((MERGE_PIECES + TEAM_BLOCKS, TASK_SUMS)),
        np.empty((2, width)), np.empty((TEAM_BLOCKS, width)), np.empty(lines, np.int64),
        np.empty(lines), outcome,
    ]  # fmt: skip
    call_all(crew, lambda leads: descend_together(leads, *arguments))
    return float(outcome[0]), float(outcome[1]), float(outcome[2])
