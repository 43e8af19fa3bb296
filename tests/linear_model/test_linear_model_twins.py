"""What scikit-learn's users rely on: shapes, types, attributes, and classes that came later."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as peer
from scipy.optimize import minimize
from sklearn.base import clone

from spd1 import DataError, certify
from spd1 import linear_model as ours
from spd1.linear_model._erm_search import chosen
from spd1.linear_model._left_out import LeftOut

N, D = 40, 6


@pytest.fixture
def pair(rng):
    X = rng.normal(size=(N, D)) + 0.5
    return X, X @ rng.normal(size=D) + 0.3 * rng.normal(size=N) + 2.0


REGRESSORS = [
    ours.Ridge(), ours.LinearRegression(), ours.Lasso(alpha=0.1), ours.ElasticNet(alpha=0.1),
    ours.RidgeCV(), ours.LassoCV(alphas=4), ours.LinearSVR(), ours.HuberRegressor(),
]  # fmt: skip


@pytest.mark.parametrize("model", REGRESSORS, ids=lambda m: type(m).__name__)
def test_single_precision_stays_and_columns_of_targets_are_flat(model, pair):
    X, t = pair
    single = clone(model).fit(X.astype(np.float32), t)
    assert single.coef_.dtype == single.intercept_.dtype == np.float32
    assert single.predict(X.astype(np.float32)).dtype == np.float32
    double = clone(model).fit(X, t)
    if isinstance(model, ours.LinearSVR):  # liblinear's is an array of one
        assert double.intercept_.shape == (1,)
    else:
        assert isinstance(double.intercept_, np.float64)
    np.testing.assert_allclose(single.coef_, double.coef_, atol=1e-4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a column where an array was expected
        column = clone(model).fit(X, t[:, None])
    assert column.coef_.shape == ((1, D) if isinstance(model, ours.LinearRegression) else (D,))
    np.testing.assert_array_equal(np.ravel(column.coef_), double.coef_)


def test_alphas_of_targets_must_be_as_many_as_these(pair):
    X, t = pair
    with pytest.raises(DataError, match="3 != 2"):
        ours.Ridge(alpha=[1.0, 2.0, 3.0]).fit(X, np.column_stack([t, t]))


def test_polishing_one_target_does_not_stop_the_next(rng):
    """Targets without noise: the gap stops to shrink above what small data is solved to."""
    X = rng.normal(size=(50, 10))
    Y = X @ rng.normal(size=(10, 3))
    for alpha in (1e-10, 1e-5, 1.0):
        model = ours.Ridge(alpha=alpha, fit_intercept=False).fit(X, Y)
        best = np.linalg.solve(X.T @ X + alpha * np.eye(10), X.T @ Y)
        np.testing.assert_allclose(model.coef_, best.T, atol=1e-6)


def test_linear_regression_is_least_squares(pair):
    X, t = pair
    model = ours.LinearRegression().fit(X, t)
    best = np.linalg.lstsq(np.column_stack([X, np.ones(N)]), t, rcond=None)[0]
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), best, atol=1e-10)
    assert model.rank_ == D
    twice = ours.LinearRegression().fit(np.hstack([X, X]), t)
    assert twice.rank_ == D
    np.testing.assert_allclose(twice.coef_, np.tile(model.coef_ / 2, 2), atol=1e-8)
    assert np.all(ours.LinearRegression(positive=True).fit(X, t).coef_ >= 0.0)


def left_out_by_hand(X, t, w, alpha, intercept):
    errors = []
    for i in range(len(t)):
        rest = np.arange(len(t)) != i
        A = X[rest] - (np.average(X[rest], axis=0, weights=w[rest]) if intercept else 0.0)
        level = np.average(t[rest], weights=w[rest]) if intercept else 0.0
        x = np.linalg.solve(
            (A.T * w[rest]) @ A + alpha * np.eye(X.shape[1]), (A.T * w[rest]) @ (t[rest] - level)
        )
        middle = np.average(X[rest], axis=0, weights=w[rest]) if intercept else 0.0
        errors.append(t[i] - ((X[i] - middle) @ x + level))
    return np.array(errors)


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("shape", [(20, 4), (5, 5), (6, 5), (5, 9)])
def test_leaving_one_out_is_what_it_says(shape, intercept, layout, rng):
    X, t, w = rng.normal(size=shape) + 0.4, rng.normal(size=shape[0]) + 1.0, rng.random(shape[0])
    w[1] = 0.0
    found = LeftOut(layout(X), w, intercept)
    for alpha in (1e-3, 0.5, 20.0):
        expected = left_out_by_hand(X, t, w, alpha, intercept)
        np.testing.assert_allclose(found.errors(t[:, None], alpha)[:, 0], expected, rtol=1e-6)


def test_ridge_cv_agrees_with_scikit_learn(pair):
    X, t = pair
    Y, w = np.column_stack([t, X[:, 0] ** 2]), np.linspace(0.2, 2.0, N)
    for options in (
        {"store_cv_results": True},
        {"store_cv_results": True, "alpha_per_target": True},
        {"store_cv_results": True, "scoring": "neg_mean_absolute_error"},
        {"cv": 3},
    ):
        mine = ours.RidgeCV(alphas=[0.1, 3.0, 50.0], **options).fit(X, Y, sample_weight=w)
        theirs = peer.RidgeCV(alphas=[0.1, 3.0, 50.0], **options).fit(X, Y, sample_weight=w)
        np.testing.assert_array_equal(mine.alpha_, theirs.alpha_)
        np.testing.assert_allclose(mine.best_score_, theirs.best_score_)
        np.testing.assert_allclose(mine.coef_, theirs.coef_, rtol=1e-7)
        if "cv" not in options:
            np.testing.assert_allclose(mine.cv_results_, theirs.cv_results_, rtol=1e-7)
        assert np.max(mine.rel_gap_) <= mine.tol


def test_ridge_classifiers_take_labels_of_any_number(pair):
    X, t = pair
    many = np.column_stack([t > 2.0, X[:, 0] > 0.5, X[:, 1] > 0.5]).astype(int)
    three = np.digitize(t, [1.0, 3.0])
    for y in (many, three, t > 2.0, np.ones(N, dtype=int)):
        for mine, theirs in (
            (ours.RidgeClassifier(), peer.RidgeClassifier()),
            (ours.RidgeClassifierCV(), peer.RidgeClassifierCV()),
        ):
            mine.fit(X, y)
            theirs.fit(X, y)
            np.testing.assert_allclose(mine.coef_, theirs.coef_, atol=1e-8)
            np.testing.assert_array_equal(mine.predict(X), theirs.predict(X))
            proofs = certify(mine, X, y)
            assert all(
                p.rel_gap <= 1e-6 for p in (proofs if isinstance(proofs, list) else [proofs])
            )
    zero = ours.RidgeClassifier(class_weight={0: 0.0, 1: 1.0, 2: 1.0}).fit(X, three)
    kept = three > 0
    some = ours.Ridge().fit(X[kept], np.where(three[kept] == 2, 1.0, -1.0))
    np.testing.assert_allclose(zero.coef_[2], some.coef_, atol=1e-8)


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (ours.GammaRegressor(alpha=0.1), peer.GammaRegressor(alpha=0.1, tol=1e-9)),
        (
            ours.TweedieRegressor(power=1.5, alpha=0.1),
            peer.TweedieRegressor(power=1.5, alpha=0.1, tol=1e-9),
        ),
        (ours.TweedieRegressor(power=0.0), peer.TweedieRegressor(power=0.0, tol=1e-9)),
    ],
    ids=["gamma", "tweedie", "normal"],
)
def test_log_links_agree_with_scikit_learn(mine, theirs, pair):
    X, t = pair
    y, w = np.exp(0.3 * t), np.linspace(0.2, 2.0, N)
    mine.fit(X, y, sample_weight=w)
    theirs.fit(X, y, sample_weight=w)
    np.testing.assert_allclose(mine.predict(X), theirs.predict(X), rtol=1e-4)
    assert mine.score(X, y) == pytest.approx(theirs.score(X, y), abs=1e-5)
    assert certify(theirs, X, y, w).rel_gap < 1e-6


@pytest.mark.parametrize("power", [1.0, 1.4, 2.0])
def test_exposure_is_an_offset(power, pair):
    X, t = pair
    y, exposure = np.exp(0.3 * t), np.linspace(0.2, 3.0, N)
    model = ours.TweedieRegressor(power=power, alpha=0.1, tol=1e-10)
    model.fit(X, y * exposure, exposure=exposure)
    offset, b = np.log(exposure), y * exposure

    def objective(x):
        u = X @ x[:-1] + x[-1] + offset
        if power == 1.0:
            each = np.exp(u) - b * u
        elif power == 2.0:
            each = b * np.exp(-u) + u
        else:
            each = b * np.exp((1 - power) * u) / (power - 1) + np.exp((2 - power) * u) / (2 - power)
        return each.mean() + 0.05 * x[:-1] @ x[:-1]

    best = minimize(objective, np.zeros(D + 1), tol=1e-12).x
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), best, atol=1e-5)
    with pytest.raises(DataError, match="above 0"):
        model.fit(X, y, exposure=np.zeros(N))
    same = clone(model).fit(X, y * exposure, offset=offset)
    np.testing.assert_allclose(same.coef_, model.coef_, rtol=1e-7)
    both = clone(model).fit(X, y * exposure, exposure=exposure**0.5, offset=0.5 * offset)
    np.testing.assert_allclose(both.coef_, model.coef_, rtol=1e-7)
    with pytest.raises(DataError, match="offset must be a finite number for every sample"):
        model.fit(X, y, offset=np.zeros(N - 1))


def test_of_many_solutions_counts_get_the_shortest(pair):
    X, t = pair
    one = ours.PoissonRegressor(alpha=0.0).fit(X, np.exp(0.3 * t))
    two = ours.PoissonRegressor(alpha=0.0).fit(np.hstack([X, X]), np.exp(0.3 * t))
    np.testing.assert_allclose(two.coef_, np.tile(one.coef_ / 2, 2), atol=1e-6)


def test_paths_have_the_words_of_scikit_learn(pair):
    X, t = pair
    alphas, coefs, gaps, iterations = ours.enet_path(X, t, alphas=5, return_n_iter=True)
    reference = peer.enet_path(X, t, alphas=5, tol=1e-10)
    np.testing.assert_allclose(alphas, reference[0], rtol=1e-8)
    np.testing.assert_allclose(coefs, reference[1], atol=1e-3)
    assert coefs.shape == (D, 5)
    assert len(gaps) == len(iterations) == 5
    assert ours.Lasso.path is ours.ElasticNet.path
    with pytest.raises(DataError, match="multi-task"):
        ours.enet_path(X, np.column_stack([t, t]))
    with pytest.raises(DataError, match="MultiTask"):
        ours.LassoCV().fit(X, np.column_stack([t, t]))


def test_sparse_coefficients(pair):
    X, t = pair
    model = ours.LinearSVC("l1", C=0.05).fit(X, t > 2.0)
    scores = model.decision_function(X)
    np.testing.assert_allclose(model.sparsify().decision_function(X), scores, atol=1e-12)
    assert sp.issparse(model.coef_)
    assert isinstance(model.densify().coef_, np.ndarray)
    lasso = ours.Lasso(alpha=0.1).fit(X, t)
    np.testing.assert_array_equal(lasso.sparse_coef_.toarray()[0], lasso.coef_)


def test_a_start_from_coefficients_alone(pair):
    X, t = pair
    model = ours.Lasso(alpha=0.1, warm_start=True)
    model.coef_ = ours.Lasso(alpha=0.1).fit(X, t).coef_
    np.testing.assert_allclose(model.fit(X, t).coef_, model.coef_)


def test_quantiles_end_at_a_vertex(pair):
    """As many samples are met exactly as there are coefficients; the others are exactly zero."""
    X, t = pair
    for layout in (np.asarray, sp.csr_array):
        model = ours.QuantileRegressor(quantile=0.3, alpha=0.05).fit(layout(X), t)
        theirs = peer.QuantileRegressor(quantile=0.3, alpha=0.05).fit(X, t)
        np.testing.assert_allclose(model.coef_, theirs.coef_, atol=1e-9)
        assert model.intercept_ == pytest.approx(theirs.intercept_)
        met = np.abs(model.predict(layout(X)) - t) < 1e-10
        assert np.sum(met) == np.sum(model.coef_ != 0.0) + 1


def test_one_standard_error():
    scores = np.array([[0.0, 0.7, 1.0], [0.0, 1.0, 1.4], [0.0, 1.3, 1.2]])
    alphas = np.array([4.0, 2.0, 1.0])
    assert chosen(scores, alphas, "best") == 2
    error = np.std([1.0, 1.4, 1.2], ddof=1) / np.sqrt(3)
    assert 0.1 < error < 0.2
    assert chosen(scores, alphas, "one-se") == 2  # the next best is 0.2 below
    assert chosen(scores + np.array([0.0, 0.1, 0.0]), alphas, "one-se") == 1


def test_cross_validation_for_any_loss(pair):
    X, t = pair
    grid = [1.0, 0.1, 0.01]
    model = ours.ERMRegressorCV("huber", alphas=grid, cv=3).fit(X, t)
    by_hand = []
    for alpha in grid:
        scores = []
        for k in range(3):
            out = np.zeros(N, dtype=bool)
            out[np.array_split(np.arange(N), 3)[k]] = True
            part = ours.ERMRegressor("huber", l2=alpha).fit(X[~out], t[~out])
            r = np.abs(part.predict(X[out]) - t[out])
            scores.append(-np.mean(np.where(r <= 1.35, 0.5 * r**2, 1.35 * r - 0.5 * 1.35**2)))
        by_hand.append(scores)
    np.testing.assert_allclose(model.scores_, np.array(by_hand).T, rtol=1e-2)
    assert model.alpha_ == grid[int(np.argmax(np.mean(by_hand, axis=1)))]
    final = ours.ERMRegressor("huber", l2=model.alpha_).fit(X, t)
    np.testing.assert_allclose(model.coef_, final.coef_)
    labels = np.digitize(t, [1.0, 3.0])
    classes = ours.ERMClassifierCV(
        "squared_hinge", alphas=3, cv=2, scoring="accuracy", rule="one-se"
    ).fit(X, labels)
    assert classes.scores_.shape == (2, 3)
    assert classes.alpha_ in classes.alphas_
    with pytest.raises(DataError, match="no sample of class"):
        ours.ERMClassifierCV(cv=[(np.flatnonzero(labels > 0), np.arange(N))]).fit(X, labels)
