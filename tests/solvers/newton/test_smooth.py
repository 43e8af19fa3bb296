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
