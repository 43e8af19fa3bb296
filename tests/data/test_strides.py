"""Walks along lines: each is a sum or an update that NumPy can write down."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from spd1.data import strides
from spd1.data.convert import as_matrix
from spd1.kernel.jit import kernel

pytestmark = pytest.mark.plain


@kernel
def walk(A, x, weights, l1, out, moved):
    """Every walk along every line: dots, squares, soft dots, a move and the dot after it."""
    n = A.line_count()
    table = np.empty((n, 5))
    for i in range(n):
        table[i, 0] = strides.line_dot(A, i, x)
        table[i, 1] = strides.line_square(A, i, weights)
        table[i, 2] = strides.own_square(A, i)
        table[i, 3] = strides.soft_dot(A, i, x, l1)
        strides.add_line(A, i, 0.5 + i, out)
        table[i, 4] = strides.move_line(A, i, 0.1 * i, (i + 1) % n, moved)
    return table


@pytest.mark.parametrize("layout", [np.ascontiguousarray, sp.csr_array])
def test_walks_are_the_sums_they_say(layout, rng):
    M = rng.standard_normal((12, 11)) * (np.arange(11) < np.arange(12)[:, None])  # 0 .. 11 entries
    x, w, scale = rng.standard_normal(11), rng.random(11), 0.5 + np.arange(12)
    out, moved = np.zeros(11), x.copy()
    table = walk(as_matrix(layout(M)), x, w, 0.4, out, moved)
    soft = np.sign(x) * np.maximum(np.abs(x) - 0.4, 0.0)
    np.testing.assert_allclose(table[:, 0], M @ x, atol=1e-14)
    np.testing.assert_allclose(table[:, 1], (M * M) @ w, atol=1e-14)
    np.testing.assert_allclose(table[:, 2], (M * M).sum(axis=1), atol=1e-14)
    np.testing.assert_allclose(table[:, 3], M @ soft, atol=1e-14)
    np.testing.assert_allclose(out, M.T @ scale, atol=1e-13)
    after, wanted = x.copy(), []
    for i in range(12):
        after += 0.1 * i * M[i]
        wanted.append(M[(i + 1) % 12] @ after)
    np.testing.assert_allclose(table[:, 4], wanted, atol=1e-13)
    np.testing.assert_allclose(moved, after, atol=1e-13)


@kernel
def curved_walk(A, slopes, bends, table):
    """Sums with slopes and bends along a line, then a move along it."""
    for i in range(A.line_count()):
        table[i, 0], table[i, 1] = strides.pull_and_bend(A, i, slopes, bends)
        table[i, 2] = strides.largest_entry(A, i)
        strides.shift_along(A, i, 0.01 * i, slopes, bends)


@pytest.mark.parametrize("layout", [np.ascontiguousarray, sp.csr_array])
@pytest.mark.parametrize("width", [10, 11])
def test_slopes_follow_moves_as_far_as_bends_tell(layout, width, rng):
    M = rng.standard_normal((7, width)) * (rng.random((7, width)) < 0.6)
    slopes, bends = rng.standard_normal((2, width))
    slope = slopes.copy()
    table, wanted = np.zeros((7, 3)), np.zeros((7, 3))
    curved_walk(as_matrix(layout(M)), slopes, bends, table)
    for i, line in enumerate(M):
        wanted[i] = line @ slope, line**2 @ bends, np.abs(line).max()
        slope = slope + bends * (0.01 * i * line)
    np.testing.assert_allclose(table, wanted, atol=1e-12)
    np.testing.assert_allclose(slopes, slope, atol=1e-14)


@kernel
def pairs(A, h, c, stride, H):
    strides.add_pairs(A, h, c, stride, H)


@pytest.mark.parametrize("layout", [np.ascontiguousarray, sp.csr_array])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 11])
@pytest.mark.parametrize("d", [1, 2, 3, 6, 7])
@pytest.mark.parametrize("stride", [1, 3])
def test_pairs_are_a_weighted_gram_matrix_whatever_is_left_over(n, d, stride, layout):
    rng = np.random.default_rng(10 * n + d)
    A, h, c = rng.standard_normal((n, d)), rng.random(n), rng.random(n)
    start = rng.standard_normal((d, d))
    H = start.copy()
    pairs(as_matrix(layout(A)), h, c, stride, H)
    some = slice(None, None, stride)
    wanted = start + stride * A[some].T @ ((c * h)[some, None] * A[some])
    np.testing.assert_allclose(np.tril(H), np.tril(wanted), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("layout", [np.ascontiguousarray, sp.csr_array])
@pytest.mark.parametrize("heavy", [[], [0], [6], [2, 3, 9], [0, 1, 5, 6, 10], list(range(11))])
def test_rows_without_weight_add_nothing(heavy, layout, rng):
    """However large they are."""
    A, h, c = rng.standard_normal((11, 5)), np.zeros(11), rng.random(11)
    h[heavy] = rng.random(len(heavy))
    c[heavy[1:2]] = 0.0
    weighed = c * h != 0.0
    A[~weighed] = 1e300
    H = np.zeros((5, 5))
    pairs(as_matrix(layout(A)), h, c, 1, H)
    wanted = A[weighed].T @ ((c * h)[weighed, None] * A[weighed])
    np.testing.assert_allclose(np.tril(H), np.tril(wanted), rtol=1e-12, atol=1e-14)
