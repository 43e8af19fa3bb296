"""The kernels take the same steps as the plain transcriptions, given the same draws."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from spd1 import L2, Loss, Problem, compiled, solve
from spd1.kernel.rng import shuffle_blocks
from support import reference
from support.cases import EVERY_METHOD
from support.setups import (
    CASES,
    COLUMN_CASES,
    EPOCHS,
    KEY,
    NAMES,
    ROW_CASES,
    SIGMA,
    SMOOTH,
    SOME_CASES,
    STEPS,
    D,
    N,
    Setup,
    assert_close,
    assert_moved,
    draw,
    run,
)


@pytest.mark.plain
@pytest.mark.parametrize("case", SOME_CASES)
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


@pytest.mark.plain
@pytest.mark.parametrize("case", SOME_CASES)
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


@pytest.mark.plain
@pytest.mark.parametrize("case", ROW_CASES)
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


@pytest.mark.plain
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


@pytest.mark.plain
@pytest.mark.parametrize("case", COLUMN_CASES)
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
    whole, parts = setup.worker(name), setup.worker(name, chunk=3)
    starts = whole.entries_read, parts.entries_read  # norms are computed for the first alone
    run(whole)
    run(parts)
    assert whole.t == parts.t
    assert whole.entries_read - starts[0] == pytest.approx(parts.entries_read - starts[1])
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


# Nothing of a user's class is kept on disk: each method compiles anew.
@pytest.mark.parametrize(
    "method",
    [
        pytest.param(name, marks=[] if name in ("rows", "newton", "spd1") else [pytest.mark.slow])
        for name in EVERY_METHOD
    ],
)
def test_a_users_loss_runs_in_every_method(method, rng):
    d = 24 if method == "few-rows" else D
    A, b = rng.standard_normal((12, d)), rng.standard_normal(12)
    x = np.linalg.solve(3.0 * A.T @ A / 12 + 0.1 * np.eye(d), 3.0 * A.T @ b / 12)
    best = 1.5 * np.mean((A @ x - b) ** 2) + 0.05 * np.sum(x**2)
    found = solve(Problem(A, b, Stiff(), L2(0.1)), method, max_passes=2500)
    assert best - 1e-12 <= found.primal <= best + found.gap + 1e-12
    assert found.rel_gap <= (0.3 if method in ("spd1", "psgd") else 1e-6)
