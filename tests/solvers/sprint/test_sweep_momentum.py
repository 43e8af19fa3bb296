"""Momentum of slow sweeps: A x stays what x says, the objective never climbs, the gap is true."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

from spd1 import ElasticNet, Problem
from spd1.kernel.rng import key_of
from spd1.losses import as_loss
from spd1.solvers.sprint.ascent import LOOKS
from spd1.solvers.sprint.momentum import leap, leap_back
from spd1.solvers.sprint.workers import DescentWorker
from support import oracle


def alike(loss, sparse, n=60, d=90, l1=2e-4, l2=0.0, seed=0):
    """Columns that are much alike, and a small l1: sweeps alone are slow."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, d)) * (rng.random((n, d)) < (0.3 if sparse else 1.0))
    A += 2.0 * rng.standard_normal((n, 1)) * (A != 0.0)
    b = A @ (rng.standard_normal(d) * (rng.random(d) < 0.3)) + rng.standard_normal(n)
    if as_loss(loss).label_kind == "sign":
        b = np.where(b > 0.0, 1.0, -1.0)
    return Problem(sp.csc_matrix(A) if sparse else A, b, loss, ElasticNet(l1, l2))


def least(p):
    """The least objective, by an interior-point solver that knows nothing of this package."""
    A, x = p.grid.dense_rows(), cp.Variable(p.d)
    each = oracle.expression(cp, p.loss, A @ x, p.b)
    penalty = p.reg.l1 * cp.norm1(x) + 0.5 * p.reg.l2 * cp.sum_squares(x)
    problem = cp.Problem(cp.Minimize(p.c @ each + penalty))
    problem.solve(solver="CLARABEL")
    return float(problem.value)


@pytest.mark.parametrize("sparse", [True, False], ids=["sparse", "dense"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("l2", [0.0, 1e-5])
def test_what_slow_sweeps_say_is_true(loss, sparse, l2):
    p = alike(loss, sparse, l1=0.02 if loss == "squared" else 2e-4, l2=l2)
    worker, record = DescentWorker(p, key_of(0)), np.empty((LOOKS, 4))
    looks, _ = worker.run((1e-7, 0.0, 3000.0, 3000.0), record)
    passes, primal, dual, gap = record[:looks].T
    assert passes[-1] > 25.0  # slow enough for momentum
    best = least(p)
    assert gap[-1] <= 1e-6 * primal[-1]
    assert primal[-1] == pytest.approx(p.primal(worker.x), rel=1e-11)
    assert worker.u == pytest.approx(p.grid.dense_rows() @ worker.x, rel=1e-9, abs=1e-9)
    assert np.diff(primal).max() <= 1e-12 * primal[0]
    assert np.diff(dual).min() >= 0.0
    # The oracle's value is above the least by what its own accuracy leaves.
    assert primal.min() >= best * (1.0 - 1e-6)
    assert dual.max() <= best * (1.0 + 1e-6)


@pytest.mark.parametrize("weight", [1.0, 0.25])
def test_a_leap_keeps_to_the_sums_and_can_be_taken_back(weight):
    p, rng = alike("squared", True), np.random.default_rng(3)
    L, A = p.grid.by_columns.matrix, p.grid.dense_rows()
    moved, share = np.arange(0, p.d, 2), 0.75
    x_last = rng.standard_normal(p.d)
    x = x_last.copy()
    x[moved] += 0.3 * rng.standard_normal(len(moved))
    x[moved[0]] = 0.0  # came to rest, ...
    x[moved[1]] = 1e-3 * np.sign(x_last[moved[1]])  # ... and would go beyond zero
    const = rng.standard_normal(p.n)
    v, v_last = weight * (A @ x) - const, weight * (A @ x_last) - const
    ahead = x + share * (x - x_last)
    expected = np.where((x * ahead > 0.0) & np.isin(np.arange(p.d), moved), ahead, x)
    swept, v_swept = x.copy(), v.copy()
    leap(L, moved, len(moved), share, x, x_last, v, v_last, weight)
    assert x == pytest.approx(expected, abs=1e-15)
    assert x[moved[0]] == 0.0
    assert x[moved[1]] == swept[moved[1]]
    assert v == pytest.approx(weight * (A @ x) - const, abs=1e-11)
    assert np.array_equal(x_last, swept)
    assert np.array_equal(v_last, v_swept)
    leap_back(moved, len(moved), x, x_last, v, v_last)
    assert np.array_equal(x, swept)
    assert np.array_equal(v, v_swept)
