"""Newton's steps in one kernel: the algorithm as written down, its bounds, its free column."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits

from spd1 import L2, ElasticNet, Huber, Problem, SquaredEpsilonInsensitive, certify, solve
from spd1.errors import DataError, IncompatibleError
from spd1.kernel.rng import key_of
from spd1.losses import LOSSES
from spd1.solvers.sprint import choice, hardness, workers
from spd1.solvers.sprint.ascent import LOOKS
from spd1.solvers.sprint.newton_cg import telling
from spd1.solvers.sprint.tuning import TELLING_ROWS
from spd1.solvers.sprint.workers import NewtonCGWorker, NewtonGramWorker
from support import oracle

SMOOTH = ("logistic", "squared_hinge", "huber", "squared", "smoothed_hinge")
WAYS = {"newton-cg": NewtonCGWorker, "newton-gram": NewtonGramWorker}
LAYOUTS = {"dense": np.asarray, "columns": np.asfortranarray, "csr": sp.csr_array}
#: Each takes seconds to compile: every loss once, and every layout with every way.
KERNELS = [
    *(("newton-cg", "csr", loss) for loss in SMOOTH),
    *(("newton-gram", "dense", loss) for loss in ("logistic", "squared_hinge", "huber")),
    ("newton-cg", "dense", "logistic"),
    ("newton-gram", "columns", "logistic"),
    ("newton-gram", "csr", "logistic"),
]


def problem_of(loss, n=40, d=7, l2=0.02, free=False, layout=np.asarray, seed=0, weights=True):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.7)
    b = A @ rng.standard_normal(d) + 0.5 * rng.standard_normal(n) + 0.3
    b = np.where(b > 0, 1.0, -1.0) if LOSSES[loss]().label_kind == "sign" else b
    penalty = np.full(d, l2)
    if free:
        A[:, -1], penalty[-1] = 1.0, 0.0
    c = rng.random(n) * (np.arange(n) % 5 > 0) if weights else None
    return Problem(layout(A), b, loss, ElasticNet(l2=penalty if free else l2), c)


def dense_of(p):
    return np.asarray(p.grid.dense_rows())


def slopes(p, u):
    return np.array([p.loss.derivative(z, b) for z, b in zip(u, p.b, strict=True)])


def bends(p, u):
    return np.array([p.loss.curvature(z, b) for z, b in zip(u, p.b, strict=True)])


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize(("way", "layout", "loss"), KERNELS)
def test_the_first_step_is_newtons(way, layout, loss, free):
    """Solved by NumPy; conjugate gradients may leave a hundredth of the gradient's gap.

    Where the objective would climb, it is a half of it, a quarter, and so on.
    """
    if loss == "smoothed_hinge":
        pytest.skip("it does not bend at zero")
    p = problem_of(loss, free=free, layout=LAYOUTS[layout])
    worker = WAYS[way](p, key_of(0))
    worker.run((1e-300, 0.0, 1.0, math.inf), np.empty((LOOKS, 4)))  # looks, but takes no step
    assert not np.any(worker.x)
    worker = WAYS[way](p, key_of(0))
    worker.products = (200, 200, 200, 0)  # tall data would be left to others after six
    first = 2.0  # passes, up to the look after a step
    if way == "newton-gram":  # with a matrix from the start, and with all rows in it
        worker.told[:], worker.stride, worker.products, first = (1, 0), 1, (1, 1, 1, 0), 3.0
    worker.run((1e-300, 0.0, first, math.inf), np.empty((LOOKS, 4)))
    A, l2 = dense_of(p), np.broadcast_to(np.asarray(p.reg.l2, dtype=float), (p.d,))
    nothing = np.zeros(p.n)
    gradient = A.T @ (p.c * slopes(p, nothing))
    H = (A.T * (p.c * bends(p, nothing))) @ A + np.diag(l2)
    step = np.linalg.solve(H, -gradient)
    halves = round(math.log2(float(step @ step) / float(step @ worker.x)))
    if halves:
        assert p.primal(worker.x * 2.0) > p.primal(worker.x)
    taken = worker.x * 2.0**halves
    if way == "newton-gram":
        np.testing.assert_allclose(taken, step, rtol=1e-9, atol=1e-12)
    else:
        left = H @ (taken - step)
        held = l2 > 0
        at_start = gradient - (H[:, -1] * (gradient[-1] / H[-1, -1]) if free else 0.0)
        before = np.sum(at_start[held] ** 2 / l2[held])
        assert np.sum(left[held] ** 2 / l2[held]) <= 0.0101 * before
        if free:
            assert abs(left[-1]) <= 1e-12 * abs(gradient).max()
    np.testing.assert_allclose(worker.u, A @ worker.x, atol=1e-12)


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize(("way", "layout", "loss"), KERNELS)
def test_bounds_of_looks_hold_and_the_end_is_the_optimum(way, layout, loss, free):
    """The record's primal values and bounds enclose the optimum, found by another method."""
    p = problem_of(loss, free=free, layout=LAYOUTS[layout], l2=0.003)
    best = solve(p, "newton", tol=1e-12)
    worker, record = WAYS[way](p, key_of(0)), np.empty((LOOKS, 4))
    # Tall data would be left to others after six.
    worker.products = (200, 200, 200, worker.products[3])
    looks, _ = worker.run((1e-9, 0.0, math.inf, math.inf), record)
    assert np.all(record[:looks, 1] >= best.dual - 1e-12)
    if not free:  # what lacks of balance is left to the certificate
        assert np.all(record[:looks, 2] <= best.primal + 1e-12)
    assert np.all(np.diff(record[:looks, 1]) <= 1e-12)
    found = certify(worker.x, p)
    assert found.primal - best.primal <= 1e-8 * abs(best.primal)
    c = worker.certificate(None, 0.0, 0.0)
    assert c.rel_gap <= 2e-9
    assert c.gap >= c.primal - best.primal - 1e-14


@pytest.mark.parametrize(("way", "layout", "loss"), KERNELS[:8])
def test_gaps_by_name_bound_the_distance_from_the_optimum(way, layout, loss):
    case, best = oracle.make_case(loss, "l2", True), oracle.optimum(loss, "l2", True).best
    for tol in (1e-1, 1e-4, 1e-8):
        found = solve(case.problem("csr" if layout == "csr" else "dense_c"), way, tol=tol)
        assert found.status == "converged"
        assert found.gap >= found.primal - best - 1e-12 * (1 + abs(best))


@pytest.mark.parametrize("way", WAYS)
def test_what_it_cannot_do_is_refused(way):
    p = problem_of("logistic")
    refused = [
        p.with_regularizer(ElasticNet(0.1, 0.1)),
        p.with_regularizer(ElasticNet(l2=0.1, lower=0.0)),
        p.with_regularizer(ElasticNet(l2=np.array([0.0, 0.0, 1, 1, 1, 1, 1]))),
        p.with_regularizer(ElasticNet()),
        problem_of("hinge"),
        p.with_grid(p.grid.cut(2, 1)),
    ]
    for one in refused:
        with pytest.raises(IncompatibleError, match="auto"):
            solve(one, way)


def test_ascent_that_gives_up_is_followed_by_newtons_steps(rng, monkeypatch):
    """Rows alike in nearly all entries: each undoes what another has done."""
    monkeypatch.setattr(workers, "LITTLE_SPARSE_ASCENT", 0.0)  # or momentum comes to the end
    monkeypatch.setattr(hardness, "MOST_ASCENT_OF_PIECES", 30.0)
    A = sp.csr_array(np.ones((60, 40)) + 0.05 * rng.standard_normal((60, 40)))
    b = np.sign(rng.standard_normal(60))
    p = Problem(A, b, "squared_hinge", L2(1e-3))
    found = solve(p, tol=1e-9)
    assert found.method.startswith("auto: ascent, then newton-cg")
    assert found.converged
    passes = found.trace.passes
    assert np.all(np.diff(passes) >= 0)
    best = solve(p, "newton", tol=1e-11)
    assert found.gap >= found.primal - best.primal - 1e-13


def test_conjugate_gradients_that_take_too_long_give_way(rng, monkeypatch):
    """Few dense columns that are nearly alike: a matrix of them is not disturbed by that."""
    monkeypatch.setattr(choice, "HARD_SHARE", math.inf)
    monkeypatch.setattr(choice, "LITTLE_DENSE_DATA", 200_000)  # or the matrix is the first
    n, d = 9000, 40
    A = rng.standard_normal((n, d)) @ (np.eye(d) + 0.97 * np.ones((d, d)))
    b = np.sign(A @ rng.standard_normal(d) + rng.standard_normal(n))
    found = solve(Problem(A, b, "logistic", L2(1e-7)), tol=1e-9)
    assert found.method.startswith("auto: newton-cg, then newton-gram")
    assert found.converged


@pytest.mark.parametrize("way", WAYS)
def test_a_second_call_goes_on_where_the_first_ended(way):
    p = problem_of("logistic", 200, 20, 1e-4, free=True)
    worker, record = WAYS[way](p, key_of(0)), np.empty((LOOKS, 4))
    values, bounds = [], []
    for _ in range(4):
        looks, _ = worker.run((1e-300, 0.0, 9.0, math.inf), record)
        values += list(record[:looks, 1])
        bounds += list(record[:looks, 2])
        assert record[looks - 1, 1] == pytest.approx(p.primal(worker.x), rel=1e-12)
        np.testing.assert_allclose(worker.u, p.margins(worker.x), atol=1e-12)
    assert np.all(np.diff(values) <= 1e-12)
    assert np.all(np.diff(bounds) >= 0.0)


def test_a_start_of_the_caller_is_where_it_begins():
    p = problem_of("logistic", 300, 8, 1e-3)
    cold = solve(p, tol=1e-9)
    warm = solve(p, tol=1e-9, x0=cold.x)
    assert cold.method.startswith("auto: newton-gram")
    assert warm.converged
    assert warm.passes < 0.5 * cold.passes
    assert warm.primal <= cold.primal + 1e-15
    far = solve(p, tol=1e-9, x0=np.full(p.d, 1e6))  # zero is better
    assert far.converged
    assert far.passes <= cold.passes + 2.0  # to see that it is
    with pytest.raises(DataError, match="too far away"):
        solve(p, x0=np.full(p.d, 1e300))


@pytest.mark.parametrize("digit", [0, 5])
def test_a_larger_gap_takes_no_more_passes(digit):
    """The kernel's bound was above the optimum once: no better one came, until passes ran out."""
    X, y = load_digits(return_X_y=True)
    A = np.hstack([X / 16.0, np.ones((len(y), 1))])
    penalty = ElasticNet(l2=np.append(np.full(64, 1.0 / len(y)), 0.0))  # an intercept without
    p = Problem(A, np.where(y == digit, 1.0, -1.0), "squared_hinge", penalty)
    found = [solve(p, tol=tol) for tol in (1e-3, 1e-6, 1e-9)]
    assert all(one.converged for one in found)
    assert "newton-gram" in found[0].method
    passes = [one.trace.passes[-1] for one in found]
    assert passes == sorted(passes)
    assert found[0].dual <= found[2].primal


def test_a_matrix_of_many_columns_is_refused_by_name():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((30, 1600))
    wide = Problem(A, np.sign(A[:, 0]), "logistic", L2(0.1))
    with pytest.raises(IncompatibleError, match="newton-gram needs at most 1,500 features"):
        solve(wide, "newton-gram")
    assert solve(wide, "newton-cg").converged


@pytest.mark.parametrize("free", [False, True])
def test_some_rows_tell_the_curvature_of_all(free, monkeypatch):
    """Columns that depend on each other, more of them than the diagonal can tell."""
    monkeypatch.setattr(workers, "TELLING_ROWS", 8)
    rng = np.random.default_rng(0)
    A = rng.standard_normal((600, 12)) * np.logspace(0, -2.5, 12)
    A = A @ np.linalg.qr(rng.standard_normal((12, 12)))[0]
    b = np.where(A @ rng.standard_normal(12) + 0.2 * rng.standard_normal(600) > 0.1, 1.0, -1.0)
    l2 = np.full(12, 1e-6)
    if free:
        A, l2 = np.column_stack([A, np.ones(600)]), np.append(l2, 0.0)
    p = Problem(A, b, "logistic", ElasticNet(l2=l2))
    worker = NewtonGramWorker(p, key_of(0))
    assert worker.stride == 600 // (8 * p.d)
    record = np.empty((LOOKS, 4))
    looks, _ = worker.run((1e-8, 0.0, 500.0, 500.0), record)
    assert np.all(np.diff(record[:looks, 1]) <= 1e-12)
    assert np.all(worker.told == 1)
    gradient = A.T @ (p.c * slopes(p, A @ worker.x)) + l2 * worker.x
    assert np.abs(gradient).max() <= 1e-5
    assert certify(worker.x, p, worker.y).rel_gap <= 1e-7


def test_a_matrix_is_of_as_many_rows_with_curvature_as_tell():
    """A sample of rows beyond their corners is a matrix of nothing."""
    h = np.zeros(4000)
    h[::10] = 1.0
    assert telling(np.ones(4000), 20, 5) == 20
    assert telling(h, 20, 5) == len(h[::10]) // (TELLING_ROWS * 5)
    assert telling(np.zeros(4000), 20, 5) == 1


@pytest.mark.parametrize("loss", [Huber(0.05), SquaredEpsilonInsensitive(0.05)], ids=str)
@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize("free", [0, 1])
def test_losses_in_pieces_end_where_few_rows_bend(loss, layout, free, rng):
    """Most rows are beyond their corners at first: steps were as long as the data allows."""
    A = rng.standard_normal((1500, 40)) * (rng.random((1500, 40)) < 0.3)
    b = A @ rng.standard_normal(40) + rng.standard_t(2, 1500)
    l2 = np.append(np.full(40, 1e-7), np.zeros(free))
    A = np.column_stack([A, np.ones((1500, free))])
    p = Problem(sp.csr_array(A) if layout == "csr" else A, b, loss, ElasticNet(l2=l2))
    found = solve(p, tol=1e-8)
    assert found.converged
    assert "newton-" in found.method
    assert "," not in found.method  # nobody else was asked
    assert certify(found.x, p, found.y).rel_gap <= 1.01e-8


@pytest.mark.parametrize("loss", [Huber(0.3), SquaredEpsilonInsensitive(0.3)], ids=str)
def test_few_rows_of_losses_in_pieces_go_to_the_dual(loss, rng):
    A = rng.standard_normal((40, 200))
    p = Problem(A, A[:, 0] + rng.standard_normal(40), loss, L2(1e-4))
    found = solve(p, tol=1e-10)
    assert found.converged
    assert "on the dual" in found.method
