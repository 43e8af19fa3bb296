"""Products with the data, accumulated in float64 whatever the data type, and column or row sums.

Own kernels rather than BLAS or SciPy: ``float32_data @ float64_vector`` would copy the data, and
a threaded BLAS would make the last bits depend on the machine.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernel.jit import by_layout, kernel
from .matrix import Dense
from .strides import add_line, line_dot


@kernel
def dot_lines(A, x, out):
    """out_i = sum over line i of a_ik x_k."""
    for i in range(len(out)):
        out[i] = line_dot(A, i, x)


@kernel
def add_lines(A, w, out):
    """out_k += sum over lines i of w_i a_ik."""
    for i in range(len(w)):
        if w[i] != 0.0:
            add_line(A, i, w[i], out)


@kernel
def squares_of_lines(A, out):
    """out_i = sum over line i of a_ik^2."""
    for i in range(len(out)):
        total = 0.0
        for k in range(A.line_length(i)):
            _, a = A.at(i, k)
            total += np.float64(a) * np.float64(a)
        out[i] = total


def margins(A: Any, x: np.ndarray) -> np.ndarray:
    """A x."""
    if A.row_major:
        out = np.empty(A.rows())
        dot_lines(A, x, out)
    else:
        out = np.zeros(A.rows())
        add_lines(_by_lines(A), x, out)
    return out


def adjoint(A: Any, w: np.ndarray) -> np.ndarray:
    """A' w."""
    if A.row_major:
        out = np.zeros(A.columns())
        add_lines(A, w, out)
    else:
        out = np.empty(A.columns())
        dot_lines(_by_lines(A), w, out)
    return out


def squared_row_norms(A: Any) -> np.ndarray:
    """Squared norms of the rows; of the columns, if handed the transpose."""
    out = np.zeros(A.rows())
    if A.row_major:
        squares_of_lines(A, out)
    else:
        add_weighted_squares(_by_lines(A), np.ones(A.columns()), out)
    return out


@kernel
def write_position(A, name, out):
    """out_i = a_i,name where line i has an entry there; lines are sorted, and an intercept last."""
    for i in range(len(out)):
        for k in range(A.line_length(i) - 1, -1, -1):
            j, a = A.at(i, k)
            if j == name:
                out[i] = a
            if j <= name:
                break


@kernel
def count_positions(A, out):
    """Number of stored entries at each position."""
    for i in range(A.line_count()):
        for k in range(A.line_length(i)):
            j, _ = A.at(i, k)
            out[j] += 1


@kernel
def add_weighted_squares(A, w, out):
    """out_k += sum over lines i of w_i a_ik^2."""
    for i in range(len(w)):
        for k in range(A.line_length(i)):
            j, a = A.at(i, k)
            out[j] += w[i] * np.float64(a) * np.float64(a)


@kernel
def dot_weighted_squares(A, w, out):
    """out_i = sum over line i of w_k a_ik^2."""
    for i in range(len(out)):
        total = 0.0
        for k in range(A.line_length(i)):
            j, a = A.at(i, k)
            total += w[j] * np.float64(a) * np.float64(a)
        out[i] = total


def squares_along(A: Any, w: np.ndarray) -> np.ndarray:
    """Sum of w_i a_ij^2 for every column j."""
    out = np.zeros(A.columns())
    if A.row_major:
        add_weighted_squares(A, w, out)
    else:
        dot_weighted_squares(_by_lines(A), w, out)
    return out


def stored_counts(A: Any) -> tuple[np.ndarray, np.ndarray]:
    """Stored entries in each row (r_i) and in each column (k_j)."""
    if isinstance(A, Dense):
        n, d = A.rows(), A.columns()
        return np.full(n, d, dtype=np.int64), np.full(d, n, dtype=np.int64)
    positions = A.columns() if A.row_major else A.rows()
    of_positions = np.zeros(positions, dtype=np.int64)
    count_positions(A, of_positions)  # np.bincount would copy the indices
    of_lines = line_lengths(A)
    return (of_lines, of_positions) if A.row_major else (of_positions, of_lines)


def line_lengths(A: Any) -> np.ndarray:
    """Stored entries of each line of sparse data."""
    return np.diff(A.indptr.astype(np.int64))


def _by_lines(A: Any) -> Any:
    """Column-major data seen as the rows of its transpose: nothing is copied."""
    return A.transposed()


def curved_fours(B, bend, p, out):
    """What ``curved_lines`` adds for dense lines, four at a time; returns how many."""
    i = 0
    while i + 4 <= B.line_count():
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        for j in range(len(p)):
            q = p[j]
            s0 += B.entry(i, j) * q
            s1 += B.entry(i + 1, j) * q
            s2 += B.entry(i + 2, j) * q
            s3 += B.entry(i + 3, j) * q
        s0 *= bend[i]
        s1 *= bend[i + 1]
        s2 *= bend[i + 2]
        s3 *= bend[i + 3]
        for j in range(len(p)):
            out[j] += (
                B.entry(i, j) * s0
                + B.entry(i + 1, j) * s1
                + B.entry(i + 2, j) * s2
                + B.entry(i + 3, j) * s3
            )
        i += 4
    return i


def curved_none(B, bend, p, out):
    """Sparse lines are taken one by one."""
    return 0


curved_first = by_layout(curved_fours, curved_none)


@kernel
def curved_lines(B, bend, p, out):
    """Add B' diag(bend) B p to out, reading each line of B once: four at a time share p and out."""
    n = B.line_count()
    i = curved_first(B, bend, p, out)
    while i < n:
        if bend[i] != 0.0:
            s = 0.0
            for k in range(B.line_length(i)):
                j, a = B.at(i, k)
                s += a * p[j]
            s *= bend[i]
            for k in range(B.line_length(i)):
                j, a = B.at(i, k)
                out[j] += a * s
        i += 1


@kernel
def add_outer_products(A, weights, out):
    """Add c_i a_i a_i' to the lower triangle of ``out``, for every line; indices are sorted."""
    for i in range(A.line_count()):
        if weights[i] == 0.0:
            continue
        for k in range(A.line_length(i)):
            j, a = A.at(i, k)
            scaled = weights[i] * a
            for m in range(k + 1):
                other, value = A.at(i, m)
                out[j, other] += scaled * value


@kernel
def spread_lines(B, lines, out):
    """Write sparse lines into a dense array of zeros."""
    for w in range(len(lines)):
        for k in range(B.line_length(lines[w])):
            j, a = B.at(lines[w], k)
            out[w, j] = a
