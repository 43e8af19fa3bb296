"""Newton's method in the span of the rows, by its conditions of optimality."""

from __future__ import annotations

import numpy as np
import pytest

from spd1 import ElasticNet, Problem, certify, solve
from spd1.solvers.newton.faces.parts import loss_part
from spd1.solvers.newton.few_rows import newton_in_rows
from spd1.solvers.newton.one_free import newton_beside_rows
from support.setups import SMOOTH, smooth_problem


@pytest.mark.parametrize("loss", SMOOTH)
def test_newton_in_rows_solves_for_the_weights_of_the_rows(loss, rng):
    """x = A'w / l2 is optimal if and only if w = -c phi'(A x)."""
    problem, A = smooth_problem(loss, (6, 15), rng)
    w, K = np.zeros(6), problem.grid.gram_of_rows(0.3)
    common = K, loss_part(problem), problem.loss, problem.b, problem.c
    taken = newton_in_rows(*common, w, 1e-13, 100)
    assert 0 < taken < 100
    u = A @ (A.T @ w / 0.3)
    derivative = np.array(
        [problem.loss.derivative(*pair) for pair in zip(u, problem.b, strict=True)]
    )
    np.testing.assert_allclose(w, -problem.c * derivative, atol=1e-6)
    assert newton_in_rows(*common, w, 1e-12, 100) == 0


def test_newton_beside_rows_solves_for_a_column_without_penalty(rng):
    """x is optimal if and only if w = -c phi'(A x + a t) and a'w = 0."""
    problem, A = smooth_problem("logistic", (6, 15), rng)
    w, level, a = np.zeros(6), np.zeros(1), rng.normal(size=6)
    K = problem.grid.gram_of_rows(0.3)
    common = K, a, loss_part(problem)
    taken = newton_beside_rows(*common, w, level, 1e-13, 0, 100)
    assert 0 < taken < 100
    u = A @ (A.T @ w / 0.3) + a * level[0]
    derivative = np.array(
        [problem.loss.derivative(*pair) for pair in zip(u, problem.b, strict=True)]
    )
    np.testing.assert_allclose(w, -problem.c * derivative, atol=1e-6)
    assert abs(a @ w) <= 1e-9
    assert newton_beside_rows(*common, w, level, 1e-12, 0, 100) == 0
    assert newton_beside_rows(*common, w, level, 1e-12, 1, 100) == 1


@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize("tol", [1e-3, 1e-8])
def test_few_rows_take_an_intercept(equal, tol, rng):
    A = np.column_stack([rng.normal(size=(40, 100)), np.full(40, 2.0)])
    b = np.where(A[:, 0] + 0.5 * rng.normal(size=40) > -0.5, 1.0, -1.0)
    l2 = np.append(np.full(100, 0.02) if equal else rng.uniform(0.01, 0.1, size=100), 0.0)
    problem = Problem(A, b, "logistic", ElasticNet(l2=l2), rng.random(40))
    found = solve(problem, method="few-rows", tol=tol)
    assert found.converged
    assert certify(found.x, problem, found.y).rel_gap <= tol
    again = solve(problem, method="few-rows", tol=tol, x0=found.x + 0.1)
    assert again.converged
