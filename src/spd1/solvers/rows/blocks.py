"""Rows side by side: blocks of rows with copies of their own, put together in order.

A stretch of rows is split into blocks. Each visits its rows with a copy of x and G (of G alone
where x is tied to it); then the moves of all copies are added up, block by block, and every copy
starts again from the sum. How many blocks and stretches there are follows from the data: the bits
are the same for any number of threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...kernel.jit import kernel
from ...problem import Problem
from .tuning import (
    DEAREST_MEETINGS,
    FEWEST_STRETCHES,
    LEAST_STRETCH,
    ROW_BLOCKS,
    STRETCHES,
    SUM_STRIP,
)

__all__ = ["Copies", "Plan", "add_moves", "plan_of"]


class Plan(NamedTuple):
    """How many blocks of rows run side by side, and how often in a pass they are put together."""

    blocks: int
    stretches: int


def plan_of(problem: Problem, tied: bool) -> Plan:
    """One block, where several would not pay: too little to do between two meetings.

    Bounds are left to one block, too: a sum of moves may lead out of them.
    """
    p = problem
    width = p.d if tied else 4 * p.d
    bounded = np.any(np.isfinite(p.reg.lower)) or np.any(np.isfinite(p.reg.upper))
    stretches = int(
        min(
            STRETCHES,
            p.n // ROW_BLOCKS,
            p.stored // (ROW_BLOCKS * LEAST_STRETCH),
            min(DEAREST_MEETINGS * p.stored / ((ROW_BLOCKS + 1) * width), STRETCHES),
        )
    )
    if stretches < FEWEST_STRETCHES or (bounded and not tied):
        return Plan(1, 1)
    return Plan(ROW_BLOCKS, stretches)


class Copies:
    """A vector, and a copy of it for each block.

    Parameters
    ----------
    base : ndarray
        The vector; ``add_up`` moves it in place.
    count : int
    moving : int, optional
        How many of its numbers, from the first, ever move.
    """

    def __init__(self, base: np.ndarray, count: int, moving: int | None = None) -> None:
        self.base, self.moving = base, len(base) if moving is None else moving
        self.each = np.empty((count, len(base)))
        self.each[:] = base

    def add_up(self) -> None:
        """Add the moves of all copies, in order; they start again from the sum."""
        add_moves(self.base, self.each, self.moving)


@kernel
def add_moves(base, copies, moving):
    """Add what copies have moved since they left ``base``; they start again from the sum."""
    total = np.empty(SUM_STRIP)
    for start in range(0, moving, SUM_STRIP):
        size = min(SUM_STRIP, moving - start)
        for k in range(size):
            total[k] = base[start + k]
        for c in range(len(copies)):
            for k in range(size):
                total[k] += copies[c, start + k] - base[start + k]
        for k in range(size):
            base[start + k] = total[k]
        for c in range(len(copies)):
            for k in range(size):
                copies[c, start + k] = total[k]
