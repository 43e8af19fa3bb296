"""Kernels and linear algebra on a working set: the few lines that can still move."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....data.matrix import CSC, CSR, Dense
from ....kernel.jit import helper, kernel

__all__ = ["CopiedLines", "curvatures", "descend", "forces", "line_dots", "move_margins"]


@helper
def minimiser(wish, curvature, l1, lower, upper):
    """argmin_t { curvature t^2 / 2 - wish t + l1 |t| } on a box."""
    return min(max((max(wish - l1, 0.0) + min(wish + l1, 0.0)) / curvature, lower), upper)


@helper
def best_end(old, linear, l1, lower, upper):
    """The same without curvature, for linear t + l1 |t|: an end, zero, or old if there is none."""
    end = lower if linear > l1 else (upper if linear < -l1 else 0.0)
    return min(max(end, lower), upper) if abs(end) < math.inf else old


@kernel
def descend(B, ids, table, z, curvature, bend, flat, slope, least, sweeps, enough):
    """Coordinate descent on  slope'dm + dm' diag(bend) dm / 2 + h(z),  line by line.

    The first sweep visits every coordinate, later ones those that are not pinned to a kink or a
    bound. ``slope`` follows: it is the model's derivative in the margins. Returns a lower bound of
    how much the last sweep gained, and of how much the one before did; after ``least`` sweeps one
    that does not gain ``enough`` is the last.
    """
    if B.is_dense():
        return descend_dense(B, ids, table, z, curvature, bend, flat, slope, least, sweeps, enough)
    gain = 0.0
    before = 0.0
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
            gradient = linear
            for k in range(B.line_length(line)):
                j, a = B.at(line, k)
                gradient += a * slope[j]
            wish = h * old - gradient
            new = minimiser(wish, h + l2, l1, lower, upper)
            if new != old:
                step = new - old
                z[w] = new
                gain += 0.5 * (h + l2) * step * step
                if flat:
                    step *= bend[0]
                    for k in range(B.line_length(line)):
                        j, a = B.at(line, k)
                        slope[j] += a * step
                else:
                    for k in range(B.line_length(line)):
                        j, a = B.at(line, k)
                        slope[j] += bend[j] * a * step
        if gain <= enough and sweep + 1 >= least:
            break
    return gain, before


@helper
def descend_dense(B, ids, table, z, curvature, bend, flat, slope, least, sweeps, enough):
    """The same for dense lines: what a step does to the slope is added when the next one reads it.

    A line and the slope are then gone through once a step instead of twice.
    """
    gain = 0.0
    before = 0.0
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
    return gain, before


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
        total = 0.0
        for k in range(B.line_length(ids[w])):
            j, a = B.at(ids[w], k)
            total += bend[j] * a * a
        out[w] = total


@kernel
def line_dots(B, ids, slope, out):
    """out_w = b_w . slope."""
    first = 0
    if B.is_dense():  # four lines to one reading of the slope
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
        first = len(ids) // 4 * 4
    for w in range(first, len(ids)):
        total = 0.0
        for k in range(B.line_length(ids[w])):
            j, a = B.at(ids[w], k)
            total += a * slope[j]
        out[w] = total


@kernel
def move_margins(B, ids, step, m):
    """Add sum_w step_w b_w to m."""
    first = 0
    if B.is_dense():
        for w in range(0, len(ids) - 3, 4):
            i0, i1, i2, i3 = ids[w], ids[w + 1], ids[w + 2], ids[w + 3]
            t0, t1, t2, t3 = step[w], step[w + 1], step[w + 2], step[w + 3]
            if t0 != 0.0 or t1 != 0.0 or t2 != 0.0 or t3 != 0.0:
                for j in range(len(m)):
                    m[j] += (B.entry(i0, j) * t0 + B.entry(i1, j) * t1) + (
                        B.entry(i2, j) * t2 + B.entry(i3, j) * t3
                    )
        first = len(ids) // 4 * 4
    for w in range(first, len(ids)):
        if step[w] != 0.0:
            for k in range(B.line_length(ids[w])):
                j, a = B.at(ids[w], k)
                m[j] += a * step[w]


@kernel
def count_lines(B, position, starts):
    """Entries of the chosen positions of B: position_j is the new line of j, or -1."""
    for i in range(B.line_count()):
        for k in range(B.line_length(i)):
            j, _ = B.at(i, k)
            if position[j] >= 0:
                starts[position[j] + 1] += 1


@kernel
def copy_lines(B, position, filled, indices, data):
    """Turn the chosen positions of B into lines."""
    for i in range(B.line_count()):
        for k in range(B.line_length(i)):
            j, a = B.at(i, k)
            w = position[j]
            if w >= 0:
                indices[filled[w]] = i
                data[filled[w]] = a
                filled[w] += 1


@kernel
def gather(values, chosen, out):
    """Columns of a dense array as rows of ``out``, eight entries of a column at a time."""
    n = len(values)
    i = 0
    while i < n:
        end = min(i + 8, n)
        for w in range(len(chosen)):
            j = chosen[w]
            for k in range(i, end):
                out[w, k] = values[k, j]
        i = end


class CopiedLines:
    """Copies of lines that lie across: columns of row-major data or rows of column-major data."""

    def __init__(self, A: Any, chosen: np.ndarray) -> None:
        self.count = len(chosen)
        self.lines: Any
        if not isinstance(A, Dense):
            self.lines = _sparse_lines(A, chosen)
            return
        values = A.values if A.row_major else A.values.T
        self.store = np.empty((self.count + self.count // 4, len(values)), dtype=values.dtype)
        gather(values, chosen, self.store)
        self.lines = Dense(_read_only(self.store))

    def add(self, A: Dense, chosen: np.ndarray) -> np.ndarray:
        """Copy more lines of dense data; returns where they are."""
        values = A.values if A.row_major else A.values.T
        first, self.count = self.count, self.count + len(chosen)
        if self.count > len(self.store):
            larger = np.empty((self.count + self.count // 2, len(values)), dtype=values.dtype)
            larger[:first] = self.store[:first]
            self.store = larger
            self.lines = Dense(_read_only(larger))
        gather(values, chosen, self.store[first : self.count])
        return np.arange(first, self.count)


def _read_only(values: np.ndarray) -> np.ndarray:
    view = values.view()
    view.flags.writeable = False
    return view


def _sparse_lines(A: Any, chosen: np.ndarray) -> Any:
    lines: int = A.line_count()
    count = len(chosen)
    position = np.full(A.shape[1] if isinstance(A, CSR) else A.shape[0], -1, dtype=np.int32)
    position[chosen] = np.arange(count)
    starts = np.zeros(count + 1, dtype=np.int64)
    count_lines(A, position, starts)
    np.cumsum(starts, out=starts)
    narrow = np.uint16 if lines <= 2**16 else A.indices.dtype
    indices = np.empty(starts[-1], dtype=narrow)
    data = np.empty(starts[-1], dtype=A.data.dtype)
    copy_lines(A, position, starts[:-1].copy(), indices, data)
    shape = (lines, count) if isinstance(A, CSR) else (count, lines)
    kind = CSC if isinstance(A, CSR) else CSR
    return kind(data, indices, starts.view(np.uint64), shape)
