"""Lines of a working set, the few that can still move: kernels, and what they read."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ....data.crew import Crew, each, summed
from ....data.facts import Reads
from ....data.products import spread_lines
from ....data.strides import add_line, line_dot, line_square, shift_along
from ....kernel.jit import by_layout, kernel
from ..charges import entry_of
from .coordinate import best_end, minimiser
from .sweeps_together import descend_by, worth_a_team

__all__ = ["Lines", "forces"]


def descend_sparse(B, ids, table, z, curvature, bend, flat, slope, least, sweeps, enough):
    """The body of ``descend`` for sparse lines."""
    gain = 0.0
    before = 0.0
    read = 0
    for sweep in range(sweeps):
        before = gain
        gain = 0.0
        for w in range(len(ids)):
            linear, l1, l2, lower, upper = table[w]
            old = z[w]
            if sweep > 0 and (old <= lower or old >= upper or (old == 0.0 and l1 > 0.0)):
                continue
            h = curvature[w]
            if h + l2 <= 0.0:  # an empty line
                z[w] = best_end(old, linear, l1, lower, upper)
                continue
            line = ids[w]
            read += B.line_length(line)
            gradient = linear + line_dot(B, line, slope)
            wish = h * old - gradient
            new = minimiser(wish, h + l2, l1, lower, upper)
            if new != old:
                step = new - old
                z[w] = new
                gain += 0.5 * (h + l2) * step * step
                if flat:
                    add_line(B, line, step * bend[0], slope)
                else:
                    shift_along(B, line, step, slope, bend)
        if gain <= enough and sweep + 1 >= least:
            break
    return gain, before, read


def descend_dense(B, ids, table, z, curvature, bend, flat, slope, least, sweeps, enough):
    """The same for dense lines: what a step does to the slope is added when the next one reads it.

    A line and the slope are then gone through once a step instead of twice.
    """
    gain = 0.0
    before = 0.0
    read = 0
    last, owed = 0, 0.0  # line and step that the slope has not seen yet
    for sweep in range(sweeps):
        before = gain
        gain = 0.0
        for w in range(len(ids)):
            linear, l1, l2, lower, upper = table[w]
            old = z[w]
            if sweep > 0 and (old <= lower or old >= upper or (old == 0.0 and l1 > 0.0)):
                continue
            h = curvature[w]
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
            wish = h * old - gradient - linear
            new = minimiser(wish, h + l2, l1, lower, upper)
            if new != old:
                z[w] = new
                gain += 0.5 * (h + l2) * (new - old) * (new - old)
                last, owed = line, (new - old) * (bend[0] if flat else 1.0)
        if gain <= enough and sweep + 1 >= least:
            break
    if owed != 0.0:
        for j in range(len(slope)):
            slope[j] += (1.0 if flat else bend[j]) * (B.entry(last, j) * owed)
    return gain, before, read


descend_lines = by_layout(descend_dense, descend_sparse)


@kernel
def descend(B, ids, table, z, curvature, bend, flat, slope, least, sweeps, enough):
    """Coordinate descent on  slope'dm + dm' diag(bend) dm / 2 + h(z),  line by line.

    The first sweep visits every coordinate, later ones those that are not pinned to a kink or a
    bound. ``slope`` follows: it is the model's derivative in the margins. Returns a lower bound of
    how much the last sweep gained, and of how much the one before did, and the entries read; after
    ``least`` sweeps one that does not gain ``enough`` is the last.
    """
    return descend_lines(B, ids, table, z, curvature, bend, flat, slope, least, sweeps, enough)


@kernel
def forces(z, gradient, table, near, slack, out):
    """How strongly each coordinate wants to move; returns how many are not zero.

    Infinite for those that are free, -infinite for those that a kink or a bound holds; zeros
    whose gradient is within ``near`` of l1, relatively, may move soon and keep their (small) force,
    and so may those that a bound holds by less than ``slack``. A table of one line is for all.
    """
    nonzero = 0
    last = len(table) - 1
    for k in range(len(z)):
        linear, l1, l2, lower, upper = table[min(k, last)]
        pull = gradient[k] + linear
        force = math.inf
        if z[k] == 0.0:
            force = abs(pull) - l1
            if force < -near * l1:
                force = -math.inf
        else:
            nonzero += 1
        pull += l2 * z[k]
        if z[k] <= lower:
            hold = pull + (l1 if z[k] >= 0.0 else -l1)
            if hold >= 0.0:
                force = -math.inf if hold >= slack else -hold
        if z[k] >= upper:
            hold = (l1 if z[k] <= 0.0 else -l1) - pull
            if hold >= 0.0:
                force = -math.inf if hold >= slack else -hold
        out[k] = force
    return nonzero


@kernel
def curvatures(B, ids, bend, out):
    """out_w = sum over line w of bend_j a_j^2."""
    for w in range(len(ids)):
        out[w] = line_square(B, ids[w], bend)


def dots_by_fours(B, ids, slope, out):
    """What ``line_dots`` does for dense lines, four to one reading of the slope; how many."""
    for w in range(0, len(ids) - 3, 4):
        i0, i1, i2, i3 = ids[w], ids[w + 1], ids[w + 2], ids[w + 3]
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        for j in range(len(slope)):
            s = slope[j]
            s0 += B.entry(i0, j) * s
            s1 += B.entry(i1, j) * s
            s2 += B.entry(i2, j) * s
            s3 += B.entry(i3, j) * s
        out[w], out[w + 1], out[w + 2], out[w + 3] = s0, s1, s2, s3
    return len(ids) // 4 * 4


def moves_by_fours(B, ids, step, m):
    """The same for ``move_margins``."""
    for w in range(0, len(ids) - 3, 4):
        i0, i1, i2, i3 = ids[w], ids[w + 1], ids[w + 2], ids[w + 3]
        t0, t1, t2, t3 = step[w], step[w + 1], step[w + 2], step[w + 3]
        if t0 != 0.0 or t1 != 0.0 or t2 != 0.0 or t3 != 0.0:
            for j in range(len(m)):
                m[j] += (B.entry(i0, j) * t0 + B.entry(i1, j) * t1) + (
                    B.entry(i2, j) * t2 + B.entry(i3, j) * t3
                )
    return len(ids) // 4 * 4


def no_dots(B, ids, slope, out):
    """Sparse lines are taken one by one."""
    return 0


def no_moves(B, ids, step, m):
    """The same for ``move_margins``."""
    return 0


first_dots = by_layout(dots_by_fours, no_dots)
first_moves = by_layout(moves_by_fours, no_moves)


@kernel
def line_dots(B, ids, slope, out):
    """out_w = b_w . slope."""
    first = first_dots(B, ids, slope, out)
    for w in range(first, len(ids)):
        out[w] = line_dot(B, ids[w], slope)


@kernel
def move_margins(B, ids, step, m):
    """Add sum_w step_w b_w to m."""
    first = first_moves(B, ids, step, m)
    for w in range(first, len(ids)):
        if step[w] != 0.0:
            add_line(B, ids[w], step[w], m)


def _copy(values: np.ndarray, out: np.ndarray) -> None:
    out[...] = values


class Lines:
    """Lines ``ids`` of a matrix B, and what is asked of them; all they read is told to the ledger.

    Parameters
    ----------
    B : matrix
    ids : ndarray
    width : int
        Positions that a line has.
    ledger : object with a number ``entries``
    crew : Crew, optional
        Who does what concerns all lines at once.
    most : float
        Bytes that a dense copy may take.
    """

    copied = True  # or read where they lie; either way at hand

    def __init__(
        self, B: Any, ids: np.ndarray, width: int, ledger: Reads, crew: Crew | None = None,
        most: float = math.inf,
    ) -> None:  # fmt: skip
        self.B, self.ids, self.width, self.ledger = B, ids, width, ledger
        self.crew, self.most = crew, most
        self.count = len(ids)
        self.dense = bool(B.is_dense())
        if self.dense:
            self.entries = float(len(ids) * width)
        else:
            self.entries = float(np.sum(B.indptr[ids + 1] - B.indptr[ids]))

    def part(self, which: np.ndarray) -> Lines:
        """Some of the lines."""
        return Lines(self.B, self.ids[which], self.width, self.ledger, self.crew, self.most)

    @property
    def sweep(self) -> float:
        """Seconds of a sweep: it uses each entry of its lines, and again where it moves."""
        return entry_of(self.dense) * 2.0 * self.entries

    def dots(self, vector: np.ndarray) -> np.ndarray:
        """The product of every line with a vector."""
        self.ledger.entries += self.entries
        out = np.empty(len(self.ids))
        self._each(lambda part: line_dots(self.B, self.ids[part], vector, out[part]))
        return out

    def _each(self, work: Callable[[slice], Any]) -> None:
        each(self.crew, self.count, self.entries, work)

    def moved(self, step: np.ndarray) -> np.ndarray:
        """Sum of step_w times line w."""
        self.ledger.entries += self.entries

        def move(part: slice) -> np.ndarray:
            out = np.zeros(self.width)
            move_margins(self.B, self.ids[part], step[part], out)
            return out

        return summed(self.crew, self.count, self.entries, self.width, move)

    def curvatures(self, bend: np.ndarray) -> np.ndarray:
        """Sum over each line of bend_j a_j^2."""
        self.ledger.entries += self.entries
        out = np.empty(len(self.ids))
        self._each(lambda part: curvatures(self.B, self.ids[part], bend, out[part]))
        return out

    def descend(
        self,
        table: np.ndarray,
        z: np.ndarray,
        curvature: np.ndarray,
        slope: np.ndarray,
        bend: np.ndarray,
        flat: bool,
        least: int,
        sweeps: int,
        enough: float,
    ) -> tuple[float, float]:
        """Sweeps of coordinate descent, see the kernels; what the last two gained."""
        model, limits = (table, z, curvature, bend, flat, slope), (least, sweeps, enough)
        if self.crew is not None and worth_a_team(self.crew, self.entries, self.width):
            found = descend_by(self.crew, self.B, self.ids, self.entries, model, limits)
        else:
            found = descend(self.B, self.ids, *model, *limits)
        gain, before, read = found
        self.ledger.entries += read
        return gain, before

    def spread(self) -> np.ndarray:
        """A dense copy, one line a row."""
        self.ledger.entries += self.entries
        if self.dense and self.crew is None:
            return np.asarray(self.B.values[self.ids], dtype=float)
        rows = np.zeros((len(self.ids), self.width))
        if self.dense:
            self._each(lambda part: _copy(self.B.values[self.ids[part]], rows[part]))
        else:
            self._each(lambda part: spread_lines(self.B, self.ids[part], rows[part]))
        return rows
