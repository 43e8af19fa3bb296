"""Newton's step on a face, by definition: walks to kinks, conjugate gradients."""

from __future__ import annotations

import numpy as np
import pytest

from spd1.data.convert import as_matrix
from spd1.data.facts import Nobody
from spd1.data.grid import Grid
from spd1.solvers.newton.linalg.subspace import (
    NO_ROWS,
    conjugate_gradients,
    newton_on_face,
    pinned,
    scratch_for,
    walk,
)
from spd1.solvers.newton.linalg.tile_lines import TileLines
from spd1.solvers.newton.linalg.working_set import Lines
from support import oracle


def quadratic(size, rng, rank=None):
    """A positive (semi)definite matrix."""
    rows = rng.standard_normal((size + 3 if rank is None else rank, size))
    return rows.T @ rows / len(rows)


def model(H, gradient, step):
    return float(gradient @ step + step @ H @ step / 2)


def walked(H, gradient, z, lower, upper, damping, way="factor"):
    """What ``walk`` makes of a model: the new z, and how much the model fell."""
    size = len(z)
    diagonal = np.full(size, 0.1)
    damped = H + damping * np.eye(size)
    if way == "factor":
        U, V = np.ascontiguousarray(np.linalg.cholesky(damped).T), NO_ROWS
    else:  # H = D + R R': its inverse from a factor of 1 + R'D^-1 R
        values, vectors = np.linalg.eigh(damped - np.diag(diagonal))
        R = vectors * np.sqrt(np.maximum(values, 0.0)) / np.sqrt(diagonal)[:, None]
        L = np.linalg.cholesky(np.eye(size) + R.T @ R)
        U, V = NO_ROWS, np.linalg.solve(L, R.T)
    new = z.copy()
    step, scratch = -np.linalg.solve(damped, gradient), scratch_for(len(new), 100)
    walk(U, V, diagonal, step, new, lower, upper, 100, *scratch)
    return new, -model(H, gradient, new - z)


@pytest.mark.parametrize("size", [1, 2, 7, 30])
def test_walk_in_the_open_solves_the_linear_system(size, rng):
    H, gradient, z = quadratic(size, rng), rng.standard_normal(size), rng.standard_normal(size)
    wide = np.full(size, 1e9)
    new, gain = walked(H, gradient, z, -wide, wide, 0.0)
    np.testing.assert_allclose(new, z - np.linalg.solve(H, gradient), rtol=1e-8, atol=1e-9)
    assert gain > 0.0


def test_walk_solves_a_separable_box_problem(rng):
    """Without coupling the first kink met is the right one: the solution is a clip."""
    size = 20
    H, gradient = np.diag(rng.uniform(0.5, 2.0, size)), 3 * rng.standard_normal(size)
    z, lower, upper = np.zeros(size), -rng.uniform(0.1, 2, size), rng.uniform(0.1, 2, size)
    new, gain = walked(H, gradient, z, lower, upper, 0.0)
    np.testing.assert_allclose(new, np.clip(-gradient / np.diag(H), lower, upper), rtol=1e-12)
    assert gain > 0.0


@pytest.mark.parametrize("way", ["factor", "margins"])
@pytest.mark.parametrize("seed", range(8))
def test_walk_ends_at_the_minimiser_on_the_face_it_reached(seed, way):
    """Coordinates at a kink apart, nothing is left to gain: H positive definite."""
    rng = np.random.default_rng(seed)
    size = 12
    H, gradient, z = quadratic(size, rng), rng.standard_normal(size), np.zeros(size)
    H += 0.5 * np.eye(size)
    lower, upper = -rng.uniform(0.05, 1.5, size), rng.uniform(0.05, 1.5, size)
    new, gain = walked(H, gradient, z, lower, upper, 0.0, way)
    assert np.all((new >= lower) & (new <= upper))
    inside = (new > lower) & (new < upper)
    assert 0 < inside.sum() < size  # some were dropped, some are left
    np.testing.assert_allclose((gradient + H @ new)[inside], 0.0, atol=1e-8)
    assert gain > 0.0
    # kinks that were met are kept: on the box that is left the point is cvxpy's, too
    fixed = np.where(inside, lower, new), np.where(inside, upper, new)
    assert model(H, gradient, new) <= face_minimum(H, gradient, *fixed) + 1e-7


def face_minimum(H, gradient, lower, upper):
    import cvxpy as cp

    step = cp.Variable(len(gradient))
    goal = cp.Minimize(gradient @ step + cp.quad_form(step, cp.psd_wrap(H)) / 2)
    return cp.Problem(goal, [step >= lower, step <= upper]).solve(solver=cp.CLARABEL)


@pytest.mark.parametrize("rank", [1, 3, 9])
@pytest.mark.parametrize("seed", range(4))
def test_walk_on_a_singular_model_stays_in_the_box_and_gains(seed, rank):
    rng = np.random.default_rng([seed, rank])
    size = 10
    H, gradient, z = quadratic(size, rng, rank), rng.standard_normal(size), rng.random(size)
    lower, upper = np.zeros(size), 1.0 + rng.random(size)
    new, gain = walked(H, gradient, z, lower, upper, 1e-10 * H.max())
    assert np.all((new >= lower) & (new <= upper))
    assert gain > 0.0


def test_walk_from_a_corner_that_pushes_outwards_gains_nothing(rng):
    H, corner = quadratic(4, rng), np.ones(4)
    gradient = -np.abs(rng.standard_normal(4)) - 10.0
    new, gain = walked(H, gradient, corner.copy(), np.zeros(4), corner, 0.0)
    np.testing.assert_array_equal(new, corner)
    assert gain == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("accuracy", [1e-1, 1e-4, 1e-10])
def test_conjugate_gradients_solve_to_the_accuracy_asked(accuracy, scaled, rng):
    H = quadratic(25, rng) + 0.1 * np.eye(25)
    if scaled:
        H = H * np.outer(*[10.0 ** rng.uniform(-2, 2, 25)] * 2)
    scale = np.diag(H).copy() if scaled else 1.0
    right = rng.standard_normal(25)
    kept = right.copy()
    step = conjugate_gradients(lambda p: H @ p, right, scale, accuracy, 500)
    rest = right - H @ step
    np.testing.assert_array_equal(right, kept)
    assert rest @ (rest / scale) <= (1.1 * accuracy) ** 2 * (right @ (right / scale))


def test_conjugate_gradients_give_up_politely(rng):
    """At the limit, on a zero right-hand side, and where the model has no curvature."""
    H, right = quadratic(25, rng), rng.standard_normal(25)
    calls = []
    conjugate_gradients(lambda p: calls.append(1) or H @ p, right, 1.0, 1e-12, 7)
    assert len(calls) <= 8
    np.testing.assert_array_equal(conjugate_gradients(None, 0 * right, 1.0, 0.1, 9), 0.0)
    np.testing.assert_array_equal(conjugate_gradients(lambda p: 0 * p, right, 1.0, 0.1, 9), 0.0)


@pytest.mark.parametrize("tiles", [None, (3, 1), (2, 2)])
@pytest.mark.parametrize("singular", [False, True])
@pytest.mark.parametrize("layout", ["dense_c", "csr"])
def test_newton_on_a_face_lowers_the_model_and_keeps_to_the_face(layout, singular, tiles, rng):
    count, width = (12, 8) if singular else (8, 20)
    A = rng.standard_normal((count, width))
    B, ids = as_matrix(oracle.LAYOUTS[layout](A)), np.arange(count)
    table = np.zeros((count, 5))
    table[:, 0], table[:, 1] = 0.02 * rng.standard_normal(count), 0.05
    table[:, 3], table[:, 4] = -1.0, 1.5
    z = rng.uniform(-0.9, 1.4, count)
    z[:3] = 0.0, -1.0, 1.5  # at kinks: held
    bend, slope = rng.uniform(0.5, 1.0, width), rng.standard_normal(width)
    old, old_slope = z.copy(), slope.copy()
    if tiles is None:
        lines = Lines(B, ids, width, Nobody())
    else:  # lines that stay where they lie
        lines = TileLines(Grid([[B]]).cut(*tiles), False, ids)
    gain = newton_on_face(lines, table, z, bend, slope)
    move = (z - old) @ A
    fell = old_slope @ move + bend @ move**2 / 2 + table[:, 0] @ (z - old)
    fell += table[:, 1] @ (np.abs(z) - np.abs(old))
    assert gain > 0.0
    assert -fell == pytest.approx(gain, rel=1e-5, abs=1e-9)
    np.testing.assert_allclose(slope, old_slope + bend * move, rtol=1e-9, atol=1e-10)
    np.testing.assert_array_equal(z[:3], old[:3])
    assert np.all((z >= -1.0) & (z <= 1.5) & (z * old >= 0.0))  # no sign changes
    np.testing.assert_array_equal(pinned(old, table)[:4], [True, True, True, False])
