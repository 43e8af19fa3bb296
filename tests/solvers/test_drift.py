"""Rounding in v = -A'(c y), kept up to date: D moves by no more than ``gradient_drift`` says.

What is exact here is a fraction: neither v nor D is rounded.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from spd1 import L1, L2, Box, ElasticNet, Problem, solve
from spd1.kernel.rng import key_of
from spd1.solvers import method_class
from spd1.solvers.base import gradient_drift
from support import oracle

D = 5
REGS = {
    "l2": L2(0.1),
    "l2_array": L2([0.1, 3.0, 0.5, 1.0, 0.2]),
    "elastic": ElasticNet(l1=0.02, l2=0.1),
    "elastic_box": ElasticNet(l1=0.02, l2=0.05, lower=-0.2, upper=0.3),
    "nonnegative_l2": ElasticNet(l2=0.1, lower=0.0),
}
WITHOUT_BOUND = {
    "l1": L1(0.1),
    "box": Box(-1.0, 1.0),
    "one column without l2": L2([0.1, 0.1, 0.0, 0.1, 0.1]),
    "above zero": ElasticNet(l2=0.1, lower=0.1),
    "below zero": ElasticNet(l2=0.1, upper=[1.0, 1.0, 1.0, -0.1, 1.0]),
}


def exact_v(A, c, y):
    """-A'(c y)."""
    force = [Fraction(a) * Fraction(b) for a, b in zip(c.tolist(), y.tolist(), strict=True)]
    columns = A.T.tolist()
    return [-sum(Fraction(a) * f for a, f in zip(column, force, strict=True)) for column in columns]


def exact_g_star(reg, v):
    """The part of -D that depends on v, for l2 > 0: v t - g(t) at the best t."""
    total = Fraction(0)
    for v_j, *numbers in zip(v, *oracle.net(reg, len(v)), strict=True):
        l1, l2 = (Fraction(float(value)) for value in numbers[:2])
        t = (max(v_j - l1, 0) + min(v_j + l1, 0)) / l2
        for bound, inner in zip(numbers[2:], (max, min), strict=True):
            t = inner(t, Fraction(float(bound))) if math.isfinite(bound) else t
        total += v_j * t - l1 * abs(t) - l2 * t * t / 2
    return total


def moved_by(problem, A, kept, y):
    """How far D at the v that was kept is from D at the exact one."""
    values = (
        exact_g_star(problem.reg, v)
        for v in ([Fraction(value) for value in kept.tolist()], exact_v(A, problem.c, y))
    )
    one, other = values
    return float(abs(one - other))


def data(rng, n, d=D):
    A = rng.standard_normal((n, d))
    return A, A @ np.ones(d) + rng.standard_normal(n)


@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 2, 3))])
@pytest.mark.parametrize("wild", [0.0, 4.0, 8.0])
@pytest.mark.parametrize("reg", REGS)
def test_a_long_sequence_of_updates(reg, wild, seed):
    """Magnitudes are mixed badly, and what is left in the end may be small."""
    rng = np.random.default_rng([seed, int(wild)])
    A, b = data(rng, 7)
    A *= 10.0 ** rng.uniform(-wild / 2, wild / 2, (7, 1))
    problem = Problem(A, b, "squared", REGS[reg], rng.random(7))
    c, y, updates = problem.c, np.zeros(7), 20_000
    v, largest = np.zeros(D), 0.0
    values = rng.standard_normal(updates) * 10.0 ** rng.uniform(-wild, wild, updates)
    rows = rng.integers(7, size=updates)
    rows[-7:], values[-7:] = np.arange(7), rng.standard_normal(7)  # back to an ordinary y
    for i, value in zip(rows.tolist(), values.tolist(), strict=True):
        v -= A[i] * (c[i] * (value - y[i]))
        y[i] = value
        largest = max(largest, math.sqrt(v @ v))
    moved = moved_by(problem, A, v, y)
    assert 0.0 < moved <= gradient_drift(problem, v, updates, largest)


def test_swings_that_round_alike_every_time():
    """Of many cycles of four y, the one that loses most: its errors do not cancel."""
    rng, trials, rounds = np.random.default_rng(1), 50_000, 100
    a, c = rng.uniform(1.0, 2.0, trials), 1.0
    y = np.array([[1.0], [-1.0], [1.0], [-1.0]]) * rng.random((4, trials))
    v = -a * (c * y[0])
    largest = np.max(np.abs(a * y), axis=0)
    for t in range(4 * rounds):
        v -= a * (c * (y[(t + 1) % 4] - y[t % 4]))
    lost = np.abs(v.astype(np.longdouble) + a.astype(np.longdouble) * y[0]) / largest
    worst = int(np.argmax(lost))
    A = a[worst].reshape(1, 1)
    problem = Problem(A, [1.0], "squared", L2(0.1))
    moved = moved_by(problem, A, v[[worst]], y[0, [worst]])
    assert moved <= gradient_drift(problem, v[[worst]], 4 * rounds, largest[worst])


@pytest.mark.parametrize("far", [0.0, 1e3, 1e8])
@pytest.mark.parametrize("n", [4, 30])  # x tied to y, and free
@pytest.mark.parametrize("reg", ["l2", "l2_array", "elastic"])
def test_rows_as_they_run(reg, n, far, rng):
    """From an x however far away, which y follows before it comes back."""
    A, b = data(rng, n)
    problem = Problem(A, b, "squared", REGS[reg], rng.random(n))
    worker = method_class("rows")(problem, "auto", key_of(0))
    worker.steps = worker.default_steps()
    worker.begin(np.full(D, far), np.zeros(n))
    for _ in range(40):
        for _ in worker.epoch():
            pass
        dual = worker.evaluated().dual  # a run looks after every epoch
    moved = moved_by(problem, A, dual.v, dual.y)
    assert 0.0 < moved <= worker.drift(dual)


@pytest.mark.parametrize("loss", ["squared", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("far", [1e6, 1e9, 1e12])
def test_a_far_start_leaves_no_drift_in_the_certificate(far, loss, rng):
    """A hundredth of the gap counts as harmless; what is more has to be computed anew."""
    A, b = data(rng, 40)
    problem = Problem(A, b, loss, L2(0.1))
    found = solve(problem, "rows", x0=np.full(D, far), y0=np.zeros(40), max_passes=10_000)
    assert found.status == "converged"
    assert abs(found.dual - problem.dual(found.y)) <= 0.011 * found.gap


@pytest.mark.parametrize("reg", WITHOUT_BOUND)
def test_without_strong_convexity_or_zero_there_is_no_bound(reg):
    problem = Problem(np.ones((3, D)), np.ones(3), "squared", WITHOUT_BOUND[reg])
    assert gradient_drift(problem, np.ones(D), 1, 1.0) == math.inf
    assert gradient_drift(problem, np.zeros(D), 0, 0.0) == math.inf


@pytest.mark.parametrize("reg", REGS)
def test_the_bound_is_worth_having(reg, rng):
    """After 1e5 updates of ordinary data it is far below any gap that is asked for."""
    A, b = data(rng, 500)
    problem = Problem(A, b, "squared", REGS[reg])
    worker = method_class("rows")(problem, "auto", key_of(0))
    worker.steps = worker.default_steps()
    worker.begin(np.zeros(D), np.zeros(500))
    while worker.updates < 1e5:
        for _ in worker.epoch():
            pass
    dual = worker.evaluated().dual
    assert 0.0 < worker.drift(dual) <= 1e-6 * abs(dual.value)
