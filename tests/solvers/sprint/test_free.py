"""Ascent with a column that has no penalty; least squares by one matrix of the columns."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

from spd1 import L2, ElasticNet, EpsilonInsensitive, Problem, certify, solve
from spd1.kernel.rng import key_of
from spd1.losses import LOSSES, as_loss
from spd1.solvers.sprint.choice import BY_STEPS
from spd1.solvers.sprint.free import FreeAscentWorker, lifted
from spd1.solvers.sprint.sprint import kind_of
from support import oracle

FREE = ["hinge", "squared_hinge", "logistic", "squared", EpsilonInsensitive(0.1)]


def with_intercept(loss, n=60, d=90, l2=0.05, seed=0, weights=False):
    rng = np.random.default_rng(seed)
    A = rng.random((n, d)) * (rng.random((n, d)) < 0.2)
    b = A @ rng.standard_normal(d) + 0.3 * rng.standard_normal(n) + 1.0
    if as_loss(loss).label_kind == "sign":
        b = np.where(b > 1.0, 1.0, -1.0)
    A = sp.csr_matrix(np.hstack([A, np.ones((n, 1))]))
    c = rng.random(n) if weights else None
    return Problem(A, b, loss, ElasticNet(l2=np.append(np.full(d, l2), 0.0)), c)


def optimum_of(p):
    """The least objective, by an interior-point solver that knows nothing of this package."""
    A, x = p.grid.dense_rows(), cp.Variable(p.d)
    each = oracle.expression(cp, p.loss, A @ x, p.b)
    value = p.c @ each + 0.5 * cp.sum(cp.multiply(np.asarray(p.reg.l2), cp.square(x)))
    problem = cp.Problem(cp.Minimize(value))
    problem.solve(solver="CLARABEL")
    return float(problem.value)


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("loss", FREE, ids=str)
def test_an_intercept_without_penalty_is_proven_as_it_is(loss, weights):
    p = with_intercept(loss, d=150, weights=weights)  # so wide that visits are left to no one
    assert kind_of(p) == "ascent"
    result, best = solve(p, tol=1e-5), optimum_of(p)
    assert result.method.startswith("auto: ascent")
    assert result.rel_gap <= 1e-5
    assert result.primal == pytest.approx(p.primal(result.x), rel=1e-12)
    slack = 1e-6 * abs(best)
    assert result.dual <= best + slack
    assert best - slack <= result.primal <= best + result.gap + slack
    assert certify(result.x, p, result.y).rel_gap <= 1.1e-5


def test_little_dense_data_with_corners_is_visited_too():
    rng = np.random.default_rng(5)
    A = np.hstack([rng.standard_normal((120, 8)), np.ones((120, 1))])
    b = np.where(A @ rng.standard_normal(9) + rng.standard_normal(120) > 0.5, 1.0, -1.0)
    l2 = np.append(np.full(8, 0.02), 0.0)
    p = Problem(A, b, "hinge", ElasticNet(l2=l2))
    result, best = solve(p, tol=1e-7), optimum_of(p)
    assert result.method.startswith("auto: ascent (")
    slack = 1e-7 * abs(best)
    assert result.dual <= best + slack
    assert best - slack <= result.primal <= best + result.gap + slack
    assert lifted(p.with_regularizer(ElasticNet(l2=1e-3 * l2))) is None  # l2 holds nothing back
    assert lifted(Problem(A, b, "logistic", ElasticNet(l2=l2))) is None  # few smooth steps
    assert lifted(Problem(np.tile(A, (20, 1)), np.tile(b, 20), "hinge", ElasticNet(l2=l2))) is None


def test_the_centre_follows_and_margins_stay_those_of_x():
    p = with_intercept("squared_hinge")
    worker = FreeAscentWorker(p, lifted(p), key_of(0))
    for _ in range(12):
        worker.run((1e-9, 0.0, 30.0, 30.0), np.empty((64, 4)))
        np.testing.assert_allclose(worker.u, p.margins(worker.x), rtol=1e-10, atol=1e-12)
        true = p.adjoint(p.c * worker.y)
        lent = np.zeros(p.d)
        lent[worker.free] = worker.centre
        np.testing.assert_allclose(worker.G, true - 0.05 * lent, rtol=1e-9, atol=1e-12)
        before = worker.x[worker.free]
        worker.follow()
        np.testing.assert_allclose(worker.centre, before, rtol=1e-12)
    assert abs(true[-1]) < 1e-6  # from 0.1: the intercept balances


def test_little_tall_logistic_data_goes_to_newtons_steps_at_once():
    p = with_intercept("logistic", n=200, d=20, l2=1.0 / 200)
    assert lifted(p) is not None  # ascent could do it
    assert kind_of(p) == "newton-gram"
    found = solve(p, tol=1e-9)
    assert found.method.startswith("auto: newton-gram (")
    assert found.primal == pytest.approx(optimum_of(p), rel=1e-6)
    assert kind_of(with_intercept("hinge", n=200, d=20, l2=1.0 / 200)) not in BY_STEPS


def test_other_penalties_are_left_to_others():
    p = with_intercept("hinge")
    assert lifted(p.with_regularizer(ElasticNet(l2=0.1))) is None
    l2 = np.append(np.full(p.d - 1, 0.05), 0.0)
    assert lifted(p.with_regularizer(ElasticNet(l1=0.01, l2=l2))) is None
    l2[0] = 0.06
    assert lifted(p.with_regularizer(ElasticNet(l2=l2))) is None
    assert lifted(p.with_regularizer(ElasticNet(l2=l2, lower=0.0))) is None
    l2[:4] = 0.0
    assert lifted(p.with_regularizer(ElasticNet(l2=l2))) is None


@pytest.mark.parametrize("weights", [False, True])
def test_ridge_by_one_factor_solves_the_normal_equations(weights):
    rng = np.random.default_rng(3)
    A, b = rng.standard_normal((80, 7)), rng.standard_normal(80)
    c = rng.random(80) if weights else np.ones(80)
    c = c / c.sum()
    result = solve(Problem(A, b, "squared", L2(0.3), c * 80 if weights else None), tol=1e-12)
    assert result.method.startswith("auto: factor")
    expected = np.linalg.solve(A.T @ (c[:, None] * A) + 0.3 * np.eye(7), A.T @ (c * b))
    np.testing.assert_allclose(result.x, expected, rtol=1e-10)
    assert result.rel_gap <= 1e-12


def test_losses_that_are_no_squares_take_no_factor():
    rng = np.random.default_rng(4)
    A, b = rng.standard_normal((80, 7)), np.sign(rng.standard_normal(80))
    for name in ("logistic", "huber"):
        kind = kind_of(Problem(A, b, LOSSES[name](), L2(0.3)))
        assert kind != "factor"
    assert kind_of(Problem(A, b, "squared", ElasticNet(l1=0.1, l2=0.3))) != "factor"
