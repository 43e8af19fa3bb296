"""Float32 data: coefficients are rounded to float32, and the certificate is that of these."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp
from sklearn.base import clone

from spd1 import certify
from spd1 import linear_model as ours

N, D = 60, 8
ROUNDING = 1e-11  # of float64: margins of 300, residuals of 0.01
LAYOUTS = {"dense": np.asarray, "csr": sp.csr_array}


def data():
    """Targets far from zero with little noise: an intercept in float32 costs some of the fit."""
    rng = np.random.default_rng(7)
    X = (rng.normal(size=(N, D)) + 0.3).astype(np.float32)
    X[rng.random((N, D)) < 0.3] = 0.0
    score = X @ rng.normal(size=D)
    noise = rng.normal(size=N)
    return X, {
        "target": score + 300.0 + 0.01 * noise,
        "targets": np.column_stack([score + 300.0 + 0.01 * noise, 70.0 - score]),
        "labels": np.where(score + 0.5 * noise > 0.0, 1.0, -1.0),
        "classes": np.digitize(score + 0.3 * noise, [-0.7, 0.7]),
        "counts": rng.poisson(np.exp(np.clip(0.4 * score, -2.0, 2.0))).astype(float),
    }


# The objective of each, a number a problem, in units of the mean loss


def scores(m, X):
    coef = np.atleast_2d(m.coef_).astype(float)
    return X.astype(float) @ coef.T + np.asarray(m.intercept_, dtype=float), coef


def one_each(loss, penalty):
    """Of a class or target each: the mean of a loss(b, u), and a penalty of its coefficients."""

    def objective(m, X, b):
        u, coef = scores(m, X)
        level = np.broadcast_to(np.asarray(m.intercept_, dtype=float), (len(coef),))
        if b.ndim == 1 and len(coef) > 1:
            b = np.where(b[:, None] == m.classes_, 1.0, -1.0)
        u, b = u.reshape(N, -1), b.reshape(N, -1)
        return loss(b, u, m).mean(axis=0) + [
            penalty(x, level[k], m) for k, x in enumerate(coef)
        ]  # fmt: skip

    return objective


def net(l1, l2):
    return lambda x, level, m: l1 * np.abs(x).sum() + 0.5 * l2 * (x @ x)


def with_level(l1, l2, scaling):
    return lambda x, level, m: net(l1, l2)(np.append(x, level / scaling), 0.0, m)


def squares(b, u, m):
    return 0.5 * (u - b) ** 2


def logistic(b, u, m):
    return np.logaddexp(0.0, -b * u)


def hinge(b, u, m):
    return np.maximum(0.0, 1.0 - b * u)


def multinomial(m, X, b):
    u, coef = scores(m, X)
    loss = logsumexp(u, axis=1) - u[np.arange(N), b]
    return np.array([loss.mean() + 0.5 * np.sum(coef**2) / N])


def huber(b, u, m):
    r, s = np.abs(u - b), m.scale_
    return s + np.where(r <= 1.35 * s, r * r / s, 2.0 * 1.35 * r - s * 1.35**2)


def pinball(b, u, m):
    return np.maximum(0.7 * (b - u), -0.3 * (b - u))


ALPHA = 0.05
CASES = {
    "lasso": (ours.Lasso(alpha=ALPHA), "target", one_each(squares, net(ALPHA, 0.0))),
    "lasso_targets": (ours.Lasso(alpha=ALPHA), "targets", one_each(squares, net(ALPHA, 0.0))),
    "elastic_net_positive": (
        ours.ElasticNet(alpha=ALPHA, positive=True), "target",
        one_each(squares, net(ALPHA / 2, ALPHA / 2)),
    ),
    "lasso_cv": (
        ours.LassoCV(alphas=[ALPHA], cv=3), "target", one_each(squares, net(ALPHA, 0.0)),
    ),
    "ridge": (ours.Ridge(alpha=2.0), "target", one_each(squares, net(0.0, 2.0 / N))),
    "ridge_targets": (ours.Ridge(alpha=2.0), "targets", one_each(squares, net(0.0, 2.0 / N))),
    "ridge_cv": (ours.RidgeCV(alphas=[2.0]), "target", one_each(squares, net(0.0, 2.0 / N))),
    "ridge_classifier": (
        ours.RidgeClassifier(alpha=2.0), "classes", one_each(squares, net(0.0, 2.0 / N)),
    ),
    "ridge_classifier_cv": (
        ours.RidgeClassifierCV(alphas=[2.0]), "labels", one_each(squares, net(0.0, 2.0 / N)),
    ),
    "least_squares": (ours.LinearRegression(), "target", one_each(squares, net(0.0, 0.0))),
    "quantile": (
        ours.QuantileRegressor(quantile=0.7, alpha=ALPHA), "target",
        one_each(pinball, net(ALPHA, 0.0)),
    ),
    "svr": (
        ours.LinearSVR(epsilon=0.2), "target",
        one_each(lambda b, u, m: np.maximum(0.0, np.abs(u - b) - 0.2), with_level(0.0, 1 / N, 1.0)),
    ),
    "huber": (ours.HuberRegressor(alpha=0.1), "target", one_each(huber, net(0.0, 0.2 / N))),
    "poisson": (
        ours.PoissonRegressor(alpha=0.1), "counts",
        one_each(lambda b, u, m: np.exp(u) - b * u, net(0.0, 0.1)),
    ),
    "logistic": (ours.LogisticRegression(), "labels", one_each(logistic, net(0.0, 1 / N))),
    "logistic_l1": (
        ours.LogisticRegression(l1_ratio=1.0), "labels", one_each(logistic, net(1 / N, 0.0)),
    ),
    "logistic_cv": (
        ours.LogisticRegressionCV(Cs=[1.0], cv=3, use_legacy_attributes=False), "labels",
        one_each(logistic, net(0.0, 1 / N)),
    ),
    "logistic_ovr": (
        ours.LogisticRegression(multi_class="ovr"), "classes",
        one_each(logistic, net(0.0, 1 / N)),
    ),
    "logistic_ovr_jobs": (
        ours.LogisticRegression(multi_class="ovr", n_jobs=2), "classes",
        one_each(logistic, net(0.0, 1 / N)),
    ),
    "multinomial": (ours.LogisticRegression(), "classes", multinomial),
    "svm_hinge": (
        ours.LinearSVC(loss="hinge", intercept_scaling=7.0), "labels",
        one_each(hinge, with_level(0.0, 1 / N, 7.0)),
    ),
    "svm_hinge_free": (
        ours.LinearSVC(loss="hinge", penalize_intercept=False), "labels",
        one_each(hinge, net(0.0, 1 / N)),
    ),
    "svm_l1": (
        ours.LinearSVC("l1"), "labels",
        one_each(lambda b, u, m: hinge(b, u, m) ** 2, with_level(1 / N, 0.0, 1.0)),
    ),
    "svm_classes": (
        ours.LinearSVC(loss="hinge"), "classes", one_each(hinge, with_level(0.0, 1 / N, 1.0)),
    ),
    "erm_box": (
        ours.ERMClassifier("hinge", l2=0.1, lower=-0.1, upper=0.1), "labels",
        one_each(hinge, net(0.0, 0.1)),
    ),
    "erm_absolute": (
        ours.ERMRegressor("absolute", l1=0.01, l2=0.01), "target",
        one_each(lambda b, u, m: np.abs(u - b), net(0.01, 0.01)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", CASES)
def test_the_bound_holds_for_what_is_handed_out(name, layout):
    make, kind, objective = CASES[name]
    X, b = data()
    b = b[kind]
    if isinstance(make, ours.ElasticNet) and make.positive:
        b = b - 2.0 * (X @ np.ones(D))  # some are zero
    model = clone(make).fit(LAYOUTS[layout](X), b)
    other = clone(make).fit(X.astype(float), b)
    assert model.coef_.dtype == np.asarray(model.intercept_).dtype == np.float32
    assert other.coef_.dtype == np.float64
    mine, best = objective(model, X, b), objective(other, X, b)
    gap, rel_gap = np.atleast_1d(model.dual_gap_), np.atleast_1d(model.rel_gap_)
    rounding = ROUNDING * np.abs(mine)
    assert np.all(mine - gap <= best + rounding)
    assert np.all(mine - best <= rel_gap * np.abs(mine) + rounding)
    proofs = model.certificate_ if isinstance(model.certificate_, list) else [model.certificate_]
    np.testing.assert_allclose([p.primal for p in proofs], mine, rtol=ROUNDING)
    np.testing.assert_array_equal([p.gap for p in proofs], gap)
    np.testing.assert_array_equal([p.rel_gap for p in proofs], rel_gap)
    duals = np.atleast_2d(model.dual_coef_)
    if name != "multinomial":
        np.testing.assert_array_equal([p.y for p in proofs], duals)
    assert np.all([p.dual for p in proofs] <= best + rounding)


@pytest.mark.parametrize("name", ["lasso", "quantile", "svm_hinge", "huber", "multinomial"])
def test_float64_data_takes_no_further_look(name, monkeypatch):
    make, kind, _ = CASES[name]
    X, b = data()
    before = clone(make).fit(X.astype(float), b[kind])

    def nobody(*args):
        raise AssertionError("nothing is rounded")

    monkeypatch.setattr(type(make), "_rounded", nobody)
    after = clone(make).fit(X.astype(float), b[kind])
    assert after.rel_gap_ == before.rel_gap_


@pytest.mark.parametrize("name", ["quantile", "svm_hinge", "lasso"])
def test_who_asks_for_more_than_float32_has_hears_of_it_in_the_gap_alone(name):
    make, kind, _ = CASES[name]
    X, b = data()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = clone(make).set_params(tol=1e-11).fit(X, b[kind])
    assert 1e-11 < model.rel_gap_ < 1e-3
    assert certify(model, X, b[kind]).rel_gap < 1e-3


def test_warm_starts_go_on_from_rounded_coefficients():
    X, b = data()
    model = ours.LogisticRegression(l1_ratio=1.0, tol=1e-5, warm_start=True).fit(X, b["labels"])
    model.fit(X, b["labels"])
    assert model.coef_.dtype == np.float32
    assert model.rel_gap_ <= 1e-5


@pytest.mark.parametrize("end", [0.1, 1.0 / 3.0, -0.7, 1e-50])
def test_rounding_stays_within_bounds(end):
    """A float32 next to a bound may be beyond it; where none is between two, nothing is rounded."""
    X, b = data()
    y = b["target"] - 300.0
    for options in ({"upper": end}, {"lower": end}):
        model = ours.ERMRegressor(l2=0.01, **options).fit(X, y)
        x = model.coef_.astype(float)
        assert model.coef_.dtype == np.float32
        assert np.all((x <= end) if "upper" in options else (x >= end))
        assert math.isfinite(model.dual_gap_)
        assert model.rel_gap_ < 1e-5
    held = ours.ERMRegressor(l2=0.01, lower=end, upper=end).fit(X, y)
    assert held.coef_.dtype == held.intercept_.dtype == np.float64
    assert held.rel_gap_ <= 1e-6


def test_the_shortest_of_many_solutions_is_certified_as_it_is_handed_out():
    X, b = data()
    X[:, 1] = X[:, 0]
    model = ours.PoissonRegressor(alpha=0.0).fit(X, b["counts"])
    best = ours.PoissonRegressor(alpha=0.0).fit(X.astype(float), b["counts"])
    assert abs(model.coef_[0] - model.coef_[1]) <= 1e-6 * abs(model.coef_[0])
    objective = one_each(lambda b, u, m: np.exp(u) - b * u, net(0.0, 0.0))
    mine, least = objective(model, X, b["counts"])[0], objective(best, X, b["counts"])[0]
    assert mine - model.dual_gap_ <= least + ROUNDING * abs(mine)


def test_classes_without_weight_keep_their_certificate():
    X, b = data()
    weight = np.where(b["classes"] == 1, 0.0, 1.0)
    model = ours.LogisticRegression().fit(X, b["classes"], weight)
    assert model.coef_.dtype == np.float32
    assert model.rel_gap_ <= 1e-6


def test_outliers_and_scale_are_those_of_the_rounded_coefficients():
    X, b = data()
    model = ours.HuberRegressor().fit(X, b["target"])
    residual = np.abs(scores(model, X)[0].ravel() - b["target"])
    np.testing.assert_array_equal(model.outliers_, residual > 1.35 * model.scale_)
    inside = np.minimum((residual / model.scale_) ** 2, 1.35**2)
    assert abs(inside.mean() - 1.0) <= 1e-9
