"""Kernels of Gram matrices: sweeps over one, and sums of outer products of sparse lines."""

from __future__ import annotations

import numpy as np

from ....kernel.jit import helper, kernel
from .coordinate import best_end, minimiser

__all__ = [
    "count_at_positions",
    "descend_on_gram",
    "sum_outer_products",
    "sum_outer_products_of_rows",
    "turn_lines",
]


@kernel
def descend_on_gram(G, table, z, g, sweeps, enough):
    """Coordinate descent; g is the model's gradient without h. Returns as ``descend`` does."""
    gain, before = 0.0, 0.0
    for _ in range(sweeps):
        before = gain
        gain = 0.0
        for w in range(len(z)):
            linear, l1, l2, lower, upper = table[w]
            old = z[w]
            h = G[w, w]
            if h + l2 <= 0.0:
                z[w] = best_end(old, linear, l1, lower, upper)
                continue
            wish = h * old - g[w] - linear
            new = minimiser(wish, h + l2, l1, lower, upper)
            if new != old:
                step = new - old
                z[w] = new
                gain += 0.5 * (h + l2) * step * step
                row = G[w]
                for k in range(len(z)):
                    g[k] += step * row[k]
        if gain <= enough:
            break
    return gain, before


@kernel
def count_at_positions(B, ids, counts):
    """counts_(j+1) += number of chosen lines with an entry at position j."""
    for w in range(len(ids)):
        for k in range(B.line_length(ids[w])):
            j, _ = B.at(ids[w], k)
            counts[np.int64(j) + 1] += 1


@kernel
def turn_lines(B, ids, filled, names, values):
    """Entries of the chosen lines by position: which line, and the value."""
    for w in range(len(ids)):
        for k in range(B.line_length(ids[w])):
            j, a = B.at(ids[w], k)
            names[filled[j]] = w
            values[filled[j]] = a
            filled[j] += 1


@kernel
def sum_outer_products(starts, names, values, bend, stride, G):
    """G = sum over every stride-th position of bend times the outer product of the entries."""
    for j in range(0, len(bend), stride):
        if bend[j] != 0.0:
            for a in range(starts[j], starts[j + 1]):
                scaled = stride * bend[j] * values[a]
                row = G[names[a]]
                for b in range(starts[j], a + 1):
                    row[names[b]] += scaled * values[b]
    mirror(G)


@kernel
def sum_outer_products_of_rows(A, place, bend, stride, longest, G):
    """The same where positions are the rows of A, and place says which line a column is."""
    names, values = np.empty(longest, dtype=np.int64), np.empty(longest)
    for i in range(0, len(bend), stride):
        if bend[i] != 0.0:
            count = 0
            for k in range(A.line_length(i)):
                j, a = A.at(i, k)
                if place[j] >= 0:
                    names[count] = place[j]
                    values[count] = a
                    count += 1
            for a in range(count):
                scaled = stride * bend[i] * values[a]
                for b in range(count):
                    if names[b] <= names[a]:
                        G[names[a], names[b]] += scaled * values[b]
    mirror(G)


@helper
def mirror(G):
    """Copy the lower triangle to the upper one."""
    for w in range(len(G)):
        for v in range(w):
            G[v, w] = G[w, v]
