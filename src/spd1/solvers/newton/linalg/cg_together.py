"""Conjugate gradients on the lines of a working set, by threads that stay in one kernel.

A product with the curvature takes 20 us on a million entries in the nearest memory, a hand-over to
a Python thread twice that. So all threads of a crew are in one call: each product is three phases
over fixed cuts, and whoever leads does what is left between them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....data.crew import FOURS, slices
from ....data.strides import add_line, line_dot
from ....kernel.jit import helper, kernel
from ....kernel.team import adjourn, complete, draw, new_board, post, task_done
from ...merging import BOARD, KIND, TASK_SUMS, call_all, cut
from ..tuning import CG_A_POSITION, CG_ENTRIES, CG_PIECES, CG_WORTH
from .working_set import Lines, first_dots, first_moves

__all__ = ["gradients_by", "worth_one_call"]

MOVE, JOIN, DOTS = range(3)  # phases of a product


@helper
def move_by_lines(B, ids, direction, m):
    """Write the sum of direction_w b_w to m."""
    for j in range(len(m)):
        m[j] = 0.0
    for w in range(first_moves(B, ids, direction, m), len(ids)):
        if direction[w] != 0.0:
            add_line(B, ids[w], direction[w], m)


@helper
def dot_by_lines(B, ids, m, out):
    """out_w = b_w . m."""
    for w in range(first_dots(B, ids, m, out), len(ids)):
        out[w] = line_dot(B, ids[w], m)


@kernel
def gradients_together(
    leads, B, ids, bend, l2, scale, accuracy, limit, ends, pieces, board, sums, parts, m,
    direction, image, rest, step, outcome,
):  # fmt: skip
    """Solve (B diag(bend) B' + diag(l2)) step = rest as ``subspace.conjugate_gradients`` does.

    Every thread calls it with the same arrays; one leads.

    Parameters
    ----------
    ends : array of int64
        Where blocks of lines begin and end.
    pieces : int
        That positions are cut into.
    board, sums : arrays
        See ``kernel.team``; what a task adds to direction'image.
    parts, m, direction, image : arrays
        Room to work; a part is what the lines of one block move.
    rest, step : arrays
        The right side, which is overwritten, and zeros, which become the answer.
    outcome : array of 1
        How many products there were.
    """
    count, width, blocks = len(ids), len(m), len(ends) - 1
    size, goal, kind, products = 0.0, 0.0, MOVE, 0
    if leads:
        for w in range(count):
            direction[w] = rest[w] / scale[w]
        for w in range(count):
            size += rest[w] * direction[w]
        goal = accuracy * accuracy * size
    while True:
        if leads:
            if kind == MOVE and (products >= limit or size <= goal or size == 0.0):
                break
            board[KIND] = kind
            post(board, pieces if kind == JOIN else blocks)
        k = draw(board, leads)
        while k >= 0:
            now = board[KIND]
            if now == JOIN:
                first, last = cut(width, pieces, k), cut(width, pieces, k + 1)
                for j in range(first, last):
                    m[j] = parts[0, j]
                for one in range(1, blocks):
                    for j in range(first, last):
                        m[j] += parts[one, j]
                for j in range(first, last):
                    m[j] *= bend[j]
            else:
                first, last = ends[k], ends[k + 1]
                if now == MOVE:
                    move_by_lines(B, ids[first:last], direction[first:last], parts[k])
                else:
                    dot_by_lines(B, ids[first:last], m, image[first:last])
                    for w in range(first, last):
                        image[w] += l2[w] * direction[w]
                    total = 0.0
                    for w in range(first, last):
                        total += direction[w] * image[w]
                    sums[k, 0] = total
            task_done(board)
            k = draw(board, leads)
        if not leads:
            break
        complete(board)
        if kind != DOTS:
            kind += 1
            continue
        kind, products, bent = MOVE, products + 1, 0.0
        for k in range(blocks):
            bent += sums[k, 0]
        if not bent > 0.0:
            break
        t, before, size = size / bent, size, 0.0
        for w in range(count):
            step[w] += t * direction[w]
        for w in range(count):
            rest[w] -= t * image[w]
        for w in range(count):
            size += rest[w] * rest[w] / scale[w]
        for w in range(count):
            direction[w] = rest[w] / scale[w] + size / before * direction[w]
    if leads:
        outcome[0] = products
        adjourn(board)


def worth_one_call(lines: Any) -> bool:
    """Whether a crew had better stay in one kernel.

    Not for so little that one thread is as good, nor for so much that the clock should be looked
    at meanwhile.
    """
    if lines.crew is None or not isinstance(lines, Lines):
        return False
    return max(CG_WORTH, CG_A_POSITION * lines.width) <= lines.entries <= CG_ENTRIES


def gradients_by(
    lines: Lines, bend: np.ndarray, l2: np.ndarray, right: np.ndarray, scale: np.ndarray,
    accuracy: float, limit: int,
) -> np.ndarray:  # fmt: skip
    """H^-1 right to a relative residual, by the crew of the lines."""
    assert lines.crew is not None
    count, width = lines.count, lines.width
    blocks = slices(
        count, int(max(1, min(CG_PIECES, lines.entries // (CG_A_POSITION * width)))), FOURS
    )
    ends = np.array([0, *(part.stop for part in blocks)], np.int64)
    step, outcome = np.zeros(count), np.zeros(1)
    arguments: list[Any] = [
        lines.B, lines.ids, bend, l2, scale, accuracy, limit, ends, CG_PIECES, new_board(BOARD),
        np.zeros((len(blocks), TASK_SUMS)), np.empty((len(blocks), width)), np.empty(width),
        np.empty(count), np.empty(count), right.copy(), step, outcome,
    ]  # fmt: skip
    call_all(lines.crew, lambda leads: gradients_together(leads, *arguments))
    lines.ledger.entries += 2.0 * lines.entries * float(outcome[0])
    return step
