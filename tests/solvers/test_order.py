"""In which order sparse rows are visited."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from spd1 import L2, Problem, solve
from spd1.solvers.order import common_share, rows_a_block
from spd1.solvers.tuning import BLOCK


def rows(n, d=300, level=0.0, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.05)
    A[:, 0] = level
    return A, np.where(rng.standard_normal(n) > 0.0, 1.0, -1.0)


@pytest.mark.parametrize("n", [2, 50, 64])
def test_the_share_is_that_of_all_pairs_of_rows(n):
    A, b = rows(n, level=1.0)
    products = A @ A.T
    others = (products.sum() - np.trace(products)) / (n - 1)
    found = common_share(Problem(sp.csr_matrix(A), b, "hinge", L2(0.1)))
    assert found == pytest.approx(max(others, 0.0) / np.trace(products), rel=1e-12)


def test_blocks_only_where_rows_share_little_beside_l2():
    for level, l2, expected in ((0.0, 1e-4, BLOCK), (5.0, 1e-4, 1), (5.0, 10.0, BLOCK)):
        A, b = rows(1000, level=level)
        assert rows_a_block(Problem(sp.csr_matrix(A), b, "hinge", L2(l2))) == expected
        assert rows_a_block(Problem(sp.csc_matrix(A), b, "hinge", L2(l2))) == expected
        assert rows_a_block(Problem(A, b, "hinge", L2(l2))) == 1


def test_empty_rows_share_nothing():
    p = Problem(sp.csr_matrix((200, 30)), np.ones(200), "squared", L2(1.0))
    assert common_share(p) == 0.0
    assert solve(p).converged


def test_a_column_of_ones_does_not_keep_rows_from_converging():
    A, b = rows(2000, d=400, level=2.0)
    p = Problem(sp.csr_matrix(A), b, "squared_hinge", L2(1e-2))
    assert rows_a_block(p) == 1
    assert solve(p, method="rows", tol=1e-4, max_passes=300).converged
