"""An early end: few iterations, a large tol. What is asked for, no less, said in known words."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as peer
import sklearn.svm as peer_svm
from sklearn.exceptions import ConvergenceWarning

from spd1 import linear_model as ours
from spd1.design.intercept import Design
from spd1.linear_model.tuning import DEFAULT_TOL, FEW_ITERATIONS

N, D = 80, 6
SAME_WORDS = 17  # characters at least, with which warnings of both begin


@pytest.fixture
def labelled(rng):
    X = rng.normal(size=(N, D))
    return X, (X @ rng.normal(size=D) + rng.normal(size=N) > 0).astype(int)


@pytest.fixture
def counted(rng):
    X = rng.normal(size=(N, D))
    return X, rng.poisson(np.exp(X @ rng.normal(size=D))).astype(float)


LOGISTIC = ["lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga"]
BOTH = (ours.LogisticRegression, peer.LogisticRegression)
PAIRS = {
    **{name: (*BOTH, {"solver": name}) for name in LOGISTIC},
    "default": (*BOTH, {}),
    "svc": (ours.LinearSVC, peer_svm.LinearSVC, {}),
    "svr": (ours.LinearSVR, peer_svm.LinearSVR, {}),
    "lasso": (ours.Lasso, peer.Lasso, {"alpha": 1e-3}),
    "net": (ours.ElasticNet, peer.ElasticNet, {"alpha": 1e-3}),
    "poisson": (ours.PoissonRegressor, peer.PoissonRegressor, {"alpha": 1e-3}),
}  # fmt: skip


def stopped(kind, X, y, **options):
    """A fit that ends with the one warning, and what it says."""
    with pytest.warns(ConvergenceWarning) as caught:
        model = kind(**options).fit(X, y)
    return model, str(caught[0].message)


@pytest.mark.parametrize("name", PAIRS)
def test_one_iteration_is_not_enough_and_filters_find_the_words(name, labelled, counted):
    """Existing code silences warnings by their first words: they begin as scikit-learn's do."""
    X, y = counted if name == "poisson" else labelled
    kind, other, options = PAIRS[name]
    model, said = stopped(kind, X, y, max_iter=1, **options)
    _, theirs = stopped(other, X, y, max_iter=1, **{"tol": 1e-12, **options})
    assert said[:SAME_WORDS] == theirs[:SAME_WORDS]
    assert "relative duality gap" in said
    assert np.all(np.asarray(model.n_iter_) == 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=theirs[:SAME_WORDS])
        kind(max_iter=1, **options).fit(X, y)


@pytest.mark.parametrize("count", range(1, FEW_ITERATIONS))
@pytest.mark.parametrize("classes", [2, 3])
def test_few_iterations_are_counted_and_certified(count, classes, rng):
    X, y = rng.normal(size=(200, 30)), np.arange(200) % classes
    options = {"C": 1e3, "tol": 1e-14}
    model, _ = stopped(ours.LogisticRegression, X, y, max_iter=count, **options)
    best = ours.LogisticRegression(C=1e3, tol=1e-10).fit(X, y)
    assert model.n_iter_.tolist() == [count]
    assert model.dual_gap_ >= model.certificate_.primal - best.certificate_.primal > 0.0


def test_more_iterations_come_closer(labelled):
    X, y = labelled
    gaps = []
    for count in (1, FEW_ITERATIONS - 1, FEW_ITERATIONS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            gaps.append(ours.LogisticRegression(max_iter=count, tol=1e-14).fit(X, y).rel_gap_)
    assert gaps[0] > gaps[1] > gaps[2]


def test_a_warm_start_goes_on_after_an_early_end(counted):
    X, y = counted
    model, _ = stopped(ours.PoissonRegressor, X, y, max_iter=1, warm_start=True, tol=1e-8)
    model.set_params(max_iter=1000).fit(X, y)
    exact = ours.PoissonRegressor(tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.coef_, exact.coef_, rtol=1e-6)


def test_methods_of_our_own_count_looks_alone(labelled):
    """Who names one knows what a look is: passes are not limited, and no other solver is named."""
    X, y = labelled
    model, said = stopped(
        ours.LogisticRegression, X, y, solver="spd1:saga", max_iter=2, tol=1e-14, C=100.0
    )
    assert said.startswith("stopped by max_iter")
    assert model.n_iter_ == 2
    assert model.trace_.rows[-1].passes > 2.0


KINDS = (ours.LogisticRegression, ours.Lasso, ours.LinearSVC, ours.PoissonRegressor)


def target(kind, tol, n, sparse=False):
    """The gap at which a fit on n rows of two columns ends."""
    X = np.ones((n, 2))
    model = kind(tol=tol)
    model.classes_ = np.arange(2)
    return model._target(Design(sp.csr_array(X) if sparse else X, True))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_large_tol_is_where_a_fit_ends_and_tiny_data_goes_further(kind, sparse):
    for tol in (2.0 * DEFAULT_TOL, 1e-3, 0.1):
        assert target(kind, tol, 1000, sparse) == pytest.approx(tol)
        assert target(kind, tol, 5000, sparse) == tol
        assert target(kind, tol, 500, sparse) <= 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_more_makes_no_difference_to_notice(kind):
    """The gap that is asked for has no step: neighbours differ by the tenth of a digit at most."""
    gaps = np.array([target(kind, 1e-2, n) for n in range(501, 1010)])
    steps = np.diff(np.log10(gaps))
    assert np.all(steps >= 0.0)
    assert steps.max() < 0.1


@pytest.mark.parametrize("n", [500, 501, 700, 1000])
def test_a_large_tol_is_kept_around_a_thousand_entries(n, rng):
    X = rng.normal(size=(n, 2))
    y = (X[:, 0] + rng.normal(size=n) > 0).astype(int)
    for tol in (0.1, 1e-3):
        assert ours.LogisticRegression(tol=tol).fit(X, y).rel_gap_ <= tol
