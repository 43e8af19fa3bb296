"""The kernels take the same steps as the plain transcriptions, given the same draws."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from spd1 import L1, L2, ElasticNet, Loss, Problem, compiled, solve
from spd1.kernel.rng import index, key_of
from spd1.solvers import method_class
from spd1.solvers.base import Method
from spd1.solvers.rows.kernels import shuffle_blocks
from support import reference
from support.cases import EVERY_METHOD

N, D = 8, 6
KEY = key_of(11)
EPOCHS = 3
STEPS = {"eta": 0.3, "tau": 1.7}
SIGMA = 0.4

LAYOUTS = {
    "dense_c": np.ascontiguousarray,
    "dense_f": np.asfortranarray,
    "csr": sp.csr_array,
    "csc": sp.csc_array,
}
REGULARIZERS = {
    "l2": L2(0.2),
    "l1": L1(0.1),
    "elastic_box": ElasticNet(l1=0.05, l2=0.3, lower=-0.4, upper=0.5),
    "per_feature": ElasticNet(
        l1=[0.0, 0.1, 0.0, 0.3, 0.05, 0.2],
        l2=[0.0, 0.0, 0.5, 0.1, 0.2, 0.0],
        lower=[-np.inf, -0.3, 0.2, -np.inf, -1.0, 0.0],
        upper=[np.inf, 0.3, 0.8, 0.1, np.inf, 0.6],
    ),
}
# Every layout, precision and sampling; losses, regularizers and weights rotate.
CASES = [
    # layout, dtype, sampling, loss, regularizer, weighted
    ("dense_c", "f8", "uniform", "logistic", "l2", False),
    ("dense_f", "f8", "uniform", "squared_hinge", "l1", True),
    ("csr", "f8", "uniform", "hinge", "elastic_box", False),
    ("csc", "f8", "uniform", "squared", "per_feature", True),
    ("csr", "f8", "nonzeros", "logistic", "per_feature", True),
    ("csc", "f8", "nonzeros", "squared_hinge", "l2", False),
    ("dense_c", "f4", "uniform", "hinge", "l1", True),
    ("dense_f", "f4", "uniform", "squared", "elastic_box", False),
    ("csr", "f4", "uniform", "logistic", "l1", True),
    ("csc", "f4", "uniform", "squared_hinge", "per_feature", False),
    ("csr", "f4", "nonzeros", "hinge", "l2", True),
    ("csc", "f4", "nonzeros", "squared", "elastic_box", True),
]
NAMES = ["-".join(map(str, case)) for case in CASES]
# Row methods draw rows only: one case for each layout and precision, both with and without gaps.
ROW_CASES = [case for case in CASES if case[2] == "uniform"]
# Column tiles have two forms: with y tied to x for smooth losses, and free for those with corners.
COLUMN_CASES = [
    *ROW_CASES,
    ("csr", "f8", "uniform", "smoothed_hinge", "l2", True),
    ("csc", "f8", "uniform", "hinge", "l2", True),
    ("csr", "f4", "uniform", "absolute", "l1", True),
    ("dense_f", "f8", "uniform", "absolute", "per_feature", False),
]
SMOOTH = ("logistic", "squared_hinge", "squared")
REAL = ("squared", "absolute")  # the others have signs for labels


class Setup:
    """A problem twice, for the package and for the reference, and a starting point inside it."""

    def __init__(self, layout, dtype, sampling, loss, reg, weighted):
        rng = np.random.default_rng([ord(layout[-1]), len(loss), len(reg), weighted])
        A = rng.standard_normal((N, D)).astype(dtype)
        if layout.startswith("cs"):  # about half empty, row 2 and column 3 entirely
            A[rng.random((N, D)) < 0.5] = 0.0
            A[2, :], A[:, 3] = 0.0, 0.0
        b = rng.standard_normal(N) if loss in REAL else rng.choice([-1.0, 1.0], N)
        weights = rng.random(N) if weighted else np.ones(N)
        self.problem = Problem(LAYOUTS[layout](A), b, loss, REGULARIZERS[reg], weights)
        self.sampling = sampling
        self.drawn = A != 0 if sampling == "nonzeros" else np.ones((N, D), dtype=bool)
        self.r, self.k = self.drawn.sum(axis=1), self.drawn.sum(axis=0)
        self.task = reference.task_of(A, b, weights / weights.sum(), loss, REGULARIZERS[reg])
        self.x = np.clip(rng.standard_normal(D), self.task.lower, self.task.upper)
        self.y = reference.slope(loss, rng.standard_normal(N), b)

    def worker(self, name, chunk=None):
        """The method, ready to run with fixed steps, in kernel calls of ``chunk`` steps."""
        rows = name not in ("spd1", "spd1-vr")
        worker = method_class(name)(self.problem, "auto" if rows else self.sampling, KEY)
        steps = STEPS | {"sigma": SIGMA}
        worker.steps = {key: steps[key] for key in worker.step_names}
        if chunk:
            worker.chunks = lambda count, size=0: Method.chunks(worker, count, chunk)
        worker.begin(self.x, self.y)
        return worker

    def pair(self, counter):
        """Which (i, j) draw number ``counter`` stands for, by the definition of the sampling."""
        if self.sampling == "uniform":
            return draw(counter, N), draw(counter + 1, D)
        i, j = np.argwhere(self.drawn)[draw(counter, self.drawn.sum())]
        return int(i), int(j)

    def quadruple(self, counter):
        """i, i', j, j' of a step of SPD1-VR: i' among the rows of j, j' among the columns of i."""
        i, j = self.pair(counter)
        others = np.flatnonzero(self.drawn[:, j]), np.flatnonzero(self.drawn[i])
        i2, j2 = (line[draw(counter + 2 + q, len(line))] for q, line in enumerate(others))
        return i, i2, j, j2

    def steps_an_epoch(self):
        return int(self.drawn.sum())


def draw(counter, size):
    return int(index(KEY, counter, int(size)))


def run(worker, epochs=EPOCHS):
    for _ in range(epochs):
        for _ in worker.epoch():
            pass
    return worker


def assert_close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


def assert_moved(found, start):
    """Guard against a comparison of two methods that both do nothing."""
    assert np.max(np.abs(found - start)) > 1e-3


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_spd1_is_algorithm_1(case):
    setup = Setup(*case)
    worker = run(setup.worker("spd1"))
    T = EPOCHS * setup.steps_an_epoch()
    etas, taus = np.full(T, STEPS["eta"]), np.full(T, STEPS["tau"])
    draws = [setup.pair(2 * t) for t in range(T)]
    expected = reference.spd1(setup.task, setup.x, setup.y, draws, etas, taus, setup.r, setup.k)
    assert_close(worker.state.x, expected.x)
    assert_close(worker.state.y, expected.y)
    [(x_mean, y_mean)] = worker.iterates()  # kept in O(1) a step; the reference stores them all
    assert_close(x_mean, expected.x_mean)
    assert_close(y_mean, expected.y_mean)
    assert_moved(expected.x, setup.x)
    assert_moved(expected.x, expected.x_mean)


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_spd1_vr_is_algorithm_2(case):
    setup = Setup(*case)
    worker = run(setup.worker("spd1-vr"))
    T, x, y = setup.steps_an_epoch(), setup.x, setup.y
    for epoch in range(EPOCHS):
        draws = [setup.quadruple(4 * t) for t in range(epoch * T, (epoch + 1) * T)]
        x, y = reference.spd1_vr(setup.task, x, y, draws, *STEPS.values(), setup.r, setup.k)
    [(x_found, y_found)] = worker.iterates()
    assert_close(x_found, x)
    assert_close(y_found, y)
    assert_moved(x, setup.x)


@pytest.mark.parametrize("case", ROW_CASES, ids=["-".join(map(str, c)) for c in ROW_CASES])
@pytest.mark.parametrize("name", ["psgd", "svrg", "saga"])
def test_row_methods_are_their_papers(name, case):
    setup = Setup(*case)
    if name != "psgd" and case[3] not in SMOOTH:
        setup = Setup(*case[:3], "logistic", *case[4:])
    worker = run(setup.worker(name))
    rows = [draw(t, N) for t in range(EPOCHS * N)]
    x = setup.x
    if name == "svrg":
        for epoch in range(EPOCHS):
            x = reference.svrg(setup.task, x, rows[epoch * N : (epoch + 1) * N], STEPS["eta"])
    else:
        x = getattr(reference, name)(setup.task, x, rows, STEPS["eta"])
    assert_close(worker.state.x, x)
    assert_moved(x, setup.x)


@pytest.mark.parametrize("case", CASES[:4], ids=NAMES[:4])
def test_rows_visit_every_row_once_an_epoch(case):
    setup = Setup(*case)
    worker, x, y = setup.worker("rows"), setup.x, setup.y
    near = setup.problem.loss.prox_near
    stored = setup.task.A != 0 if case[0].startswith("cs") else setup.drawn
    for _ in range(EPOCHS):
        run(worker, 1)
        assert sorted(worker.order) == list(range(N))
        x, y = reference.rows(setup.task, x, y, worker.order, STEPS["eta"], stored, near)
    [(x_found, y_found)] = worker.iterates()
    assert_close(x_found, x)
    assert_close(y_found, y)
    assert_moved(x, setup.x)


@pytest.mark.parametrize("case", COLUMN_CASES, ids=["-".join(map(str, c)) for c in COLUMN_CASES])
def test_columns_visit_every_column_once_an_epoch(case):
    setup = Setup(*case)
    worker, x, y = setup.worker("columns"), setup.x, 0.5 * setup.y  # not at a corner of phi*
    worker.begin(x, y)
    worker.block = 1  # six columns would not fill a block: sparse ones are shuffled here, too
    stored = setup.task.A != 0 if case[0].startswith("cs") else setup.drawn
    orders = []
    for epoch in range(EPOCHS):
        run(worker, 1)
        order = np.empty(D, dtype=int)
        shuffle_blocks(order, KEY, epoch * D, 1)
        orders.append(order.tolist())
        if case[3] in reference.GAMMA:
            x, y = reference.tied_columns(setup.task, x, order)
        else:
            x, y = reference.free_columns(setup.task, x, y, order, SIGMA, stored)
    [(x_found, y_found)] = worker.iterates()
    assert_close(x_found, x)
    assert_close(y_found, y)
    assert_close(worker.state.margins, setup.task.A @ x)
    assert_moved(x, setup.x)
    assert_moved(y, 0.5 * setup.y)
    assert sorted(orders[0]) == list(range(D))
    assert orders[0] != orders[1]


@pytest.mark.parametrize("name", ["spd1", "spd1-vr", "psgd", "svrg", "saga"])
@pytest.mark.parametrize("case", [CASES[0], CASES[4]], ids=[NAMES[0], NAMES[4]])
def test_chunks_of_an_epoch_change_nothing(name, case):
    setup = Setup(*case)
    whole, parts = run(setup.worker(name)), run(setup.worker(name, chunk=3))
    assert whole.t == parts.t
    assert whole.entries_read == pytest.approx(parts.entries_read)
    assert whole.paper_passes == pytest.approx(parts.paper_passes)
    sparse_rows = case[0] == "csr" and name in ("psgd", "svrg", "saga")
    for found, expected in zip(parts.state, whole.state, strict=True):
        if sparse_rows:  # a chunk ends with all coordinates caught up: other roundings
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
        else:
            np.testing.assert_array_equal(found, expected)


def test_the_average_may_start_late():
    setup = Setup(*CASES[0])
    worker = run(setup.worker("spd1"), 2)
    x, y = worker.state.x.copy(), worker.state.y.copy()
    worker.restart_average()
    run(worker, 1)
    T = setup.steps_an_epoch()
    draws = [setup.pair(2 * t) for t in range(2 * T, 3 * T)]
    etas, taus = np.full(T, STEPS["eta"]), np.full(T, STEPS["tau"])
    expected = reference.spd1(setup.task, x, y, draws, etas, taus, setup.r, setup.k)
    [(x_mean, y_mean)] = worker.iterates()
    assert_close(x_mean, expected.x_mean)
    assert_close(y_mean, expected.y_mean)
    assert_close(worker.state.x, expected.x)


@compiled(Loss)
class Stiff(NamedTuple):
    """k/2 (u - b)^2: its ridge has a closed form."""

    k: float = 3.0

    def phi(self, u, b):
        return 0.5 * self.k * (u - b) ** 2

    def derivative(self, u, b):
        return self.k * (u - b)

    def conjugate(self, y, b):
        return b * y + 0.5 * y * y / self.k

    @property
    def gamma(self) -> float:
        return 1.0 / self.k


@pytest.mark.parametrize("method", EVERY_METHOD)
def test_a_users_loss_runs_in_every_method(method, rng):
    d = 24 if method == "few-rows" else D
    A, b = rng.standard_normal((12, d)), rng.standard_normal(12)
    x = np.linalg.solve(3.0 * A.T @ A / 12 + 0.1 * np.eye(d), 3.0 * A.T @ b / 12)
    best = 1.5 * np.mean((A @ x - b) ** 2) + 0.05 * np.sum(x**2)
    found = solve(Problem(A, b, Stiff(), L2(0.1)), method, max_passes=1000)
    assert best - 1e-12 <= found.primal <= best + found.gap + 1e-12
    assert found.rel_gap <= (0.3 if method in ("spd1", "psgd") else 1e-6)
