"""LogisticRegression of three classes and more: scikit-learn's model, one certificate."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as peer
from scipy.special import softmax
from sklearn.datasets import load_iris

from spd1 import certify
from spd1 import linear_model as ours
from spd1.errors import DataError, ParameterError

SETTINGS = {
    "l2": {"C": 0.5},
    "l1": {"C": 0.5, "l1_ratio": 1.0},
    "both": {"C": 0.5, "l1_ratio": 0.3, "class_weight": "balanced"},
    "bare": {"C": 2.0, "fit_intercept": False, "class_weight": {"setosa": 3.0}},
}


@pytest.fixture(scope="module")
def iris():
    data = load_iris()
    X = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, size=len(X))
    return X, np.asarray(data.target_names)[data.target], weight


@pytest.mark.parametrize("name", SETTINGS)
def test_the_model_is_that_of_scikit_learn(name, iris):
    X, y, weight = iris
    settings = SETTINGS[name]
    smooth = settings.get("l1_ratio", 0.0) == 0.0
    how = {"solver": "newton-cg"} if smooth else {"solver": "saga", "random_state": 0}
    theirs = peer.LogisticRegression(**settings, **how, tol=1e-9, max_iter=20_000)
    theirs.fit(X, y, sample_weight=weight)
    mine = ours.LogisticRegression(**settings, tol=1e-11).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(mine.coef_, theirs.coef_, atol=2e-4)
    np.testing.assert_allclose(mine.predict_proba(X), theirs.predict_proba(X), atol=1e-4)
    np.testing.assert_allclose(mine.predict_log_proba(X), np.log(mine.predict_proba(X)))
    if settings.get("fit_intercept", True):
        np.testing.assert_allclose(mine.intercept_, theirs.intercept_, atol=2e-4)
        assert mine.intercept_.sum() == pytest.approx(0.0, abs=1e-12)
    assert mine.coef_.shape == theirs.coef_.shape
    assert mine.intercept_.shape == theirs.intercept_.shape
    assert np.array_equal(mine.predict(X), theirs.predict(X))
    assert mine.rel_gap_ <= 1e-11
    assert certify(theirs, X, y, sample_weight=weight).dual <= mine.certificate_.primal


def test_one_certificate_for_the_whole_model(iris):
    X, y, _ = iris
    model = ours.LogisticRegression(tol=1e-8).fit(X, y)
    assert model.rel_gap_ == model.certificate_.rel_gap <= 1e-8
    assert model.dual_gap_ == model.certificate_.gap
    assert model.dual_coef_.shape == (3, len(y))
    assert len(model.trace_) >= 2
    again = certify(model, X, y)
    assert again.primal == pytest.approx(model.certificate_.primal, rel=1e-12)
    assert again.rel_gap <= 1e-6
    scores = X @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(model.predict_proba(X), softmax(scores, axis=1))


def test_sparse_float32_and_warm_starts(iris):
    X, y, _ = iris
    model = ours.LogisticRegression(tol=1e-10).fit(X, y)
    for other in (sp.csr_array(X), sp.csc_array(X), np.asfortranarray(X)):
        found = ours.LogisticRegression(tol=1e-10).fit(other, y)
        np.testing.assert_allclose(found.coef_, model.coef_, atol=1e-5)
    single = ours.LogisticRegression(tol=1e-10).fit(X.astype(np.float32), y)
    np.testing.assert_allclose(single.coef_, model.coef_, atol=1e-4)
    warm = ours.LogisticRegression(tol=1e-8, warm_start=True).fit(X, y)
    first = warm.n_iter_
    assert np.max(warm.fit(X, y).n_iter_) < np.max(first)


def test_n_jobs_are_threads_of_the_one_fit(iris, monkeypatch):
    from spd1.linear_model import _multinomial

    asked = []
    plain = _multinomial.solve_multinomial

    def told(*args, **options):
        asked.append((options.get("engine"), options.get("n_threads")))
        return plain(*args, **options)

    monkeypatch.setattr(_multinomial, "solve_multinomial", told)
    X, y, _ = iris
    two = ours.LogisticRegression(n_jobs=2, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(two.coef_, ours.LogisticRegression(tol=1e-9).fit(X, y).coef_, 1e-6)
    assert asked == [("threads", 2), (None, None)]


def test_one_against_the_rest_is_an_option(iris):
    X, y, _ = iris
    model = ours.LogisticRegression(multi_class="ovr", tol=1e-8).fit(X, y)
    assert len(model.certificate_) == len(certify(model, X, y)) == 3
    one = ours.LogisticRegression(tol=1e-8).fit(X, y == "setosa")
    np.testing.assert_allclose(model.coef_[0], one.coef_[0], atol=1e-3)
    with pytest.raises(ParameterError, match="multi_class must be"):
        ours.LogisticRegression(multi_class="crammer_singer").fit(X, y)
    with pytest.raises(ParameterError, match="knows two classes"):
        ours.LogisticRegression(solver="rows").fit(X, y)


@pytest.mark.parametrize("how", ["sample_weight", "class_weight"])
def test_a_class_without_weight_never_happens(how, iris):
    """What is left is the model of the other classes, and a certificate that holds for all."""
    X, y, _ = iris
    if how == "sample_weight":
        model = ours.LogisticRegression(tol=1e-10)
        model.fit(X, y, sample_weight=(y != "setosa").astype(float))
    else:
        model = ours.LogisticRegression(tol=1e-10, class_weight={"setosa": 0.0}).fit(X, y)
    rest = y != "setosa"
    assert model.coef_.shape == (3, 4)
    assert np.all(np.isfinite(model.intercept_))
    assert model.rel_gap_ <= 1e-10
    assert np.all(model.predict_proba(X)[:, 0] < 1e-17)
    # two classes as one model pay l2/2 for each of two rows: C of the binary model is halved
    pair = peer.LogisticRegression(C=2.0, tol=1e-10, solver="newton-cholesky")
    pair.fit(X[rest], y[rest])
    np.testing.assert_allclose(model.predict_proba(X)[:, 2], pair.predict_proba(X)[:, 1], atol=1e-4)


def test_one_class_alone_is_refused(iris):
    X, y, _ = iris
    with pytest.raises(DataError, match="leave only one class"):
        ours.LogisticRegression().fit(X, y, sample_weight=(y == "setosa").astype(float))
    with pytest.raises(DataError, match="has no sample with sample_weight > 0"):
        ours.LogisticRegression(multi_class="ovr").fit(
            X, y, sample_weight=(y != "setosa").astype(float)
        )


def test_without_penalty(iris):
    X, y, _ = iris
    overlap = y != "setosa"  # which a line would tell apart: then there is no optimum
    labels = np.where(np.arange(len(y)) % 7 == 0, "setosa", y)[overlap]
    mine = ours.LogisticRegression(C=np.inf, tol=1e-9).fit(X[overlap], labels)
    theirs = peer.LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000, solver="newton-cg")
    theirs.fit(X[overlap], labels)
    np.testing.assert_allclose(
        mine.predict_proba(X[overlap]), theirs.predict_proba(X[overlap]), atol=1e-4
    )
    assert "not ruled out" in str(mine.certificate_)
    assert ours.LogisticRegression(C=np.inf).fit(X, y).rel_gap_ <= 1e-4


def test_cross_validation(iris):
    X, y, _ = iris
    options = {"Cs": [0.01, 0.1, 1.0], "cv": 3}
    mine = ours.LogisticRegressionCV(**options, tol=1e-8).fit(X, y)
    theirs = peer.LogisticRegressionCV(
        **options, l1_ratios=(0.0,), tol=1e-8, max_iter=1000, use_legacy_attributes=False,
        scoring="accuracy",
    ).fit(X, y)  # fmt: skip
    assert mine.coefs_paths_.shape == theirs.coefs_paths_.shape == (3, 1, 3, 3, 5)
    np.testing.assert_allclose(mine.coefs_paths_, theirs.coefs_paths_, atol=1e-3)
    np.testing.assert_allclose(mine.scores_, theirs.scores_)
    assert mine.C_ == theirs.C_
    np.testing.assert_allclose(mine.coef_, theirs.coef_, atol=1e-3)
    assert mine.certificate_.rel_gap <= 1e-8
    split = ours.LogisticRegressionCV(**options, multi_class="ovr").fit(X, y)
    assert len(split.certificate_) == 3
