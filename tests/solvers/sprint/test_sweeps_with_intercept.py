"""Sweeps over columns, one of which is a constant without penalty, with an l1 on the others."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from spd1 import ElasticNet, Problem, certify, solve
from spd1.kernel.rng import key_of
from spd1.linear_model import Lasso, LogisticRegression
from spd1.solvers.sprint import choice, workers
from spd1.solvers.sprint.ascent import LOOKS
from spd1.solvers.sprint.sprint import kind_of
from spd1.solvers.sprint.workers import FreeDescentWorker

LAYOUTS = {"csc": sp.csc_array, "csr": sp.csr_array, "dense": np.ascontiguousarray}


def drawn(
    n, d, l1, l2=0.0, unit=1.0, place=None, layout=sp.csc_array, weights=None, loss="squared"
):
    """Counts, whose columns have a common direction, targets far from zero, and a constant."""
    rng = np.random.default_rng(n + d)
    A = rng.poisson(0.4, (n, d)).astype(float)
    b = A @ (rng.standard_normal(d) * (rng.random(d) < 0.3)) + 0.5 * rng.standard_normal(n) + 7.0
    at = d if place is None else place
    A = np.insert(A, at, unit, axis=1)
    b = b if loss == "squared" else np.where(b > np.quantile(b, 0.3), 1.0, -1.0)
    net = [np.insert(np.full(d, size), at, 0.0) for size in (l1, l2)]
    return Problem(layout(A), b, loss, ElasticNet(*net), weights)


@pytest.mark.plain
@pytest.mark.parametrize("layout", [sp.csc_array, sp.csr_array])
@pytest.mark.parametrize(("shape", "l2"), [((60, 20), 0.0), ((30, 80), 0.0), ((40, 40), 0.05)])
@pytest.mark.parametrize(("unit", "place"), [(1.0, None), (-0.25, 0), (64.0, 5)])
def test_they_end_at_the_optimum_of_centred_columns(layout, shape, l2, unit, place):
    """Centred by NumPy, and solved by another method."""
    p = drawn(*shape, 0.05, l2, unit, place, layout)
    assert kind_of(p) == "descent"
    found = solve(p, tol=1e-9)
    assert found.converged
    assert found.method.startswith("auto: descent (")
    A, free = p.grid.dense_rows(), int(p.free_columns[0])
    others = np.delete(A, free, axis=1)
    centred = Problem(
        others - others.mean(axis=0), p.b - p.b.mean(), "squared", ElasticNet(0.05, l2)
    )
    best = solve(centred, "newton", tol=1e-12)
    assert best.converged
    assert found.gap >= found.primal - best.primal - 1e-13
    assert found.primal >= best.dual - 1e-13
    assert found.primal == pytest.approx(best.primal, rel=2e-9)
    x = np.delete(found.x, free)
    level = p.b.mean() - others.mean(axis=0) @ x
    assert unit * found.x[free] == pytest.approx(level, rel=1e-12)
    assert certify(found.x, p, found.y).rel_gap <= 1e-9


@pytest.mark.plain
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "squared"])
@pytest.mark.parametrize(
    ("shape", "l2", "unit", "place"),
    [((60, 20), 0.0, 1.0, None), ((30, 80), 0.0, -0.25, 0), ((40, 40), 0.02, 64.0, 5)],
)
def test_other_losses_and_weights_end_at_the_optimum(layout, loss, shape, l2, unit, place):
    """Found by another method; least squares have weights, some of them zero."""
    weights = np.arange(shape[0]) % 4.0 if loss == "squared" else None
    p = drawn(*shape, 0.01, l2, unit, place, LAYOUTS[layout], weights, loss)
    if loss == "squared" and layout == "dense":  # these are centred instead, or given by name
        assert not choice.swept_with_an_intercept(p)
    else:
        assert kind_of(p) == "descent"
    worker, record = FreeDescentWorker(p, key_of(0)), np.empty((LOOKS, 4))
    looks, _ = worker.run((1e-9, 0.0, 3000.0, 3000.0), record)
    best = solve(p, "newton", tol=1e-11)
    assert best.converged
    assert np.all(record[:looks, 1] >= best.dual - 1e-12)
    assert np.all(record[:looks, 2] <= best.primal + 1e-10)
    assert record[looks - 1, 1] == pytest.approx(p.primal(worker.x), rel=1e-11)
    np.testing.assert_allclose(worker.u, p.margins(worker.x), rtol=1e-10, atol=1e-12)
    free = p.free_columns[0]
    assert abs(np.sum(p.c * worker.best_y)) <= 1e-9 * np.sum(p.c * np.abs(worker.best_y))
    proof = certify(worker.x, p, worker.best_y)
    assert proof.gap >= proof.primal - best.primal - 1e-13
    assert proof.rel_gap <= 1e-8
    assert worker.x[free] * unit == pytest.approx(best.x[free] * unit, rel=1e-3)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_steps_of_the_intercept_never_climb(loss):
    """Labels of one kind but for a few: the best intercept is far away."""
    p = drawn(400, 30, 3e-4, loss=loss)
    b = np.ones(400)
    b[::57] = -1.0
    p = Problem(p.grid.dense_rows(), b, loss, p.reg)
    worker, record = FreeDescentWorker(p, key_of(0)), np.empty((LOOKS, 4))
    looks, _ = worker.run((1e-9, 0.0, 5000.0, 5000.0), record)
    assert np.all(np.diff(record[:looks, 1]) <= 1e-12)
    best = solve(p, "newton", tol=1e-11)
    assert record[looks - 1, 1] == pytest.approx(best.primal, rel=1e-6)


@pytest.mark.plain
def test_looks_enclose_the_optimum_and_momentum_keeps_the_intercept():
    p = drawn(200, 40, 2e-3)
    best = solve(p, "newton", tol=1e-12)
    worker, record = FreeDescentWorker(p, key_of(0)), np.empty((LOOKS, 4))
    looks, _ = worker.run((1e-10, 0.0, 2000.0, 2000.0), record)
    assert np.all(record[:looks, 1] >= best.dual - 1e-12)
    assert np.all(record[:looks, 2] <= best.primal + 1e-12)
    assert np.all(np.diff(record[:looks, 1]) <= 1e-12)
    assert record[looks - 1, 1] == pytest.approx(p.primal(worker.x), rel=1e-12)
    np.testing.assert_allclose(worker.u, p.margins(worker.x), rtol=1e-12)
    assert abs(np.sum(worker.u - p.b)) <= 1e-10  # the best intercept for this x


def test_constant_features_stay_zero_beside_the_intercept():
    p = drawn(50, 12, 0.01)
    A = p.grid.dense_rows().copy()
    A[:, 3], A[:, 4] = 2.0, 1e6 + 1e-6 * A[:, 4]  # a constant, and nothing but rounding beside one
    p = Problem(sp.csc_array(A), p.b, "squared", p.reg)
    assert kind_of(p) == "descent"
    found = solve(p, tol=1e-9)
    assert found.converged
    assert found.x[3] == 0.0
    assert np.all(np.isfinite(found.x))


@pytest.mark.parametrize(
    "problem",
    [
        lambda: drawn(30, 20, 0.05, loss="hinge"),
        lambda: drawn(30, 20, 0.0, 0.1),
        lambda: drawn(30, 20, 0.05, unit=0.0),
        lambda: drawn(30, 20, 0.05, layout=np.asfortranarray),
        lambda: drawn(30, 20, 0.05).with_regularizer(
            ElasticNet(np.append(np.full(20, 0.05), 0.0), lower=0.0)
        ),
        lambda: drawn(30, 20, 0.05).with_regularizer(
            ElasticNet(np.append(np.linspace(0.01, 0.05, 20), 0.0))
        ),
        lambda: drawn(30, 20, 0.05).with_regularizer(
            ElasticNet(np.insert(np.full(20, 0.05), 3, 0))
        ),
    ],
    ids=["hinge", "no l1", "empty", "dense", "bounds", "other l1", "no constant"],
)
def test_what_they_do_not_know_is_left_to_others(problem):
    p = problem()
    assert not choice.swept_with_an_intercept(p)
    assert solve(p, tol=1e-8).converged


def test_few_columns_of_tall_data_have_a_matrix_unless_few_move(monkeypatch):
    monkeypatch.setattr(choice, "MUCH_DATA", 0)
    p = drawn(400, 20, 1e-6)
    assert not choice.swept_with_an_intercept(p)
    pull = np.delete(p.grid.dense_rows(), 20, axis=1).T @ (p.b - p.b.mean()) / 400
    l1 = 0.5 * np.abs(pull).max()
    few = drawn(400, 20, l1)
    assert choice.share_of_l1(few) == pytest.approx(0.5)
    assert choice.swept_with_an_intercept(few)


def test_sweeps_that_take_too_long_give_way_to_the_matrix(monkeypatch):
    monkeypatch.setattr(workers, "CHEAP_SWEEPS", 0)
    monkeypatch.setattr(workers, "MATRICES_WORTH", 0.3)
    p = drawn(300, 20, 1e-5)
    found = solve(p, tol=1e-10)
    assert found.method.startswith("auto: descent, then newton")
    assert found.converged


def test_an_estimator_of_sparse_data_takes_them():
    rng = np.random.default_rng(0)
    X = sp.random_array((300, 900), density=0.02, rng=rng, format="csr")
    y = X @ (rng.standard_normal(900) * (rng.random(900) < 0.1)) + 3.0
    sparse, dense = (Lasso(alpha=1e-3, tol=1e-8).fit(A, y) for A in (X, X.toarray()))
    assert sparse.method_.startswith("auto: descent")
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-6)
    assert sparse.intercept_ == pytest.approx(dense.intercept_, rel=1e-7)


@pytest.mark.parametrize("l1_ratio", [0.5, 1.0])
def test_a_classifier_takes_them_at_a_loose_tolerance_too(l1_ratio):
    """No faint penalty on the intercept first, which rows and Newton's method would need."""
    rng = np.random.default_rng(0)
    X = sp.random_array((300, 900), density=0.02, rng=rng, format="csr")
    y = X @ rng.standard_normal(900) > 0.1
    for tol in (1e-2, 1e-6):
        model = LogisticRegression(C=2.0, l1_ratio=l1_ratio, tol=tol).fit(X, y)
        assert model.method_.startswith("auto: descent (")
        assert model.rel_gap_ <= tol
