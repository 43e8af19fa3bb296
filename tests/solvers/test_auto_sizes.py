"""Problems large enough for working sets, factors, conjugate gradients and their safeguards.

No oracle is needed: P(x) - D(y), computed in NumPy from the points handed back, is the proof.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from spd1 import L1, L2, Box, ElasticNet, Problem, solve
from spd1.losses import LOSSES
from spd1.solvers.newton import choice, models
from spd1.solvers.newton.linalg import gram, subspace
from support import oracle
from support.checks import by_definition

KINDS = {
    "dense": np.asarray,
    "fortran": np.asfortranarray,
    "csr": sp.csr_array,
    "csc": sp.csc_array,
}


def make(loss, reg, n, d, density, rng, spread=0.0):
    """Sparse truth, noisy labels; columns of sizes 10^+-spread."""
    A = rng.standard_normal((n, d)) * (rng.random((n, d)) < density)
    A *= 10.0 ** rng.uniform(-spread, spread, d)
    truth = np.zeros(d)
    truth[:: max(d // 12, 1)] = 1.0
    truth /= np.maximum(np.linalg.norm(A, axis=0), 1e-12) / np.sqrt(n)
    instance = LOSSES[loss]()
    b = oracle.random_labels(instance, A @ truth, rng)
    return oracle.Case(A, b, np.full(n, 1.0 / n), instance, reg)


def prove(case, found, tol):
    """The relative gap of the points handed back, by definition."""
    primal, dual = by_definition(case, found.x, found.y)
    size = max(abs(primal), abs(dual))
    assert found.status == "converged"
    assert found.primal == pytest.approx(primal, rel=1e-9)
    assert found.dual == pytest.approx(dual, rel=1e-7, abs=1e-9 * size)
    assert -1e-10 * size <= primal - dual <= 1.001 * tol * size + 1e-10 * size


PROBLEMS = {
    "lasso": ("squared", L1(0.02), 80, 500, 1.0),
    "lasso, almost no l1": ("squared", L1(1e-4), 80, 300, 1.0),
    "lasso, more rows": ("squared", L1(1e-3), 500, 150, 0.3),
    "logistic lasso": ("logistic", L1(0.003), 150, 400, 0.3),
    "elastic net": ("logistic", ElasticNet(l1=1e-3, l2=1e-3), 150, 400, 0.3),
    "non-negative": ("squared", ElasticNet(l1=1e-3, lower=0.0), 300, 150, 0.3),
    "box": ("huber", Box(-0.1, 0.2), 300, 150, 0.3),
    "svm": ("hinge", L2(1e-3), 400, 60, 0.3),
    "svm, few rows": ("hinge", L2(1e-3), 80, 400, 0.3),
    "squared svm": ("squared_hinge", L2(1e-4), 300, 200, 0.3),
    "svm in a box": ("hinge", ElasticNet(l2=1e-2, lower=-0.3, upper=0.3), 300, 60, 0.3),
    "svr": ("epsilon_insensitive", L2(1e-3), 300, 50, 0.5),
    "median": ("absolute", ElasticNet(l1=1e-3, l2=1e-2), 200, 60, 0.5),
    "ridge": ("squared", L2(1e-4), 300, 200, 0.5),
    "logistic": ("logistic", L2(1e-5), 300, 100, 0.5),
    "logistic, wide": ("logistic", L2(1e-3), 320, 700, 0.1),
    "counts": ("poisson", ElasticNet(l1=1e-3, l2=1e-3), 300, 120, 0.2),
    "l1 svm": ("hinge", L1(0.01), 120, 60, 0.5),
    "quantiles": ("quantile", L1(0.02), 120, 30, 0.5),
}


@pytest.mark.parametrize("key", PROBLEMS)
def test_sizes_that_need_more_than_one_working_set(key, rng):
    loss, reg, n, d, density = PROBLEMS[key]
    case = make(loss, reg, n, d, density, rng)
    kind = np.asarray if density == 1.0 else sp.csr_array
    prove(case, solve(Problem(kind(case.A), case.b, loss, reg), tol=1e-6), 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.0, 1.0])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("key", PROBLEMS)
def test_every_kind_of_data_and_columns_of_uneven_size(key, kind, spread, rng):
    loss, reg, n, d, density = PROBLEMS[key]
    case = make(loss, reg, n, d, density, rng, spread)
    tol = 1e-8 if LOSSES[loss]().gamma > 0 or reg.mu > 0 else 1e-6
    found = solve(Problem(KINDS[kind](case.A), case.b, loss, reg), tol=tol, max_passes=1e6)
    prove(case, found, tol)


@pytest.mark.parametrize("key", ["lasso", "non-negative", "svm", "svr", "box"])
def test_conjugate_gradients_in_place_of_a_factor(key, rng, monkeypatch):
    """The way large faces are solved, at a size where truth is cheap."""
    loss, reg, n, d, density = PROBLEMS[key]
    case = make(loss, reg, n, d, density, rng)
    calls = []

    def projected(*arguments):
        calls.append(1)
        return plain(*arguments)

    plain = subspace._projected_cg
    monkeypatch.setattr(subspace, "_projected_cg", projected)
    monkeypatch.setattr(subspace, "LARGEST_FACTOR", 0)
    monkeypatch.setattr(gram, "LARGEST_GRAM", 0)
    monkeypatch.setattr(models, "SWEEPS", 1)
    monkeypatch.setattr(models, "MOST_SWEEPS", 1)
    found = solve(Problem(case.A, case.b, loss, reg), "newton", tol=1e-7, max_passes=1e6)
    assert calls
    prove(case, found, 1e-7)


@pytest.mark.parametrize("smallest", [1, 5])
@pytest.mark.parametrize("key", ["lasso", "logistic lasso", "non-negative"])
def test_tiny_working_sets_find_the_same_optimum(key, smallest, rng, monkeypatch):
    loss, reg, n, d, density = PROBLEMS[key]
    case = make(loss, reg, n, d, density, rng)
    problem = Problem(sp.csr_array(case.A), case.b, loss, reg)
    whole = solve(problem, tol=1e-7)
    monkeypatch.setattr(choice, "SMALLEST_SET", smallest)
    found = solve(problem, tol=1e-7)
    prove(case, found, 1e-7)
    assert abs(found.primal - whole.primal) <= max(found.gap, whole.gap)


@pytest.mark.parametrize("way", ["rows", "columns", "cg"])
@pytest.mark.parametrize("key", ["ridge", "logistic"])
def test_every_way_to_newtons_direction_reaches_the_optimum(key, way, rng, monkeypatch):
    from spd1.solvers.newton.smooth import SmoothDirection

    loss, reg, n, d, density = PROBLEMS[key]
    case = make(loss, reg, n, d, density, rng)
    plain = SmoothDirection.__init__

    def forced(self, problem):
        plain(self, problem)
        self.way = way

    monkeypatch.setattr(SmoothDirection, "__init__", forced)
    found = solve(Problem(case.A, case.b, loss, reg), "newton", tol=1e-8)
    prove(case, found, 1e-8)


def test_a_path_of_warm_starts_costs_less_than_cold_ones(rng):
    """Twenty lassos from the largest l1 down, each from the last solution."""
    case = make("squared", L1(1.0), 60, 200, 1.0, rng)
    largest = np.abs(case.A.T @ (case.c * case.b)).max()
    x = y = None
    warm = cold = 0.0
    for l1 in largest * np.geomspace(0.99, 0.01, 20):
        problem = Problem(case.A, case.b, "squared", L1(l1))
        found = solve(problem, tol=1e-7, x0=x, y0=y)
        prove(case._replace(reg=L1(l1)), found, 1e-7)
        x, y = found.x, found.y
        warm += found.passes
        cold += solve(problem, tol=1e-7).passes
    assert warm <= cold + 20
    above = solve(Problem(case.A, case.b, "squared", L1(1.001 * largest)))
    np.testing.assert_array_equal(above.x, 0.0)
