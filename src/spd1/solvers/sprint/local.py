"""Passes over the rows of one tile, as if the others stood still: what a tile does in a round.

A tile of whole rows starts from the G that all agreed on and moves its own rows. Others move theirs
at the same time. So it takes each of its own moves ``care`` times, see ``solvers.merging``: then
the sum of all tiles' moves is a step uphill, too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...data.products import squared_row_norms
from ...data.strides import add_line
from ...engines.work import Made
from ...kernel.jit import kernel
from .ascent import shuffle, visit_rows
from .tuning import APART_ENOUGH

__all__ = ["REPORT", "RowSquares", "Stay", "ascend_on_tile"]

GAP, SIZE, READ = range(3)  # what a tile reports
REPORT = 3


class Stay(NamedTuple):
    """Numbers of a round: the penalty, the order of the rows, how many passes and how careful."""

    l1: float
    l2: float
    kinks: bool
    block: int
    key: np.uint64
    drawn: int
    passes: int
    care: float


class RowSquares(Made):
    """Squared norms of the rows of a tile: made where it lies."""

    def make(self, tile: Any) -> np.ndarray:
        return squared_row_norms(tile)


@kernel
def pass_locally(
    A, b, c, squares, loss, l1, l2, kinks, block, key, drawn, passes, care, y, G, said
):
    """Make some passes over the rows; G moves ``care`` times as far as y says.

    The first pass tells what the gap is about where the round began: each row at the margin it had.
    Where rows can rest, the last passes leave out those that do.
    """
    n, scale = len(y), -1.0 / l2
    rows, order, blocks = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    reach, weights, u = np.empty(n), np.empty(n), np.zeros(n)
    count, near = 0, 0.0
    for i in range(n):
        weights[i] = care * c[i]
        reach[i] = weights[i] * squares[i] / l2
        if reach[i] > 0.0:
            order[count] = i
            count += 1
        else:
            y[i] = loss.derivative(0.0, b[i])
    active, read = count, 0.0
    for k in range(count):
        rows[k] = order[k]
    for number in range(passes):
        if active == 0:
            break
        shuffle(rows, active, block, key, drawn, blocks, order)
        drawn += active
        _, gap, size, shift, kept = visit_rows(
            A, b, weights, reach, loss, l1, scale, kinks or number == 0, near, y, u, G, order,
            active, rows,
        )  # fmt: skip
        read += active / count
        if number == 0:
            said[GAP], said[SIZE] = gap / care, size / care
        if kinks and number > 0:  # now it is known how far margins move in a pass
            near, active = APART_ENOUGH * shift / active, kept if near > 0.0 else active
        if near == 0.0:  # nobody is left out: the pass has written over the list
            for k in range(active):
                rows[k] = order[k]
    said[READ] = read


@kernel
def add_some_lines(A, which, scales, out):
    """Add some lines of A, each times a number."""
    for k in range(len(which)):
        add_line(A, which[k], scales[k], out)


def ascend_on_tile(
    tile: Any, stay: Stay, y: np.ndarray, G: np.ndarray, held: tuple[np.ndarray, np.ndarray],
    b: np.ndarray, c: np.ndarray, squares: np.ndarray, loss: Any, moved: np.ndarray,
    said: np.ndarray,
) -> float:  # fmt: skip
    """Passes over a tile: y moves, ``moved`` says by how much G does; returns the entries read.

    ``held`` names rows whose y is not what G takes it for, and c_i times by how much.
    """
    said[:] = 0.0
    moved[:] = G
    which, by = held
    if len(which):
        add_some_lines(tile, which, stay.care * by, moved)
    pass_locally(
        tile, b, c, squares, loss, stay.l1, stay.l2, stay.kinks, stay.block, stay.key, stay.drawn,
        stay.passes, stay.care, y, moved, said,
    )  # fmt: skip
    moved -= G
    moved /= stay.care
    return float(said[READ]) * float(tile.stored)
