"""Conflict-free rounds: tiles that commute, and tile methods on data that is cut."""

from __future__ import annotations

import numpy as np
import pytest

from spd1 import L2, ElasticNet, IncompatibleError, Problem, certify, solve
from spd1.engines.serial import Serial
from spd1.kernel.rng import index, key_of, shuffle_blocks
from spd1.regularizers import FeatureNet, SharedNet
from spd1.solvers import rounds
from spd1.solvers.entries.sampling import tile_samplers
from spd1.solvers.registry import build
from spd1.solvers.rounds import net_of, picked_grid, rounds_of, stream_of
from spd1.solvers.rows.kernels import Geometry
from support import oracle, reference
from support.setups import KEY, STEPS, Setup, assert_close, assert_moved, run

SHAPES = [(p, q) for p in (1, 2, 3, 8) for q in (1, 2, 5, 8)]


@pytest.mark.parametrize("shape", SHAPES)
def test_every_tile_has_one_round_and_shares_no_line(shape):
    found = []
    for tiles in rounds_of(shape):
        for lines in zip(*tiles, strict=True):
            assert len(set(lines)) == len(tiles)
        found += tiles
    assert sorted(found) == [(p, q) for p in range(shape[0]) for q in range(shape[1])]


def test_streams_of_tiles_have_nothing_in_common():
    keys = {int(stream_of(key_of(seed), p, q)) for seed in (0, 1) for p, q in SHAPES}
    assert len(keys) == 2 * len(SHAPES)
    draws = [[int(index(stream_of(KEY, p, 0), t, 1000)) for t in range(50)] for p in range(2)]
    assert draws[0] != draws[1]


def test_a_part_of_a_regularizer_is_that_of_its_columns():
    table = np.arange(24.0).reshape(6, 4)
    assert net_of(FeatureNet(table), slice(2, 5)).numbers(0) == tuple(table[2])
    shared = SharedNet(0.1, 0.2, -1.0, 1.0)
    assert net_of(shared, slice(2, 5)) is shared


@pytest.mark.parametrize("layout", ["dense_c", "csr"])
def test_samplers_of_tiles_have_the_shares_of_all_the_data(layout, rng):
    A = rng.standard_normal((9, 7)) * (rng.random((9, 7)) < 0.5)
    A[:3, :3] = 0.0  # a tile of which nothing is stored
    problem = Problem(oracle.LAYOUTS[layout](A), np.ones(9), "squared", L2(1.0))
    whole = tile_samplers(problem.grid, "auto")[0][0].of(problem.grid.matrix)
    grid = problem.grid.cut(3, 2)
    for row, samplers in enumerate(tile_samplers(grid, "auto")):
        for column, sampler in enumerate(samplers):
            if sampler is None:
                assert layout == "csr"
                assert (row, column) == (0, 0)
                continue
            sampler = sampler.of(grid.tiles[row][column])
            for i in range(grid.row_ends[row], grid.row_ends[row + 1]):
                assert sampler.row_share(i - grid.row_ends[row]) == whole.row_share(i)
            for j in range(grid.column_ends[column], grid.column_ends[column + 1]):
                share = sampler.column_share(j - grid.column_ends[column])
                assert share == whole.column_share(j)


def visits_of(worker, first):
    """The visits of a pass: rows, columns, number of the columns, and rows in their order."""
    grid = worker.problem.grid
    rounds = list(rounds_of(grid.shape))
    which = np.arange(len(rounds))
    shuffle_blocks(which, KEY, first, 1)
    for number in which:
        for row, column in rounds[number]:
            rows = slice(grid.row_ends[row], grid.row_ends[row + 1])
            columns = slice(grid.column_ends[column], grid.column_ends[column + 1])
            order = np.arange(rows.stop - rows.start)
            shuffle_blocks(order, stream_of(KEY, row, column), first, worker.block)
            yield rows, columns, column, rows.start + order


ROUND_CASES = [
    ("dense_c", "f8", "uniform", "logistic", "l2", True),
    ("csr", "f8", "uniform", "squared_hinge", "per_feature", True),
]


@pytest.mark.plain
@pytest.mark.parametrize("case", ROUND_CASES, ids=["dense", "csr"])
def test_rows_in_rounds_follow_their_transcription(case):
    setup = Setup(*case)
    grid = setup.problem.grid.cut(3, 2)
    worker = build("rows", setup.problem.with_grid(grid), None, "auto", KEY)
    worker.steps, worker.tied = {"eta": STEPS["eta"]}, False
    worker.begin(setup.x, setup.y)
    x, y, A = setup.x, setup.y, setup.task.A
    stored = A != 0 if case[0] == "csr" else setup.drawn
    ends = grid.column_ends
    parts = [slice(ends[q], ends[q + 1]) for q in range(2)]
    left = np.stack([A[:, part] @ x[part] for part in parts], axis=1)
    known = np.stack([y, y], axis=1)
    for _ in range(3):
        visits = list(visits_of(worker, worker.t))
        run(worker, 1)
        near = setup.problem.loss.prox_near
        x, y = reference.rows_in_rounds(
            setup.task, x, y, visits, STEPS["eta"], stored, near, left, known
        )
    [(x_found, y_found)] = worker.iterates()
    assert_close(x_found, x)
    assert_close(y_found, y)
    assert_moved(x, setup.x)
    assert_close(worker.state.margins, left)


@pytest.mark.plain
@pytest.mark.parametrize("name", ["spd1", "spd1-vr"])
def test_entries_in_rounds_follow_their_transcription(name):
    """Each tile runs the algorithm on its own entries with its own draws, shares those of all."""
    setup = Setup("dense_c", "f8", "uniform", "logistic", "l2", True)
    grid = setup.problem.grid.cut(2, 2)
    worker = build(name, setup.problem.with_grid(grid), None, "uniform", KEY)
    worker.steps = dict(STEPS)
    worker.begin(setup.x, setup.y)
    run(worker, 2)
    task, x, y, t = setup.task, setup.x.copy(), setup.y.copy(), 0
    for _ in range(2):
        x_snap, y_snap = x.copy(), y.copy()
        G, m = task.A.T @ (task.c * y), task.A @ x
        for tiles in rounds_of(grid.shape):
            for row, column in tiles:
                rows = slice(grid.row_ends[row], grid.row_ends[row + 1])
                columns = slice(grid.column_ends[column], grid.column_ends[column + 1])
                size = rows.stop - rows.start, columns.stop - columns.start
                key = stream_of(KEY, row, column)
                for s in range(t, t + size[0] * size[1]):
                    draws = one_entry if name == "spd1" else three_entries
                    draws(task, x, y, key, s, rows.start, columns.start, size, x_snap, y_snap, G, m)
            t += max(
                (grid.row_ends[p + 1] - grid.row_ends[p])
                * (grid.column_ends[q + 1] - grid.column_ends[q])
                for p, q in tiles
            )
    assert worker.t == t
    assert_close(worker.state.x, x)
    assert_close(worker.state.y, y)
    assert_moved(x, setup.x)


def one_entry(task, x, y, key, t, top, left, size, *_):
    i, j = top + int(index(key, 2 * t, size[0])), left + int(index(key, 2 * t + 1, size[1]))
    eta, tau, a, n, d = STEPS["eta"], STEPS["tau"], task.A[i, j], len(y), len(x)
    x_j, y_i = x[j], y[i]
    x[j] = reference.prox_g(task, x_j - eta * n * task.c[i] * a * y_i, eta, j)
    y[i] = reference.prox_dual(task.loss, y_i + tau * a * x_j, task.b[i], tau / d)


def three_entries(task, x, y, key, t, top, left, size, x_snap, y_snap, G, m):
    i, j = top + int(index(key, 4 * t, size[0])), left + int(index(key, 4 * t + 1, size[1]))
    i2, j2 = (top + int(index(key, 4 * t + 2, size[0])), left + int(index(key, 4 * t + 3, size[1])))
    eta, tau, n, d, A, c = STEPS["eta"], STEPS["tau"], len(y), len(x), task.A, task.c
    x_ahead, y_ahead = x[j] - eta * G[j], y[i] + tau / d * m[i]
    x_bar = reference.prox_g(
        task, x_ahead - eta * n * c[i2] * A[i2, j] * (y[i2] - y_snap[i2]), eta, j
    )
    y_bar = reference.prox_dual(
        task.loss, y_ahead + tau * A[i, j2] * (x[j2] - x_snap[j2]), task.b[i], tau / d
    )
    x[j] = reference.prox_g(task, x_ahead - eta * n * c[i] * A[i, j] * (y_bar - y_snap[i]), eta, j)
    y[i] = reference.prox_dual(
        task.loss, y_ahead + tau * A[i, j] * (x_bar - x_snap[j]), task.b[i], tau / d
    )


def problem_of(shape, layout, loss, reg, rng):
    A = rng.standard_normal(shape) * (rng.random(shape) < 0.6)
    b = np.where(A @ rng.standard_normal(shape[1]) + rng.standard_normal(shape[0]) > 0, 1.0, -1.0)
    return Problem(oracle.LAYOUTS[layout](A), b, loss, reg, rng.random(shape[0]) + 0.1)


QUICK = [  # method, shape, layout, cut
    ("rows", (60, 25), "dense_c", (3, 2)),
    ("rows", (40, 60), "csr", (2, 4)),
    ("rows", (60, 25), "csr", (4, 1)),
    ("spd1-vr", (40, 15), "dense_c", (2, 3)),
    ("spd1-vr", (40, 15), "csr", (3, 2)),
]


@pytest.mark.parametrize(("method", "shape", "layout", "cut"), QUICK)
def test_a_cut_has_the_optimum_of_the_whole_whoever_runs_it(method, shape, layout, cut, rng):
    """And the same bits with one, two and four threads as with none."""
    whole = problem_of(shape, layout, "logistic", L2(0.05), rng)
    best = solve(whole, "newton", tol=1e-9)
    found = solve(whole, method, grid=cut, tol=1e-6)
    assert found.converged
    assert found.primal == pytest.approx(best.primal, rel=2e-6)
    proof = certify(found.x, whole, found.y)
    assert proof.gap <= 1.001 * found.gap + 1e-12
    for threads in (1, 2, 4):
        same = solve(whole, method, grid=cut, tol=1e-6, engine="threads", n_threads=threads)
        assert same.passes == found.passes
        for mine, theirs in ((found.x, same.x), (found.y, same.y)):
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("method", ["spd1", "spd1-vr"])
def test_threads_pick_a_grid_from_the_data_alone(method, rng, monkeypatch):
    """The bits of the grid named, for any number of threads; one piece where it would not pay."""
    whole = problem_of((40, 15), "dense_c", "logistic", L2(0.05), rng)
    assert picked_grid(whole) == (1, 1)
    options = {"max_passes": 20}
    in_one_piece = solve(whole, method, **options)
    threads = {"engine": "threads", "n_threads": 2}
    np.testing.assert_array_equal(solve(whole, method, **threads, **options).x, in_one_piece.x)
    monkeypatch.setattr(rounds, "TILE_STEPS", 100)
    shape = picked_grid(whole)
    assert shape == (2, 2)
    named = solve(whole, method, grid=shape, **options)
    assert not np.array_equal(named.x, in_one_piece.x)
    for count in (1, 2, 4):
        found = solve(whole, method, engine="threads", n_threads=count, **options)
        np.testing.assert_array_equal(found.x, named.x)
    serial = solve(whole, method, **options)
    np.testing.assert_array_equal(serial.x, in_one_piece.x)
    with pytest.raises(IncompatibleError, match="equal sample weights"):  # not: about tiles
        solve(whole, method, steps="theory", **threads)


def test_tasks_of_a_round_may_run_in_any_order(rng):
    """What makes the number of threads irrelevant."""

    class Backwards(Serial):
        def run(self, grid, tasks):
            return super().run(grid, list(tasks)[::-1])

    whole = problem_of((30, 20), "csr", "logistic", L2(0.05), rng)
    for name in ("rows", "spd1", "spd1-vr"):
        found = []
        for engine in (Serial(), Backwards()):
            worker = build(name, whole.with_grid(whole.grid.cut(3, 4)), None, "auto", KEY)
            worker.engine = engine
            worker.adopt(worker.rule(worker).first())
            worker.begin(np.zeros(20), np.zeros(30))
            run(worker, 2)
            found.append(worker.iterates()[0])
        np.testing.assert_array_equal(found[0][0], found[1][0])
        np.testing.assert_array_equal(found[0][1], found[1][1])


@pytest.mark.parametrize("name", ["rows", "spd1-vr"])
def test_a_saved_state_of_cut_data_goes_on_where_it_was(name, rng):
    whole = problem_of((30, 20), "csr", "logistic", L2(0.05), rng)
    cut = whole.with_grid(whole.grid.cut(2, 3))
    worker = build(name, cut, None, "auto", KEY)
    worker.adopt(worker.rule(worker).first())
    worker.begin(np.zeros(20), np.zeros(30))
    run(worker, 1)
    saved, other = worker.save(), build(name, cut, None, "auto", KEY)
    run(worker, 2)
    other.restore(saved)
    run(other, 2)
    np.testing.assert_array_equal(worker.iterates()[0][0], other.iterates()[0][0])


def test_theorems_say_nothing_of_rounds(rng):
    whole = problem_of((30, 20), "dense_c", "logistic", L2(0.05), rng)
    for method in ("spd1", "spd1-vr"):
        with pytest.raises(IncompatibleError, match=f"theorems of {method} are about draws"):
            solve(whole, method, grid=(2, 2), steps="theory")


def test_spd1_on_a_grid_comes_as_far_as_on_the_whole(rng):
    """Within a factor: Algorithm 1 has no variance reduction, and comes nowhere near 1e-6."""
    whole = problem_of((40, 15), "dense_c", "logistic", L2(0.05), rng)
    gaps = [solve(whole, "spd1", grid=g, max_passes=150).rel_gap for g in (None, (2, 2), (4, 3))]
    assert max(gaps[1:]) <= 5.0 * gaps[0]
    assert gaps[0] > 1e-6


@pytest.mark.parametrize("cut", [(2, 2), (3, 1)])
def test_rows_on_tiles_reach_the_gap_by_themselves(cut, rng):
    """Neither side is strongly convex: averages go on, and who asks for rows gets rows."""
    whole = problem_of((60, 40), "csr", "hinge", ElasticNet(l1=0.02), rng)
    best = solve(whole, "newton", tol=1e-9)
    found = solve(whole, "rows", grid=cut, tol=1e-6, max_passes=10_000)
    assert found.converged
    assert found.method == "rows"
    assert found.primal == pytest.approx(best.primal, rel=2e-6)
    two = {"engine": "threads", "n_threads": 2}
    same = solve(whole, "rows", grid=cut, tol=1e-6, max_passes=10_000, **two)
    np.testing.assert_array_equal(found.x, same.x)
    in_one_piece = solve(whole, "rows", tol=1e-6, max_passes=10_000)
    assert in_one_piece.converged
    assert in_one_piece.method == "rows"


GRIDS = [(p, q) for p in range(1, 9) for q in range(1, 9)]
SWEEP = [  # method, shape, layout, loss, regularizer: what the method solves on one tile, too
    ("rows", (150, 60), "dense_c", "logistic", L2(0.02)),
    ("rows", (150, 60), "csr", "squared_hinge", L2(0.02)),
    ("rows", (60, 100), "csr", "hinge", L2(0.02)),
    ("rows", (60, 100), "csr", "logistic", ElasticNet(l1=0.005, l2=0.02)),
    ("spd1-vr", (60, 40), "csr", "logistic", L2(0.05)),
    ("spd1-vr", (60, 40), "dense_c", "logistic", ElasticNet(l1=0.005, l2=0.05)),
]


@pytest.mark.slow
@pytest.mark.parametrize(("method", "shape", "layout", "loss", "reg"), SWEEP)
def test_every_grid_reaches_what_is_asked_for(method, shape, layout, loss, reg, rng):
    whole = problem_of(shape, layout, loss, reg, rng)
    assert solve(whole, method, tol=1e-6, max_passes=20_000).converged
    missed = []
    for grid in GRIDS:
        found = solve(whole, method, grid=grid, tol=1e-6, max_passes=20_000)
        if not found.converged:
            missed.append((grid, found.rel_gap))
    assert not missed


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "hinge"])
@pytest.mark.parametrize("layout", ["dense_c", "csr"])
def test_auto_reaches_it_on_every_grid_with_l1_too(loss, layout, rng):
    for reg in (L2(0.02), ElasticNet(l1=0.01)):
        whole = problem_of((60, 40), layout, loss, reg, rng)
        for grid in GRIDS:
            assert solve(whole, grid=grid, tol=1e-6).converged


def test_damping_keeps_the_rows_that_are_empty_empty(rng):
    """Rows without entries have no step, cut or not."""
    A = rng.standard_normal((20, 30))
    A[4] = 0.0
    b = rng.choice([-1.0, 1.0], 20)
    whole = Problem(oracle.LAYOUTS["csr"](A), b, "logistic", L2(0.1))
    worker = build("rows", whole.with_grid(whole.grid.cut(2, 6)), None, "auto", KEY)
    assert isinstance(worker.tied_geometry, Geometry)
    plain = Geometry(whole.row_norms_squared / whole.mu, whole.c)
    assert np.all(worker.tied_geometry.row_norms_squared >= plain.row_norms_squared)
    assert worker.tied_geometry.row_norms_squared[4] == 0.0
