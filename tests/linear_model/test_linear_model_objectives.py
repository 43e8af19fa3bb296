"""Objectives against scikit-learn's best solvers, in formulas written here once more."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as peer
import sklearn.svm as peer_svm

from spd1 import certify
from spd1 import linear_model as ours

TOL = 1e-6
N, D = 60, 12
LAYOUTS = {
    "dense": np.ascontiguousarray,
    "fortran": np.asfortranarray,
    "csr": sp.csr_array,
    "csc": sp.csc_array,
}


def data(layout="dense", dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(N, D)) + 0.3).astype(dtype)
    X[rng.random((N, D)) < 0.3] = 0.0
    score = X @ rng.normal(size=D) + 0.7
    labels = np.where(score + rng.normal(size=N) > 0, 1.0, -1.0)
    target = score + 0.5 * rng.normal(size=N)
    target[:3] += 8.0
    counts = rng.poisson(np.exp(np.clip(0.4 * score, -2, 2))).astype(float)
    return X, LAYOUTS[layout](X), labels, target, counts


def margins(model, X):
    x = np.ravel(model.coef_).astype(float)
    return np.asarray(X, dtype=float) @ x + float(np.ravel(model.intercept_)[0])


def penalty(model, l1, l2):
    x = np.ravel(model.coef_).astype(float)
    return l1 * np.abs(x).sum() + 0.5 * l2 * (x @ x)


def logistic(m, X, b, w, C, ratio):
    return C * w @ np.logaddexp(0, -b * margins(m, X)) + penalty(m, ratio, 1 - ratio)


def pinball(r, q):
    return np.maximum(q * r, (q - 1) * r)


def huber(m, X, b, w, eps, alpha):
    r, s = np.abs(margins(m, X) - b), m.scale_
    inside = r <= eps * s
    each = s + np.where(inside, r * r / s, 2 * eps * r - s * eps**2)
    return w @ each + penalty(m, 0.0, 2.0 * alpha)


# name -> ours, scikit-learn's, which target, objective
CASES = {
    "logistic_l2": (
        lambda i: ours.LogisticRegression(C=0.7, tol=TOL, fit_intercept=i),
        lambda i: peer.LogisticRegression(C=0.7, tol=1e-10, max_iter=10_000, fit_intercept=i),
        "labels",
        lambda m, X, b, w: logistic(m, X, b, w, 0.7, 0.0),
    ),
    "logistic_l1": (
        lambda i: ours.LogisticRegression(C=0.7, l1_ratio=1.0, tol=TOL, fit_intercept=i),
        lambda i: peer.LogisticRegression(
            C=0.7, l1_ratio=1.0, solver="saga", tol=1e-9, max_iter=50_000, fit_intercept=i
        ),
        "labels",
        lambda m, X, b, w: logistic(m, X, b, w, 0.7, 1.0),
    ),
    "logistic_elastic": (
        lambda i: ours.LogisticRegression(C=0.7, l1_ratio=0.4, tol=TOL, fit_intercept=i),
        lambda i: peer.LogisticRegression(
            C=0.7, l1_ratio=0.4, solver="saga", tol=1e-9, max_iter=50_000, fit_intercept=i
        ),
        "labels",
        lambda m, X, b, w: logistic(m, X, b, w, 0.7, 0.4),
    ),
    "ridge": (
        lambda i: ours.Ridge(alpha=2.0, tol=TOL, fit_intercept=i),
        lambda i: peer.Ridge(alpha=2.0, tol=1e-12, fit_intercept=i),
        "target",
        lambda m, X, b, w: w @ (margins(m, X) - b) ** 2 + penalty(m, 0, 4.0),
    ),
    "lasso": (
        lambda i: ours.Lasso(alpha=0.1, tol=TOL, fit_intercept=i),
        lambda i: peer.Lasso(alpha=0.1, tol=1e-12, max_iter=100_000, fit_intercept=i),
        "target",
        lambda m, X, b, w: 0.5 * w @ (margins(m, X) - b) ** 2 / w.sum() + penalty(m, 0.1, 0),
    ),
    "elastic_net_positive": (
        lambda i: ours.ElasticNet(alpha=0.1, positive=True, tol=TOL, fit_intercept=i),
        lambda i: peer.ElasticNet(
            alpha=0.1, positive=True, tol=1e-12, max_iter=100_000, fit_intercept=i
        ),
        "target",
        lambda m, X, b, w: 0.5 * w @ (margins(m, X) - b) ** 2 / w.sum() + penalty(m, 0.05, 0.05),
    ),
    "huber": (
        lambda i: ours.HuberRegressor(alpha=0.1, tol=TOL, fit_intercept=i),
        lambda i: peer.HuberRegressor(alpha=0.1, tol=1e-10, max_iter=10_000, fit_intercept=i),
        "target",
        lambda m, X, b, w: huber(m, X, b, w, 1.35, 0.1),
    ),
    "quantile": (
        lambda i: ours.QuantileRegressor(quantile=0.7, alpha=0.05, tol=TOL, fit_intercept=i),
        lambda i: peer.QuantileRegressor(quantile=0.7, alpha=0.05, fit_intercept=i),
        "target",
        lambda m, X, b, w: w @ pinball(b - margins(m, X), 0.7) / w.sum() + penalty(m, 0.05, 0),
    ),
    "poisson": (
        lambda i: ours.PoissonRegressor(alpha=0.1, tol=TOL, fit_intercept=i),
        lambda i: peer.PoissonRegressor(alpha=0.1, tol=1e-10, max_iter=10_000, fit_intercept=i),
        "counts",
        lambda m, X, b, w: (
            w @ (np.exp(margins(m, X)) - b * margins(m, X)) / w.sum() + penalty(m, 0, 0.1)
        ),
    ),
}
# Objectives without an intercept; one that is penalised is compared with liblinear's below, a free
# one with cvxpy's
CASES_WITHOUT_INTERCEPT = {
    "hinge": (
        lambda i: ours.LinearSVC(loss="hinge", C=0.5, tol=TOL, fit_intercept=i),
        lambda i: peer_svm.LinearSVC(
            loss="hinge", C=0.5, tol=1e-9, max_iter=1_000_000, fit_intercept=i
        ),
        "labels",
        lambda m, X, b, w: 0.5 * w @ np.maximum(0, 1 - b * margins(m, X)) + penalty(m, 0, 1.0),
    ),
    "squared_hinge_l1": (
        lambda i: ours.LinearSVC("l1", C=0.5, tol=TOL, fit_intercept=i),
        lambda i: peer_svm.LinearSVC(
            "l1", dual=False, C=0.5, tol=1e-9, max_iter=100_000, fit_intercept=i
        ),
        "labels",
        lambda m, X, b, w: 0.5 * w @ np.maximum(0, 1 - b * margins(m, X)) ** 2 + penalty(m, 1, 0),
    ),
    "squared_hinge": (
        lambda i: ours.LinearSVC(C=0.5, tol=TOL, fit_intercept=i),
        lambda i: peer_svm.LinearSVC(C=0.5, tol=1e-9, max_iter=100_000, fit_intercept=i),
        "labels",
        lambda m, X, b, w: 0.5 * w @ np.maximum(0, 1 - b * margins(m, X)) ** 2 + penalty(m, 0, 1),
    ),
    "svr": (
        lambda i: ours.LinearSVR(epsilon=0.2, C=0.5, tol=TOL, fit_intercept=i),
        lambda i: peer_svm.LinearSVR(
            epsilon=0.2, C=0.5, tol=1e-9, max_iter=1_000_000, fit_intercept=i
        ),
        "target",
        lambda m, X, b, w: (
            0.5 * w @ np.maximum(0, np.abs(margins(m, X) - b) - 0.2) + penalty(m, 0, 1.0)
        ),
    ),
}


def compare(case, intercept, weighted, layout, dtype):
    make, make_peer, kind, objective = case
    X, A, labels, target, counts = data(layout, dtype)
    b = {"labels": labels, "target": target, "counts": counts}[kind]
    weight = np.random.default_rng(3).random(N) + 0.1 if weighted else None
    w = np.ones(N) if weight is None else weight
    model = make(intercept).fit(A, b, sample_weight=weight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reference = make_peer(intercept).fit(X.astype(float), b, sample_weight=weight)
    mine, theirs = objective(model, X, b, w), objective(reference, X, b, w)
    assert model.rel_gap_ <= TOL
    assert mine <= theirs + TOL * abs(theirs)  # never worse than tol
    # and the bound that was proven stands: nobody is below it
    bound = mine - 1.001 * model.rel_gap_ * abs(mine) - 1e-12 * abs(mine)
    assert theirs >= bound


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_objective_is_that_of_the_best_peer(name, intercept, weighted):
    layout = "csr" if weighted else "dense"
    compare(CASES[name], intercept, weighted, layout, np.float64)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", CASES_WITHOUT_INTERCEPT)
def test_objective_is_that_of_liblinear(name, weighted):
    compare(CASES_WITHOUT_INTERCEPT[name], False, weighted, "dense", np.float64)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_objective_everywhere(name, intercept, weighted, layout, dtype):
    compare(CASES[name], intercept, weighted, layout, dtype)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", CASES_WITHOUT_INTERCEPT)
def test_objective_of_liblinear_everywhere(name, weighted, layout, dtype):
    compare(CASES_WITHOUT_INTERCEPT[name], False, weighted, layout, dtype)


@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize("name", CASES_WITHOUT_INTERCEPT)
def test_free_intercept_against_cvxpy(name, layout):
    """The intercept is not penalised: an independent solver of the same problem agrees."""
    import cvxpy as cp

    make, _, kind, objective = CASES_WITHOUT_INTERCEPT[name]
    X, A, labels, target, _ = data(layout)
    b = labels if kind == "labels" else target + 5.0
    x, level = cp.Variable(D), cp.Variable()
    u = X @ x + level
    loss = {
        "hinge": lambda: cp.sum(cp.pos(1 - cp.multiply(b, u))),
        "squared_hinge": lambda: cp.sum_squares(cp.pos(1 - cp.multiply(b, u))),
        "squared_hinge_l1": lambda: cp.sum_squares(cp.pos(1 - cp.multiply(b, u))),
        "svr": lambda: cp.sum(cp.pos(cp.abs(u - b) - 0.2)),
    }[name]()
    size = cp.norm1(x) if name.endswith("l1") else 0.5 * cp.sum_squares(x)
    best = cp.Problem(cp.Minimize(0.5 * loss + size)).solve(solver=cp.CLARABEL)
    model = make(True).set_params(penalize_intercept=False).fit(A, b)
    mine = objective(model, X, b, np.ones(N))
    assert model.rel_gap_ <= TOL
    assert abs(mine - best) <= 2 * TOL * abs(best)


@pytest.mark.parametrize("scaling", [1.0, 7.0])
@pytest.mark.parametrize("name", CASES_WITHOUT_INTERCEPT)
def test_penalised_intercept_is_that_of_liblinear(name, scaling):
    make, make_peer, kind, _ = CASES_WITHOUT_INTERCEPT[name]
    X, _, labels, target, _ = data("dense")
    b = labels if kind == "labels" else target + 1.0
    model = make(True).set_params(intercept_scaling=scaling).fit(X, b)
    reference = make_peer(True).set_params(intercept_scaling=scaling, random_state=0).fit(X, b)
    spread = np.std(margins(reference, X))
    np.testing.assert_allclose(margins(model, X), margins(reference, X), atol=1e-4 * spread)
    proof = certify(model, X, b)
    assert proof.rel_gap <= 1e-6


def test_class_weights_are_sample_weights():
    X, _, labels, _, _ = data()
    weight = np.where(labels > 0, 3.0, 1.0)
    for kind in (ours.LogisticRegression, ours.LinearSVC, ours.RidgeClassifier):
        one = kind(class_weight={1.0: 3.0}, tol=1e-10).fit(X, labels)
        two = kind(tol=1e-10).fit(X, labels, sample_weight=weight)
        np.testing.assert_allclose(one.coef_, two.coef_, atol=1e-4)


def test_several_targets_are_so_many_fits():
    X, _, _, target, counts = data()
    Y = np.column_stack([target, counts])
    both = ours.Lasso(alpha=0.05, tol=1e-10).fit(X, Y)
    assert both.coef_.shape == (2, D)
    assert both.predict(X).shape == (N, 2)
    for k in range(2):
        one = ours.Lasso(alpha=0.05, tol=1e-10).fit(X, Y[:, k])
        np.testing.assert_allclose(both.coef_[k], one.coef_, atol=1e-6)
    uneven = ours.Ridge(alpha=[1.0, 100.0], tol=1e-10).fit(X, Y)
    alone = ours.Ridge(alpha=100.0, tol=1e-10).fit(X, Y[:, 1])
    np.testing.assert_allclose(uneven.coef_[1], alone.coef_, atol=1e-6)


def test_several_classes_may_be_one_against_the_rest():
    X, _, _, target, _ = data()
    y = np.array(["low", "mid", "top"])[np.digitize(target, [-0.5, 1.5])]
    model = ours.LogisticRegression(tol=1e-8, n_jobs=2, multi_class="ovr").fit(X, y)
    assert list(model.classes_) == ["low", "mid", "top"]
    for k, name in enumerate(model.classes_):
        one = ours.LogisticRegression(tol=1e-8).fit(X, y == name)
        np.testing.assert_allclose(model.coef_[k], one.coef_[0], atol=1e-3)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert np.all(model.classes_[p.argmax(axis=1)] == model.predict(X))
    assert len(model.certificate_) == len(model.trace_) == 3
    assert model.rel_gap_.shape == (3,)
