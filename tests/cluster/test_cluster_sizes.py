"""2, 4 and 8 processes, grids of rows, columns and both: one optimum, equal bits."""

from __future__ import annotations

import numpy as np
import pytest

from spd1 import L1, L2, Problem, certify, solve
from support.clusters import chunked, cluster_of, labelled, same_run

PROBLEMS = {
    "logistic": L2(1e-3),
    "squared_hinge": L2(1e-3),
    "hinge": L2(1e-3),
    "squared": L1(0.01),
}
GRIDS = [(8, 1), (1, 8), (4, 2), (4, 4)]


@pytest.mark.slow
def test_one_optimum_and_equal_bits(rng):
    A, b = labelled(rng, n=300, d=80)
    whole = {loss: Problem(A, b, loss, reg) for loss, reg in PROBLEMS.items()}
    best = {loss: solve(problem, tol=1e-9).primal for loss, problem in whole.items()}
    found = {}
    for workers in (2, 4, 8):
        with cluster_of(workers, processes=True) as client:
            for sparse in (False, True):
                for grid in GRIDS:
                    X = chunked(A, grid, sparse)
                    for loss, reg in PROBLEMS.items():
                        result = solve(Problem(X, b, loss, reg), engine="dask", client=client)
                        key = loss, grid, sparse
                        same_run(result, found.setdefault(key, result))
    for (loss, _, _), result in found.items():
        assert result.rel_gap <= 1e-6
        assert certify(result.x, whole[loss], result.y).rel_gap <= 1.01e-6
        np.testing.assert_allclose(result.primal, best[loss], rtol=2e-6)
