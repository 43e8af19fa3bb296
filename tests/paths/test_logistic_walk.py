"""Newton's steps from penalty to penalty: objective and gap by their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from spd1.paths.logistic import LogisticWalk

PENALTIES = [1.0, 1e-2, 1e-4]


def data(seed=0, n=150, d=6):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.geomspace(0.1, 3.0, d) + 1.0
    b = np.where(X @ rng.normal(size=d) + rng.logistic(size=n) > 1.0, 1.0, -1.0)
    return X, b, rng.integers(0, 3, n).astype(float)


def objective(X, b, weight, x, l2, fit_intercept):
    d = X.shape[1]
    margin = X @ x[:d] + (x[-1] if fit_intercept else 0.0)
    loss = np.average(np.logaddexp(0.0, -b * margin), weights=weight)
    return loss + 0.5 * l2 * x[:d] @ x[:d]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("tol", [1e-2, 1e-9])
def test_gaps_bound_what_is_left_to_gain(weighted, fit_intercept, tol):
    X, b, weight = data()
    weight = weight if weighted else None
    total = len(b) if weight is None else weight.sum()
    walk = LogisticWalk(X, b, weight, fit_intercept)
    for l2 in PENALTIES:
        found = walk.step(l2, tol)
        peer = LogisticRegression(
            C=1.0 / (l2 * total), solver="newton-cholesky", tol=1e-10, fit_intercept=fit_intercept
        ).fit(X, b, weight)
        best = np.append(peer.coef_[0], peer.intercept_) if fit_intercept else peer.coef_[0]
        value = objective(X, b, weight, found.x, l2, fit_intercept)
        left = value - objective(X, b, weight, best, l2, fit_intercept)
        assert found.rel_gap <= tol
        assert left <= found.rel_gap * value + 1e-14


def test_the_goal_beyond_tol_is_gone_for():
    X, b, _ = data(1)
    walk, other = LogisticWalk(X, b, None, True), LogisticWalk(X, b, None, True)
    assert walk.step(1e-3, 1e-3, 1e-13).rel_gap <= 1e-13
    assert other.step(1e-3, 1e-3).rel_gap > 1e-13


def test_chances_outside_the_simplex_still_prove_something():
    """Any q is made feasible: the bound holds, it is only worse."""
    X, b, _ = data(2)
    walk = LogisticWalk(X, b, None, True)
    best = objective(X, b, None, walk.step(0.1, 1e-12).x, 0.1, True)
    x = np.zeros(7)
    value = objective(X, b, None, x, 0.1, True)
    rng = np.random.default_rng(0)
    for q in (rng.normal(size=150), rng.random(150), np.full(150, 0.9)):
        gap = walk.proven(x, X @ x[:6], value, q, 0.1) * value
        assert gap >= value - best


def test_too_few_steps_are_no_answer():
    X, b, _ = data(3)
    assert LogisticWalk(X, b, None, True).step(1e-4, 1e-12, most=1) is None
