"""A fit never makes a second copy of sparse data."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

import spd1


@pytest.mark.parametrize(
    ("loss", "l1", "l2"),
    [("logistic", 0.0, 1e-3), ("hinge", 0.0, 1e-3), ("squared", 0.3, 0.0), ("logistic", 0.3, 1e-3)],
)
def test_peak_of_a_fit(loss, l1, l2):
    rng = np.random.default_rng(0)
    A = sp.random_array((3000, 6000), density=0.02, rng=rng, format="csr")
    b = np.sign(A @ rng.normal(size=6000))
    largest = np.abs(A.T @ b).max() / 3000
    reg = spd1.ElasticNet(l1=l1 * largest, l2=l2)
    spd1.solve(spd1.Problem(A, b, loss, reg), tol=1e-3)  # compiles: not counted
    tracemalloc.start()
    try:
        found = spd1.solve(spd1.Problem(A, b, loss, reg), tol=1e-3)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.status == "converged"
    size = A.data.nbytes + A.indices.nbytes + A.indptr.nbytes
    assert peak <= 0.6 * size
