"""Kernels and linear algebra on a working set: the few lines that can still move."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..jit import kernel
from ..matrix import CSC, CSR, Dense

__all__ = ["curvatures", "descend", "forces", "line_dots", "lines_of", "move_margins"]


@kernel
def descend(B, ids, table, z, curvature, bend, flat, slope, sweeps, enough):
    """Coordinate descent on  slope'dm + dm' diag(bend) dm / 2 + h(z),  line by line.

    The first sweep visits every coordinate, later ones those that are not pinned to a kink or a
    bound. ``slope`` follows: it is the model's derivative in the margins. Returns a lower bound of
    how much the last sweep gained, and of how much the one before did.
    """
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
            if h + l2 <= 0.0:  # an empty line: the best end, if there is one
                end = lower if linear > l1 else (upper if linear < -l1 else 0.0)
                if abs(end) < math.inf:
                    z[w] = min(max(end, lower), upper)
                continue
            line = ids[w]
            gradient = linear
            for k in range(B.line_length(line)):
                j, a = B.at(line, k)
                gradient += a * slope[j]
            wish = h * old - gradient
            new = min(max((max(wish - l1, 0.0) + min(wish + l1, 0.0)) / (h + l2), lower), upper)
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
        if gain <= enough:
            break
    return gain, before


@kernel
def forces(z, gradient, table, near, out):
    """How strongly each coordinate wants to move; returns how many are not zero.

    Infinite for those that are free, -infinite for those that a kink or a bound holds; zeros
    whose gradient is within ``near`` of l1, relatively, may move soon and keep their (small) force.
    """
    nonzero = 0
    for k in range(len(z)):
        linear, l1, l2, lower, upper = table[k]
        pull = gradient[k] + linear
        force = math.inf
        if z[k] == 0.0:
            force = abs(pull) - l1
            if force < -near * l1:
                force = -math.inf
        else:
            nonzero += 1
        pull += l2 * z[k]
        if z[k] <= lower and pull + (l1 if z[k] >= 0.0 else -l1) >= 0.0:
            force = -math.inf
        if z[k] >= upper and pull - (l1 if z[k] <= 0.0 else -l1) <= 0.0:
            force = -math.inf
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
    for w in range(len(ids)):
        total = 0.0
        for k in range(B.line_length(ids[w])):
            j, a = B.at(ids[w], k)
            total += a * slope[j]
        out[w] = total


@kernel
def move_margins(B, ids, step, m):
    """Add sum_w step_w b_w to m."""
    for w in range(len(ids)):
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


def lines_of(A: Any, chosen: np.ndarray) -> tuple[Any, np.ndarray]:
    """Copy lines that lie across: columns of row-major data or rows of column-major data."""
    count, lines = len(chosen), A.line_count()
    if isinstance(A, Dense):
        values = A.values if A.row_major else A.values.T
        copied = np.empty((count, len(values)), dtype=values.dtype)
        gather(values, chosen, copied)
        copied.flags.writeable = False
        return Dense(copied), np.arange(count)
    position = np.full(A.shape[1] if isinstance(A, CSR) else A.shape[0], -1, dtype=np.int64)
    position[chosen] = np.arange(count)
    starts = np.zeros(count + 1, dtype=np.int64)
    count_lines(A, position, starts)
    np.cumsum(starts, out=starts)
    indices = np.empty(starts[-1], dtype=A.indices.dtype)
    data = np.empty(starts[-1], dtype=A.data.dtype)
    copy_lines(A, position, starts[:-1].copy(), indices, data)
    shape = (lines, count) if isinstance(A, CSR) else (count, lines)
    kind = CSC if isinstance(A, CSR) else CSR
    return kind(data, indices, starts.view(np.uint64), shape), np.arange(count)
