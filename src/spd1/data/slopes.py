"""Margins, slopes and their sum in one reading: u = A x and A'(c phi'(u)), row by row.

A product and its adjoint would read the rows twice. On other machines they would take two messages.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..kernel.jit import by_layout, kernel

__all__ = ["Slopes", "rows_of", "slopes_of_lines"]


class Slopes(NamedTuple):
    """Margins of some rows, by the number of the first of them, and the sum of their slopes.

    Sums of it have all rows and one total: so tiles can be added up where they lie.
    """

    u: dict[int, np.ndarray]
    total: np.ndarray

    def __add__(self, other: Any) -> Slopes:
        return Slopes(self.u | other.u, self.total + other.total)

    def margins(self) -> np.ndarray:
        """Those of all rows, in order."""
        return np.concatenate([self.u[first] for first in sorted(self.u)])


def rows_of(b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """What a tile must know of its rows: labels, weights, and which rows they are."""
    return np.column_stack([b, c, np.arange(float(len(b)))])


def dense_group(B, first, last, x, u):
    """Products of consecutive dense lines with x: four at a time share x."""
    i = first
    while i + 4 <= last:
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        for j in range(len(x)):
            q = x[j]
            s0 += B.entry(i, j) * q
            s1 += B.entry(i + 1, j) * q
            s2 += B.entry(i + 2, j) * q
            s3 += B.entry(i + 3, j) * q
        u[i], u[i + 1], u[i + 2], u[i + 3] = s0, s1, s2, s3
        i += 4
    return i


def sparse_group(B, first, last, x, u):
    """Sparse lines are taken one by one."""
    return first


def add_dense_group(B, first, last, weights, out):
    """Add consecutive dense lines, each times its weight: four at a time share the sum."""
    i = first
    while i + 4 <= last:
        w0, w1, w2, w3 = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
        for j in range(len(out)):
            out[j] += (
                B.entry(i, j) * w0
                + B.entry(i + 1, j) * w1
                + B.entry(i + 2, j) * w2
                + B.entry(i + 3, j) * w3
            )
        i += 4
    return i


def add_sparse_group(B, first, last, weights, out):
    """Sparse lines are taken one by one."""
    return first


first_dots = by_layout(dense_group, sparse_group)
first_sums = by_layout(add_dense_group, add_sparse_group)


@kernel
def slopes_of_lines(B, x, b, c, loss, u, weights, out):
    """Fill u with B x and add B'(c phi'(u)) to out, reading each line once: four at a time.

    Without a loss B'c is added.
    """
    n, i = B.line_count(), 0
    while i < n:
        last = min(i + 4, n)
        for k in range(first_dots(B, i, last, x, u), last):
            s = 0.0
            for m in range(B.line_length(k)):
                j, a = B.at(k, m)
                s += a * x[j]
            u[k] = s
        for k in range(i, last):
            if loss is None:
                weights[k] = c[k]
            else:  # as ``terms.dual_guess``
                slope = loss.derivative(u[k], b[k])
                if not abs(loss.conjugate(slope, b[k])) < math.inf:
                    slope = loss.derivative(0.0, b[k])
                weights[k] = c[k] * slope
        for k in range(first_sums(B, i, last, weights, out), last):
            for m in range(B.line_length(k)):
                j, a = B.at(k, m)
                out[j] += a * weights[k]
        i = last
