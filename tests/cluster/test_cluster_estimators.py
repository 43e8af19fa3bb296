"""Dask arrays in estimators, in certify, on the command line, and read from folders."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from distributed import Client, LocalCluster
from typer.testing import CliRunner

from spd1 import L2, DataError, IncompatibleError, Problem, certify, solve, write_store
from spd1.cli.app import app
from spd1.io import Data, load_model, read_parts, write_data
from spd1.linear_model import ERMClassifier, HuberRegressor, LassoCV, LogisticRegression, Ridge
from support.clusters import chunked, labelled


@pytest.fixture(scope="module")
def client():
    """The client that is there: estimators find it."""
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0",
                     silence_logs=50) as cluster,
        Client(cluster) as client,
    ):  # fmt: skip
        yield client


@pytest.mark.parametrize("sparse", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_classifiers(client, sparse, rng):
    A, _ = labelled(rng, n=120, d=6)
    y = np.array(["no", "so", "yes"])[np.argmax(A[:, :3], axis=1)]
    X = chunked(A, (3, 2), sparse)
    with pytest.raises(IncompatibleError, match="multi_class='ovr'"):
        LogisticRegression(tol=1e-7).fit(X, y)
    model = LogisticRegression(tol=1e-7, multi_class="ovr").fit(X, da.from_array(y, chunks=40))
    other = LogisticRegression(tol=1e-7, multi_class="ovr").fit(A, y)
    np.testing.assert_allclose(model.coef_, other.coef_, atol=2e-3)
    np.testing.assert_allclose(model.intercept_, other.intercept_, atol=2e-3)
    assert np.all(model.rel_gap_ <= 1e-7)
    for ask in ("decision_function", "predict", "predict_proba", "predict_log_proba"):
        lazy = getattr(model, ask)(X)
        assert isinstance(lazy, da.Array)
        expected = getattr(model, ask)(A)
        assert lazy.shape == expected.shape
        found = lazy.compute()
        if expected.dtype.kind == "f":
            np.testing.assert_allclose(found, expected, rtol=1e-12)
        else:
            np.testing.assert_array_equal(found, expected)
    assert model.score(X, y) == model.score(A, y)
    for proof, gap in zip(certify(model, X, y), model.rel_gap_, strict=True):
        assert proof.rel_gap <= 1.01 * gap + 1e-15


def test_two_classes_and_targets(client, rng):
    A, b = labelled(rng, n=120, d=6)
    X = chunked(A, (3, 2))
    model = ERMClassifier("logistic", l2=0.1, fit_intercept=False, tol=1e-8).fit(X, b)
    expected = solve(Problem(A, b, "logistic", L2(0.1)), tol=1e-8)
    np.testing.assert_allclose(model.coef_[0], expected.x, atol=1e-4)
    np.testing.assert_array_equal(model.predict(X).compute(), model.predict(A))
    assert model.decision_function(X).shape == (120,)
    target = A[:, 0] + 3.0
    weight = rng.random(120)
    ridge = Ridge(alpha=0.5, tol=1e-9).fit(X, target, sample_weight=weight)
    other = Ridge(alpha=0.5, tol=1e-9).fit(A, target, sample_weight=weight)
    np.testing.assert_allclose(ridge.coef_, other.coef_, atol=1e-4)
    np.testing.assert_allclose(ridge.predict(X).compute(), ridge.predict(A))
    assert ridge.score(X, target) == pytest.approx(ridge.score(A, target))


def test_types_of_coefficients(client, rng):
    """Whole numbers have coefficients in float64; those of float32 are proven as handed out."""
    A = rng.integers(-3, 4, size=(60, 4))
    target = A @ np.array([0.5, 0.2, 0.0, -1.3]) + 0.1 * rng.normal(size=60)
    ridge = Ridge(tol=1e-9).fit(da.from_array(A, chunks=(30, 4)), target)
    assert ridge.coef_.dtype == ridge.intercept_.dtype == np.float64
    np.testing.assert_allclose(ridge.coef_, Ridge(tol=1e-9).fit(A, target).coef_, atol=1e-4)
    single = rng.normal(size=(60, 4)).astype(np.float32)
    b = np.where(single[:, 0] > 0.0, 1.0, -1.0)
    model = ERMClassifier("hinge", l2=0.1, tol=1e-9).fit(da.from_array(single, chunks=(30, 4)), b)
    assert model.coef_.dtype == model.intercept_.dtype == np.float32
    x, level = model.coef_[0].astype(float), float(model.intercept_[0])
    u = single.astype(float) @ x + level
    value = np.maximum(0.0, 1.0 - b * u).mean() + 0.05 * (x @ x)
    assert abs(model.certificate_.primal - value) <= 1e-13 * value
    best = ERMClassifier("hinge", l2=0.1, tol=1e-12).fit(single.astype(float), b).certificate_
    assert value - model.dual_gap_ <= best.primal + 1e-13 * value


def test_estimators_refuse_by_name(client, rng):
    A, b = labelled(rng, n=30, d=4)
    X = chunked(A, (2, 1))
    for model in (LassoCV(), HuberRegressor()):
        with pytest.raises(IncompatibleError, match="takes no dask array"):
            model.fit(X, b)
    with pytest.raises(DataError, match="3 values, X has 30 rows"):
        Ridge().fit(X, b[:3])
    with pytest.raises(DataError, match="not be negative"):
        Ridge().fit(X, b, sample_weight=-np.ones(30))
    bad = da.where(X.max() - 1e-9 < X, np.inf, X)
    with pytest.raises(DataError, match="non-finite"):
        Ridge().fit(bad, b)
    model = Ridge().fit(X, b)
    with pytest.raises(DataError, match="fitted on 4 features"):
        model.predict(X[:, :2])


def test_certify_a_point(client, rng):
    A, b = labelled(rng)
    problem, whole = (Problem(X, b, reg=L2(0.1)) for X in (chunked(A, (2, 2)), A))
    result = solve(whole)
    assert certify(result.x, problem, result.y).gap == pytest.approx(
        certify(result.x, whole, result.y).gap, abs=1e-12
    )


def test_the_command_line(client, tmp_path, rng):
    A, b = labelled(rng)
    write_store(tmp_path / "a.store", A, b, tiles=(3, 1))
    model = tmp_path / "m.spd1"
    words = ["fit", str(tmp_path / "a.store"), "--l2", "0.01", "-o", str(model)]
    address = client.scheduler.address
    done = CliRunner().invoke(app, [*words, "--engine", "dask", "--scheduler", address])
    assert done.exit_code == 0, done.stderr
    expected = solve(Problem(A, b, reg=L2(0.01)))
    np.testing.assert_allclose(load_model(model).x, expected.x, atol=1e-3)
    words[-1] = str(tmp_path / "n.spd1")
    more = ["--intercept", "--engine", "dask", "--scheduler", address]
    assert CliRunner().invoke(app, [*words, *more]).exit_code == 0
    found = load_model(tmp_path / "n.spd1")
    assert found.certify(A, b).rel_gap <= 1.01e-6
    wrong = CliRunner().invoke(app, [*words, "--force", "--workers", "2"])
    assert wrong.exit_code == 2
    assert "for --engine dask" in " ".join(wrong.stderr.split())


# Folders of parts


def test_folders_of_libsvm_text(client, tmp_path, rng):
    A, b = labelled(rng, n=40, d=7)
    A[:20, 5:] = 0.0  # the first part ends earlier
    for k in range(2):
        rows = slice(20 * k, 20 * k + 20)
        write_data(tmp_path / f"part-{k}.svm", Data(sp.csr_array(A[rows]), b[rows]))
    (tmp_path / "_SUCCESS").touch()
    parts = read_parts(tmp_path, client=client)
    assert parts.X.chunks == ((20, 20), (7,))
    here, there = Problem(A, b, reg=L2(0.01)), Problem(parts.X, parts.y, reg=L2(0.01))
    found = solve(there, tol=1e-10, engine="dask", client=client)
    np.testing.assert_allclose(found.x, solve(here, tol=1e-10).x, atol=1e-4)


def test_folders_of_tables(client, tmp_path, rng):
    pytest.importorskip("pyarrow")
    A, b = labelled(rng, n=40, d=3)
    for k in range(2):
        rows = slice(20 * k, 20 * k + 20)
        data = Data(A[rows], b[rows], ["u", "v", "w"], "label")
        write_data(tmp_path / f"part-{k}.parquet", data)
    parts = read_parts(tmp_path, client=client)
    np.testing.assert_array_equal(parts.X.compute(), A)
    np.testing.assert_array_equal(parts.y.compute(), b)
    assert parts.names == ["u", "v", "w"]
    write_data(tmp_path / "part-9.parquet", data._replace(names=["u", "w", "v"]))
    with pytest.raises(DataError, match=r"part-9\.parquet has other columns"):
        read_parts(tmp_path, client=client)
    with pytest.raises(DataError, match="no folder"):
        read_parts(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="has no files"):
        read_parts(tmp_path / "empty")


def test_zarr_arrays(client, tmp_path, rng):
    pytest.importorskip("zarr")
    A, b = labelled(rng, n=40, d=6)
    da.to_zarr(da.from_array(A, chunks=(20, 3)), str(tmp_path / "a.zarr"))
    parts = read_parts(tmp_path / "a.zarr", b)
    assert parts.X.numblocks == (2, 2)
    here, there = Problem(A, b, reg=L2(0.01)), Problem(parts.X, parts.y, reg=L2(0.01))
    found = solve(there, tol=1e-10, engine="dask", client=client)
    np.testing.assert_allclose(found.x, solve(here, tol=1e-10).x, atol=1e-4)
