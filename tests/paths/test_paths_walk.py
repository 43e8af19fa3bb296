"""Walks along a path: bounds that hold, gaps that are those of all columns, rules that may err."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from spd1 import ElasticNet, Problem, certify, solve
from spd1.certificate.points import dual_from_margins
from spd1.linear_model import path
from spd1.paths.forces import Forces

N, D = 60, 150


@pytest.fixture
def data(rng):
    X = rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.4)
    X[:, 3] = 0.0  # an empty column
    X[:, 4] = X[:, 5]  # twins
    return X, 2.0 * X[:, 0] - X[:, 7] + 0.3 * rng.normal(size=N)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("layout", [np.asfortranarray, sp.csc_array])
def test_columns_that_are_not_looked_at_are_at_rest(layout, signed, data, rng):
    X, t = data
    problem = Problem(layout(X), t, "squared", None, rng.random(N))
    forces = Forces(problem, -t, signed)
    y, spared = -t, 0
    for k in range(60):  # more than are remembered
        y = y * 0.97 + 0.01 * rng.normal(size=N) * (k % 3)
        exact = -X.T @ (problem.c * y)
        pull = exact if signed else np.abs(exact)
        level, x = 0.8 * pull.max(), (np.arange(D) == 11).astype(float)
        ids, v = forces.look(y, x, level)
        np.testing.assert_allclose(v, exact[ids], atol=1e-12)
        others = np.setdiff1d(np.arange(D), ids)
        assert np.all(pull[others] <= level)
        assert 11 in ids
        spared += len(others)
    assert spared > 20 * D


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("ratio", [1.0, 0.7])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_gaps_bound_what_is_left(loss, layout, ratio, positive, weighted, data, rng):
    X, t = data
    b = np.where(t > 0.0, 1.0, -1.0) if loss == "logistic" else t
    weight = rng.random(N) if weighted else None
    found = path(
        layout(X), b, loss=loss, l1_ratio=ratio, positive=positive, sample_weight=weight,
        n_alphas=12, eps=0.02, fit_intercept=False, tol=1e-5,
    )  # fmt: skip
    assert np.all(found.rel_gaps <= 1e-5)
    lower = 0.0 if positive else -np.inf
    for k in (2, 7, 11):
        net = ElasticNet(found.alphas[k] * ratio, found.alphas[k] * (1.0 - ratio), lower)
        problem, x = Problem(X, b, loss, net, weight), found.coefs[k]
        best = solve(problem, tol=1e-10)
        assert problem.primal(x) - best.primal <= found.dual_gaps[k] + 1e-9 * best.primal
        y = dual_from_margins(problem, X @ x)
        assert certify(x, problem, y).gap <= 1.01 * found.dual_gaps[k] + 1e-12 * best.primal


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_columns_may_come_two_at_a_time(loss, data, monkeypatch):
    """Columns come in when the certificate misses them, few at a time."""
    X, t = data
    b = np.sign(t) if loss == "logistic" else t
    monkeypatch.setattr("spd1.paths.walk.FEW_AT_A_TIME", 2)
    found = path(X, b, loss=loss, alphas=[0.02, 0.01], fit_intercept=False, tol=1e-8)
    sharp = path(X, b, loss=loss, alphas=[0.02, 0.01], fit_intercept=False, tol=1e-8, screen=False)
    np.testing.assert_allclose(found.coefs[:, :4], sharp.coefs[:, :4], atol=1e-3)
    assert np.all(found.rel_gaps <= 1e-8)


def test_alphas_that_repeat_or_ask_for_nothing(data):
    X, t = data
    alphas = [1.0, 0.1, 0.1, 0.1, 0.03, 0.0]
    found = path(X[:, :20], t, alphas=alphas, fit_intercept=False, tol=1e-6)
    assert np.all(found.rel_gaps <= 1e-6)
    assert np.all(found.coefs[0] == 0.0)
    np.testing.assert_allclose(found.coefs[1], found.coefs[3], atol=1e-3)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_too_many_columns_for_products_go_on_without(loss, data, monkeypatch):
    X, t = data
    b = np.sign(t) if loss == "logistic" else t
    options = {"loss": loss, "n_alphas": 8, "eps": 0.05, "fit_intercept": False, "tol": 1e-9}
    found = path(X, b, **options)
    monkeypatch.setattr("spd1.paths.walk.MOST_PRODUCTS", 10)
    other = path(X, b, **options)
    assert max(found.rel_gaps.max(), other.rel_gaps.max()) <= 1e-9
    np.testing.assert_allclose(X @ found.coefs.T, X @ other.coefs.T, atol=1e-3)
