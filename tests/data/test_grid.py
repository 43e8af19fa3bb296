"""The grid: bulk operations are those of the matrix, however it is cut."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from spd1 import Problem
from spd1.data.convert import as_matrix
from spd1.data.grid import Grid
from spd1.data.matrix import CSR
from spd1.data.slopes import rows_of
from spd1.losses import LOSSES
from support import oracle
from support.setups import smooth_problem

LAYOUTS = ("dense_c", "dense_f", "dense_float32", "csr", "csc")


def data(rng, layout):
    A = rng.standard_normal((13, 10)).astype(np.float32).astype(float)
    A[rng.random(A.shape) < 0.3] = 0.0
    return A, Grid.whole(as_matrix(oracle.LAYOUTS[layout](A)))


@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (4, 1), (3, 2), (13, 10)])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_bulk_operations_are_those_of_the_matrix(layout, shape, rng):
    A, whole = data(rng, layout)
    grid = whole if shape == (1, 1) else whole.cut(*shape)
    assert (grid.n, grid.d, grid.shape, grid.stored) == (13, 10, shape, whole.stored)
    x, w, c, l2 = rng.standard_normal(10), rng.standard_normal(13), rng.random(13), rng.random(10)
    close = {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(grid.margins(x), A @ x, **close)
    np.testing.assert_allclose(grid.adjoint(w), A.T @ w, **close)
    np.testing.assert_allclose(grid.curved(c, x), A.T @ (c * (A @ x)), **close)
    np.testing.assert_allclose(np.tril(grid.gram(c)), np.tril(A.T @ (c[:, None] * A)), **close)
    np.testing.assert_allclose(np.tril(grid.gram(None)), np.tril(A.T @ A / 13), **close)
    np.testing.assert_allclose(grid.gram_of_rows(l2 + 1), (A / (l2 + 1)) @ A.T, **close)
    np.testing.assert_allclose(grid.gram_of_rows(0.5), A @ A.T / 0.5, **close)
    np.testing.assert_array_equal(grid.dense_columns(np.array([7, 0, 3])), A[:, [7, 0, 3]])
    np.testing.assert_allclose(grid.row_squares, np.sum(A * A, axis=1), **close)
    np.testing.assert_allclose(grid.column_squares, np.sum(A * A, axis=0), **close)
    np.testing.assert_allclose(grid.weighted_squares(c), c @ (A * A), **close)
    stored = np.ones_like(A) if grid.dense else A != 0
    np.testing.assert_array_equal(grid.row_counts, stored.sum(axis=1))
    np.testing.assert_array_equal(grid.column_counts, stored.sum(axis=0))
    some = rng.random(13) < 0.5
    expected = stored.sum(axis=0) if grid.dense else stored[some].sum(axis=0)
    np.testing.assert_array_equal(grid.column_counts_where(some), expected)
    np.testing.assert_allclose(grid.by_rows.margins(x), A @ x, **close)
    np.testing.assert_allclose(grid.by_columns.adjoint(w), A.T @ w, **close)
    for found, expected in zip(grid.both(x, w), (A @ x, A.T @ w), strict=True):
        np.testing.assert_allclose(found, expected, **close)
    if grid.whole_rows:
        b = np.sign(w)
        u, G = grid.slopes(rows_of(b, c), x, LOSSES["squared_hinge"]())
        np.testing.assert_allclose(u, A @ x, **close)
        slopes = -2.0 * b * np.maximum(1.0 - b * (A @ x), 0.0)
        np.testing.assert_allclose(G, A.T @ (c * slopes), **close)


def test_one_tile_in_memory_copies_nothing():
    values = np.arange(12.0).reshape(3, 4)
    problem = Problem(values, [1, -1, 1])
    assert np.shares_memory(problem.grid.tiles[0][0].values, values)
    cut = problem.grid.cut(2, 2)
    assert all(np.shares_memory(tile.values, values) for row in cut.tiles for tile in row)


@pytest.mark.parametrize("layout", ["csr", "csr_int64", "csr_float32"])
def test_a_tile_of_sparse_data_has_indices_from_zero(layout, rng):
    A, whole = data(rng, layout)
    tile = whole.cut(2, 2).tiles[1][1]
    assert isinstance(tile, CSR)
    assert (tile.rows(), tile.columns()) == (7, 5)
    assert int(tile.indices.max()) < 5
    for mine, all_data in zip(tile[:3], whole.matrix[:3], strict=True):  # one compiled kernel
        assert (mine.dtype, mine.flags.writeable) == (all_data.dtype, False)
    dense = np.array([[tile.entry(i, j) for j in range(5)] for i in range(7)])
    np.testing.assert_array_equal(dense, A[6:, 5:])


@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("layout", ["dense_c", "dense_f", "csr", "csc", "csr_float32"])
def test_the_gram_matrix_of_the_rows(layout, vector, rng):
    l2 = rng.uniform(0.1, 2.0, 12) if vector else 0.3
    problem, A = smooth_problem("squared", (5, 12), rng, layout, l2)
    K = problem.grid.gram_of_rows(problem.reg.l2)
    np.testing.assert_allclose(K, (A / l2) @ A.T, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("which", [[3], [0, 5], [1, 2, 3, 4]])
def test_dense_columns_of_sparse_rows_are_those_of_the_data(which):
    M = sp.random(20, 6, 0.4, "csr", random_state=1)
    found = Grid.whole(as_matrix(M)).dense_columns(np.array(which))
    np.testing.assert_array_equal(found, M.toarray()[:, which])
