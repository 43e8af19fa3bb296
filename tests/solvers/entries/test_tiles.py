"""The steps of SPD1 and SPD1-VR on tiles: unbiased, and as transcribed."""

from __future__ import annotations

import numpy as np
import pytest

from spd1 import Problem
from spd1.data.convert import as_matrix
from spd1.solvers.entries.tile_kernels import tile_adjoint, tile_margins
from spd1.solvers.registry import build
from support import oracle, reference
from support.setups import (
    CASES,
    KEY,
    STEPS,
    D,
    N,
    Setup,
    assert_close,
    assert_moved,
    draw,
    run,
    thinned,
    worker_of,
)

DENSE = [case for case in CASES if case[0].startswith("dense")]
SPARSE = [case for case in CASES if case[0].startswith("cs") and case[2] == "uniform"]
TILES = [(1, 1), (3, 4), (2, 6), (8, 2), (5, 5)]  # of 8 x 6 entries: even and uneven, tall and wide


def cut(size, block):
    """Blocks of consecutive numbers, the last one perhaps smaller."""
    return [slice(k, min(k + block, size)) for k in range(0, size, block)]


# Estimators: the mean over all tiles is the full product.


@pytest.mark.parametrize("layout", ["dense_c", "dense_f", "dense_strided", "dense_float32"])
@pytest.mark.parametrize("tile", TILES)
def test_mean_over_tiles_is_the_full_gradient(layout, tile, rng):
    A = rng.standard_normal((N, D)).astype(np.float32).astype(float)
    data, (I, J) = as_matrix(oracle.LAYOUTS[layout](A)), (cut(N, tile[0]), cut(D, tile[1]))
    x, w = rng.standard_normal(D), rng.standard_normal(N)
    for_x, for_y = np.zeros(D), np.zeros(N)
    for rows in I:
        for columns in J:
            where = (data.row_major, rows.start, rows.stop, columns.start, columns.stop)
            pull, u = np.full(tile[1], np.nan), np.full(tile[0], np.nan)
            tile_adjoint(data, *where, len(I) * w[rows], pull)
            tile_margins(data, *where, len(J) * x[columns], u)
            for_x[columns] += pull[: columns.stop - columns.start] / len(I)
            for_y[rows] += u[: rows.stop - rows.start] / len(J)
    assert_close(for_x, A.T @ w)
    assert_close(for_y, A @ x)


@pytest.mark.parametrize("name", ["spd1", "spd1-vr"])
@pytest.mark.parametrize("tile", [(3, 4), (2, 2), (8, 5)])
def test_steps_are_unbiased(name, tile, rng):
    """From one point, every tile in turn: the mean step is that of the full gradient."""
    A, b, c = rng.standard_normal((N, D)), rng.standard_normal(N), rng.random(N)
    problem = Problem(A, b, "squared", None, c)
    worker = build(name, problem, tile, "auto", KEY)
    x, y = rng.standard_normal(D), rng.standard_normal(N)
    I, J = cut(N, tile[0]), cut(D, tile[1])
    eta, sigma = N / len(I), 1.0 / len(J)  # of a tile, for eta = tau = 1
    for_x, for_y = {}, {}
    for t in range(200):
        rows, columns = (draw((2 if name == "spd1" else 4) * t + q, len((I, J)[q])) for q in (0, 1))
        for steps in ({"eta": 1.0, "tau": 1e-9}, {"eta": 1e-9, "tau": 1.0}):  # the other one rests
            worker.t, worker.steps = 0, steps
            worker.begin(x, y)
            if name == "spd1-vr":  # a snapshot elsewhere, with its gradients
                worker.state.x_snap[:], worker.state.y_snap[:] = 0.5 * x, -y
                worker.state.gradient[:] = A.T @ (problem.c * -y)
                worker.state.margins[:] = A @ (0.5 * x)
            worker.steps_on(problem.A, first=t, count=1, key=worker.key)
            if steps["eta"] == 1.0:
                for_x[rows, columns] = (x - worker.state.x)[J[columns]] / eta
            else:  # the prox of phi*(y) = b y + y^2/2 undone
                moved = ((1.0 + sigma) * worker.state.y - y) / sigma + b
                for_y[rows, columns] = moved[I[rows]]
    assert len(for_x) == len(I) * len(J)
    for q, columns in enumerate(J):
        mean = np.mean([for_x[k, q] for k in range(len(I))], axis=0)
        np.testing.assert_allclose(mean, (A.T @ (problem.c * y))[columns], atol=1e-6)
    for k, rows in enumerate(I):
        mean = np.mean([for_y[k, q] for q in range(len(J))], axis=0)
        np.testing.assert_allclose(mean, (A @ x)[rows], atol=1e-6)


@pytest.mark.parametrize("name", ["spd1", "spd1-vr"])
@pytest.mark.parametrize("case", thinned(DENSE))
def test_tiles_of_one_entry_are_the_published_method(name, case):
    """Not only in law: a block of one is drawn by the same numbers."""
    setup = Setup(*case)
    one, tiled = run(setup.worker(name)), run(worker_of(setup, name, (1, 1)))
    assert one.t == tiled.t
    assert one.entries_read == pytest.approx(tiled.entries_read)
    assert one.paper_passes == pytest.approx(tiled.paper_passes)
    for found, expected in zip(tiled.iterates()[0], one.iterates()[0], strict=True):
        assert_close(found, expected)


# Kernels against plain transcriptions.


@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize("case", thinned(DENSE))
def test_spd1_on_tiles_as_transcribed(case, tile):
    setup, (I, J) = Setup(*case), (cut(N, tile[0]), cut(D, tile[1]))
    worker = run(worker_of(setup, "spd1", tile), 2)
    T, B, C = 2 * len(I) * len(J), len(I), len(J)
    draws = [(I[draw(2 * t, B)], J[draw(2 * t + 1, C)]) for t in range(T)]
    expected = reference.spd1_tiles(setup.task, setup.x, setup.y, draws, *STEPS.values(), B, C)
    [(x_mean, y_mean)] = worker.iterates()
    assert_close(worker.state.x, expected.x)
    assert_close(worker.state.y, expected.y)
    assert_close(x_mean, expected.x_mean)
    assert_close(y_mean, expected.y_mean)
    assert_moved(expected.x, setup.x)


@pytest.mark.parametrize("tile", [(1, 1), (3, 4), (8, 2), (5, 5)])
@pytest.mark.parametrize("case", thinned(DENSE))
def test_spd1_vr_on_tiles_as_transcribed(case, tile):
    setup, (I, J) = Setup(*case), (cut(N, tile[0]), cut(D, tile[1]))
    worker, (x, y), B, C = worker_of(setup, "spd1-vr", tile), (setup.x, setup.y), len(I), len(J)
    run(worker, 2)
    for epoch in range(2):
        draws = [
            (I[draw(4 * t, B)], I[draw(4 * t + 2, B)], J[draw(4 * t + 1, C)], J[draw(4 * t + 3, C)])
            for t in range(epoch * B * C, (epoch + 1) * B * C)
        ]
        x, y = reference.spd1_vr_tiles(setup.task, x, y, draws, *STEPS.values(), B, C)
    assert_close(worker.state.x, x)
    assert_close(worker.state.y, y)
    assert_moved(x, setup.x)
    assert worker.entries_read == pytest.approx(2 * (3 + 2) * N * D)


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 8])
@pytest.mark.parametrize("case", thinned(DENSE))
def test_whole_row_tiles_as_transcribed(case, rows):
    setup, blocks = Setup(*case), cut(N, rows)
    worker, x, y = worker_of(setup, "spd1-vr", (rows, D)), setup.x, setup.y
    for _ in range(3):
        run(worker, 1)
        assert sorted(worker.order) == list(range(len(blocks)))
        order = [blocks[k] for k in worker.order]
        x, y = reference.whole_rows(setup.task, x, y, order, *STEPS.values(), setup.problem.mu)
    assert_close(worker.state.x, x)
    assert_close(worker.state.y, y)
    assert_close(worker.state.gradient, setup.task.A.T @ (setup.task.c * y))
    assert_moved(x, setup.x)


@pytest.mark.parametrize("rows", [1, 3, 8])
@pytest.mark.parametrize("case", thinned(SPARSE))
def test_sparse_tiles_as_transcribed(case, rows):
    setup, blocks = Setup(*case), cut(N, rows)
    stored = setup.task.A != 0
    worker, x, y = worker_of(setup, "spd1-vr", (rows, D)), setup.x, setup.y
    for _ in range(3):
        run(worker, 1)
        order = [i for k in worker.order for i in range(N)[blocks[k]]]
        x, y = reference.sparse_whole_rows(setup.task, x, y, order, *STEPS.values(), stored)
    assert_close(worker.state.x, x)
    assert_close(worker.state.y, y)
    assert_moved(x, setup.x)

    worker, T = run(worker_of(setup, "spd1", (rows, D)), 3), 3 * len(blocks)
    tiles = [range(N)[blocks[draw(t, len(blocks))]] for t in range(T)]
    expected = reference.sparse_spd1_rows(
        setup.task, setup.x, setup.y, tiles, *STEPS.values(), stored
    )
    [(x_mean, y_mean)] = worker.iterates()
    assert_close(worker.state.x, expected.x)
    assert_close(x_mean, expected.x_mean)
    assert_close(y_mean, expected.y_mean)
