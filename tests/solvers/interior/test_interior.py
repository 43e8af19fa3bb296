"""The interior-point method: what its linear systems and products must satisfy, and its answers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from spd1 import L2, ElasticNet, Problem, certify, solve
from spd1.design.intercept import Design
from spd1.errors import IncompatibleError
from spd1.kernel.rng import key_of
from spd1.losses import LOSSES
from spd1.solvers.interior.interior import Interior
from spd1.solvers.interior.kinks import Kinks
from spd1.solvers.interior.normal import Bordered, Normal
from spd1.solvers.interior.parts import middle
from spd1.solvers.interior.systems import Systems, rows_cost_less
from spd1.solvers.interior.tuning import MANY_COLUMNS
from support import cases, oracle
from support.checks import REGS, check


@pytest.mark.parametrize("shape", [(12, 5), (5, 12)])
@pytest.mark.parametrize("spread", [0, 4, 10])
@pytest.mark.parametrize("by_rows", [False, True])
def test_steps_solve_both_equations(shape, spread, by_rows, rng):
    """A'p + H dx = -g and A dx = p / q + e, whatever is eliminated, weights of any size."""
    n, d = shape
    if spread == 10 and by_rows != (n < d):
        return  # the larger matrix is never made
    A = rng.standard_normal(shape)
    q, H = 10.0 ** rng.uniform(-spread, spread, n), 10.0 ** rng.uniform(-spread, spread, d)
    g, e = rng.standard_normal(d), rng.standard_normal(n)
    dx, p = Normal(A, q, H, by_rows).solve(g, e)
    scale = np.abs(A.T) @ np.abs(p) + np.abs(H * dx) + np.abs(g)
    assert np.max(np.abs(A.T @ p + H * dx + g) / scale) < 1e-8
    scale = np.abs(A) @ np.abs(dx) + np.abs(p / q) + np.abs(e)
    assert np.max(np.abs(A @ dx - p / q - e) / scale) < 1e-8


def test_a_step_of_kinks_is_newtons(rng):
    """After a whole step the linearised products are what was aimed at."""
    low, high = np.array([-1.0, -math.inf, 0.0]), np.array([2.0, 1.0, math.inf])
    kinks = Kinks(low, high, np.array([0.5, 0.0, 2.0]))
    kinks.push(rng.standard_normal(3), 0.3)
    dw, mu = 0.1 * rng.standard_normal(3), 0.05
    move = kinks.pushes(dw, mu, None)
    above = kinks.up * kinks.above + move.up * kinks.above - kinks.up * dw
    below = kinks.down * kinks.below + move.down * kinks.below + kinks.down * dw
    np.testing.assert_allclose(above[[0, 1]], mu, rtol=1e-12)
    np.testing.assert_allclose(below[[0, 2]], mu, rtol=1e-12)
    rho = (kinks.up + move.up) - (kinks.down + move.down)
    np.testing.assert_allclose(rho, kinks.slope * dw + kinks.aim(mu, None), rtol=1e-12)


def test_no_step_leaves_the_bounds(rng):
    kinks = Kinks(np.full(50, -1.0), np.full(50, 1.0), rng.uniform(-0.9, 0.9, 50))
    kinks.push(rng.standard_normal(50), 0.1)
    move = kinks.pushes(5.0 * rng.standard_normal(50), 0.0, None)
    kinks.take(move, *(0.999 * t for t in kinks.room(move)))
    assert np.all(np.abs(kinks.w) < 1.0)
    assert np.all(kinks.products() > 0.0)
    np.testing.assert_allclose(kinks.above, 1.0 - kinks.w, atol=1e-14)


@pytest.mark.parametrize("reg", REGS)
@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_and_regularizer(loss, reg):
    shape = ("tall", "square", "wide")[(len(loss) + len(reg)) % 3]
    case, best = cases.make(loss, reg, shape), cases.best(loss, reg, shape)
    found = solve(case.problem(), "interior")
    check(case, case.problem(), found, best)
    assert found.status == "converged"


@pytest.mark.parametrize("layout", ["dense_c", "csr"])
def test_a_single_bound_far_away_is_no_place_to_start(layout):
    """Beside it margins are in the hundreds: the loss is flat there, and steps went in circles."""
    case, best = (make("logistic", "arrays", "large") for make in (cases.make, cases.best))
    problem = case.problem(layout)
    found = solve(problem, "interior", tol=1e-9)
    check(case, problem, found, best)
    assert found.converged


def test_a_start_is_inside_of_all_bounds_and_near_zero(rng):
    """As far from every bound as asked for, or as there is room; no farther from zero than that."""
    far = 10.0 ** rng.uniform(-3, 4, 200) * rng.choice([-1.0, 1.0], 200)
    free, size = np.full(200, math.inf), 0.5
    above, below, loose = middle(far, free, size), middle(-free, far, size), middle(-free, free, 1)
    assert np.all(above - far >= size * (1.0 - 1e-12))
    assert np.all(far - below >= size * (1.0 - 1e-12))
    nearest = np.maximum(far + size, 0.0)  # of all points that are far enough from the bound
    np.testing.assert_allclose(above, nearest, atol=1e-12)
    np.testing.assert_allclose(below, -np.maximum(-far + size, 0.0), atol=1e-12)
    assert not np.any(loose)
    low, high = np.minimum(far, far[::-1] + 1e-3), np.maximum(far, far[::-1] + 1e-3)
    inside = middle(low, high, size)
    assert np.all((low < inside) & (inside < high))


@pytest.mark.parametrize("loss", ["absolute", "logistic", "squared_hinge"])
def test_fixed_columns_empty_columns_and_rows_without_weight(loss, rng):
    """They are left out of the systems, and the answer is that of the problem all the same."""
    A = rng.standard_normal((30, 6))
    A[:, 4] = 0.0
    b = oracle.random_labels(LOSSES[loss](), A[:, 0] + A[:, 1], rng)
    lower, upper = np.full(6, -math.inf), np.full(6, math.inf)
    lower[1] = upper[1] = 0.5
    weights = np.where(np.arange(30) < 20, 1.0, 0.0)
    problem = Problem(A, b, loss, ElasticNet(0.01, 0.01, lower, upper), weights)
    found = solve(problem, "interior")
    assert found.status == "converged"
    assert found.x[1] == 0.5
    assert found.x[4] == 0.0
    short = Problem(A[:20], b[:20], loss, ElasticNet(0.01, 0.01, lower, upper))
    assert found.primal == pytest.approx(solve(short, "newton").primal, rel=3e-6)


def test_it_goes_on_where_it_was_saved(rng):
    problem = cases.make("hinge", "l1", "square").problem()
    one, two = (Interior(problem, "auto", key_of(0)) for _ in range(2))
    one.begin(problem.reg.minimiser(problem.d), np.zeros(problem.n))
    for _ in range(3):
        list(one.epoch())
    two.restore(one.save())
    for _ in range(2):
        list(one.epoch())
        list(two.epoch())
        np.testing.assert_array_equal(one.evaluated().point.x, two.evaluated().point.x)


def test_what_it_can_not_do_is_refused_by_name(rng):
    with pytest.raises(IncompatibleError, match="small problems"):
        solve(Problem(np.ones((4000, 4001)), np.ones(4000), "squared", L2(0.1)), "interior")
    case = cases.make("squared", "l2", "square")
    with pytest.raises(IncompatibleError, match="no step sizes"):
        solve(case.problem(), "interior", steps="theory")


@pytest.mark.parametrize("units", [1e-100, 1e100])
def test_units_do_not_matter(units, rng):
    """Powers of two near them: the same problem to the last bit but for the scale of x."""
    unit = 2.0 ** round(math.log2(units))
    A, b = rng.standard_normal((20, 8)), rng.standard_normal(20)
    one = solve(Problem(A, b, "absolute", ElasticNet(l1=0.01)), "interior")
    two = solve(Problem(A * unit, b, "absolute", ElasticNet(l1=0.01 * unit)), "interior")
    assert one.status == two.status == "converged"
    np.testing.assert_allclose(two.x * unit, one.x, rtol=1e-6, atol=1e-9)
    assert (
        certify(two.x, Problem(A * unit, b, "absolute", ElasticNet(l1=0.01 * unit)), two.y).gap
        < 1e-5
    )


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("spread", [0, 4])
def test_columns_without_penalty_are_a_border(spread, known, rng):
    """The equations of a step, with H = 0 for some columns, and the products of rows at hand."""
    n, d, k = 6, 15, 2
    A, q = rng.standard_normal((n, d + k)), 10.0 ** rng.uniform(-spread, spread, n)
    free = np.zeros(d + k, dtype=bool)
    free[[3, d + k - 1]] = True
    H = np.where(free, 0.0, 10.0 ** rng.uniform(-spread, spread, d + k))
    g, e = rng.standard_normal(d + k), rng.standard_normal(n)
    paid, positive = A[:, ~free], H[~free]
    gram = (paid / positive) @ paid.T if known else None
    dx, p = Bordered(paid, A[:, free], free, q, positive, gram).solve(g, e)
    scale = np.abs(A.T) @ np.abs(p) + np.abs(H * dx) + np.abs(g)
    assert np.max(np.abs(A.T @ p + H * dx + g) / scale) < 1e-8
    scale = np.abs(A) @ np.abs(dx) + np.abs(p / q) + np.abs(e)
    assert np.max(np.abs(A @ dx - p / q - e) / scale) < 1e-8


@pytest.mark.parametrize("n", [40, 420])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("reg", [ElasticNet(l1=0.02), ElasticNet(l2=0.01), ElasticNet(0.01, 0.01)])
def test_many_columns_are_solved_by_rows(reg, intercept, n, rng):
    """With an intercept or without, rows fewer than columns or about as many."""
    d = MANY_COLUMNS + 20
    A = rng.standard_normal((n, d))
    b = A[:, 0] - A[:, 1] + 0.5 * rng.standard_normal(n) + 1.0
    problem = Design(A, intercept).problem(b, "absolute", reg)
    found = solve(problem, "interior", tol=1e-8)
    assert found.status == "converged"
    x, u = found.x, problem.margins(found.x)
    paid = x[:d]
    value = np.abs(u - b).mean() + reg.l1 * np.abs(paid).sum() + 0.5 * reg.l2 * paid @ paid
    assert found.primal == pytest.approx(value, rel=1e-12)
    # The dual point proves the value by its definition: bounded, balanced, within l1.
    y = found.y
    pull = -A.T @ y / n
    assert np.max(np.abs(y)) <= 1.0
    assert not intercept or abs(y.sum()) <= 1e-9 * n
    over = np.maximum(np.abs(pull) - reg.l1, 0.0)
    assert reg.l2 > 0.0 or np.max(over) <= 1e-9
    bound = -(b @ y) / n - (0.5 * (over @ over) / reg.l2 if reg.l2 > 0.0 else 0.0)
    assert value - bound <= 1e-7 * value


def test_the_matrix_of_the_rows_is_taken_where_it_costs_less(rng):
    """Few columns keep their own matrix; so do many columns without penalty, and smooth losses."""
    A, none, all_of_them = rng.standard_normal((40, 400)), np.zeros(400, bool), np.ones(400, bool)
    paid = np.ones(400)
    assert Systems(A, paid, none, False).by_rows
    assert Systems(A, np.where(np.arange(400) < 3, 0.0, 1.0), none, False).by_rows
    assert Systems(A, np.zeros(400), all_of_them, False).by_rows
    assert not Systems(A, paid, none, True).by_rows
    assert not Systems(A, np.where(np.arange(400) < 30, 0.0, 1.0), none, False).by_rows
    assert not Systems(A[:, :200], paid[:200], none[:200], False).by_rows
    assert rows_cost_less(1000, 1000, True)
    assert not rows_cost_less(1000, 1000, False)
    assert not rows_cost_less(5000, 1000, True)


def test_few_rows_cost_no_more_for_a_column_without_penalty(rng):
    """Logistic losses on wide data took the matrix of all columns there: seconds a step."""
    assert rows_cost_less(200, 5000, True, curved=True)
    assert not rows_cost_less(800, 801, True, curved=True)
    A = np.column_stack([rng.standard_normal((30, 900)), np.ones(30)])
    b = np.where(A[:, 0] + rng.standard_normal(30) > 0.0, 1.0, -1.0)
    p = Problem(A, b, "logistic", ElasticNet(l2=np.append(np.full(900, 1e-3), 0.0)))
    system = Systems(A, p.reg.l2, np.zeros(901, dtype=bool), True)
    assert system.by_rows
    result = solve(p, "interior", tol=1e-9)
    assert result.converged
    assert certify(result.x, p, result.y).rel_gap <= 1e-9
    wide = Interior.price(p)
    assert 1e-4 < wide < 1.0


@pytest.mark.parametrize("shape", [(25, 400), (40, 30)])
def test_orthogonal_factors_with_a_border_solve_the_equations(shape, rng):
    n, d = shape
    A = rng.standard_normal((n, d)) * np.exp(2.0 * rng.standard_normal(d))
    A = np.column_stack([A, np.ones(n)])
    H = np.append(np.exp(3.0 * rng.standard_normal(d)), 0.0)
    q = np.exp(6.0 * rng.standard_normal(n))
    g, e = rng.standard_normal(d + 1), rng.standard_normal(n)
    free = H == 0.0
    for exact in (True, False):
        system = Bordered(A[:, ~free], A[:, free], free, q, H[~free], exact=exact)
        dx, p = system.solve(g, e)
        scale = np.abs(A.T) @ np.abs(p) + np.abs(H * dx) + np.abs(g)
        assert np.max(np.abs(A.T @ p + H * dx + g) / scale) < 1e-8
        scale = np.abs(A) @ np.abs(dx) + np.abs(p / q) + np.abs(e)
        assert np.max(np.abs(A @ dx - p / q - e) / scale) < 1e-8
