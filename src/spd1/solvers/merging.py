"""Blocks with copies of a vector, put together in order: pieces of kernels.

Blocks of rows, or of lines, go on at the same time, each with a copy of the vector that all of them
move. A block takes each of its own moves ``care`` times, as if others moved alike; then the moves
d_k of all copies are added up, block by block. If |sum_k d_k|^2 <= care sum_k |d_k|^2, the
quadratic that the blocks minimise has fallen by what they gained on their own: this is CoCoA's
sigma'. With care as large as the number of blocks it always holds.
"""

from __future__ import annotations

from collections.abc import Callable

from ..data.crew import Crew
from ..engines.choose import available_cores
from ..kernel.jit import helper
from ..kernel.team import TEAM_WORDS
from .tuning import MERGE_STRIP

__all__ = ["add_up", "call_all", "cut", "needed_care", "renew"]

RENEW, VISIT, MERGE = range(3)  # kinds of phases, see ``kernel.team``
KIND, FIRST, LAST, SHARED, SIDE = range(TEAM_WORDS, TEAM_WORDS + 5)  # what the board says of one
BOARD = 5
TOGETHER, APART = 0, 1  # what a task of a merge hands back
TASK_SUMS = 8  # numbers that a task may hand back: a cache line


def call_all(crew: Crew, work: Callable[[bool], None]) -> None:
    """Let all threads of a crew call a kernel, one as its leader; no more than there are cores.

    Threads that wait inside a kernel keep a core busy.
    """
    crew.map(lambda number: work(number == 0), range(min(crew.n_threads, available_cores())))


@helper
def cut(count, pieces, k):
    """Where piece k of so many things begins."""
    return count * k // pieces


@helper
def renew(base, copies, first, last):
    """Let all copies be the base, at some positions."""
    for one in range(len(copies)):
        for j in range(first, last):
            copies[one, j] = base[j]


@helper
def add_up(base, out, copies, weights, flat, care, first, last, strip, sums):
    """Write the base and what copies have moved since they left it; all start from the sum.

    Hands back |sum_k d_k|^2 and sum_k |d_k|^2, squares divided by weights, by the first where
    these are ``flat``. ``out`` may be the base itself.
    """
    share, together, apart = 1.0 / care, 0.0, 0.0
    for start in range(first, last, MERGE_STRIP):
        size = min(MERGE_STRIP, last - start)
        for k in range(size):
            strip[k] = 0.0
        # A loop either writes or sums up: one that does both is compiled twice, for arrays that
        # may overlap, too, and which of the two runs would depend on where arrays happen to lie.
        for one in range(len(copies)):
            for k in range(size):
                strip[k] += share * (copies[one, start + k] - base[start + k])
        for one in range(len(copies)):
            for k in range(size):
                move = share * (copies[one, start + k] - base[start + k])
                weight = weights[0] if flat else weights[start + k]
                apart += move * move / weight if weight > 0.0 else 0.0
        for k in range(size):
            weight = weights[0] if flat else weights[start + k]
            together += strip[k] * strip[k] / weight if weight > 0.0 else 0.0
        for k in range(size):
            strip[k] += base[start + k]
        for k in range(size):
            out[start + k] = strip[k]
        for one in range(len(copies)):
            for k in range(size):
                copies[one, start + k] = strip[k]
    sums[0], sums[1] = together, apart


@helper
def needed_care(together, apart, most):
    """The care that moves would have needed, between one and the number of blocks."""
    return min(max(together / apart, 1.0), most) if apart > 0.0 else most
