"""certify(model, X, y): how far from optimal is a model of scikit-learn?"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as peer
import sklearn.svm as peer_svm
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError

from spd1 import L2, DataError, IncompatibleError, ParameterError, Problem, certify
from spd1 import linear_model as ours

N, D = 70, 8


@pytest.fixture
def pair(rng):
    X = rng.normal(size=(N, D)) + 0.2
    return X, X @ rng.normal(size=D) + 1.0 + rng.normal(size=N)


TIGHT = {  # converged by their own account, and by ours
    "lbfgs": (peer.LogisticRegression(tol=1e-10, max_iter=10_000), True),
    "liblinear": (peer.LogisticRegression(solver="liblinear", tol=1e-10, max_iter=10_000), True),
    "liblinear_scaled": (
        peer.LogisticRegression(solver="liblinear", intercept_scaling=5.0, tol=1e-10), True
    ),
    "saga_l1": (
        peer.LogisticRegression(
            l1_ratio=1.0, solver="saga", tol=1e-10, max_iter=50_000, class_weight="balanced"
        ), True
    ),
    "svc": (peer_svm.LinearSVC(tol=1e-10, max_iter=100_000, C=0.1), True),
    "svc_hinge": (peer_svm.LinearSVC(loss="hinge", tol=1e-10, max_iter=10**6, C=0.1), True),
    "ridge_classifier": (peer.RidgeClassifier(class_weight="balanced"), True),
    "ridge": (peer.Ridge(), False),
    "lasso": (peer.Lasso(alpha=0.1, tol=1e-12), False),
    "elastic_net": (peer.ElasticNet(alpha=0.1, tol=1e-12, positive=True), False),
    "svr": (peer_svm.LinearSVR(tol=1e-10, max_iter=10**6, epsilon=0.1), False),
    "huber": (peer.HuberRegressor(tol=1e-10, max_iter=10_000, alpha=0.1), False),
    "quantile": (peer.QuantileRegressor(alpha=0.05, quantile=0.3), False),
}  # fmt: skip


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", TIGHT)
def test_converged_models_are_certified(name, weighted, pair, rng):
    X, t = pair
    model, labels = TIGHT[name]
    y = np.where(t > 0.5, "b", "a") if labels else t
    weight = rng.random(N) + 0.1 if weighted else None
    A = sp.csr_array(X) if weighted else X
    model.fit(A, y, sample_weight=weight)
    proof = certify(model, A, y, weight)
    assert 0.0 <= proof.rel_gap <= 3e-6


@pytest.mark.parametrize("name", TIGHT)
def test_disturbed_models_are_found_out(name, pair, rng):
    """The gap is at least what a better point proves, and about that: not a loose bound."""
    X, t = pair
    model, labels = TIGHT[name]
    y = np.where(t > 0.5, "b", "a") if labels else t
    model.fit(X, y)
    best = certify(model, X, y)
    model.coef_ = model.coef_ + 0.1 * np.abs(rng.normal(size=model.coef_.shape))
    worse = certify(model, X, y)
    assert worse.gap >= worse.primal - best.primal - 1e-12
    assert worse.gap <= (worse.primal - best.primal) + 1e-5 * worse.primal
    assert worse.gap > 10 * best.gap


def test_several_classes_have_a_certificate_each(pair):
    X, t = pair
    y = np.digitize(t, [0.0, 2.0])
    model = peer_svm.LinearSVC(tol=1e-10, max_iter=100_000, class_weight={0: 3.0}).fit(X, y)
    assert [proof.rel_gap < 1e-6 for proof in certify(model, X, y)] == [True] * 3
    own = ours.LogisticRegression(tol=1e-7, multi_class="ovr").fit(X, y)
    assert all(proof.rel_gap <= 1e-6 for proof in certify(own, X, y))


@pytest.mark.parametrize("loss", ["hinge", "log_loss"])
def test_stochastic_gradients_get_closer_with_time(loss, pair):
    X, t = pair
    y = t > 0.5
    gaps = [
        certify(
            peer.SGDClassifier(
                loss, alpha=0.05, max_iter=passes, tol=None, random_state=0, average=True,
                class_weight={True: 2.0},
            ).fit(X, y), X, y,
        ).rel_gap
        for passes in (2, 2000)
    ]  # fmt: skip
    assert gaps[1] < 0.02 < gaps[0]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("l1_ratio", [0.0, 0.5, 1.0])
def test_multinomial_gap_bounds_what_is_left(l1_ratio, weighted, intercept, sparse, rng):
    """The objective is written out here; a tight fit stands for the optimum."""
    X = rng.normal(size=(60, 4)) + 1.0
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.5 * rng.normal(size=60), [0.5, 1.5])]
    weight = rng.uniform(0.5, 2.0, size=60) if weighted else None
    data = sp.csr_array(X) if sparse else X
    options = {
        "C": 0.2, "l1_ratio": l1_ratio, "solver": "saga", "fit_intercept": intercept,
        "class_weight": "balanced" if weighted else None, "random_state": 0,
    }  # fmt: skip

    def fit(tol, steps):
        model = peer.LogisticRegression(**options, tol=tol, max_iter=steps)
        return model.fit(data, y, sample_weight=weight)

    def objective(model):
        share = np.ones(60) if weight is None else weight
        if weighted:
            share = share * compute_sample_weight_of(y, weight)
        chosen = np.log(model.predict_proba(X))[np.arange(60), np.searchsorted(model.classes_, y)]
        W = model.coef_
        penalty = l1_ratio * np.abs(W).sum() + (1.0 - l1_ratio) / 2 * np.sum(W * W)
        return (penalty / 0.2 - share @ chosen) / share.sum()

    loose, tight = fit(1e-12, 20), fit(1e-12, 50_000)
    best = certify(tight, data, y, sample_weight=weight)
    assert best.rel_gap < 1e-6
    assert best.primal == pytest.approx(objective(tight), rel=1e-12)
    proof = certify(loose, data, y, sample_weight=weight)
    assert proof.primal == pytest.approx(objective(loose), rel=1e-12)
    assert proof.dual <= objective(tight) + 1e-12
    assert proof.gap >= objective(loose) - objective(tight) - 1e-12
    assert proof.gap > best.gap


def compute_sample_weight_of(y, weight):
    """Weights of 'balanced' classes: total weight over the classes' own, shared out."""
    classes, codes = np.unique(y, return_inverse=True)
    mass = np.bincount(codes, weight)
    return (weight.sum() / (len(classes) * mass))[codes]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:Setting penalty=None:UserWarning")  # scikit-learn 1.8, of C=inf
def test_multinomial_models_without_penalty(pair):
    """Proven against all points within reach; a good fit has a smaller gap than a poor one."""
    X, t = pair
    y = np.digitize(t + 8.0 * np.random.default_rng(0).normal(size=len(t)), [0.0, 2.0])
    poor, good = (
        certify(peer.LogisticRegression(C=np.inf, max_iter=steps, tol=1e-10).fit(X, y), X, y)
        for steps in (5, 5000)
    )
    assert np.isfinite(poor.reach)
    assert poor.dual <= good.primal
    assert poor.primal - good.primal <= poor.gap
    assert good.gap < 1e-5 < poor.gap


def test_own_models_say_the_same_twice(pair):
    X, t = pair
    for model in (ours.HuberRegressor(tol=1e-7), ours.LinearSVR(tol=1e-7), ours.Lasso(tol=1e-7)):
        model.fit(X, t)
        again = certify(model, X, t)
        assert again.primal == pytest.approx(model.certificate_.primal, rel=1e-9)
        assert again.rel_gap <= 2e-6


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_unknown_models_are_refused_by_name(pair):
    X, t = pair
    y = t > 0.5
    with pytest.raises(IncompatibleError, match="RandomForestClassifier"):
        certify(RandomForestClassifier(2).fit(X, y), X, y)
    with pytest.raises(IncompatibleError, match="modified_huber"):
        certify(peer.SGDClassifier("modified_huber").fit(X, y), X, y)
    with pytest.raises(NotFittedError):
        certify(peer.Ridge(), X, t)


def test_wrong_data_is_refused_in_words(pair):
    X, t = pair
    model = peer.Ridge().fit(X, t)
    with pytest.raises(DataError, match="shape"):
        certify(model, X[:, :3], t)
    with pytest.raises(DataError, match="needs the labels"):
        certify(model, X)
    labelled = peer.RidgeClassifier().fit(X, t > 0.5)
    with pytest.raises(DataError, match="has not seen"):
        certify(labelled, X, np.arange(N))
    with pytest.raises(ParameterError, match="its own weights"):
        certify(np.zeros(D), Problem(X, t, "squared", L2(1.0)), sample_weight=np.ones(N))
