"""The step sizes are those of Theorems 1 to 3, and the runs keep what the theorems promise."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit

from spd1 import L2, Box, ElasticNet, Problem, solve
from spd1.control.steps import Proposal
from spd1.errors import IncompatibleError
from spd1.kernel.rng import index, key_of
from spd1.solve import starting_point
from spd1.solvers import method_class
from support import reference

N, D = 20, 10
SEEDS = range(12)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    A = rng.standard_normal((N, D))
    return A, np.where(A @ rng.standard_normal(D) + rng.standard_normal(N) > 0, 1.0, -1.0)


def norms(A):
    """R and R' by definition."""
    return np.linalg.norm(A, axis=1).max(), np.linalg.norm(A, axis=0).max()


def theory_worker(problem, seed, name="spd1", source="theory"):
    """The method at the theorem's start, with the theorem's steps."""
    worker = method_class(name)(problem, "uniform", key_of(seed))
    steps = worker.theory_steps() if source == "theory" else worker.published_steps()
    worker.adopt(Proposal(steps, source))
    worker.begin(*starting_point(problem, None, None))
    return worker


def run(worker, epochs):
    for _ in range(epochs):
        for _ in worker.epoch():
            pass


def mean_gaps(problem, horizons):
    """Mean over seeds of P(x_hat) - D(y_hat), the method's own averaged pair, at each T."""
    gaps = np.zeros((len(SEEDS), len(horizons)))
    for seed in SEEDS:
        worker = theory_worker(problem, seed)
        for column, T in enumerate(horizons):
            run(worker, T // (N * D) - worker.t // (N * D))
            assert worker.t == T
            [(x, y)] = worker.iterates()
            gaps[seed, column] = problem.primal(x) - problem.dual(y)
    return gaps.mean(axis=0)


SPD1_CASES = [
    # loss, L, gamma, regularizer, radius of the set, mu, which theorem
    ("hinge", 1.0, 0.0, Box(-0.2, 0.2), 0.2 * math.sqrt(D), 0.0, 1),
    ("logistic", 1.0, 4.0, Box(-0.1, 0.3), 0.3 * math.sqrt(D), 0.0, 1),
    ("hinge", 1.0, 0.0, ElasticNet(l2=0.5, lower=-0.2, upper=0.2), 0.2 * math.sqrt(D), 0.5, 1),
    ("logistic", 1.0, 4.0, ElasticNet(0.01, 0.5, -0.2, 0.2), 0.2 * math.sqrt(D), 0.5, 2),
    ("smoothed_hinge", 1.0, 1.0, ElasticNet(0.0, 2.0, -0.3, 0.2), 0.3 * math.sqrt(D), 2.0, 2),
]


def theorem_of(case, A, T, source="theory"):
    """eta_t, tau_t and the bound that cover a case."""
    _, L, gamma, _, radius, mu, number = case
    constants = (L, radius, *norms(A), N, D, T)
    if number == 1:
        return reference.theorem_1(*constants)
    second = reference.theorem_2 if source == "theory" else reference.theorem_2_published
    return second(*constants, mu, gamma)


@pytest.mark.parametrize("source", ["theory", "published"])
@pytest.mark.parametrize("case", SPD1_CASES, ids=lambda case: f"{case[0]}-{case[-1]}")
def test_steps_of_spd1_fade_as_the_theorem_says(case, source, data):
    """Step by step against Algorithm 1 with the formulas' own eta_t and tau_t."""
    A, b = data
    loss, reg, T = case[0], case[3], 2 * N * D
    problem = Problem(A, b, loss, reg)
    worker = theory_worker(problem, 3, source=source)
    run(worker, 2)
    etas, taus, _ = theorem_of(case, A, T, source)
    draws = [(index(key_of(3), 2 * t, N), index(key_of(3), 2 * t + 1, D)) for t in range(T)]
    task = reference.task_of(A, b, np.full(N, 1 / N), loss, reg)
    x0 = np.clip(np.zeros(D), task.lower, task.upper)
    y0 = reference.slope(loss, np.zeros(N), b)  # argmin phi*: where its derivative u is 0
    expected = reference.spd1(task, x0, y0, draws, etas, taus, np.full(N, D), np.full(D, N))
    np.testing.assert_allclose(worker.state.x, expected.x, atol=1e-10)
    np.testing.assert_allclose(worker.state.y, expected.y, atol=1e-10)
    np.testing.assert_allclose(worker.iterates()[0][0], expected.x_mean, atol=1e-10)
    assert np.ptp(expected.x) > 0.05


@pytest.mark.parametrize("case", SPD1_CASES, ids=lambda case: f"{case[0]}-{case[-1]}")
def test_gap_of_spd1_stays_below_the_bound(case, data):
    """The mean of G, which is at least what the proofs bound: they exchange E and sup."""
    A, b = data
    problem = Problem(A, b, case[0], case[3])
    horizons = [200, 2000, 20_000, 200_000, 1_000_000]
    gaps = mean_gaps(problem, horizons)
    bounds = [theorem_of(case, A, T)[2] for T in horizons]
    assert np.all(gaps < bounds)
    assert np.all(gaps >= -1e-12)
    x0, y0, _ = starting_point(problem, None, None)
    assert bounds[-1] < 0.5 * (problem.primal(x0) - problem.dual(y0))  # it does promise something


def saddle_point(A, b, mu):
    """x* by Newton's method for logistic loss + L2, and y* = phi'(A x*)."""
    n, d = A.shape
    x = np.zeros(d)
    for _ in range(60):
        y = -b * expit(-b * (A @ x))
        curvature = np.abs(y) * (1 - np.abs(y)) / n
        step = np.linalg.solve(
            A.T @ (curvature[:, None] * A) + mu * np.eye(d), A.T @ y / n + mu * x
        )
        x = x - step
    assert np.linalg.norm(step) < 1e-14
    return x, -b * expit(-b * (A @ x))


@pytest.mark.parametrize(("n", "d"), [(7, 5), (4, 9)], ids=["tall", "wide"])
@pytest.mark.parametrize("kappa", [1.2, 4.0])
def test_spd1_vr_contracts_as_theorem_3_says(n, d, kappa):
    rng = np.random.default_rng([n, d])
    A, b = rng.standard_normal((n, d)), rng.choice([-1.0, 1.0], n)
    R, R_prime = norms(A)
    mu = min(R**2, d / n * R_prime**2) / (4.0 * kappa)  # gamma = 4: min(kappa, kappa') as given
    eta, tau, T = reference.theorem_3(R, R_prime, n, d, mu, 4.0)
    x_star, y_star = saddle_point(A, b, mu)
    problem = Problem(A, b, "logistic", L2(mu))

    def distance(x, y):
        return np.sum((x - x_star) ** 2) / eta + np.sum((y - y_star) ** 2) / tau

    distances = np.empty((len(SEEDS), 4))
    for seed in SEEDS:
        worker = theory_worker(problem, seed, "spd1-vr")
        assert worker.steps == pytest.approx({"eta": eta, "tau": tau}, rel=1e-12)
        for k in range(4):
            distances[seed, k] = distance(*worker.iterates()[0])
            run(worker, 1)
            assert worker.t == (k + 1) * T
    mean = distances.mean(axis=0)
    assert mean[0] > 0
    assert np.all(mean[1:] <= 0.6 * mean[:-1])


def test_theorem_3_enlarges_its_constants_where_kappa_is_below_one():
    """R and R' are bounds; the theorem asks for kappa >= 1, so the smallest ones that give it."""
    rng = np.random.default_rng(9)
    A, b = rng.standard_normal((6, 4)), rng.choice([-1.0, 1.0], 6)
    mu = 3.0 * max(norms(A)) ** 2
    worker = theory_worker(Problem(A, b, "logistic", L2(mu)), 0, "spd1-vr")
    R, R_prime = math.sqrt(4.0 * mu), math.sqrt(6 * 4.0 * mu / 4)
    eta, tau, T = reference.theorem_3(R, R_prime, 6, 4, mu, 4.0)
    assert worker.steps == pytest.approx({"eta": eta, "tau": tau}, rel=1e-12)
    run(worker, 1)
    assert T <= worker.t <= T + 1  # a product that should be whole may be rounded up


def test_solve_runs_the_theorems(data):
    """What ``solve`` says: the steps in force, and passes in the paper's count."""
    A, b = data
    R, R_prime = norms(A)
    problem = Problem(A, b, "logistic", L2(0.5))
    eta, tau, T = reference.theorem_3(R, R_prime, N, D, 0.5, 4.0)
    found = solve(problem, "spd1-vr", steps="theory", max_passes=20, tol=1e-15)
    assert found.steps == pytest.approx({"eta": eta, "tau": tau}, rel=1e-12)
    assert found.trace.paper_passes[1] == pytest.approx(1 + T / (N * D))
    # the snapshot of x = 0 takes one product, the look that follows three
    assert np.diff(found.trace.passes)[0] == pytest.approx(1 + 3 * T / (N * D) + 3)
    boxed = Problem(A, b, "hinge", Box(-0.5, 0.5))
    found = solve(boxed, "spd1", steps="theory", max_passes=20, tol=1e-15)
    etas, taus, _ = reference.theorem_1(1.0, 0.5 * math.sqrt(D), R, R_prime, N, D, 1)
    assert found.steps == pytest.approx({"eta": etas[0], "tau": taus[0]}, rel=1e-12)


def test_solve_runs_theorem_2_mended_and_as_published(data):
    A, b = data
    boxed = Problem(A, b, "logistic", BOXED)
    for source, eta in (("theory", 2 * D / 0.1), ("published", 2 / 0.1)):
        found = solve(boxed, "spd1", steps=source, max_passes=20, tol=1e-15)
        assert found.steps == pytest.approx({"eta": eta, "tau": 2 * N * D / 4.0}, rel=1e-12)
    with pytest.raises(IncompatibleError, match="bounded feasible set"):
        solve(Problem(A, b, "logistic", L2(0.1)), "spd1", steps="published")
    with pytest.raises(IncompatibleError, match="one entry a step"):
        solve(boxed, "spd1", steps="published", tile=(2, 2))


def test_row_methods_take_their_own_papers_steps(data):
    A, b = data
    problem = Problem(A, b, "logistic", L2(0.5), np.arange(1.0, N + 1))
    weights = np.arange(1.0, N + 1) / np.arange(1.0, N + 1).sum()
    smoothness = np.max(N * weights * np.sum(A**2, axis=1)) / 4.0
    for name, share in (("svrg", 0.1), ("saga", 1 / 3)):
        found = solve(problem, name, steps="theory", max_passes=20)
        assert found.steps == pytest.approx({"eta": share / smoothness}, rel=1e-12)


BOXED = ElasticNet(l2=0.1, lower=-1.0, upper=1.0)
REFUSALS = [
    # method, loss, regularizer, weighted, sampling, what the message names
    ("spd1", "logistic", L2(0.1), False, "auto", "bounded feasible set"),
    ("spd1", "hinge", ElasticNet(lower=0.0), False, "auto", "bounded feasible set"),
    ("spd1", "squared", BOXED, False, "auto", r"Lipschitz loss \(Squared has"),
    ("spd1", "logistic", BOXED, True, "auto", "equal sample weights"),
    ("spd1", "logistic", BOXED, False, "nonzeros", "sampling='uniform'"),
    ("spd1-vr", "hinge", L2(0.1), False, "auto", r"smooth loss \(Hinge is not\)"),
    ("spd1-vr", "logistic", Box(-1.0, 1.0), False, "auto", "strongly convex"),
    ("spd1-vr", "logistic", ElasticNet(l2=[0.0] + [1.0] * (D - 1)), False, "auto", "every feature"),
    ("spd1-vr", "logistic", L2(0.1), True, "auto", "equal sample weights"),
    ("spd1-vr", "logistic", L2(0.1), False, "nonzeros", "sampling='uniform'"),
    ("psgd", "logistic", BOXED, False, "auto", "no theorem for psgd"),
]


@pytest.mark.parametrize("case", REFUSALS, ids=lambda case: f"{case[0]}-{case[-1][:9]}")
def test_a_missing_assumption_is_named(case, data):
    method, loss, reg, weighted, sampling, message = case
    A, b = data
    matrix = sp.csr_array(A) if sampling == "nonzeros" else A
    problem = Problem(matrix, b, loss, reg, np.arange(1.0, N + 1) if weighted else None)
    with pytest.raises(IncompatibleError, match=message):
        solve(problem, method, steps="theory", sampling=sampling)


def test_all_missing_assumptions_are_named_at_once(data):
    A, b = data
    problem = Problem(A, b, "squared", None, np.arange(1.0, N + 1))
    with pytest.raises(IncompatibleError, match=r"Lipschitz.*bounded.*equal sample weights"):
        solve(problem, "spd1", steps="theory")


def test_equal_weights_count_as_none(data):
    A, b = data
    weighted = Problem(A, b, "logistic", L2(0.5), np.full(N, 3.0))
    plain = Problem(A, b, "logistic", L2(0.5))
    runs = [solve(p, "spd1-vr", steps="theory", max_passes=20) for p in (weighted, plain)]
    assert runs[0].steps == pytest.approx(runs[1].steps)
