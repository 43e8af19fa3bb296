"""Input that is strange is right or refused in words; parameters that mean nothing are refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from spd1 import DataError, Huber, IncompatibleError, ParameterError
from spd1 import linear_model as ours

N, D = 30, 5


@pytest.fixture
def pair(rng):
    X = rng.normal(size=(N, D))
    return X, X[:, 0] - X[:, 1] + 0.1 * rng.normal(size=N)


def memory_mapped(X, tmp_path):
    np.save(tmp_path / "X.npy", X)
    return np.load(tmp_path / "X.npy", mmap_mode="r")


def read_only(X, tmp_path):
    X = X.copy()
    X.flags.writeable = False
    return X


def long_indices(X, tmp_path):
    A = sp.csr_array(X)
    A.indices, A.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
    return A


WAYS = {
    "fortran": lambda X, _: np.asfortranarray(X),
    "strided": lambda X, _: np.repeat(X, 2, axis=1)[:, ::2],
    "memmap": memory_mapped,
    "read_only": read_only,
    "int64_csr": long_indices,
    "csc": lambda X, _: sp.csc_matrix(X),
    "coo": lambda X, _: sp.coo_array(X),
    "list": lambda X, _: X.tolist(),
    "big_endian": lambda X, _: X.astype(">f8"),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["Lasso", "LogisticRegression", "LinearSVC"])
def test_the_same_numbers_in_another_form(kind, way, pair, tmp_path):
    X, t = pair
    y = t if kind == "Lasso" else t > 0
    make = {"alpha": 0.05} if kind == "Lasso" else {}
    plain = getattr(ours, kind)(tol=1e-9, **make).fit(X, y)
    other = getattr(ours, kind)(tol=1e-9, **make).fit(WAYS[way](X, tmp_path), y)
    np.testing.assert_allclose(other.coef_, plain.coef_, atol=1e-3)
    assert other.rel_gap_ <= 1e-9


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int8, bool])
def test_other_number_types(dtype, pair):
    X, t = pair
    X = (10 * X).astype(dtype)
    model = ours.Ridge(tol=1e-8).fit(X, t)
    exact = ours.Ridge(tol=1e-8).fit(X.astype(float), t)
    np.testing.assert_allclose(model.coef_, exact.coef_, atol=1e-4)


def test_constant_and_zero_columns(pair):
    X, t = pair
    X = np.column_stack([X, np.full(N, 3.0), np.zeros(N)])
    for A in (X, sp.csr_array(X)):
        for kind in (ours.Lasso(alpha=0.05), ours.Ridge(), ours.LinearSVR(), ours.HuberRegressor()):
            model = kind.fit(A, t)
            assert np.all(np.isfinite(model.coef_))
            assert abs(model.coef_[-1]) <= 1e-12  # nothing to learn from zeros
        model = ours.LogisticRegression().fit(A, t > 0)
        assert model.coef_[0, -1] == 0.0


REGRESSORS = [
    ours.Ridge(), ours.Lasso(), ours.ElasticNet(), ours.LinearSVR(), ours.HuberRegressor(),
    ours.QuantileRegressor(), ours.PoissonRegressor(), ours.ERMRegressor(),
]  # fmt: skip
CLASSIFIERS = [
    ours.LogisticRegression(), ours.LinearSVC(), ours.ERMClassifier(),
    ours.LogisticRegressionCV(),
]  # fmt: skip


@pytest.mark.parametrize("model", REGRESSORS, ids=lambda m: type(m).__name__)
def test_single_sample(model):
    """The intercept takes it all."""
    model.fit([[1.0, 2.0]], [3.0])
    np.testing.assert_allclose(model.predict([[1.0, 2.0]]), [3.0], rtol=1e-3)


@pytest.mark.parametrize("model", REGRESSORS, ids=lambda m: type(m).__name__)
def test_constant_target(model, pair):
    X, _ = pair
    model.fit(X, np.full(N, 2.0))
    np.testing.assert_allclose(model.predict(X), 2.0, rtol=1e-3)


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda m: type(m).__name__)
def test_one_class_is_refused(model, pair):
    X, _ = pair
    with pytest.raises(DataError, match="class"):
        model.fit(X, np.ones(N))


def test_weights_that_leave_one_class(pair):
    X, t = pair
    y = t > 0
    with pytest.raises(DataError, match="no sample with sample_weight"):
        ours.LogisticRegression().fit(X, y, sample_weight=y.astype(float))
    with pytest.raises(DataError, match="without weight"):
        ours.LogisticRegression(class_weight={False: 0.0}).fit(X, y)
    with pytest.raises(DataError, match="non-zero"):
        ours.Ridge().fit(X, t, sample_weight=np.zeros(N))
    with pytest.raises(DataError, match=r"(?i)negative"):
        ours.Ridge().fit(X, t, sample_weight=-np.ones(N))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_non_finite_values_are_refused_by_name(bad, pair):
    X, t = pair
    broken = X.copy()
    broken[3, 2] = bad
    with pytest.raises(DataError, match=r"NaN|infinity"):
        ours.Ridge().fit(broken, t)
    with pytest.raises(DataError, match=r"NaN|infinity"):
        ours.LogisticRegression().fit(sp.csr_array(broken), t > 0)
    t = t.copy()
    t[0] = bad
    with pytest.raises(DataError, match=r"NaN|infinity"):
        ours.Lasso().fit(X, t)


def test_counts_must_be_counts(pair):
    X, t = pair
    with pytest.raises(DataError, match="from 0"):
        ours.PoissonRegressor().fit(X, t)
    with pytest.raises(DataError, match="all are 0"):
        ours.PoissonRegressor().fit(X, np.zeros(N))


MEANINGLESS = [
    (ours.LogisticRegression(dual="maybe"), "dual must be True or False"),
    (ours.LogisticRegression(penalty="l3"), "penalty must be"),
    (ours.LogisticRegression(C=0.0), "C must be a number"),
    (ours.LogisticRegression(C="1"), "C must be a number"),
    (ours.LogisticRegression(l1_ratio=1.5), "l1_ratio must be"),
    (ours.LogisticRegression(tol=-1.0), "tol must be"),
    (ours.LogisticRegression(max_iter=-1), "max_iter must be"),
    (ours.LogisticRegression(n_jobs=0), "n_jobs must be"),
    (ours.LogisticRegression(verbose=-1), "verbose must be"),
    (ours.LogisticRegression(fit_intercept="yes"), "fit_intercept must be"),
    (ours.LogisticRegression(class_weight="fair"), "class_weight"),
    (ours.LogisticRegressionCV(refit="yes"), "refit must be"),
    (ours.LogisticRegressionCV(use_legacy_attributes="warn"), "use_legacy_attributes must be"),
    (ours.LogisticRegressionCV(scoring="charm"), "charm"),
    (ours.LogisticRegressionCV(penalty="elasticnet"), "l1_ratios must be"),
    (ours.LinearSVC(multi_class="crammer_singer"), "leave it at 'ovr'"),
    (ours.LinearSVC(loss="log_loss"), "ERMClassifier has more"),
    (ours.LinearSVC(C=math.inf), "C must be finite"),
    (ours.Lasso(alpha=-1.0), "alpha must be"),
    (ours.Lasso(selection="greedy"), "selection must be"),
    (ours.Lasso(precompute="yes"), "precompute must be"),
    (ours.LinearSVC(intercept_scaling=0.0), "intercept_scaling must be"),
    (ours.LinearSVC(penalize_intercept=1), "penalize_intercept must be"),
    (ours.Ridge(solver="magic"), "leave it at 'auto'"),
    (ours.Ridge(solver="spd1:svd"), "spd1:saga"),
    (ours.QuantileRegressor(solver="interior-point"), "not anymore available"),
    (ours.RidgeCV(alphas=(1.0, -1.0)), r"alphas\[1\] == -1.0, must be > 0"),
    (ours.RidgeCV(cv=3, store_cv_results=True), "incompatible"),
    (ours.TweedieRegressor(power=3), "spd1 solves no other"),
    (ours.TweedieRegressor(power=1.5, link="identity"), "not convex"),
    (ours.ERMRegressorCV(rule="worst"), "rule must be"),
    (ours.HuberRegressor(epsilon=0.5), "epsilon must be"),
    (ours.QuantileRegressor(quantile=1.0), "quantile must be"),
    (ours.QuantileRegressor(solver_options={"presolve": True}), "leave them at None"),
    (ours.ERMRegressor("nonsense"), "unknown loss"),
    (ours.ERMRegressor(l1=-1.0), "l1 must be"),
    (ours.ElasticNetCV(l1_ratio=0.0), "Automatic alpha grid"),
]


@pytest.mark.parametrize(("model", "sentence"), MEANINGLESS, ids=lambda v: str(v)[:40])
def test_what_means_nothing_is_refused_in_a_sentence(model, sentence, pair):
    X, t = pair
    with pytest.raises(ParameterError, match=sentence):
        model.fit(X, t > 0)
    assert not hasattr(model, "coef_")


def test_what_only_helps_scikit_learn_on_its_way_is_accepted(pair):
    """The solution is the same, to the last bit, whatever these say."""
    X, t = pair
    for plain, hinted in (
        (ours.Ridge(), ours.Ridge(solver="svd", copy_X=False, random_state=None)),
        (ours.Lasso(alpha=0.1), ours.Lasso(alpha=0.1, selection="random", precompute=True)),
        (
            ours.Lasso(alpha=0.1, fit_intercept=False),
            ours.Lasso(alpha=0.1, fit_intercept=False, precompute=X.T @ X),
        ),
        (ours.LinearSVR(), ours.LinearSVR(dual=True)),
        (ours.PoissonRegressor(), ours.PoissonRegressor(solver="newton-cholesky")),
    ):
        targets = np.abs(t)
        one, two = plain.fit(X, targets), hinted.fit(X, targets)
        np.testing.assert_array_equal(one.coef_, two.coef_)
    with pytest.raises(DataError, match="did not pass validation"):
        ours.Lasso(precompute=np.eye(D), fit_intercept=False).fit(X, t)
    with pytest.warns(UserWarning, match="Gram matrix was provided but X was centered"):
        ours.Lasso(precompute=X.T @ X).fit(X, t)


def test_solvers_of_scikit_learn_are_said_to_be_auto(pair, caplog):
    X, t = pair
    with caplog.at_level("DEBUG", logger="spd1"):
        model = ours.Ridge(solver="saga").fit(X, t)
    assert "solver='saga' is scikit-learn's" in caplog.text
    assert model.method_.startswith("auto")
    assert model.solver_ == "saga"
    ours_of_that_name = ours.Ridge(solver="spd1:saga", tol=1e-3).fit(X, t)
    assert ours_of_that_name.method_.startswith("saga")


def test_what_sklearn_spells_out_as_default_is_accepted(pair):
    X, t = pair
    ours.LogisticRegression(solver="lbfgs", dual=False).fit(X, t > 0)
    ours.QuantileRegressor(solver="highs", alpha=0.1).fit(X, t)


def test_losses_go_with_their_estimators(pair):
    X, t = pair
    with pytest.raises(IncompatibleError, match="use ERMClassifier"):
        ours.ERMRegressor("hinge").fit(X, t)
    with pytest.raises(IncompatibleError, match="for counts"):
        ours.ERMClassifier("poisson").fit(X, t > 0)
    with pytest.raises(DataError, match="values per field"):
        ours.ERMRegressor(lower=np.zeros(D + 1)).fit(X, t)


def test_general_estimators_do_what_the_named_ones_lack(pair):
    X, t = pair
    lower, upper = np.full(D, -0.2), np.full(D, 0.3)
    boxed = ours.ERMRegressor(Huber(0.5), l2=0.0, lower=lower, upper=upper, tol=1e-8).fit(X, t)
    assert np.all((boxed.coef_ >= lower) & (boxed.coef_ <= upper))
    assert boxed.coef_[0] == 0.3
    weighted = ours.ERMRegressor("squared", l1=np.where(np.arange(D) == 0, 100.0, 0.0)).fit(X, t)
    assert weighted.coef_[0] == 0.0
    assert hasattr(ours.ERMClassifier("logistic"), "predict_proba")
    assert not hasattr(ours.ERMClassifier("hinge"), "predict_proba")
    counts = np.round(np.exp(np.clip(t, -1, 1)))
    by_name = ours.PoissonRegressor(alpha=0.1, tol=1e-9).fit(X, counts)
    general = ours.ERMRegressor("poisson", l2=0.1, tol=1e-9).fit(X, counts)
    np.testing.assert_allclose(general.predict(X), by_name.predict(X), rtol=1e-3)


def test_separable_data_without_penalty_end_at_the_floor():
    """There is no minimiser, and P* = 0: the gap is measured against the start, and says so."""
    X = np.array([[-1.0], [1.0]])
    model = ours.LogisticRegression(C=math.inf).fit(X, [0, 1])
    assert model.rel_gap_ <= model.tol
    assert "of the objective at the start" in str(model.certificate_)
    assert list(model.predict(X)) == [0, 1]


@pytest.mark.parametrize("classes", [2, 3])
def test_no_iteration_certifies_the_starting_point(classes):
    """As in scikit-learn max_iter=0 shows the state before the first step; here with its gap."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % classes
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = ours.LogisticRegression(max_iter=0).fit(X, y)
    assert np.all(model.coef_ == 0.0)
    assert model.n_iter_.tolist() == [0]
    np.testing.assert_allclose(model.predict_proba(X), 1.0 / classes)
    best = ours.LogisticRegression(tol=1e-10).fit(X, y)
    left = model.certificate_.primal - best.certificate_.primal
    assert model.dual_gap_ >= left > 0.0


@pytest.mark.parametrize("kind", ["LogisticRegression", "LinearSVC", "HuberRegressor"])
def test_tall_sparse_rows_with_an_intercept(kind, rng):
    """More than a hundred rows a column, of two entries each; the intercept has no l2."""
    X = sp.random_array((9_000, 60), density=2 / 60, rng=rng, format="csr")
    t = X @ rng.normal(size=60) + 0.1 * rng.normal(size=9_000)
    model = getattr(ours, kind)(tol=1e-3).fit(X, t if kind == "HuberRegressor" else t > 0)
    assert model.rel_gap_ <= 1e-3
