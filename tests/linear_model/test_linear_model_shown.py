"""summary(), pictures and HTML of estimators, against definitions written out in NumPy."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

from spd1 import linear_model as ours
from spd1.errors import IncompatibleError

N, D = 120, 3


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    u = X @ [0.6, -0.4, 0.2] + 0.3
    labels = rng.random(N) < 1.0 / (1.0 + np.exp(-u))
    return (
        X,
        u + 0.5 * rng.normal(size=N),
        labels,
        rng.poisson(np.exp(u)),
        rng.gamma(2.0, np.exp(u)),
    )


def differences(value, x, h=1e-4):
    """Second derivatives of a function by central differences: the observed information."""
    unit = np.eye(len(x)) * h
    return np.array(
        [
            [
                (value(x + a + b) - value(x + a - b) - value(x - a + b) + value(x - a - b))
                / (4 * h * h)
                for b in unit
            ]
            for a in unit
        ]
    )


def joined(model):
    return np.append(np.ravel(model.coef_), model.intercept_)


def check(model, X, y, value, dispersion=1.0, **options):
    """Errors are those of the negative log-likelihood ``value``, penalty included."""
    found = model.summary(X, y, **options)
    expected = np.sqrt(dispersion * np.diag(np.linalg.inv(differences(value, joined(model)))))
    np.testing.assert_allclose(found.errors[0], expected, rtol=1e-4)
    np.testing.assert_allclose(found.coef[0], joined(model))
    assert found.names[-1] == "(intercept)"


@pytest.mark.parametrize("C", [0.3, np.inf])
def test_errors_of_logistic_regression(C, data):
    X, _, y, _, _ = data
    A, b = np.column_stack([X, np.ones(N)]), np.where(y, 1.0, -1.0)
    weight = np.random.default_rng(1).integers(1, 4, size=N).astype(float)
    model = ours.LogisticRegression(C=C, tol=1e-10).fit(X, y, sample_weight=weight)

    def value(x):
        penalty = 0.0 if np.isinf(C) else x[:D] @ x[:D] / (2 * C)
        return weight @ np.logaddexp(0.0, -b * (A @ x)) + penalty

    check(model, X, y, value, sample_weight=weight)


def test_errors_of_a_penalised_intercept(data):
    X, _, y, _, _ = data
    A, b = np.column_stack([X, np.ones(N)]), np.where(y, 1.0, -1.0)
    model = ours.LogisticRegression(C=0.1, solver="liblinear", intercept_scaling=3.0).fit(X, y)

    def value(x):
        penalty = (x[:D] @ x[:D] + (x[D] / 3.0) ** 2) / (2 * 0.1)
        return np.logaddexp(0.0, -b * (A @ x)).sum() + penalty

    check(model, X, y, value)


def test_errors_of_least_squares(data):
    X, y, *_ = data
    A = np.column_stack([X, np.ones(N)])
    model = ours.LinearRegression().fit(X, y)
    left = y - A @ joined(model)
    check(model, X, y, lambda x: 0.5 * np.sum((y - A @ x) ** 2), left @ left / (N - D - 1))
    ridge = ours.Ridge(alpha=5.0).fit(X, y)
    inverse = np.linalg.inv(A.T @ A + np.diag([5.0] * D + [0.0]))
    left = y - A @ joined(ridge)
    df = np.trace(inverse @ A.T @ A)
    check(
        ridge, X, y, lambda x: 0.5 * np.sum((y - A @ x) ** 2) + 2.5 * x[:D] @ x[:D],
        left @ left / (N - df),
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["poisson", "gamma", "tweedie"])
def test_errors_of_counts_and_amounts(kind, data):
    X, _, _, counts, amounts = data
    A = np.column_stack([X, np.ones(N)])
    y = counts if kind == "poisson" else amounts
    power = {"poisson": 1.0, "gamma": 2.0, "tweedie": 1.5}[kind]
    model = {
        "poisson": ours.PoissonRegressor(alpha=0.01),
        "gamma": ours.GammaRegressor(alpha=0.0),
        "tweedie": ours.TweedieRegressor(power=1.5, alpha=0.0),
    }[kind].fit(X, y)

    def value(x):
        u = A @ x
        if power == 1.0:
            return np.sum(np.exp(u) - y * u) + N * 0.01 / 2 * x[:D] @ x[:D]
        if power == 2.0:
            return np.sum(y * np.exp(-u) + u)
        return np.sum(-y * np.exp(-0.5 * u) / -0.5 + np.exp(0.5 * u) / 0.5)

    mean = np.exp(A @ joined(model))
    pearson = np.sum((y - mean) ** 2 / mean**power) / (N - D - 1)
    check(model, X, y, value, 1.0 if kind == "poisson" else pearson)


def test_errors_of_several_classes(data):
    """On coefficients that add up to zero: a basis of them makes the information regular."""
    X, y, *_ = data
    labels = np.digitize(y, [-0.3, 0.8])
    A = np.column_stack([X, np.ones(N)])
    model = ours.LogisticRegression(C=0.5, tol=1e-10).fit(X, labels)
    basis = np.kron(np.linalg.svd(np.ones((1, 3)))[2][1:].T, np.eye(D + 1))  # (3 (D+1), 2 (D+1))

    def value(t):
        x = (basis @ t).reshape(3, D + 1)
        z = A @ x.T
        loss = np.log(np.exp(z).sum(axis=1)) - z[np.arange(N), labels]
        return loss.sum() + np.sum(x[:, :D] ** 2) / (2 * 0.5)

    x = np.column_stack([model.coef_, model.intercept_]).ravel()
    inverse = np.linalg.inv(differences(value, basis.T @ x))
    expected = np.sqrt(np.diag(basis @ inverse @ basis.T)).reshape(3, D + 1)
    np.testing.assert_allclose(model.summary(X, labels).errors, expected, rtol=1e-4)


def test_where_errors_mean_nothing_the_summary_says_why(data):
    X, y, labels, *_ = data
    for model, target, why in (
        (ours.Lasso(alpha=0.1), y, "l1 penalty"),
        (ours.Ridge(positive=True), y, "within bounds"),
        (ours.LinearSVC(), labels, "no likelihood"),
        (ours.HuberRegressor(), y, "no likelihood"),
        (ours.RidgeClassifier(), labels, "no likelihood"),
    ):
        found = model.fit(X, target).summary(X, target)
        assert found.errors is None
        assert why in found.note
    assert "need the data" in ours.Ridge().fit(X, y).summary().note


def test_the_text_has_names_gap_and_zeros(data):
    pd = pytest.importorskip("pandas")
    X, y, *_ = data
    frame = pd.DataFrame(X, columns=["age", "size", "<b>"])
    model = ours.Lasso(alpha=0.3).fit(frame, y)
    found = model.summary()
    text = str(found)
    assert "age" in text
    assert str(model.certificate_) in text
    assert f"{np.count_nonzero(model.coef_)} of 3 coefficients are not zero" in text
    assert "&lt;b&gt;" in found._repr_html_()
    table = found.to_frame()
    np.testing.assert_array_equal(table["coefficient"], joined(model))
    several = ours.Ridge().fit(X, np.column_stack([y, -y])).summary(rows=2)
    assert str(several).count("2 rows are not shown") == 2


def test_html_shows_the_gap(data):
    X, y, labels, *_ = data
    model = ours.Ridge()
    assert "Certified" not in model._repr_html_()
    model.fit(X, y)
    assert str(model.certificate_) in model._repr_html_()
    split = ours.ERMClassifier().fit(X, np.digitize(y, [-0.3, 0.8]))
    assert "3 problems" in split._repr_html_()
    mean = ours.LogisticRegressionCV(Cs=2, refit=False).fit(X, labels)
    assert "No certificate" in mean._repr_html_()
    assert isinstance(clone(model), BaseEstimator)


@pytest.fixture
def axes():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, ax = pyplot.subplots()
    yield ax
    pyplot.close(figure)


def test_a_path_is_drawn_through_the_model(data, axes):
    X, y, labels, *_ = data
    model = ours.Lasso(alpha=0.1, tol=1e-10).fit(X, y)
    ax = model.plot_path(X, y, n_alphas=5, ax=axes)
    assert ax is axes
    found = ours.path(X, y, n_alphas=5)
    drawn = {tuple(line.get_ydata()) for line in ax.lines if len(line.get_xdata()) == 5}
    assert drawn == {tuple(column) for column in found.coefs.T if np.any(column)}
    assert ax.get_legend() is not None
    for other, target in ((ours.Ridge(), y), (ours.LogisticRegression(C=0.5), labels)):
        axes.clear()
        other.fit(X, target).plot_path(X, target, n_alphas=3, ax=axes)
        assert sum(len(line.get_xdata()) == 3 for line in axes.lines) == D
    for other, why in ((ours.LinearSVC(), "penalised"), (ours.HuberRegressor(), "no path")):
        with pytest.raises(IncompatibleError, match=why):
            other.fit(X, labels).plot_path(X, labels, ax=axes)


def test_scores_of_folds_are_drawn(data, axes):
    X, y, labels, *_ = data
    for model, target, curves in (
        (ours.LassoCV(alphas=4), y, 1),
        (ours.ElasticNetCV(alphas=4, l1_ratio=[0.5, 1.0]), y, 2),
        (ours.LogisticRegressionCV(Cs=3, l1_ratios=[0.0, 1.0]), labels, 2),
        (ours.LogisticRegressionCV(Cs=3, use_legacy_attributes=True), labels, 1),
        (ours.ERMRegressorCV(alphas=3), y, 1),
    ):
        axes.clear()
        assert model.fit(X, target).plot_cv(ax=axes) is axes
        assert len(axes.containers) == curves
    means = axes.containers[0].lines[0].get_ydata()
    np.testing.assert_allclose(np.sort(means), np.sort(model.scores_.mean(axis=0)))
    with pytest.raises(IncompatibleError, match="keeps no scores"):
        ours.Ridge().fit(X, y).plot_cv(ax=axes)


KINDS = [
    kind for _, kind in inspect.getmembers(ours, inspect.isclass) if issubclass(kind, BaseEstimator)
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_pickles_leave_out_the_proof_unless_asked(kind, data):
    X, y, labels, _, amounts = data
    options = {"LogisticRegressionCV": {"Cs": 2}, "ElasticNetCV": {"alphas": 3}}
    model = kind(**options.get(kind.__name__, {"alphas": 3} if "alphas" in vars(kind()) else {}))
    if issubclass(kind, (ours.RidgeCV, ours.RidgeClassifierCV)):
        model = kind()
    positive = (ours.PoissonRegressor, ours.GammaRegressor, ours.TweedieRegressor)
    target = labels if hasattr(kind, "decision_function") else y
    model.fit(X, amounts if issubclass(kind, positive) else target)
    brief = pickle.loads(pickle.dumps(model))
    assert not hasattr(brief, "dual_coef_")
    assert not hasattr(brief, "trace_")
    np.testing.assert_array_equal(brief.predict(X), model.predict(X))
    whole = pickle.loads(pickle.dumps(model.keep_proof()))
    np.testing.assert_array_equal(whole.dual_coef_, model.dual_coef_)
    assert len(pickle.dumps(whole)) > len(pickle.dumps(model.keep_proof(False))) + 8 * len(X) // 2
