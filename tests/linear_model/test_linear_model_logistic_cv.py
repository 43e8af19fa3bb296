"""LogisticRegressionCV: attributes, averages, folds that lack a class, scorers."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.linear_model as peer
from sklearn import config_context
from sklearn.datasets import load_iris
from sklearn.metrics import brier_score_loss, get_scorer, log_loss, make_scorer
from sklearn.model_selection import GroupKFold, KFold

from spd1 import linear_model as ours
from spd1.errors import DataError

GRID = {"Cs": [0.01, 1.0], "cv": 3, "scoring": "neg_log_loss"}


@pytest.fixture(scope="module")
def iris():
    data = load_iris()
    return (data.data - data.data.mean(axis=0)) / data.data.std(axis=0), data.target


def _theirs(**options):
    return peer.LogisticRegressionCV(tol=1e-8, max_iter=5000, solver="newton-cholesky", **options)


@pytest.mark.parametrize("ratios", [None, (0.0,)])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.filterwarnings("ignore:'l1_ratios=None' was deprecated:FutureWarning")  # of theirs
def test_legacy_attributes_are_those_of_scikit_learn(ratios, classes, iris):
    X, y = iris
    X, y = X[y < classes], y[y < classes]
    options = {**GRID, "l1_ratios": ratios, "use_legacy_attributes": True}
    mine = ours.LogisticRegressionCV(**options, tol=1e-10).fit(X, y)
    theirs = _theirs(**options).fit(X, y)
    assert list(mine.scores_) == list(theirs.scores_)
    assert list(mine.coefs_paths_) == list(theirs.coefs_paths_)
    for name in theirs.scores_:
        assert mine.scores_[name].shape == theirs.scores_[name].shape
        np.testing.assert_allclose(mine.scores_[name], theirs.scores_[name], atol=1e-4)
        assert mine.coefs_paths_[name].shape == theirs.coefs_paths_[name].shape
        np.testing.assert_allclose(mine.coefs_paths_[name], theirs.coefs_paths_[name], atol=1e-3)
    assert mine.n_iter_.shape == theirs.n_iter_.shape
    np.testing.assert_array_equal(mine.C_, theirs.C_)
    assert mine.l1_ratio_.shape == theirs.l1_ratio_.shape


@pytest.mark.parametrize("classes", [2, 3])
def test_without_a_final_fit_coefficients_are_means(classes, iris):
    X, y = iris
    X, y = X[y < classes], y[y < classes]
    model = ours.LogisticRegressionCV(**GRID, tol=1e-10).fit(X, y)
    assert model.rel_gap_ <= 1e-10
    model.set_params(refit=False).fit(X, y)
    theirs = _theirs(**GRID, l1_ratios=(0.0,), refit=False, use_legacy_attributes=False).fit(X, y)
    np.testing.assert_allclose(model.coef_, theirs.coef_, atol=1e-3)
    np.testing.assert_allclose(model.intercept_, theirs.intercept_, atol=1e-3)
    assert model.C_ == theirs.C_
    assert model.n_iter_.shape == model.rel_gaps_.shape == model.scores_.shape == (3, 1, 2)
    assert model.rel_gaps_.max() <= 1e-10
    assert not hasattr(model, "certificate_")  # of a mean nothing is proven
    assert not hasattr(model, "rel_gap_")


@pytest.mark.parametrize("multi_class", ["multinomial", "ovr"])
@pytest.mark.parametrize("classes", [2, 3])
def test_folds_may_lack_a_class(classes, multi_class, iris):
    """Sorted labels: every training part lacks the class that it is tested on."""
    X, y = iris
    X, y = X[y < classes], np.array(["a", "b", "c"])[y[y < classes]]
    cv = KFold(n_splits=classes)
    model = ours.LogisticRegressionCV(
        Cs=[1e-6, 1.0], cv=cv, scoring="neg_brier_score", multi_class=multi_class
    ).fit(X, y)
    assert model.coef_.shape == (1 if classes == 2 else 3, 4)
    judge = ours.LogisticRegression(multi_class=multi_class).fit(X, y)
    for i, (_, test) in enumerate(cv.split(X, y)):
        judge.coef_ = model.coefs_paths_[i, 0, 0, :, :-1]
        judge.intercept_ = model.coefs_paths_[i, 0, 0, :, -1]
        names = list("abc"[:classes])
        p = judge.predict_proba(X[test])
        assert np.all(p[:, names.index(y[test][0])] < 1e-9)
        told = {"pos_label": "b"} if classes == 2 else {}
        expected = brier_score_loss(y[test], p, labels=names, **told)
        assert -model.scores_[i, 0, 0] == pytest.approx(expected)
    with pytest.raises(DataError, match="at least 2 classes"):
        ours.LogisticRegressionCV().fit(X, np.zeros(len(X)))


def test_liblinears_intercept_is_penalised_on_folds_too(iris):
    X, y = iris
    X, y = X[y > 0], y[y > 0]
    options = {"Cs": [0.01], "cv": 3, "intercept_scaling": 2.0, "solver": "liblinear"}
    mine = ours.LogisticRegressionCV(**options, tol=1e-12).fit(X, y)
    theirs = peer.LogisticRegressionCV(
        **options, tol=1e-10, l1_ratios=(0.0,), scoring="accuracy", use_legacy_attributes=False
    ).fit(X, y)
    np.testing.assert_allclose(mine.coefs_paths_, theirs.coefs_paths_, atol=1e-5)


def test_balanced_means_all_the_data(iris):
    X, y = iris
    X, y = X[40:], y[40:]
    cv = KFold(3, shuffle=True, random_state=0)
    options = {"Cs": [1.0], "cv": cv, "class_weight": "balanced"}
    mine = ours.LogisticRegressionCV(**options, tol=1e-10).fit(X, y)
    counts = len(y) / (3 * np.bincount(y))
    train = next(iter(cv.split(X)))[0]
    one = ours.LogisticRegression(tol=1e-10)
    one.fit(X[train], y[train], sample_weight=counts[y[train]])
    np.testing.assert_allclose(mine.coefs_paths_[0, 0, 0, :, :-1], one.coef_, atol=1e-4)


def test_score_follows_scoring_and_weights(iris):
    X, y = iris
    weight = np.random.default_rng(0).uniform(0.5, 2.0, size=len(y))
    model = ours.LogisticRegressionCV(**GRID).fit(X, y, sample_weight=weight)
    expected = -log_loss(y, model.predict_proba(X), sample_weight=weight)
    assert model.score(X, y, sample_weight=weight) == pytest.approx(expected)
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        model.fit(X, y, groups=y)


def test_groups_and_weights_are_routed(iris):
    X, y = iris
    groups = np.arange(len(y)) % 3
    with config_context(enable_metadata_routing=True):
        scorer = get_scorer("neg_log_loss").set_score_request(sample_weight=False)
        model = ours.LogisticRegressionCV(Cs=[1.0], cv=GroupKFold(3), scoring=scorer)
        model.set_fit_request(sample_weight=True)
        model.fit(X, y, groups=groups)
    assert model.scores_.shape == (3, 1, 1)


def test_penalty_is_deprecated_as_in_scikit_learn(iris):
    X, y = iris
    with pytest.warns(FutureWarning, match="'penalty' was deprecated") as caught:
        old = ours.LogisticRegression(penalty="l1", l1_ratio=1.0).fit(X, y > 1)
    assert caught[0].filename == __file__
    new = ours.LogisticRegression(l1_ratio=1.0).fit(X, y > 1)
    np.testing.assert_array_equal(old.coef_, new.coef_)
    with pytest.warns(FutureWarning), pytest.warns(UserWarning, match="Inconsistent values"):
        ours.LogisticRegression(penalty="l2", l1_ratio=1.0).fit(X, y > 1)
    with pytest.warns(FutureWarning), pytest.warns(UserWarning, match="will ignore the C"):
        ours.LogisticRegression(penalty=None, C=3.0).fit(X[50:], (y > 1)[50:])
    with pytest.warns(FutureWarning, match="l1_ratio=None"):
        ours.LogisticRegression(l1_ratio=None).fit(X, y > 1)


@pytest.mark.parametrize(("solver", "kind"), [("lbfgs", np.float32), ("liblinear", np.float64)])
def test_types_are_those_of_the_solver_named(solver, kind, iris):
    X, y = iris
    model = ours.LogisticRegression(solver=solver).fit(X.astype(np.float32), y > 1)
    assert model.coef_.dtype == kind
    assert model.n_iter_.shape == (1,)
    assert model.n_iter_.dtype == np.int32
    split = ours.LogisticRegression(multi_class="ovr").fit(X, y)
    assert split.n_iter_.shape == (3,)


@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss"])
@pytest.mark.parametrize("kind", ["two", "three", "ovr"])
@pytest.mark.parametrize("weighted", [False, True])
def test_quick_scores_are_those_of_the_scorers(scoring, kind, weighted):
    """A name is computed at once for all Cs; a scorer as an object is called for each."""
    X, y = load_iris(return_X_y=True)
    y = np.array(["c", "a", "b"])[y]
    if kind == "two":
        y = np.where(y == "a", "a", "z")
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float) if weighted else None
    same = {"Cs": [0.01, 1.0, 10.0], "cv": 3, "tol": 1e-8}
    same["multi_class"] = "ovr" if kind == "ovr" else "multinomial"
    quick = ours.LogisticRegressionCV(scoring=scoring, **same).fit(X, y, weight)
    asked = ours.LogisticRegressionCV(scoring=get_scorer(scoring), **same).fit(X, y, weight)
    np.testing.assert_allclose(quick.scores_, asked.scores_, rtol=1e-12)


def test_folds_that_lack_a_class_are_scored_quickly_too():
    X, y = load_iris(return_X_y=True)
    folds = [(np.arange(50, 150), np.arange(50)), (np.arange(100), np.arange(100, 150))]
    for name in ("accuracy", "neg_log_loss"):
        quick = ours.LogisticRegressionCV(Cs=[1.0], cv=folds, scoring=name).fit(X, y)
        scorer = get_scorer(name)
        if name == "neg_log_loss":
            scorer = make_scorer(
                log_loss, greater_is_better=False, response_method="predict_proba", labels=[0, 1, 2]
            )
        asked = ours.LogisticRegressionCV(Cs=[1.0], cv=folds, scoring=scorer).fit(X, y)
        np.testing.assert_allclose(quick.scores_, asked.scores_, rtol=1e-12)
