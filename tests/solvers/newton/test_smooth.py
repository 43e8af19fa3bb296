"""Newton's direction where nothing has a kink, against a dense solver."""

from __future__ import annotations

import numpy as np
import pytest

from spd1.solvers.newton.smooth import SmoothDirection
from support.setups import smooth_problem


@pytest.mark.parametrize("layout", ["dense_c", "dense_f", "csr", "csc"])
@pytest.mark.parametrize("way", ["rows", "columns", "cg"])
def test_every_way_to_newtons_direction_solves_the_same_equations(way, layout, rng):
    l2 = rng.uniform(0.1, 1.0, 9)
    problem, A = smooth_problem("logistic", (7, 9), rng, layout, l2)
    direction = SmoothDirection(problem)
    direction.way = way
    bend, gradient = problem.c * rng.uniform(0.1, 0.25, 7), rng.standard_normal(9)
    step = direction.solve(bend, gradient, 1e-12)
    H = A.T @ (bend[:, None] * A) + np.diag(l2)
    np.testing.assert_allclose(step, -np.linalg.solve(H, gradient), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("layout", ["dense_c", "dense_f"])
def test_some_rows_of_tall_data_lead_to_the_direction_of_all(layout, rng):
    problem, A = smooth_problem("logistic", (400, 5), rng, layout, 0.3)
    direction = SmoothDirection(problem)
    direction.way = "columns"
    assert direction.stride() > 1
    for scale in (1.0, 0.2):  # the second time with a factor of another curvature
        bend = problem.c * rng.uniform(0.1, 0.25, 400) * scale
        gradient = rng.standard_normal(5)
        factor = direction.factor
        step = direction.solve(bend, gradient, 1e-12)
        H = A.T @ (bend[:, None] * A) + 0.3 * np.eye(5)
        np.testing.assert_allclose(step, -np.linalg.solve(H, gradient), rtol=1e-7, atol=1e-9)
    assert direction.factor is factor


def test_a_factor_that_takes_many_products_is_made_anew(rng):
    problem, _ = smooth_problem("logistic", (400, 5), rng, "dense_c", 0.3)
    direction = SmoothDirection(problem)
    direction.way = "columns"
    bend, gradient = problem.c * 0.25, rng.standard_normal(5)
    direction.solve(bend, gradient, 0.1)
    factor, direction.longest = direction.factor, 1000.0
    direction.solve(bend, gradient, 0.1)
    assert direction.factor is not factor
