"""Paths and cross-validation against scikit-learn, and what screening may not change."""

from __future__ import annotations

import itertools

import mpmath
import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as peer

from spd1 import DataError, ElasticNet, ParameterError, Problem, certify
from spd1 import linear_model as ours
from spd1.design.intercept import Design

N, D = 60, 120


@pytest.fixture
def sparse_truth(rng):
    X = rng.normal(size=(N, D)) + 0.3
    return X, 2.0 * X[:, 0] - X[:, 7] + 1.0 + 0.3 * rng.normal(size=N)


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("loss", "ratio"), [("squared", 1.0), ("squared", 0.5), ("logistic", 1.0), ("huber", 0.9)]
)
def test_every_point_is_certified_for_the_whole_problem(
    loss, ratio, weighted, layout, sparse_truth, rng
):
    X, t = sparse_truth
    b = np.where(t > t.mean(), 1.0, -1.0) if loss == "logistic" else t
    weight = rng.random(N) if weighted else None
    A = layout(X)
    found = ours.path(
        A, b, loss=loss, l1_ratio=ratio, n_alphas=12, sample_weight=weight, tol=1e-6, eps=0.01
    )
    assert np.all(found.rel_gaps <= 1e-6)
    assert np.all(found.coefs[0] == 0.0)  # the grid starts where no feature is needed
    assert found.screened[0] > D // 2  # and most columns are left alone there
    for k in (3, 11):
        net = ElasticNet(l1=found.alphas[k] * ratio, l2=found.alphas[k] * (1 - ratio))
        problem = Design(A, True, weight).problem(b, loss, net)
        x = np.append(found.coefs[k], found.intercepts[k])
        reference = Design(A, True, weight).solve(b, loss, net, tol=1e-8)
        proof = certify(x, problem, reference.y)
        assert proof.rel_gap <= 1.1e-6


def test_path_is_that_of_scikit_learn(sparse_truth):
    X, t = sparse_truth
    found = ours.path(X, t, n_alphas=20, eps=0.01, tol=1e-12)
    _, coefs, _ = peer.lasso_path(
        X - X.mean(axis=0), t - t.mean(), alphas=found.alphas, tol=1e-12, max_iter=100_000
    )
    np.testing.assert_allclose(found.coefs, coefs.T, atol=1e-4)


def test_screening_changes_nothing(sparse_truth):
    X, t = sparse_truth
    with_rule = ours.path(X, t, n_alphas=10, eps=0.05, tol=1e-10)
    without = ours.path(X, t, n_alphas=10, eps=0.05, tol=1e-10, screen=False)
    np.testing.assert_allclose(with_rule.coefs, without.coefs, atol=1e-4)
    assert np.all(without.screened == 0)


def test_a_wrong_rule_is_found_out(sparse_truth, monkeypatch):
    """Leave everything out: the certificate of the whole problem brings columns back."""
    from spd1.linear_model import _path

    X, t = sparse_truth
    nothing = lambda self, alpha, screen: np.zeros(self.design.d, dtype=bool)  # noqa: E731
    monkeypatch.setattr(_path.Walk, "kept", nothing)
    found = ours.path(X, t, loss="huber", alphas=[0.1], tol=1e-8)
    assert found.rel_gaps[0] <= 1e-8
    assert np.any(found.coefs[0] != 0.0)


def test_path_refuses_in_words(sparse_truth):
    X, t = sparse_truth
    with pytest.raises(ParameterError, match="give alphas yourself"):
        ours.path(X, t, l1_ratio=0.0)
    with pytest.raises(ParameterError, match="alphas"):
        ours.path(X, t, alphas=[-1.0])
    with pytest.raises(DataError, match="NaN"):
        ours.path(np.where(X > 2, np.nan, X), t)
    ridge = ours.path(X, t, l1_ratio=0.0, alphas=[1.0, 0.1], tol=1e-8)
    alone = ours.Ridge(alpha=0.1 * N, tol=1e-10).fit(X, t)
    np.testing.assert_allclose(ridge.coefs[1], alone.coef_, atol=1e-3)


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_lasso_cv(layout, sparse_truth):
    X, t = sparse_truth
    mine = ours.LassoCV(alphas=15, eps=0.01, tol=1e-9, cv=3, n_jobs=2).fit(layout(X), t)
    theirs = peer.LassoCV(alphas=15, eps=0.01, tol=1e-10, cv=3, max_iter=100_000).fit(X, t)
    np.testing.assert_allclose(mine.alphas_, theirs.alphas_, rtol=1e-6)
    np.testing.assert_allclose(mine.mse_path_, theirs.mse_path_, rtol=1e-3)
    assert np.isclose(mine.alpha_, theirs.alpha_)
    np.testing.assert_allclose(mine.coef_, theirs.coef_, atol=1e-3)
    assert mine.rel_gap_ <= 1e-9


def test_elastic_net_cv(sparse_truth):
    X, t = sparse_truth
    options = {"l1_ratio": [0.5, 0.9], "alphas": 10, "eps": 0.05, "cv": 3}
    mine = ours.ElasticNetCV(tol=1e-9, **options).fit(X, t)
    theirs = peer.ElasticNetCV(tol=1e-10, max_iter=100_000, **options).fit(X, t)
    np.testing.assert_allclose(mine.mse_path_, theirs.mse_path_, rtol=1e-3)
    assert (mine.l1_ratio_, mine.alpha_) == pytest.approx((theirs.l1_ratio_, theirs.alpha_))


def test_logistic_regression_cv(sparse_truth):
    X, t = sparse_truth
    y = np.where(t > t.mean(), "up", "down")
    mine = ours.LogisticRegressionCV(Cs=4, cv=3, scoring="neg_log_loss", tol=1e-8).fit(X, y)
    theirs = peer.LogisticRegressionCV(
        Cs=4, cv=3, scoring="neg_log_loss", tol=1e-8, l1_ratios=(0.0,), max_iter=10_000,
        use_legacy_attributes=False,
    ).fit(X, y)  # fmt: skip
    assert mine.scores_.shape == theirs.scores_.shape
    assert mine.coefs_paths_.shape == theirs.coefs_paths_.shape
    np.testing.assert_allclose(mine.scores_, theirs.scores_, rtol=2e-2, atol=1e-3)
    assert pytest.approx(theirs.C_) == mine.C_
    assert mine.rel_gap_ <= 1e-8


@pytest.mark.parametrize("ratio", [1.0, 0.5])
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_tall_path_on_products_of_columns(ratio, positive, fit_intercept, rng):
    """Gaps are those of the data, and no less than what a single sharp fit gains."""
    X = rng.normal(size=(120, 15)) @ rng.normal(size=(15, 15)) + 2.0
    y = X[:, 0] - X[:, 1] + 3.0 + rng.normal(size=120)
    weight = rng.random(120)
    found = ours.path(
        X, y, l1_ratio=ratio, positive=positive, fit_intercept=fit_intercept, sample_weight=weight,
        n_alphas=8, tol=1e-6,
    )  # fmt: skip
    assert found.rel_gaps.max() <= 1e-6
    design = Design(X, fit_intercept, weight)
    for k in range(0, 8, 2):
        lower = 0.0 if positive else -np.inf
        alpha = found.alphas[k]
        net = ElasticNet(l1=alpha * ratio, l2=alpha * (1 - ratio), lower=lower)
        problem = design.problem(y, "squared", net)
        x = found.coefs[k]
        x = np.append(x, found.intercepts[k]) if fit_intercept else x
        sharp = design.solve(y, "squared", net, tol=1e-10)
        assert problem.primal(x) - sharp.primal <= found.dual_gaps[k] + 1e-10 * sharp.primal


def exact_lasso(X, y, alpha):
    """P* to 60 digits: the minimiser solves linear equations for one of the 3^d signs."""
    alpha = mpmath.mpf(float(alpha))
    with mpmath.workdps(60):
        A, b = mpmath.matrix(X.tolist()), mpmath.matrix(y.tolist())
        n, d = X.shape
        best = None
        for signs in itertools.product((-1, 0, 1), repeat=d):
            free = [j for j in range(d) if signs[j]]
            x = mpmath.zeros(d, 1)
            if free:
                part = mpmath.matrix([[A[i, j] for j in free] for i in range(n)])
                right = part.T * b / n - alpha * mpmath.matrix([signs[j] for j in free])
                found = mpmath.lu_solve(part.T * part / n, right)
                for k, j in enumerate(free):
                    x[j] = found[k]
            rest = A * x - b
            value = (rest.T * rest)[0] / (2 * n) + alpha * sum(abs(t) for t in x)
            best = value if best is None else min(best, value)
        return best


def test_products_that_are_not_accurate_enough(rng):
    """A far-off mean without an intercept: whatever the matrix says, the data decide."""
    X = 1e6 + rng.normal(size=(60, 3))
    y = X[:, 0] - X[:, 1] + rng.normal(size=60)
    found = ours.path(X, y, fit_intercept=False, alphas=[1e-3, 1e-4], tol=1e-4)
    for k, alpha in enumerate(found.alphas):
        problem = Problem(X, y, "squared", ElasticNet(l1=alpha))
        left = problem.primal(found.coefs[k]) - float(exact_lasso(X, y, alpha))
        assert left <= found.dual_gaps[k] + 1e-9
        assert left <= 1e-2 * problem.primal(found.coefs[k])
