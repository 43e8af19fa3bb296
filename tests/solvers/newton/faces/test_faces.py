"""The faces: their smooth parts by differences, and what a small matrix tells."""

from __future__ import annotations

import numpy as np
import pytest

from spd1 import L2, Problem
from spd1.solvers.newton.faces.parts import fill_terms, loss_part
from spd1.solvers.newton.faces.span import GramFace
from support import oracle
from support.setups import SMOOTH, smooth_problem


@pytest.mark.parametrize("loss", SMOOTH)
def test_terms_of_the_loss_part(loss, rng):
    problem, _ = smooth_problem(loss, (8, 3), rng)
    m, slope, bend = 0.5 * rng.standard_normal(8), np.empty(8), np.empty(8)
    value = fill_terms(loss_part(problem), m, slope, bend)
    expected = problem.c * oracle.phi(problem.loss, m, problem.b)
    assert value == pytest.approx(expected.sum(), rel=1e-13)
    h = 1e-6
    ends = [problem.c * oracle.phi(problem.loss, m + s * h, problem.b) for s in (-1, 1)]
    np.testing.assert_allclose(slope, (ends[1] - ends[0]) / (2 * h), atol=1e-7)
    assert np.all(bend[problem.c > 0] > 0.0)  # a floor where the loss is flat: models are bounded
    assert bend[1] == 0.0  # the row of weight zero


@pytest.mark.parametrize("loss", ["hinge", "epsilon_insensitive", "squared_hinge"])
@pytest.mark.parametrize("weighted", [False, True])
def test_what_a_small_matrix_tells_is_what_the_data_tell(loss, weighted, rng):
    A, w = rng.standard_normal((12, 40)), rng.random(12) + 0.1
    b = rng.choice([-1.0, 1.0], 12)
    problem = Problem(A, b, loss, L2(0.3), w if weighted else None)
    face = GramFace(problem)
    low, high = face.domain
    y = np.clip(-b * rng.random(12), low, high)
    face.start(np.zeros(40), y, None)
    (inside, alone), pair = face.look(), face.pair()
    assert alone
    assert inside.point.value == pytest.approx(pair.point.value, rel=1e-12)
    assert inside.dual.value == pytest.approx(pair.dual.value, rel=1e-12)
    assert inside.gap == pytest.approx(pair.gap, rel=1e-10)
    np.testing.assert_allclose(inside.point.u, pair.point.u, rtol=1e-10, atol=1e-12)
