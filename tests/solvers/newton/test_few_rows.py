"""Newton's method in the span of the rows, by its conditions of optimality."""

from __future__ import annotations

import numpy as np
import pytest

from spd1.solvers.newton.faces.parts import loss_part
from spd1.solvers.newton.few_rows import newton_in_rows
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
