"""The quadratic model of a working set through the products of its lines with each other.

    q(z) = g'(z - z0) + (z - z0)'G (z - z0) / 2 + h(z),    G = B diag(bend) B'

A sweep over k lines of length n reads 2 k n numbers, a sweep over G at most k^2, and Newton's step
needs G anyway. Where G is cheap beside the sweeps it saves, the model is minimised on it alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ....data.blocks import Scratch
from ....data.crew import ALONE_PRODUCT, block_of, each, multiplied, summed, symmetric
from ....data.grid import Grid
from ....data.products import line_lengths
from ..charges import charges
from ..tuning import (
    CHORD,
    ENOUGH,
    FIRST_SHARE,
    GRAM_DECISIONS,
    GRAM_SWEEPS,
    LARGEST_GRAM,
    LITTLE,
    MOST_GRAM_SWEEPS,
    NEARLY_SET,
    PAID_BACK,
    SAMPLE,
    SAVED_SWEEPS,
    SETTLES,
    SKEW,
    SLOW_STEPS,
    SPARSE_BYTES,
    SPARSE_SHARE,
    WIDEST,
    WORTH,
    WORTH_ONCE,
)
from .cholesky import damped_cholesky, solve_by
from .gram_kernels import (
    count_at_positions,
    descend_on_gram,
    sum_outer_products,
    sum_outer_products_of_rows,
    turn_lines,
)
from .subspace import NO_ROWS, box_around, pinned, walked
from .tile_lines import TileLines
from .working_set import Lines

__all__ = ["GramOfLines", "Sample", "minimise_on_gram", "sweeps_until"]


def newton_on_gram(G: np.ndarray, table: np.ndarray, z: np.ndarray, g: np.ndarray) -> float:
    """Newton's step on the free coordinates, as far as the kinks let it go; returns the gain."""
    free = np.flatnonzero(~pinned(z, table))
    if len(free) == 0:
        return 0.0
    box = box_around(z[free], g[free], table[free])
    factor = damped_cholesky(G[np.ix_(free, free)], box.l2)
    if factor is None:
        return 0.0
    new = walked(factor.T, NO_ROWS, box, -solve_by(factor, box.gradient))
    move = new - box.z
    image = move @ G[free, : len(z)]
    gain = -float(box.gradient @ move + 0.5 * move @ (image[free] + box.l2 * move))
    if not (gain > 0.0 and math.isfinite(gain)):
        return 0.0
    g += image
    z[free] = new
    return gain


def sweeps_until(goal: float, left: float, rate: float) -> float:
    """Sweeps, each leaving a share of what the last one left, until no more than the goal is."""
    if not left > goal:
        return 1.0
    if not (goal > 0.0 and rate > 0.0):
        return math.inf
    return 1.0 + math.log(goal / left) / math.log(rate)


def minimise_on_gram(
    G: np.ndarray, table: np.ndarray, z: np.ndarray, g: np.ndarray, goal: float, spent: float = 0.0
) -> float:
    """Minimise the model to within about ``goal``: sweeps, and Newton's step when it is cheaper.

    The pace of the sweeps predicts what is left to gain and how many more it takes. Predictions
    err: when sweeps have ``spent`` as much as Newton's step costs, that is taken. Returns what
    sweeps have spent since.
    """
    at, size = charges(), len(z)
    share = FIRST_SHARE * (at.factor * size**3 + at.call) / (at.entry * size * size + 1e-7)
    few = sweeps = int(min(max(GRAM_SWEEPS, share), MOST_GRAM_SWEEPS))
    last = math.inf
    for _ in range(GRAM_DECISIONS):
        gain, before = descend_on_gram(G, table, z, g, sweeps, ENOUGH * goal)
        rate = min(gain / before, 0.9999) if 0.0 < before < math.inf else 0.0
        left = gain * rate / (1.0 - rate)
        if goal <= 0.0 or not left > goal:
            return spent
        free = int(np.count_nonzero(~pinned(z, table)))
        more = sweeps_until(goal, left, rate)
        newton = at.factor * free**3 + at.call
        sweep = at.entry * size * free + 1e-7
        if spent + more * sweep < newton or last <= 0.0:
            sweeps = int(min(more + 2.0, MOST_GRAM_SWEEPS))
            spent += sweeps * sweep
            last = math.inf
            continue
        last = newton_on_gram(G, table, z, g)
        sweeps, spent = few, 0.0
    return spent


class Sample:
    """How many positions tell a curvature well enough: few at first, more when steps slow down."""

    def __init__(self, positions_a_line: float = SAMPLE) -> None:
        self.positions_a_line = float(positions_a_line)

    def stride(self, lines: int, width: int) -> int:
        """Every so many positions are looked at."""
        return max(1, int(width / (self.positions_a_line * max(lines, 1))))

    def doubt(self, rate: float) -> None:
        """Look at more of them if a step gains no less than its predecessor."""
        if rate > SLOW_STEPS:
            self.positions_a_line *= 4.0


class GramOfLines:
    """G of the working set; entries are kept for as long as the curvature stays the same.

    Parameters
    ----------
    grid : Grid
        The data; its lines are columns.
    keep : bool
        Whether the curvature never changes: the loss is quadratic.
    smooth : bool
        Whether the curvature changes smoothly: no row has a kink.
    """

    def __init__(self, grid: Grid, keep: bool, smooth: bool) -> None:
        self.grid, self.keep, self.smooth = grid, keep, smooth
        self.sparse = not grid.dense
        # Sparse data in one tile whose lines lie across: its rows have the outer products.
        whole = grid.shape == (1, 1) and grid.row_major
        self.rows = grid.matrix if self.sparse and whole else None
        self.last = 0  # lines of the last working set
        self.seconds = 0.0  # that sweeps over lines have taken
        self.sweep = 0.0  # seconds of one sweep
        self.possible = False
        self.cost = 0.0  # seconds of G for the last working set
        self.sample = Sample()
        self.turned: Any = None  # sparse lines by position
        self.known = np.zeros(0, dtype=np.int64)
        self.place = np.full(grid.d, -1, dtype=np.int32)  # of a known coordinate in G
        self.G = np.zeros((0, 0))
        self.curvature: tuple[np.ndarray, int] = np.zeros(0), 1  # of G: bend, stride
        self.scratch = Scratch()

    def part(self, chosen: np.ndarray, wants: np.ndarray) -> np.ndarray:
        """Positions in ``chosen`` that G is made of: what it knows, then what else wants to move.

        Sparse lines are taken all: their G is made anew when it grows.
        """
        if self.sparse or np.count_nonzero(wants) > NEARLY_SET * len(wants):
            wants = np.ones(len(chosen), dtype=bool)
        if len(self.known) == 0:
            return np.flatnonzero(wants)
        position = np.full(len(self.place), -1, dtype=np.int32)
        position[chosen] = np.arange(len(chosen))
        known = position[self.known]
        fresh = np.flatnonzero(wants & (self.place[chosen] < 0))
        if np.any(known < 0) or (len(fresh) and not self.keep):
            return np.flatnonzero(wants)
        return np.concatenate([known, fresh]) if len(fresh) else known

    # Whether it pays

    def pays(self, lines: Lines, chosen: np.ndarray, sweep: float) -> bool:
        """Whether G costs no more than sweeps over lines have cost so far, or soon will."""
        self.sweep = sweep
        if self.keep and self.knows(chosen):
            return True
        price = self.price(lines, chosen)
        self.possible = self.fits(lines) and price < (WORTH if self.keep else WORTH_ONCE) * sweep
        self.cost = price * float(np.mean(self.place[chosen] < 0)) if self.keep else price
        if not self.possible:
            self.forget()
            return False
        if not self.keep:  # it serves once
            return self.cost < SAVED_SWEEPS * sweep
        if self.still_grows(lines.count) and self.cost > LITTLE:
            return False  # most of its lines may be gone when the set has settled
        return self.cost < PAID_BACK * self.seconds + SAVED_SWEEPS * sweep

    def price(self, lines: Lines, chosen: np.ndarray) -> float:
        """Seconds that G takes if none of it is known."""
        k, stride, at = lines.count, self.stride_for(lines.count, lines.width), charges()
        if lines.dense:
            return at.flop * 0.5 * k * k * lines.width / stride
        pairs = at.outer_pair * SKEW * lines.entries * lines.entries / lines.width / stride
        at_hand = self.rows is not None or self._turned(chosen)
        return pairs + (0.0 if at_hand else at.turned * lines.entries) + 1e-9 * k * k

    def fits(self, lines: Lines) -> bool:
        """Whether G is small enough, and reads less than sweeps over lines would."""
        return 0 < lines.count <= min(self.most(lines), WIDEST * lines.width)

    def still_grows(self, size: int) -> bool:
        """Whether the working set is much larger than when this was last asked."""
        before, self.last = self.last, size
        return size > SETTLES * before

    def most(self, lines: Lines) -> int:
        """Lines that G may have: beside sparse data it must stay small."""
        if lines.dense:
            return LARGEST_GRAM
        size = SPARSE_SHARE * (lines.B if self.rows is None else self.rows).nbytes
        return min(LARGEST_GRAM, int(math.sqrt(max(size, SPARSE_BYTES) / 8)))

    def swept(self, sweeps: int) -> None:
        """Count the time that sweeps over lines take."""
        self.seconds += sweeps * self.sweep

    # What it knows

    def knows(self, chosen: np.ndarray) -> bool:
        """Whether G is of these already."""
        return chosen is self.known or (len(chosen) > 0 and np.array_equal(chosen, self.known))

    def renew(self) -> None:
        """Make the next G from the curvature as it will be then."""
        self.curvature = np.zeros(0), 1

    def forget(self) -> None:
        """Give the memory back."""
        self.place[self.known] = -1
        self.known, self.G, self.turned = np.zeros(0, dtype=np.int64), np.zeros((0, 0)), None
        self.scratch = Scratch()

    def stride_for(self, k: int, width: int) -> int:
        """Every so many positions are looked at where the model holds for one step only."""
        return 1 if self.keep else self.sample.stride(k, width)

    def _turned(self, chosen: np.ndarray) -> bool:
        return self.turned is not None and np.array_equal(self.turned[0], chosen)

    # Making it

    def of(self, lines: Lines, chosen: np.ndarray, bend: np.ndarray) -> np.ndarray:
        """G of the chosen coordinates; the array may be larger."""
        stride = self.stride_for(lines.count, len(bend))
        if self.knows(chosen) and (self.keep or self._holds(bend, stride)):
            return self.G
        self._make(lines, chosen, bend)
        self.place[self.known] = -1
        self.place[chosen] = np.arange(len(chosen))
        self.known = chosen
        G = self.G
        if not self.keep:
            self.curvature = bend.copy(), stride
        if stride > 1:
            # A rare line may have no entry in the sample: no model without its own curvature.
            diagonal = np.einsum("ii->i", G)
            np.maximum(diagonal, lines.curvatures(bend), out=diagonal)
        return G

    def _holds(self, bend: np.ndarray, stride: int) -> bool:
        """Whether a multiple of G, which it becomes, is still about right for this curvature."""
        old, made = self.curvature
        total, before = float(bend.sum()), float(old.sum())
        if not self.smooth or stride != made or not (before > 0.0 and total > 0.0):
            return False
        scaled = old * (total / before)
        if float(np.abs(bend - scaled).sum()) > CHORD * total:
            return False
        self.G *= total / before
        self.curvature = scaled, made
        return True

    def _make(self, lines: Lines, chosen: np.ndarray, bend: np.ndarray) -> None:
        stride = self.stride_for(lines.count, len(bend))
        if isinstance(lines, TileLines):
            self.G = np.zeros((0, 0))
            self.G = lines.gram(bend, stride)
            return
        if not lines.dense:
            self.G = np.zeros((0, 0))  # never two at a time
            self.G = self._sparse(lines, chosen, bend, stride)
            return
        lines.ledger.entries += lines.entries / stride
        if not self.keep:
            values = lines.B.values[:, ::stride]
            self.G = self._weighted(values, lines.ids, bend[::stride] * stride)
        else:
            self._extend(lines.B.values, lines.ids, chosen, bend)

    def _copied(self, values: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """The chosen lines, in memory that is used again."""
        lines = self.scratch.array((len(ids), values.shape[1]))

        def copy(part: slice) -> None:
            if values.dtype == lines.dtype and values.flags.c_contiguous:
                np.take(values, ids[part], axis=0, out=lines[part], mode="clip")
            else:  # take would copy all of a strided array first
                lines[part] = values[ids[part]]

        each(self.grid.crew, len(ids), lines.size, copy)
        return lines

    def _weighted(self, values: np.ndarray, ids: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Sum over positions of weights times the outer product of what the lines have there."""
        lines = self._copied(values, ids)
        multiplied(self.grid.crew, lines, np.sqrt(weights), lines)
        return symmetric(self.grid.crew, lines.T)  # half the work: BLAS sees that the two are one

    def _extend(
        self, values: np.ndarray, ids: np.ndarray, chosen: np.ndarray, bend: np.ndarray
    ) -> None:
        """Add the products of lines that have joined, or start anew."""
        old, new = len(self.known), len(chosen)
        if not (0 < old < new and np.array_equal(chosen[:old], self.known)):
            self.G = self._weighted(values, ids, bend)
            return
        lines = self._copied(values, ids)
        if new > len(self.G):
            larger = np.empty((new + new // 4, new + new // 4))
            larger[:old, :old] = self.G[:old, :old]
            self.G = larger
        scaled = lines[old:] * bend

        def products(part: slice) -> None:
            self.G[old:new, part] = scaled @ lines[part].T

        each(self.grid.crew, new, scaled.size * min(new, ALONE_PRODUCT), products)
        self.G[:old, old:new] = self.G[old:new, :old].T

    def _sparse(
        self, lines: Lines, chosen: np.ndarray, bend: np.ndarray, stride: int
    ) -> np.ndarray:
        """Sum the outer products of what the lines have at each position."""
        size, crew = lines.count, self.grid.crew
        pairs = SKEW * lines.entries * lines.entries / lines.width / stride

        def made(work: Callable[[slice, np.ndarray], None]) -> np.ndarray:
            def part_of(part: slice) -> np.ndarray:
                G = np.zeros((size, size))
                work(part, G)
                return G

            return summed(crew, len(bend), pairs, size * size, part_of, stride)

        if self.rows is not None:
            lines.ledger.entries += self.rows.stored / stride
            place = np.full(len(self.place), -1, dtype=np.int32)
            place[chosen] = np.arange(len(chosen))
            rows, longest = self.rows, int(np.max(line_lengths(self.rows)))
            return made(
                lambda part, G: sum_outer_products_of_rows(
                    block_of(rows, part), place, bend[part], stride, longest, G
                )
            )
        if not self._turned(chosen):
            lines.ledger.entries += 2 * lines.entries  # counted, then sorted
            starts = np.zeros(len(bend) + 1, dtype=np.int64)
            count_at_positions(lines.B, lines.ids, starts)
            np.cumsum(starts, out=starts)
            names, values = np.empty(starts[-1], dtype=np.int32), np.empty(starts[-1])
            turn_lines(lines.B, lines.ids, starts[:-1].copy(), names, values)
            self.turned = chosen, starts, names, values
        lines.ledger.entries += lines.entries / stride
        _, starts, names, values = self.turned
        return made(
            lambda part, G: sum_outer_products(
                starts[part.start : part.stop + 1], names, values, bend[part], stride, G
            )
        )
