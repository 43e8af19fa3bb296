"""What Newton's method asks of losses, regularizers and certificates, by definition."""

from __future__ import annotations

import math

import numpy as np
import pytest

from spd1 import L1, L2, Box, ElasticNet, Problem
from spd1.certificate.points import dual_from_margins, feasible_dual, pair_of, zero_dual
from spd1.certificate.segments import best_multiple
from spd1.losses import Loss
from support import oracle

every_loss = pytest.mark.parametrize("loss", oracle.LOSS_CASES, ids=repr)
H = 1e-5


def slopes(loss, u, b):
    """Second derivatives by differences of the first, to the left and to the right."""
    left, middle, right = (loss.derivative(t, b) for t in (u - H, u, u + H))
    return (middle - left) / H, (right - middle) / H


@pytest.mark.parametrize("inherited", [False, True])
@every_loss
def test_curvature_is_the_derivative_of_the_derivative(loss, inherited):
    curvature = Loss.curvature if inherited else type(loss).curvature
    smooth = 0
    for b in oracle.example_labels(loss):
        for u in np.linspace(-6.0, 6.0, 97) + 0.0123:
            u = float(u)
            left, right = slopes(loss, u, b)
            if abs(left - right) <= 1e-3 * (1.0 + abs(left)):  # no kink nearby
                smooth += 1
                expected = (left + right) / 2
                assert curvature(loss, u, b) == pytest.approx(expected, rel=1e-4, abs=1e-5)
    assert smooth > 100


@every_loss
def test_curvature_at_a_kink_is_that_of_one_side(loss):
    """Where phi' bends, not where it jumps."""
    for b in oracle.example_labels(loss):
        kinks = [b - 1.35, b + 1.35, b - 0.5, b + 0.5, b, 0.0, 0.7 * b, b + 0.1, b - 0.1, b + 0.3]
        for u in kinks:
            left, right = slopes(loss, u, b)
            if max(left, right) < 1e3:
                found = loss.curvature(u, b)
                assert min(left, right) - 1e-3 <= found <= max(left, right) * (1 + 1e-4) + 1e-3


@every_loss
def test_curvature_is_finite_and_not_negative_far_away(loss):
    for b in oracle.example_labels(loss):
        for u in (-1e6, -800.0, -40.0, 40.0, 600.0):
            assert 0.0 <= loss.curvature(u, b) < math.inf


@every_loss
def test_conjugate_net_is_the_conjugate_where_there_is_one(loss):
    """Fit l1 |y| + l2/2 y^2 to phi*(y) - b y: it fits if and only if the loss says so."""
    rows, values = [], []
    for b in oracle.example_labels(loss):
        low, high = (min(max(end, -5.0), 5.0) for end in loss.domain(b))
        y = np.linspace(low, high, 41)
        rows.append(np.stack([np.abs(y), y * y / 2], axis=1))
        values.append(np.array([loss.conjugate(t, b) - b * t for t in y.tolist()]))
    rows, values = np.concatenate(rows), np.concatenate(values)
    fit = np.linalg.lstsq(rows, values, rcond=None)[0]
    fits = np.max(np.abs(rows @ fit - values)) < 1e-10
    assert fits == (loss.conjugate_net is not None)
    if fits:
        np.testing.assert_allclose(loss.conjugate_net, fit, atol=1e-10)


@pytest.mark.parametrize(
    "reg",
    [
        L2(0.4),
        ElasticNet(l1=0.3, l2=0.5),
        ElasticNet(l1=0.3, l2=0.5, lower=-1.0, upper=0.7),
        ElasticNet(l2=2.0, lower=0.2, upper=0.7),
        ElasticNet(l1=[0.2, 0.4, 0.0], l2=[1.0, 0.1, 3.0], lower=[-1.0, -2.0, 0.0]),
    ],
)
def test_the_bend_of_the_conjugate_is_the_slope_of_its_argmax(reg):
    net, moving, still = reg.bind(3), 0, 0
    for j in range(3):
        l2 = net.numbers(j)[1]
        for v in np.linspace(-4.0, 4.0, 161) + 0.00123:
            left, middle, right = (net.g_argmax(float(t), j) for t in (v - H, v, v + H))
            bend = net.g_conjugate_bend(float(v), j)
            before, after = (middle - left) / H, (right - middle) / H
            if abs(before - after) > 1e-4 / l2:
                continue  # a kink
            if after > 0.5 / l2:
                moving += 1
                assert bend == pytest.approx(after, rel=1e-6)
            else:
                still += 1
                assert 0.0 <= bend <= 0.1 / l2  # a little may be left
    assert moving > 20
    assert still > 20 or reg.plain


REGS = [L2(0.2), L1(0.1), Box(-1.0, 1.0), ElasticNet(l1=0.02, l2=0.1, lower=0.0), ElasticNet()]


def random_case(loss, reg, rng):
    A = rng.standard_normal((8, 5))
    b = oracle.random_labels(loss, A @ rng.standard_normal(5), rng)
    c = rng.random(8) * (np.arange(8) != 3)
    return oracle.Case(A, b, c / c.sum(), loss, reg)


def random_dual(problem, rng):
    """phi'(u) at random margins: inside the domain of phi*."""
    return dual_from_margins(problem, 0.3 * rng.standard_normal(problem.n))


@pytest.mark.parametrize("reg", REGS[:4], ids=repr)
@pytest.mark.parametrize("name", ["logistic", "hinge", "squared", "absolute"])
def test_a_pair_is_what_the_definitions_say(name, reg, rng):
    case = random_case(oracle.LOSSES[name](), reg, rng)
    problem = case.problem()
    for _ in range(5):
        x = np.clip(0.3 * rng.standard_normal(5), reg.lower, reg.upper)
        y = random_dual(problem, rng)
        u, v = case.A @ x, -case.A.T @ (case.c * y)
        kept = x.copy(), u.copy(), y.copy(), v.copy()
        pair = pair_of(problem, x, u, y, v)
        for one, two in zip((x, u, y, v), kept, strict=True):
            np.testing.assert_array_equal(one, two)
        assert pair.point.value == pytest.approx(oracle.primal(case, x), rel=1e-13)
        dual = oracle.dual(case, pair.dual.y * (1 - 1e-14))  # off the boundary of dom g*
        assert pair.dual.value == pytest.approx(dual, rel=1e-9, abs=1e-12)
        gap = oracle.primal(case, x) - dual
        assert pair.gap == pytest.approx(gap, rel=1e-8, abs=1e-12)
        assert min(pair.rows, pair.columns) >= 0.0
        np.testing.assert_allclose(pair.dual.v, -case.A.T @ (case.c * pair.dual.y), atol=1e-13)


@pytest.mark.parametrize("reg", REGS, ids=repr)
@pytest.mark.parametrize("name", ["logistic", "hinge", "squared", "huber", "poisson"])
def test_the_best_multiple_is_feasible_and_better_than_both_ends(name, reg, rng):
    case = random_case(oracle.LOSSES[name](), reg, rng)
    problem = case.problem()
    for _ in range(5):
        y = random_dual(problem, rng)
        found = best_multiple(problem, y).y
        value = feasible_dual(problem, found).value
        size = 1e-12 * (1.0 + abs(value))
        assert np.isfinite(oracle.phi_star(case.loss, found, case.b)).all()
        assert value >= zero_dual(problem).value - size
        assert value >= feasible_dual(problem, y).value - size


def test_the_best_multiple_improves_on_a_start_that_is_too_large():
    """Ten equal rows: argmin phi* moves x ten times too far."""
    problem = Problem(np.ones((10, 1)), np.ones(10), "squared", L2(0.05))
    y = -np.ones(10)
    found = best_multiple(problem, y).y
    assert problem.dual(found) > max(problem.dual(y), problem.dual(0 * y)) + 1e-3


@every_loss
def test_bends_grow_no_faster_than_the_loss_says(loss):
    """|phi'''| <= growth phi'' means that phi'' grows by e^(growth r) at most within r."""
    if loss.growth == math.inf:
        return
    for b in oracle.example_labels(loss):
        for u in np.linspace(-8.0, 8.0, 33):
            for r in (-2.0, -0.1, 0.01, 0.5, 3.0):
                most = loss.curvature(float(u), b) * math.exp(loss.growth * abs(r))
                assert loss.curvature(float(u) + r, b) <= most * (1 + 1e-9)
