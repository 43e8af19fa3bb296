"""The quadratic model of a working set through the products of its lines with each other.

    q(z) = g'(z - z0) + (z - z0)'G (z - z0) / 2 + h(z),    G = B diag(bend) B'

A sweep over k lines of length n reads 2 k n numbers, a sweep over G at most k^2, and Newton's step
needs G anyway. Where G is cheap beside the sweeps it saves, the model is minimised on it alone.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....data.matrix import Dense
from .costs import DENSE_SWEEP, FLOP, PAIR, entries_of
from .gram_kernels import (
    count_at_positions,
    descend_on_gram,
    sum_outer_products,
    sum_outer_products_of_rows,
    turn_lines,
)
from .subspace import DROPS, NO_ROWS, pinned, walk
from .working_set import curvatures

__all__ = ["GramOfLines", "minimise_on_gram"]

LARGEST = 2000  # lines, ...
MOST = 0.7  # of the working set, beyond which all of it is taken
SPARSE_SHARE = 0.15  # of the bytes of sparse data, or SPARSE_BYTES, that G may take
SPARSE_BYTES = 4_000_000
WIDEST = 1.8  # ... or so many times their length: beyond, sweeps over lines read less
SWEEPS = 5  # over G, before the next decision, ...
MOST_SWEEPS = 50  # ... or so many, if the pace of the sweeps says that they will do
ROUNDS = 60
FACTOR = 0.6 * FLOP  # seconds times the cube of what a Cholesky factor has rows
SLOW_STEPS = 0.2  # of what the step before gained: the model may be too coarse
ENOUGH = 0.01  # sweeps that gain less than this share of the goal end early
DAMPING = 1e-12  # of each diagonal entry: G may be singular
GROWS = 1.2  # a working set this many times larger than the one before is not settled
CHORD = 0.2  # of the curvature: a change that leaves G as good as new
SAVED_SWEEPS = 5  # sweeps over lines that G replaces at least
WORTH = 500  # sweeps over lines, beyond which G is never worth its price, ...
WORTH_ONCE = 25  # ... or that of a model that holds for one step only
TURNED = 4e-9  # seconds an entry of sparse lines costs when they are sorted by position,
SAMPLE = 24  # positions a line that tell the curvature of a model well enough, at first
SKEW = 1.0  # half of the pairs at a position, but popular ones have more than their share


def newton_on_gram(G: np.ndarray, table: np.ndarray, z: np.ndarray, g: np.ndarray) -> float:
    """Newton's step on the free coordinates, as far as the kinks let it go; returns the gain."""
    from scipy.linalg import lapack

    free = np.flatnonzero(~pinned(z, table))
    if len(free) == 0:
        return 0.0
    linear, l1, l2, lower, upper = table[free].T
    old = z[free]
    gradient = g[free] + linear + l1 * np.sign(old) + l2 * old
    low = np.where((l1 > 0.0) & (old > 0.0), np.maximum(lower, 0.0), lower)
    high = np.where((l1 > 0.0) & (old < 0.0), np.minimum(upper, 0.0), upper)
    H = G[np.ix_(free, free)]
    diagonal = H.reshape(-1)[:: len(free) + 1]
    diagonal += l2 + DAMPING * diagonal + 1e-300
    factor, failed = lapack.dpotrf(H.T, lower=1, clean=0, overwrite_a=1)
    if failed:
        return 0.0
    step, _ = lapack.dpotrs(factor, gradient, lower=1)
    new = old - step
    if not (np.all(new > low) and np.all(new < high)):
        if not np.all(np.isfinite(step)):
            return 0.0
        new = old.copy()
        walk(factor.T, NO_ROWS, l2, -step, new, low, high, DROPS)
    move = new - old
    image = move @ G[free, : len(z)]
    gain = -float(gradient @ move + 0.5 * move @ (image[free] + l2 * move))
    if not (gain > 0.0 and math.isfinite(gain)):
        return 0.0
    g += image
    z[free] = new
    return gain


def minimise_on_gram(
    G: np.ndarray, table: np.ndarray, z: np.ndarray, g: np.ndarray, goal: float, spent: float = 0.0
) -> float:
    """Minimise the model to within about ``goal``: sweeps, and Newton's step when it is cheaper.

    The pace of the sweeps predicts what is left to gain and how many more it takes. Predictions
    err: when sweeps have ``spent`` as much as Newton's step costs, that is taken. Returns what
    sweeps have spent since.
    """
    sweeps = SWEEPS
    size = len(z)
    last = math.inf
    for _ in range(ROUNDS):
        gain, before = descend_on_gram(G, table, z, g, sweeps, ENOUGH * goal)
        rate = min(gain / before, 0.9999) if before > 0.0 else 0.0
        left = gain * rate / (1.0 - rate)
        if goal <= 0.0 or left <= goal:
            return spent
        free = int(np.count_nonzero(~pinned(z, table)))
        more = 1 + math.log(goal / left) / math.log(rate)
        newton = FACTOR * free**3 + 2e-5
        sweep = DENSE_SWEEP * size * free + 1e-7
        if spent + more * sweep < newton or last <= 0.0:
            sweeps = min(int(more) + 2, MOST_SWEEPS)
            spent += sweeps * sweep
            last = math.inf
            continue
        last = newton_on_gram(G, table, z, g)
        sweeps, spent = SWEEPS, 0.0
    return spent


class Sample:
    """How many positions tell a curvature well enough: few at first, more when steps slow down."""

    def __init__(self) -> None:
        self.positions_a_line = float(SAMPLE)

    def stride(self, lines: int, width: int) -> int:
        """Every so many positions are looked at."""
        return max(1, int(width / (self.positions_a_line * max(lines, 1))))

    def doubt(self, rate: float) -> None:
        """Look at more of them if a step gains no less than its predecessor."""
        if rate > SLOW_STEPS:
            self.positions_a_line *= 4.0


class GramOfLines:
    """G of the working set; entries are kept for as long as the curvature stays the same."""

    def __init__(
        self, coordinates: int, keep: bool, rows: Any = None, sparse: bool = False
    ) -> None:
        self.keep = keep
        self.smooth = False  # whether the curvature changes smoothly: no row has a kink
        self.sparse = sparse
        self.rows = rows  # sparse data whose lines lie across: its rows have the outer products
        self.last = 0  # lines of the last working set
        self.seconds = 0.0  # that sweeps over lines have taken
        self.sweep = 0.0  # seconds of one sweep
        self.possible = False
        self.cost = 0.0  # seconds of G for the last working set
        self.sample = Sample()
        self.turned: Any = None  # sparse lines by position
        self.known = np.zeros(0, dtype=np.int64)
        self.place = np.full(coordinates, -1, dtype=np.int32)  # of a known coordinate in G
        self.G = np.zeros((0, 0))
        self.curvature: tuple[np.ndarray, int] = np.zeros(0), 1  # of G: bend, stride
        self.buffer = np.empty(0)

    def part(self, chosen: np.ndarray, wants: np.ndarray) -> np.ndarray:
        """Positions in ``chosen`` that G is made of: what it knows, then what else wants to move.

        Sparse lines are taken all: their G is made anew when it grows.
        """
        if self.sparse or np.count_nonzero(wants) > MOST * len(wants):
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

    def pays(self, B: Any, ids: np.ndarray, chosen: np.ndarray, width: int, sweep: float) -> bool:
        """Whether G costs no more than sweeps over lines have cost so far, or soon will."""
        k = len(ids)
        self.sweep = sweep
        if self.keep and self.knows(chosen):
            return True
        entries = entries_of(B, ids, width)
        if isinstance(B, Dense):
            cost = FLOP * 0.5 * k * k * width / self.stride_for(k, width)
        else:
            cost = PAIR * SKEW * entries * entries / width / self.stride_for(k, width)
            at_hand = self.rows is not None or self._turned(chosen)
            cost += (0.0 if at_hand else TURNED * entries) + 1e-9 * k * k
        worth = WORTH if self.keep else WORTH_ONCE
        self.possible = 0 < k <= min(self.most(B), WIDEST * width) and cost < worth * self.sweep
        if self.keep:
            cost *= float(np.mean(self.place[chosen] < 0))
        self.cost = cost
        if not self.possible:
            self.forget()
        if not self.possible or not self.keep:
            return self.possible and cost < SAVED_SWEEPS * self.sweep
        grows, self.last = k > GROWS * self.last, k
        if grows and cost > 1e-3:
            return False  # most of its lines may be gone when the set has settled
        return cost < 0.4 * self.seconds + SAVED_SWEEPS * self.sweep

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
        self.buffer = np.empty(0)

    def most(self, B: Any) -> int:
        """Lines that G may have: beside sparse data it must stay small."""
        if isinstance(B, Dense):
            return LARGEST
        size = SPARSE_SHARE * (B if self.rows is None else self.rows).nbytes
        return min(LARGEST, int(math.sqrt(max(size, SPARSE_BYTES) / 8)))

    def stride_for(self, k: int, width: int) -> int:
        """Every so many positions are looked at where the model holds for one step only."""
        return 1 if self.keep else self.sample.stride(k, width)

    def _turned(self, chosen: np.ndarray) -> bool:
        return self.turned is not None and np.array_equal(self.turned[0], chosen)

    def swept(self, sweeps: int) -> None:
        """Count the time that sweeps over lines take."""
        self.seconds += sweeps * self.sweep

    def of(self, B: Any, ids: np.ndarray, chosen: np.ndarray, bend: np.ndarray) -> np.ndarray:
        """G of the chosen coordinates, whose lines are ``ids`` of B; the array may be larger."""
        stride = self.stride_for(len(ids), len(bend))
        if self.knows(chosen) and (self.keep or self._holds(bend, stride)):
            return self.G
        self._make(B, ids, chosen, bend)
        self.place[self.known] = -1
        self.place[chosen] = np.arange(len(chosen))
        self.known = chosen
        G = self.G
        if not self.keep:
            self.curvature = bend.copy(), stride
        if stride > 1:
            # A rare line may have no entry in the sample: no model without its own curvature.
            exact = np.empty(len(ids))
            curvatures(B, ids, bend, exact)
            diagonal = np.einsum("ii->i", G)
            np.maximum(diagonal, exact, out=diagonal)
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

    def _make(self, B: Any, ids: np.ndarray, chosen: np.ndarray, bend: np.ndarray) -> None:
        if not isinstance(B, Dense):
            self.G = np.zeros((0, 0))  # never two at a time
            self.G = self._sparse(B, ids, chosen, bend)
        elif not self.keep:
            stride = self.stride_for(len(ids), len(bend))
            self.G = self._weighted(B.values[:, ::stride], ids, bend[::stride] * stride)
        else:
            self._extend(B.values, ids, chosen, bend)

    def _copied(self, values: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """The chosen lines, in memory that is used again: new pages cost more than the copy."""
        shape = len(ids), values.shape[1]
        if self.buffer.size < shape[0] * shape[1]:
            self.buffer = np.empty(0)  # never two at a time
            self.buffer = np.empty(shape[0] * shape[1])
        lines = self.buffer[: shape[0] * shape[1]].reshape(shape)
        if values.dtype == lines.dtype and values.flags.c_contiguous:
            np.take(values, ids, axis=0, out=lines, mode="clip")
        else:  # take would copy all of a strided array first
            lines[...] = values[ids]
        return lines

    def _weighted(self, values: np.ndarray, ids: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Sum over positions of weights times the outer product of what the lines have there."""
        lines = self._copied(values, ids)
        lines *= np.sqrt(weights)
        return np.asarray(lines @ lines.T)  # half the work: BLAS sees that the two are one

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
        part = (lines[old:] * bend) @ lines.T
        self.G[old:new, :new] = part
        self.G[:old, old:new] = part[:, :old].T

    def _sparse(self, B: Any, ids: np.ndarray, chosen: np.ndarray, bend: np.ndarray) -> np.ndarray:
        """Sum the outer products of what the lines have at each position."""
        G = np.zeros((len(ids), len(ids)))
        stride = self.stride_for(len(ids), len(bend))
        if self.rows is not None:
            place = np.full(len(self.place), -1, dtype=np.int32)
            place[chosen] = np.arange(len(chosen))
            longest = int(np.max(np.diff(self.rows.indptr.view(f"i{self.rows.indptr.itemsize}"))))
            sum_outer_products_of_rows(self.rows, place, bend, stride, longest, G)
            return G
        if not self._turned(chosen):
            starts = np.zeros(len(bend) + 1, dtype=np.int64)
            count_at_positions(B, ids, starts)
            np.cumsum(starts, out=starts)
            names, values = np.empty(starts[-1], dtype=np.int32), np.empty(starts[-1])
            turn_lines(B, ids, starts[:-1].copy(), names, values)
            self.turned = chosen, starts, names, values
        _, starts, names, values = self.turned
        sum_outer_products(starts, names, values, bend, stride, G)
        return G
