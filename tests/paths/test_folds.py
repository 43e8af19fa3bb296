"""Paths on training parts by products: the objective by its definition, scikit-learn as a judge."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import ElasticNet

from spd1.linear_model import ElasticNetCV, LassoCV
from spd1.paths.folds import FoldProducts

ALPHAS = np.geomspace(0.5, 1e-3, 6)


def data(seed=0, n=120, d=12):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.geomspace(0.1, 10.0, d) + rng.normal(size=d)
    y = X[:, :4].sum(axis=1) + rng.normal(size=n) + 3.0
    return X, y, rng.integers(0, 3, n).astype(float)


def objective(X, y, weight, x, intercept, alpha, ratio):
    w = np.ones(len(y)) if weight is None else weight
    r = X @ x + intercept - y
    penalty = alpha * (ratio * np.abs(x).sum() + 0.5 * (1.0 - ratio) * x @ x)
    return 0.5 * np.average(r * r, weights=w) + penalty


@pytest.mark.parametrize("ratio", [1.0, 0.5])
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_gaps_bound_what_is_left_to_gain(ratio, positive, weighted, fit_intercept):
    X, y, weight = data()
    weight = weight if weighted else None
    train = np.r_[0:30, 60:120]
    found = FoldProducts(X, y, weight, fit_intercept).path(train, ALPHAS, ratio, positive, 1e-5)
    part = None if weight is None else weight[train]
    assert found.rel_gaps.max() <= 1e-5
    for x, level, gap, alpha in zip(*found, ALPHAS, strict=True):
        peer = ElasticNet(
            alpha=alpha, l1_ratio=ratio, positive=positive, fit_intercept=fit_intercept, tol=1e-12,
            max_iter=100_000,
        ).fit(X[train], y[train], part)  # fmt: skip
        value = objective(X[train], y[train], part, x, level, alpha, ratio)
        best = objective(X[train], y[train], part, peer.coef_, peer.intercept_, alpha, ratio)
        assert value - best <= gap * value + 1e-13
        assert not positive or x.min() >= 0.0


@pytest.mark.parametrize("train", [np.arange(40), np.repeat(np.arange(60), 2)[:90]])
def test_few_rows_and_rows_that_come_twice(train):
    """A part that is no complement of anything: its own products."""
    X, y, weight = data(1)
    found = FoldProducts(X, y, weight, True).path(train, ALPHAS, 1.0, goal=1e-13)
    other = FoldProducts(X[train], y[train], weight[train], True)
    again = other.path(np.arange(len(train)), ALPHAS, 1.0, goal=1e-13)
    np.testing.assert_allclose(found.coefs, again.coefs, atol=1e-8)
    np.testing.assert_allclose(found.intercepts, again.intercepts, atol=1e-8)


def test_means_far_from_zero_cost_no_digits():
    X, y, _ = data(2)
    train = np.arange(30, 120)
    near = FoldProducts(X, y, None, True).path(train, ALPHAS, 1.0, goal=1e-13)
    far = FoldProducts(X + 1e6, y - 1e6, None, True).path(train, ALPHAS, 1.0, goal=1e-13)
    np.testing.assert_allclose(far.coefs, near.coefs, atol=1e-7)


def test_what_differences_cannot_tell_is_left_to_others():
    X, y, _ = data(3)
    X[:, 5] = 1.0
    X[:20, 5] = 2.0  # constant on the training rows below
    assert FoldProducts(X, y, None, True).path(np.arange(20, 120), ALPHAS, 1.0) is None
    assert FoldProducts(X, y, None, True).path(np.arange(100), ALPHAS, 1.0) is not None
    X[:, 5] = 7.0  # constant everywhere: no difference is taken
    found = FoldProducts(X, y, None, True).path(np.arange(20, 120), ALPHAS, 1.0)
    assert np.all(found.coefs[:, 5] == 0.0)
    assert FoldProducts(X, y, None, True).path(np.arange(100), np.array([1.0, 0.0]), 1.0) is None


def test_a_fit_without_noise_is_left_to_others():
    """Where the objective is rounding of |b|^2, products prove nothing."""
    X, y, _ = data(4)
    y = X[:, 0] * 1e4
    products = FoldProducts(X, y, None, True)
    assert products.path(np.arange(100), np.array([1e-12]), 1.0, tol=1e-9) is None


@pytest.mark.parametrize("make", [LassoCV, ElasticNetCV])
def test_errors_of_folds_do_not_depend_on_the_way(make, monkeypatch):
    X, y, weight = data(5)
    X[:30, 3] = 4.0  # one fold of five gives way
    X[30:, 3] = 1.0
    fast = make(alphas=10, cv=4, tol=1e-10).fit(X, y, weight)
    monkeypatch.setattr(FoldProducts, "suits", lambda *_: False)
    plain = make(alphas=10, cv=4, tol=1e-10).fit(X, y, weight)
    np.testing.assert_allclose(fast.mse_path_, plain.mse_path_, rtol=1e-4)
    assert fast.alpha_ == plain.alpha_
