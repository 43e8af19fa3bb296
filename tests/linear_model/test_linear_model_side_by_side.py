"""The same X and y, given to both: fitted attributes, predictions and errors are those of
scikit-learn in values, shapes and types."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as peer
import sklearn.svm as peer_svm
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.preprocessing import StandardScaler

from spd1 import ParameterError
from spd1 import linear_model as ours

CLOSE = 3e-3  # of the spread: scikit-learn's answers, mostly, are no closer to the optimum


def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def digits():
    X, y = load_digits(return_X_y=True)
    return X[:400] / 16.0, y[:400]


def iris():
    return load_iris(return_X_y=True)


def diabetes():
    return load_diabetes(return_X_y=True)


def text():
    """Twenty categories with words of their own, and many that say nothing."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 20, 600)
    noise = sp.random_array((600, 800), density=0.02, rng=rng)
    own = np.arange(600), 10 * y + rng.integers(0, 10, 600)
    X = sp.csr_array(noise + sp.coo_array((np.ones(600), own), (600, 800)))
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # for liblinear
    return X, y


def weights(y):
    return np.random.default_rng(1).uniform(0.1, 3.0, len(y))


def frame(X):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(X, columns=[f"feature {j}" for j in range(X.shape[1])])


NAMES = np.array(["setosa", "versicolor", "virginica"])
LOGISTIC = (ours.LogisticRegression, peer.LogisticRegression, {"tol": 1e-8, "max_iter": 10_000})
SVC = (ours.LinearSVC, peer_svm.LinearSVC, {"tol": 1e-8, "max_iter": 10**6})
SVR = (ours.LinearSVR, peer_svm.LinearSVR, {"tol": 1e-8, "max_iter": 10**6})
RIDGE = (ours.Ridge, peer.Ridge, {})
LASSO = (ours.Lasso, peer.Lasso, {"tol": 1e-8})
NET = (ours.ElasticNet, peer.ElasticNet, {"tol": 1e-9, "max_iter": 10**5})


def with_x(change, data):
    X, y = data()
    return change(X), y


def with_y(change, data):
    X, y = data()
    return X, change(y)


def single(X):
    return X.astype(np.float32)


def whole(X):
    return (4.0 * X).astype(int)


def column(y):
    return y[:, None]


def pair_of_targets(y):
    return np.column_stack([y, np.sqrt(y)])


CASES = {
    "logistic cancer": (LOGISTIC, {}, cancer),
    "logistic digits": (LOGISTIC, {"C": 0.1}, digits),
    "logistic strings": (LOGISTIC, {}, lambda: with_y(lambda y: NAMES[y], iris)),
    "logistic frame": (LOGISTIC, {}, lambda: with_x(frame, iris)),
    "logistic float32": (LOGISTIC, {"C": 0.1}, lambda: with_x(single, cancer)),
    "logistic balanced": (LOGISTIC, {"class_weight": "balanced"}, iris),
    "logistic weights": (LOGISTIC, {"class_weight": {0: 2.0, 1: 0.5}}, cancer, weights),
    "logistic text": (LOGISTIC, {}, text),
    "logistic l1": (LOGISTIC, {"l1_ratio": 1.0, "solver": "liblinear", "C": 0.5}, cancer),
    "logistic without intercept": (LOGISTIC, {"fit_intercept": False}, cancer),
    "logistic column": (LOGISTIC, {}, lambda: with_y(column, cancer)),
    "logistic bools": (LOGISTIC, {}, lambda: with_y(lambda y: y > 0, cancer)),
    "logistic float labels": (LOGISTIC, {}, lambda: with_y(lambda y: 2.0 * y, cancer)),
    "logistic whole numbers": (LOGISTIC, {}, lambda: with_x(whole, cancer)),
    "svc digits": (SVC, {}, digits),
    "svc text": (SVC, {}, text),
    "svc strings": (SVC, {"loss": "hinge", "C": 0.1}, lambda: with_y(lambda y: NAMES[y], cancer)),
    "svr diabetes": (SVR, {"C": 10.0}, diabetes),
    "ridge": (RIDGE, {}, diabetes),
    "ridge targets": (RIDGE, {"alpha": [1.0, 2.0]}, lambda: with_y(pair_of_targets, diabetes)),
    "ridge column": (RIDGE, {}, lambda: with_y(column, diabetes)),
    "ridge float32": (RIDGE, {}, lambda: with_x(single, diabetes)),
    "lasso": (LASSO, {"alpha": 0.1}, diabetes),
    "lasso frame weights": (LASSO, {"alpha": 0.1}, lambda: with_x(frame, diabetes), weights),
    "lasso column": (LASSO, {"alpha": 0.1}, lambda: with_y(column, diabetes)),
    "net sparse targets": (
        NET, {"alpha": 0.01},
        lambda: with_x(sp.csc_array, lambda: with_y(pair_of_targets, diabetes)),
    ),
    "ridge classifier": ((ours.RidgeClassifier, peer.RidgeClassifier, {}), {}, digits),
    "ridge classifier two": ((ours.RidgeClassifier, peer.RidgeClassifier, {}), {}, cancer),
    "linear regression": ((ours.LinearRegression, peer.LinearRegression, {}), {}, diabetes),
    "linear targets": (
        (ours.LinearRegression, peer.LinearRegression, {}), {},
        lambda: with_y(pair_of_targets, diabetes),
    ),
    "quantile": ((ours.QuantileRegressor, peer.QuantileRegressor, {}), {"alpha": 0.01}, diabetes),
    "poisson": ((ours.PoissonRegressor, peer.PoissonRegressor, {"tol": 1e-9}), {}, diabetes),
    "gamma": ((ours.GammaRegressor, peer.GammaRegressor, {"tol": 1e-9}), {}, diabetes),
}  # fmt: skip
OWN_SCALE = ("n_iter_", "dual_gap_", "solver_")  # what a way to the solution says of itself


def assert_alike(name, mine, theirs):
    """Type, shape and values."""
    if not isinstance(theirs, np.ndarray):
        assert isinstance(mine, type(theirs)), name
        theirs, mine = np.asarray(theirs), np.asarray(mine)
    assert mine.shape == theirs.shape, name
    assert mine.dtype == theirs.dtype, name
    if theirs.dtype.kind == "f":
        np.testing.assert_allclose(mine, theirs, atol=CLOSE * np.abs(theirs).max(), err_msg=name)
    elif name == "predict":
        assert np.mean(mine != theirs) <= CLOSE
    else:
        assert np.array_equal(mine, theirs), name


@pytest.mark.parametrize("name", CASES)
def test_both_give_the_same(name):
    (kind, other, better), options, data, *weigh = CASES[name]
    X, y = data()
    c = weigh[0](y) if weigh else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a column of labels, and of scikit-learn's hinges
        mine = kind(**options).fit(X, y, sample_weight=c)
        theirs = other(**{**better, **options}).fit(X, y, sample_weight=c)
    for attribute in vars(theirs):
        if attribute.endswith("_") and attribute[0] != "_" and attribute not in OWN_SCALE:
            assert_alike(attribute, getattr(mine, attribute), getattr(theirs, attribute))
    for method in ("predict", "decision_function", "predict_proba"):
        assert hasattr(mine, method) == hasattr(theirs, method)
        if hasattr(theirs, method):
            assert_alike(method, getattr(mine, method)(X), getattr(theirs, method)(X))
    assert mine.score(X, y) == pytest.approx(theirs.score(X, y), abs=CLOSE)


def broken(X, value):
    X = X.copy()
    X[0, 0] = value
    return X


WRONG_DATA = {
    "nan": (lambda X, y: (broken(X, np.nan), y)),
    "inf": (lambda X, y: (broken(X, np.inf), y)),
    "length": (lambda X, y: (X, y[:-1])),
    "one axis": (lambda X, y: (X[:, 0], y)),
    "three axes": (lambda X, y: (X[:, :, None], y)),
    "no target": (lambda X, y: (X, None)),
    "no rows": (lambda X, y: (X[:0], y[:0])),
    "no columns": (lambda X, y: (X[:, :0], y)),
    "complex": (lambda X, y: (1j * X, y)),
    "nan target": (lambda X, y: (X, np.where(y > 0, np.nan, 0.0))),
    "words": (lambda X, y: (np.full(X.shape, "a"), y)),
}


@pytest.mark.parametrize("name", WRONG_DATA)
@pytest.mark.parametrize("kind", ["LogisticRegression", "Ridge"])
def test_wrong_data_gets_the_error_that_scikit_learn_raises(name, kind):
    X, y = WRONG_DATA[name](*cancer())
    with pytest.raises(ValueError) as theirs:
        getattr(peer, kind)().fit(X, y)
    with pytest.raises(type(theirs.value)) as mine:
        getattr(ours, kind)().fit(X, y)
    assert str(mine.value)[:20] == str(theirs.value)[:20]


WRONG_NUMBERS = [
    ("LogisticRegression", {"C": -1.0}), ("LogisticRegression", {"C": "a"}),
    ("LogisticRegression", {"tol": -1.0}), ("LogisticRegression", {"max_iter": -1}),
    ("LogisticRegression", {"solver": "foo"}), ("LogisticRegression", {"penalty": "foo"}),
    ("LogisticRegression", {"class_weight": "foo"}), ("LogisticRegression", {"l1_ratio": 2.0}),
    ("LogisticRegression", {"class_weight": {7: 1.0}}), ("LogisticRegression", {"n_jobs": "x"}),
    ("LogisticRegression", {"fit_intercept": "yes"}), ("LogisticRegression", {"random_state": "x"}),
    ("LogisticRegression", {"random_state": -1}), ("Lasso", {"alpha": -1.0}),
    ("Lasso", {"max_iter": 0}), ("Lasso", {"selection": "foo"}), ("Lasso", {"precompute": "foo"}),
    ("Lasso", {"positive": "x"}), ("Ridge", {"alpha": "a"}), ("Ridge", {"solver": "foo"}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "options"), WRONG_NUMBERS, ids=str)
def test_wrong_parameters_are_found_under_either_name(kind, options):
    """Code that catches scikit-learn's error, or a TypeError, catches ours."""
    X, y = cancer()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        with pytest.raises(ValueError) as theirs:
            getattr(peer, kind)(**options).fit(X, y)
        with pytest.raises(ParameterError) as mine:
            getattr(ours, kind)(**options).fit(X, y)
    assert isinstance(mine.value, type(theirs.value))
