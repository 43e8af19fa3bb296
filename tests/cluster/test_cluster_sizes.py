"""2, 4 and 8 processes, grids of rows, columns and both: one optimum, equal bits."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from spd1 import L1, L2, Problem, certify, solve
from spd1.io import read_data
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


def real_data(name):
    """A file of the folder, as ``benchmarks/cluster_grids.py`` takes it, and its problems."""
    data = read_data(Path(os.environ["SPD1_DATA"]) / f"{name}.svm.bz2")
    A, b = data.A, np.where(data.b == data.b.max(), 1.0, -1.0)
    l2 = 1e-4
    if name == "gisette-like":  # every feature to [-1, 1]
        A, l2 = A.toarray(), 1e-2
        low, high = A.min(axis=0), A.max(axis=0)
        A = 2.0 * (A - low) / np.where(high > low, high - low, 1.0) - 1.0
    most = float(np.abs(A.T @ b).max()) / len(b)  # the least l1 that leaves all at zero
    regs = dict.fromkeys(("logistic", "squared_hinge", "hinge"), L2(l2)) | {
        "squared": L1(0.1 * most)
    }
    return A, b, regs


@pytest.mark.slow
@pytest.mark.skipif("SPD1_DATA" not in os.environ, reason="needs the folder SPD1_DATA")
@pytest.mark.filterwarnings("ignore:Sending large graph:UserWarning")  # chunks of data at hand
@pytest.mark.parametrize("name", ["20news-compsci", "gisette-like"])
def test_real_data(name):
    A, b, regs = real_data(name)
    whole = {loss: Problem(A, b, loss, reg) for loss, reg in regs.items()}
    best = {loss: solve(problem, tol=1e-8).primal for loss, problem in whole.items()}
    found = {}
    for workers in (2, 4, 8):
        with cluster_of(workers, processes=True) as client:
            for grid in GRIDS:
                X = chunked(A, grid)
                for loss, reg in regs.items():
                    result = solve(Problem(X, b, loss, reg), engine="dask", client=client)
                    same_run(result, found.setdefault((loss, grid), result))
    for (loss, _), result in found.items():
        assert result.rel_gap <= 1e-6
        assert certify(result.x, whole[loss], result.y).rel_gap <= 1.01e-6
        assert abs(result.primal - best[loss]) <= 1.1e-6 * abs(best[loss])
