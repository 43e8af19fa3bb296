"""Theorem 2: where its recursion closes, and the exact counterexample to it as printed."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

import spd1
from spd1.control.steps import Proposal
from spd1.kernel.rng import key_of
from spd1.reproduce.figure5 import gap_of_means
from spd1.reproduce.theorem2 import (
    excess_of_x,
    excess_of_y,
    expected_gaps,
    mended_bound,
    mended_steps,
    published_steps,
    smallest_stated_bound,
    stated_bound,
)
from spd1.solve import starting_point
from spd1.solvers import method_class

TIMES = np.arange(3000.0)
SHAPES = [(1, 1), (1, 20), (40, 20), (7, 300)]
ROUNDING = 1e-9


@pytest.mark.parametrize(("n", "d"), SHAPES)
@pytest.mark.parametrize(("mu", "gamma"), [(1.0, 4.0), (1e-3, 0.5)])
def test_the_mended_recursion_closes_at_every_step(n, d, mu, gamma):
    eta, tau = mended_steps(TIMES, n, d, mu, gamma)
    assert np.all(excess_of_x(eta, d, mu) <= ROUNDING / eta[1:])
    assert np.all(excess_of_y(tau, n, d, gamma) <= ROUNDING / tau[1:])


@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_the_published_one_does_not_nor_does_a_factor_d_mend_it_at_once(n, d):
    t = TIMES[1:]
    eta, tau = published_steps(TIMES, n, d, 0.1, 2.0)
    assert np.array_equal(excess_of_x(eta, d, 0.1) > ROUNDING / eta[1:], np.full(len(t), d > 1))
    times_d = d * eta
    assert np.array_equal(excess_of_x(times_d, d, 0.1) > ROUNDING / times_d[1:], t + 4 < 4 * d)
    assert np.array_equal(excess_of_y(tau, n, d, 2.0) > ROUNDING / tau[1:], t + 4 < 4 * n)


@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_the_mended_bound_is_that_of_the_last_inequality(n, d):
    """2 d D^2 / eta_0, 2 n d L^2 / tau_0 and the sums of the steps, each at most its term."""
    rng = np.random.default_rng(n)
    A, b = rng.standard_normal((n, d)), np.ones(n)
    p = spd1.Problem(A, b, "logistic", spd1.ElasticNet(l2=0.5, lower=-0.3, upper=0.3))
    T = np.array([1, 10, 1000])
    for steps, bound in zip(T, mended_bound(p, T.astype(float)), strict=True):
        eta, tau = mended_steps(np.arange(steps), n, d, p.mu, p.gamma)
        proof = 2 * d * p.D**2 / eta[0] + 2 * n * d * p.L**2 / tau[0]
        proof += p.L**2 * p.R**2 * eta.sum() + p.D**2 * p.R_prime**2 / n * tau.sum()
        assert proof / steps <= bound * (1 + 1e-12)
        assert bound <= 2.0 * proof / steps


def by_definition(d, T, mu):
    """E[G] over all d^T sequences of draws: Algorithm 1, coordinate by coordinate."""
    gaps = []
    for code in range(d**T):
        x, total = np.zeros(d), np.zeros(d)
        for t in range(T):
            total += x
            j = code // d**t % d
            eta = 2.0 / (mu * (t + 4.0))
            x[j] = (x[j] - eta) / (1.0 + eta * mu)  # prox of mu/2 x^2 at x_j - eta a y, y = 1
        mean = total / T
        gaps.append(np.sum(mean + 0.5 * mu * mean**2) + 0.5 * d / mu)  # P(x) - P*
    return np.mean(gaps)


@pytest.mark.parametrize(("d", "T", "mu"), [(2, 5, 1.0), (3, 4, 0.3), (1, 6, 2.0)])
def test_the_exact_expectation_is_the_mean_over_all_draws(d, T, mu):
    [found] = expected_gaps(d, [T], mu)
    assert found.gap == pytest.approx(by_definition(d, T, mu), rel=1e-12)
    assert found.lower <= found.gap * (1 + 1e-12)


def test_the_method_does_what_the_recursion_says():
    """SPD1 itself: the hinge at margins below 1 is phi(u) = 1 - u, the same up to a sign."""
    d, T, runs = 6, 60, 400
    reg = spd1.ElasticNet(l2=1.0, lower=-2.0, upper=2.0)
    problem = spd1.Problem(-np.ones((1, d)), [1.0], "hinge", reg)
    errors = []
    for seed in range(runs):
        worker = method_class("spd1")(problem, "uniform", key_of(seed))
        worker.adopt(Proposal({"eta": 2.0, "tau": 0.0}, "published"))
        worker.kind = 2  # 1 / (t + 4), though the hinge is not smooth everywhere
        worker.begin(np.zeros(d), np.array([-1.0]))
        while worker.t < T:
            for _ in worker.epoch():
                pass
        [(x, _)] = worker.iterates()
        errors.append(0.5 * np.sum((x + 1.0) ** 2))
    [exact] = expected_gaps(d, [T])
    assert np.mean(errors) == pytest.approx(exact.gap, abs=5 * np.std(errors) / math.sqrt(runs))


def test_the_gap_outgrows_the_stated_bound_but_not_with_mended_steps():
    horizons = [10**3, 10**4, 10**5]
    ratios = [m.lower / smallest_stated_bound(20, m.T) for m in expected_gaps(20, horizons)]
    assert ratios[1] > 1.0
    assert all(later > 5.0 * sooner for sooner, later in pairwise(ratios))
    for m in expected_gaps(20, horizons, mended=True):
        assert m.gap < smallest_stated_bound(20, m.T)


def test_errors_fall_like_the_power_that_the_derivation_says():
    for d in (5, 20):
        first, last = expected_gaps(d, [10**4, 10**5])
        slope = math.log10(last.lower / first.lower)
        assert slope == pytest.approx(-4.0 / d, abs=0.02)


def test_the_stated_bound_of_a_problem_is_the_printed_formula():
    A, b = spd1.datasets.make_synthetic(6, 4, seed=0)
    p = spd1.Problem(A, b, "logistic", spd1.ElasticNet(l2=0.5, lower=-0.2, upper=0.2))
    R, R_prime = np.linalg.norm(A, axis=1).max(), np.linalg.norm(A, axis=0).max()
    D2, log = 4 * 0.04, math.log(104)
    expected = 4 * 4 * D2 * 0.5 + 4 * 4.0 + (2 * R**2 / 0.5 + 2 * 4 * D2 * R_prime**2 / 4) * log
    assert stated_bound(p, np.array(100.0)) == pytest.approx(expected / 100)


def test_the_sup_of_means_is_between_that_of_the_mean_pair_and_the_mean_gap():
    A, b = spd1.datasets.make_synthetic(6, 4, seed=0)
    p = spd1.Problem(A, b, "logistic", spd1.ElasticNet(0.01, 0.5, -0.2, 0.2))
    rng = np.random.default_rng(0)
    _, y0, _ = starting_point(p, None, None)
    pairs = [(rng.uniform(-0.2, 0.2, 4), y0 * rng.uniform(0.2, 1.8, 6)) for _ in range(5)]
    gaps = [p.primal(x) - p.dual(y) for x, y in pairs]
    x, y = (np.mean(part, axis=0) for part in zip(*pairs, strict=True))
    assert p.primal(x) - p.dual(y) < gap_of_means(p, pairs) < np.mean(gaps)
    assert gap_of_means(p, pairs[:1]) == pytest.approx(gaps[0])
