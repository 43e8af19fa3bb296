"""Certificates against 60 digits: hostile problems, and examples with a name.

What is promised, for every point x and up to ``Exact.bound``: gap >= P(x) - P(x') and
dual <= P(x') for every x', or, where ``reach`` is finite, for every x' within it.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from spd1 import L2, ElasticNet, Problem, certify, solve
from support.attack import checked, run
from support.descent import good_points
from support.exact import Exact, digits, exact

CHUNK = 20


@pytest.mark.parametrize("first", range(0, 100, CHUNK))
def test_no_certificate_of_a_hostile_problem_lies(first):
    flags, points = run(range(first, first + CHUNK))
    assert not flags, "\n".join(map(str, flags))
    assert points > 5 * CHUNK


def test_what_was_flagged_once_is_honest_now():
    flags, _ = run([3985, 5482, 5926, 7813, 14783, 15308, 16003])
    assert not flags, "\n".join(map(str, flags))


def test_exponentials_that_overflow_everywhere_leave_a_finite_y():
    """Bounds hold a column where its margin is 1e22, and no start of Poisson's loss is finite."""
    flags, _ = run([2011])
    assert not flags, "\n".join(map(str, flags))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(100, 20_500, 400))
def test_no_certificate_of_many_hostile_problems_lies(first):
    flags, _ = run(range(first, first + 400))
    assert not flags, "\n".join(map(str, flags))


def check(A, problem, x, y=None, rivals=()):
    """Certify a point and hold the certificate against the truth; returns it and what is true."""
    claim = certify(x, problem, y)
    with digits():
        truth = Exact(A, problem)
        good = good_points(truth, [exact(x), *(exact(point) for point in rivals)], 200)
        flags = list(checked(truth, x, claim, good))
        assert not flags, flags
        return claim, float(truth.primal(exact(x)) - good[0][0])


def test_an_outlier_does_not_hide_the_other_rows():
    A = np.ones((20, 1))
    A[0, 0] = 1e14
    problem = Problem(A, np.ones(20), "hinge")
    claim, truth = check(A, problem, [1e-4], rivals=[[1.0]])
    assert truth == pytest.approx(0.95 * (1 - 1e-4))
    assert claim.gap >= 0.94 or claim.reach < 1e14


@pytest.mark.parametrize(
    "power",
    [8, 13, 15, *(pytest.param(k, marks=pytest.mark.slow) for k in (2, 5, 11, 14, 16, 17))],
)
@pytest.mark.parametrize("loss", ["squared", "huber", "absolute", "squared_epsilon_insensitive"])
def test_columns_that_are_nearly_alike(loss, power, rng):
    """Twice the same column but for a trace of z, and z is what the targets are made of."""
    a, z = rng.standard_normal((2, 15))
    A = np.stack([a, a + 10.0**-power * z], axis=1)
    problem = Problem(A, a + z, loss)
    for x in ([1.0, 0.0], [0.5, 0.5], [0.0, 0.0], solve(problem, max_passes=200).x):
        claim, truth = check(A, problem, np.asarray(x))
        rounding = 1e-14 * float(np.max(np.abs(A) @ np.abs(x)))  # of its margins, and so of P(x)
        assert math.isfinite(claim.reach) or claim.gap >= 0.99 * truth - 1e-12 - rounding


@pytest.mark.parametrize("power", [13, 14, 15, 16])
def test_chains_of_columns_that_are_nearly_alike(power, rng):
    for d in (3, 5, 8):
        A = rng.standard_normal((20, d))
        for k in range(1, d):
            A[:, k] = A[:, k - 1] + 10.0**-power * A[:, k]
        problem = Problem(A, rng.standard_normal(20), "squared")
        for x in (np.zeros(d), solve(problem, max_passes=200).x):
            check(A, problem, x)


@pytest.mark.parametrize(
    "power", [20, 128, 300, *(pytest.param(k, marks=pytest.mark.slow) for k in (60, 200))]
)
@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge", "absolute"])
def test_a_faint_l2(loss, power, rng):
    A = rng.standard_normal((12, 4))
    b = np.sign(A @ [1.0, 2.0, 3.0, 4.0] + rng.standard_normal(12))
    problem = Problem(A, b, loss, L2(10.0**-power))
    found = solve(problem, max_passes=200)
    for x in (np.zeros(4), found.x, 1.001 * found.x):
        check(A, problem, x, found.y)


@pytest.mark.parametrize("mean", [0.0, 1e4, 1e8, 1e12])
@pytest.mark.parametrize("loss", ["squared", "huber", "absolute", "epsilon_insensitive"])
def test_the_gap_is_that_of_the_residuals_however_far_the_targets_are(loss, mean, rng):
    """Brackets are made of u - b: of P and D, both of the size of the mean, nothing is left."""
    A = np.column_stack([np.ones(30), rng.standard_normal((30, 2))])
    b = mean + A @ [0.0, 1.0, 2.0] + rng.standard_normal(30)
    problem = Problem(A, b, loss, ElasticNet(l2=[1e-9, 0.1, 0.1]))
    found = solve(problem, tol=1e-12, max_passes=500)
    for x in (found.x, found.x * [1.0, 1.01, 0.99], found.x + np.eye(3)[0]):
        claim, _ = check(A, problem, x, found.y)
        with digits():
            truth = Exact(A, problem)
            gap = float(truth.primal(exact(x)) - truth.dual(claim.y))
            residual = 1.0 + float(np.abs(problem.margins(x) - b).max())
        assert claim.gap == pytest.approx(gap, rel=1e-9, abs=1e-14 * mean * residual + 1e-13)


@pytest.mark.parametrize("power", [13, 14, 15, 16, 17])
def test_a_tiny_l1_beside_a_column_without_penalty(power, rng):
    """Rounding of v is not small beside such an l1, and points far away may be better."""
    for near in (12, 14, 15, 16):
        a, z = rng.standard_normal((2, 25))
        A = np.column_stack([np.ones(25), a, a + 10.0**-near * z])
        problem = Problem(A, 1.0 + a + z, "squared", ElasticNet(l1=[0.0, *[10.0**-power] * 2]))
        x = np.append(np.linalg.lstsq(A[:, :2], problem.b, rcond=None)[0], 0.0)
        for point in (x, x * 1.001, np.zeros(3)):
            check(A, problem, point)


@pytest.mark.parametrize("end", [1e-4, 1.0, 1e4])
def test_bounds_on_one_side_count_with_the_move_that_balances_other_columns(end, rng):
    """That move changes v of columns at their bound, too, and so v times the bound."""
    for _ in range(6):
        A = rng.standard_normal((7, 10)) * 10.0 ** rng.uniform(-3, 3, (7, 1))
        b = -np.full(7, 100.0 * end) * rng.random()
        problem = Problem(A, b, "squared", ElasticNet(upper=end))
        found = solve(problem, max_passes=300)
        with digits():
            truth = Exact(A, problem)
            good = good_points(truth, [exact(found.x)], 300)
            for claim in (found, certify(found.x, problem), certify(found.x, problem, found.y)):
                flags = list(checked(truth, found.x, claim, good))
                assert not flags, flags


def test_a_million_rows_in_order_of_their_labels():
    """A sum from the first row to the last is off by more than the stated share of its terms."""
    from spd1.certificate.free_columns import free_columns_of
    from spd1.problem import ROUNDED

    rng = np.random.default_rng(0)
    n = 1_000_000
    problem = Problem(np.abs(rng.standard_normal((n, 2))), np.ones(n), "squared")
    w = problem.c * np.repeat([0.3, -0.3], n // 2)
    free = free_columns_of(problem)
    v, rounding = free.residual(w)
    products = free.M[:, 0].astype(np.longdouble) * w
    assert abs(v[0] + math.fsum(products.tolist())) <= rounding[0]
    assert rounding[0] == pytest.approx(ROUNDED * float(np.abs(products).sum()))
