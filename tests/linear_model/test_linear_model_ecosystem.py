"""Estimators among others: pipelines, searches, frames, files, callbacks."""

from __future__ import annotations

import pickle

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import StackingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier

from spd1 import linear_model as ours
from spd1.result import Trace

N, D = 80, 6


@pytest.fixture
def labelled(rng):
    X = rng.normal(size=(N, D))
    return X, np.where(X[:, 0] + 0.3 * rng.normal(size=N) > 0, "yes", "no")


def test_pipeline_and_grid_search(labelled):
    X, y = labelled
    model = make_pipeline(StandardScaler(), ours.LogisticRegression())
    grid = GridSearchCV(model, {"logisticregression__C": [0.01, 1.0]}, cv=3).fit(X, y)
    assert grid.best_score_ > 0.8
    assert grid.best_estimator_[-1].rel_gap_ <= 1e-4


def test_calibration_needs_scores_only(labelled):
    X, y = labelled
    p = CalibratedClassifierCV(ours.LinearSVC(), cv=3).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert np.mean((p[:, 1] > 0.5) == (y == "yes")) > 0.8


def test_stacking(labelled):
    X, y = labelled
    members = [("svm", ours.LinearSVC()), ("ridge", ours.RidgeClassifier())]
    stack = StackingClassifier(members, ours.LogisticRegression(), cv=3).fit(X, y)
    assert stack.score(X, y) > 0.8


def test_self_training(labelled):
    X, y = labelled
    codes = (y == "yes").astype(int)
    partly = np.where(np.arange(N) % 3 == 0, codes, -1)
    model = SelfTrainingClassifier(ours.LogisticRegression()).fit(X, partly)
    assert np.mean(model.predict(X) == codes) > 0.8


def test_column_transformer_with_sparse_output(labelled, rng):
    X, y = labelled
    frame = pd.DataFrame({"kind": rng.choice(list("abcdefgh"), N), "x": X[:, 0], "z": X[:, 1]})
    columns = ColumnTransformer(
        [("one", OneHotEncoder(), ["kind"]), ("rest", "passthrough", ["x", "z"])],
        sparse_threshold=1.0,
    )
    assert sp.issparse(columns.fit_transform(frame))
    model = make_pipeline(columns, ours.LogisticRegression(l1_ratio=0.5)).fit(frame, y)
    assert model.score(frame, y) > 0.8


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_keep_their_names(frame, labelled):
    X, y = labelled
    names = [f"feature {k}" for k in range(D)]
    table = frame({name: X[:, k] for k, name in enumerate(names)})
    model = ours.LogisticRegression().fit(table, y)
    assert list(model.feature_names_in_) == names
    assert np.array_equal(model.predict(table), ours.LogisticRegression().fit(X, y).predict(X))
    other = frame({name: X[:, k] for k, name in enumerate(reversed(names))})
    with pytest.raises(ValueError, match="feature names"):
        model.predict(other)
    chosen = ours.LassoCV(alphas=5).fit(table, X[:, 0])
    assert list(chosen.feature_names_in_) == names


def test_set_output_of_a_pipeline(labelled):
    X, y = labelled
    model = make_pipeline(StandardScaler(), ours.LogisticRegression()).set_output(
        transform="pandas"
    )
    assert model.fit(pd.DataFrame(X, columns=list("abcdef")), y)[-1].feature_names_in_[0] == "a"


def test_metadata_routing_of_sample_weight(labelled):
    X, y = labelled
    weight = np.where(y == "yes", 5.0, 0.2)
    with sklearn.config_context(enable_metadata_routing=True):
        model = ours.LogisticRegression().set_fit_request(sample_weight=True)
        model = model.set_score_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        routed = make_pipeline(scaler, model).fit(X, y, sample_weight=weight)
        scores = cross_val_score(model, X, y, params={"sample_weight": weight}, cv=3)
    plain = make_pipeline(StandardScaler(), ours.LogisticRegression()).fit(X, y)
    assert np.sum(routed.predict(X) == "yes") > np.sum(plain.predict(X) == "yes")
    assert len(scores) == 3


FITTED = {
    "logistic": lambda X, y: ours.LogisticRegression().fit(X, y),
    "svm": lambda X, y: ours.LinearSVC().fit(X, y),
    "huber": lambda X, y: ours.HuberRegressor().fit(X, X[:, 0]),
    "lasso_cv": lambda X, y: ours.LassoCV(alphas=5).fit(X, X[:, 0]),
    "erm": lambda X, y: ours.ERMClassifier("smoothed_hinge", lower=np.zeros(D)).fit(X, y),
}


@pytest.mark.parametrize("name", FITTED)
def test_files(name, labelled, tmp_path):
    import skops.io

    X, y = labelled
    model = FITTED[name](X, y)
    joblib.dump(model, tmp_path / "model.joblib")
    skops.io.dump(model, tmp_path / "model.skops")
    unknown = skops.io.get_untrusted_types(file=tmp_path / "model.skops")
    assert all(kind.startswith("spd1.") for kind in unknown)
    for again in (
        pickle.loads(pickle.dumps(model)),
        joblib.load(tmp_path / "model.joblib"),
        skops.io.load(tmp_path / "model.skops", trusted=unknown),
    ):
        assert np.array_equal(again.predict(X), model.predict(X))
        assert again.certificate_.gap == model.certificate_.gap == model.dual_gap_
        assert not hasattr(again, "trace_")
        assert not hasattr(again, "dual_coef_")
    whole = pickle.loads(pickle.dumps(model.keep_proof()))
    assert isinstance(whole.trace_, Trace)
    assert np.array_equal(whole.dual_coef_, model.dual_coef_)
    assert len(pickle.dumps(model.keep_proof(False))) < len(pickle.dumps(model.keep_proof()))
    fresh = clone(model)
    assert not hasattr(fresh, "coef_")


def test_warm_start_goes_on(labelled):
    X, y = labelled
    slow = {"tol": 1e-10, "solver": "rows"}  # Newton's method ends at its first look
    cold = ours.LogisticRegression(**slow).fit(X, y)
    warm = ours.LogisticRegression(**slow, warm_start=True).fit(X, y)
    again = warm.fit(X, y)
    assert again.n_iter_ < cold.n_iter_
    assert again.rel_gap_ <= 1e-10
    assert warm.fit(X[:, :3], y).coef_.shape == (1, 3)  # another shape: from the beginning


# Callbacks


class Recorder:
    """A callback of scikit-learn's protocol."""

    def __init__(self, stop_after=None):
        self.begun, self.ended, self.torn_down, self.stop_after = [], [], 0, stop_after

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        self.torn_down += 1

    def on_fit_task_begin(self, estimator, context):
        self.begun.append(context.task_name)

    def on_fit_task_end(self, estimator, context):
        self.ended.append(context.task_name)
        return self.stop_after is not None and len(self.ended) >= self.stop_after


def test_the_gap_is_the_progress_bar(labelled):
    from spd1.linear_model._progress import STEPS

    X, y = labelled
    recorder = Recorder()
    ours.LogisticRegression(tol=1e-8).set_callbacks(recorder).fit(X, y)
    assert recorder.ended.count("gap") == STEPS
    assert recorder.ended[-1] == "fit"
    assert sorted(recorder.begun) == sorted(recorder.ended)
    assert recorder.torn_down == 1


def test_every_class_has_its_bar(labelled):
    from spd1.linear_model._progress import STEPS

    X, _ = labelled
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    for jobs in (None, 2):
        recorder = Recorder()
        model = ours.LogisticRegression(n_jobs=jobs, multi_class="ovr")
        model.set_callbacks(recorder).fit(X, y)
        assert recorder.ended.count("gap") == 3 * STEPS
        assert recorder.ended[-1] == "fit"


def test_a_callback_can_stop_a_fit(labelled):
    X, y = labelled
    model = ours.LogisticRegression(tol=1e-12, solver="rows", fit_intercept=False)
    model.set_callbacks(Recorder(stop_after=1))
    with pytest.warns(ConvergenceWarning, match="a callback asked to stop"):
        model.fit(X, y)
    assert model.rel_gap_ > 1e-12


def test_callbacks_reach_a_pipeline(labelled):
    X, y = labelled
    recorder = Recorder()
    recorder.max_propagation_depth = None
    make_pipeline(StandardScaler(), ours.LogisticRegression()).set_callbacks(recorder).fit(X, y)
    assert "gap" in recorder.ended


def test_warning_says_gap_goal_and_remedy(labelled):
    X, y = labelled
    with pytest.warns(ConvergenceWarning) as caught:
        model = ours.LogisticRegression(tol=1e-12, max_iter=1, solver="rows").fit(X, y)
    text = str(caught[0].message)
    assert f"{model.rel_gap_:.2g}" in text
    assert "tol=1e-12" in text
    assert "raise max_iter" in text
    assert model.n_iter_ == 1


def test_ctrl_c_keeps_the_best_answer(labelled, monkeypatch):
    from spd1.linear_model import _base

    X, _ = labelled
    y = np.digitize(X[:, 0], [-0.5, 0.5])

    class Interrupted(_base.Watch):
        def __call__(self, row):
            if self.looks >= 1 and self.max_iter:
                raise KeyboardInterrupt
            return super().__call__(row)

    monkeypatch.setattr(_base, "Watch", Interrupted)
    with pytest.warns(ConvergenceWarning) as caught:
        model = ours.LogisticRegression(tol=1e-12, solver="rows", multi_class="ovr").fit(X, y)
    assert model.coef_.shape == (3, D)
    assert np.all(np.isfinite(model.rel_gap_))
    assert all("Ctrl-C" in str(warning.message) for warning in caught)


# ONNX


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("kind", ["two", "three", "texts", "svm", "poisson", "regression", "pipe"])
def test_onnx_predicts_the_same(kind, labelled):
    runtime = pytest.importorskip("onnxruntime")
    from spd1.linear_model.onnx import to_onnx

    X, texts = labelled
    X = X.astype(np.float32)
    three = np.digitize(X[:, 0], [-0.5, 0.5])
    model = {
        "two": lambda: ours.LogisticRegression().fit(X, three == 1),
        "three": lambda: ours.LogisticRegression().fit(X, three),
        "texts": lambda: ours.LogisticRegression().fit(X, texts),
        "svm": lambda: ours.LinearSVC().fit(X, three),
        "poisson": lambda: ours.PoissonRegressor().fit(X, three),
        "regression": lambda: ours.Lasso(alpha=0.01).fit(X, X[:, 1]),
        "pipe": lambda: make_pipeline(StandardScaler(), ours.LogisticRegression()).fit(X, three),
    }[kind]()
    last = model[-1] if kind == "pipe" else model
    options = {type(last): {"zipmap": False}} if hasattr(last, "classes_") else None
    graph = to_onnx(model, X[:1], options=options)
    session = runtime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    found = session.run(None, {"X": X})
    if hasattr(last, "classes_"):
        assert np.array_equal(found[0], model.predict(X))
        wanted = (
            model.predict_proba(X) if hasattr(last, "predict_proba") else model.decision_function(X)
        )
        np.testing.assert_allclose(found[1], wanted, atol=1e-5)
    else:
        np.testing.assert_allclose(found[0].ravel(), model.predict(X), rtol=1e-4, atol=1e-5)


def test_one_vs_rest_wrapper(labelled):
    X, _ = labelled
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    wrapped = OneVsRestClassifier(ours.LogisticRegression(tol=1e-8)).fit(X, y)
    own = ours.LogisticRegression(tol=1e-8, multi_class="ovr").fit(X, y)
    np.testing.assert_allclose(wrapped.predict_proba(X), own.predict_proba(X), atol=1e-3)


@pytest.mark.parametrize("tol", [0.0, 1e-30])
def test_a_tol_below_rounding_ends_soon_and_says_so(labelled, tol):
    X, y = labelled
    with pytest.warns(ConvergenceWarning, match=f"tol={tol:g} was asked for"):
        model = ours.LogisticRegression(tol=tol, max_iter=100_000).fit(X, y)
    assert model.rel_gap_ <= 1e-12
    assert np.all(model.n_iter_ < 1000)


def test_a_warm_start_at_the_solution_takes_no_iteration(labelled):
    X, y = labelled
    model = ours.LogisticRegression(tol=1e-6, warm_start=True, solver="rows").fit(X, y)
    model.tol = 1e-3
    assert model.fit(X, y).n_iter_ == 0
    assert model.rel_gap_ <= 1e-3
