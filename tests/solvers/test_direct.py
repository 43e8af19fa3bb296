"""Least squares without penalty: the solution of least norm, and its proof."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from spd1 import L2, ElasticNet, Problem, solve
from spd1.errors import IncompatibleError
from spd1.linear_model import Ridge


@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize(("n", "d", "rank"), [(40, 6, 6), (40, 6, 3), (10, 50, 10), (10, 50, 4)])
def test_the_solution_of_least_norm(n, d, rank, kind, rng):
    A = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d))
    b = rng.standard_normal(n)
    found = solve(Problem(kind(A), b, "squared"))
    wanted = np.linalg.lstsq(A, b, rcond=1e-10)[0]
    np.testing.assert_allclose(found.x, wanted, rtol=1e-8, atol=1e-10)
    assert found.status == "converged"
    assert "direct" in found.method


def test_weights_count(rng):
    A, b, c = rng.standard_normal((30, 4)), rng.standard_normal(30), rng.uniform(0.1, 2.0, 30)
    found = solve(Problem(A, b, "squared", None, c))
    wanted = np.linalg.lstsq(np.sqrt(c)[:, None] * A, np.sqrt(c) * b, rcond=None)[0]
    np.testing.assert_allclose(found.x, wanted, rtol=1e-10)


@pytest.mark.parametrize("spread", [5, 8])
def test_units_of_columns_lose_no_digits(spread, rng):
    A, b = rng.standard_normal((40, 6)), rng.standard_normal(40)
    units = 2.0 ** np.round(np.linspace(-spread, spread, 6) * np.log2(10.0))
    found = solve(Problem(A * units, b, "squared"))
    assert found.status == "converged"
    np.testing.assert_allclose(found.x * units, np.linalg.lstsq(A, b, rcond=None)[0], rtol=1e-9)


@pytest.mark.parametrize(
    ("alpha", "n", "d"), [(0.0, 10, 50), (0.0, 60, 12), (0.0, 50, 100), (1e-16, 50, 100)]
)
def test_ridge_without_penalty(alpha, n, d, rng):
    X = rng.standard_normal((n, 5)) @ rng.standard_normal((5, d)) if n > d else None
    X = rng.standard_normal((n, d)) if X is None else X
    y = rng.standard_normal(n) + 3.0
    model = Ridge(alpha=alpha).fit(X, y)
    mean = X.mean(axis=0)
    wanted = np.linalg.lstsq(X - mean, y - y.mean(), rcond=1e-10)[0]
    np.testing.assert_allclose(model.coef_, wanted, rtol=1e-6, atol=1e-8)
    assert model.intercept_ == pytest.approx(y.mean() - mean @ wanted, rel=1e-6)


@pytest.mark.parametrize(
    "problem",
    [
        Problem(np.eye(3), np.ones(3), "squared", L2(0.1)),
        Problem(np.eye(3), np.ones(3), "squared", ElasticNet(lower=0.0)),
        Problem(np.eye(3), np.ones(3), "huber"),
    ],
)
def test_others_are_refused(problem):
    with pytest.raises(IncompatibleError, match="least squares without any penalty"):
        solve(problem, "direct")
