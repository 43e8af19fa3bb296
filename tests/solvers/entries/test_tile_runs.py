"""``solve(..., tile=...)``: what it reaches, what it refuses, and kernels on a part of the data."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from test_tiles import worker_of

from solvers.test_reference import CASES, KEY, STEPS, Setup, run
from spd1 import L2, ElasticNet, Problem, solve
from spd1.data.matrix import as_matrix
from spd1.errors import IncompatibleError, ParameterError
from spd1.losses import LOSSES
from spd1.regularizers import SharedNet
from spd1.solve import starting_point
from spd1.solvers import method_class
from spd1.solvers.base import Method
from spd1.solvers.entries.spd1 import CONSTANT, Averaged, Schedule
from spd1.solvers.entries.spd1_vr import Snapshot
from spd1.solvers.entries.tile_kernels import (
    Area,
    RowData,
    Tile,
    Whole,
    gram_of_tiles,
    tile_spd1_steps,
    tile_vr_steps,
    whole_row_steps,
)
from spd1.solvers.entries.tile_shapes import L1_BYTES, L2_BYTES, auto_tile
from support import cases, oracle
from support.cases import EVERY_METHOD
from test_solve import SMOOTH, STRONGLY_CONVEX, check_certificate

# Every loss, layout and regularizer; tiles of 12 x 6 entries.
RUNS = [
    ("logistic", "l2", "dense_c", "auto"),
    ("hinge", "elastic", "dense_f", (4, 6)),
    ("squared_hinge", "elastic_box", "csr", "auto"),
    ("smoothed_hinge", "nonnegative_l2", "csc", (5, 6)),
    ("squared", "elastic", "dense_strided", (5, 6)),
    ("huber", "l2", "dense_float32", (3, 6)),
    ("absolute", "l2", "csr_float32", (1, 6)),
    ("quantile", "elastic", "csc_float32", (4, 99)),
    ("epsilon_insensitive", "nonnegative_l2", "csr_int64", "auto"),
    ("squared_epsilon_insensitive", "l2", "csc_int64", "auto"),
    ("poisson", "l2", "dense_c", (2, 6)),
    ("logistic", "per_feature", "dense_c", (4, 6)),
    ("logistic", "intercept", "csr", "auto"),
    # without a penalty the certificate has no column terms: the balance must not follow them
    ("squared", "none", "dense_c", "auto"),
    ("huber", "none", "csr", "auto"),
    ("poisson", "nonnegative", "dense_c", (12, 6)),
    # tiles that are not as wide as the data
    ("logistic", "l2", "dense_c", (4, 3)),
    ("squared", "elastic", "dense_f", (5, 4)),
    ("huber", "l2", "dense_float32", (12, 1)),
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("loss", "reg", "layout", "tile"), RUNS)
def test_spd1_vr_reaches_the_oracles_optimum(loss, reg, layout, tile, weighted):
    case, best = oracle.make_case(loss, reg, weighted), oracle.optimum(loss, reg, weighted).best
    found = solve(case.problem(layout), "spd1-vr", tile=tile, tol=1e-6, max_passes=2000)
    check_certificate(case, found, best)
    start = oracle.primal(case, case.reg.minimiser(oracle.D))
    assert found.primal - best <= 1e-3 * (start - best) + 1e-6 * abs(best)
    if loss in SMOOTH and reg in (*STRONGLY_CONVEX, "none", "per_feature", "intercept"):
        assert found.status == "converged"


def test_the_runs_leave_nothing_out():
    seen = [set(column) for column in zip(*RUNS, strict=True)]
    assert seen[0] == set(LOSSES)
    assert seen[2] == set(oracle.LAYOUTS)


@pytest.mark.parametrize("tile", ["auto", (3, 2), (4, 6)])
@pytest.mark.parametrize(("loss", "reg"), [("logistic", "l2"), ("hinge", "elastic_box")])
def test_spd1_goes_most_of_the_way(loss, reg, tile):
    case, best = oracle.make_case(loss, reg, True), oracle.optimum(loss, reg, True).best
    found = solve(case.problem("dense_c"), "spd1", tile=tile, max_passes=1000)
    check_certificate(case, found, best)
    assert found.gap <= 0.3 * found.trace.gap[0]


@pytest.mark.parametrize("name", ["spd1", "spd1-vr"])
def test_without_a_tile_a_step_is_one_entry(name):
    """Epoch by epoch the published method, driven by hand; larger tiles take another way."""
    problem = oracle.make_case("logistic", "l2", False).problem()

    def heights(**tile):
        limits = {"tol": 1e-300, "max_passes": 40}
        return solve(problem, name, steps=STEPS, random_state=11, **limits, **tile).trace.primal

    left_out = heights()
    assert len(left_out) > 4
    worker = method_class(name)(problem, "uniform", KEY)  # KEY is that of random_state=11
    worker.steps = dict(STEPS)
    worker.begin(*starting_point(problem, None, None))
    workers = (run(worker, epochs=k > 0) for k in range(len(left_out)))
    by_hand = np.array([problem.primal(w.iterates()[0][0]) for w in workers])
    np.testing.assert_allclose(left_out, by_hand, rtol=1e-12)
    np.testing.assert_array_equal(heights(tile=None), left_out)
    np.testing.assert_allclose(heights(tile=(1, 1)), by_hand, rtol=1e-9)
    for tile in ("auto", (2, 1), (1, 2), (3, 4), (2, 6)):
        assert abs(heights(tile=tile)[1] - by_hand[1]) > 1e-6 * by_hand[1]


@pytest.mark.parametrize("tile", [(3, 4), (3, 6)])
@pytest.mark.parametrize("name", ["spd1", "spd1-vr"])
def test_chunks_of_an_epoch_change_nothing(name, tile):
    setup = Setup(*CASES[0])
    whole, parts = worker_of(setup, name, tile), worker_of(setup, name, tile)
    parts.chunks = lambda count, size=0: Method.chunks(parts, count, 2)
    run(whole)
    run(parts)
    assert whole.t == parts.t
    assert whole.entries_read == pytest.approx(parts.entries_read)
    for found, expected in zip(parts.state, whole.state, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


def test_an_empty_matrix_is_solved():
    problem = Problem(sp.csr_array((5, 4)), np.ones(5), "logistic", L2(1.0))
    assert solve(problem, "spd1-vr", tile="auto").status == "converged"


# Refusals.


@pytest.mark.parametrize(
    "tile",
    [(0, 3), (3, -1), (2,), (1, 2, 3), 4, True, (True, 2), (2.0, 3), "big", ("2", "3"), {}],
)
@pytest.mark.parametrize("name", ["spd1", "spd1-vr"])
def test_odd_tiles_are_refused(name, tile):
    problem = oracle.make_case("logistic", "l2", False).problem()
    with pytest.raises(ParameterError, match="tile must be None, 'auto' or a pair"):
        solve(problem, name, tile=tile)


@pytest.mark.parametrize("name", [name for name in EVERY_METHOD if name not in ("spd1", "spd1-vr")])
@pytest.mark.parametrize("tile", ["auto", (2, 2)])
def test_methods_without_tiles_say_so(name, tile):
    problem = cases.suited(name).problem()
    with pytest.raises(ParameterError, match=f"'{name}' has no tiles"):
        solve(problem, name, tile=tile)


def test_what_tiles_can_not_do_is_refused_by_name():
    case = oracle.make_case("logistic", "l2", False)
    for layout in ("csr", "csc"):
        with pytest.raises(ParameterError, match=r"sparse data takes \(p, d\)"):
            solve(case.problem(layout), "spd1-vr", tile=(2, 3))
    with pytest.raises(ParameterError, match=r"nonzeros.*tiles"):
        solve(case.problem(), "spd1-vr", tile="auto", sampling="nonzeros")
    for tile in ((2, 2), (2, 6)):
        with pytest.raises(IncompatibleError, match="one entry a step"):
            solve(case.problem(), "spd1-vr", tile=tile, steps="theory")
    tall = Problem(np.ones((300, 2)), np.ones(300), "logistic", L2(1.0))
    with pytest.raises(ParameterError, match="at most 256 rows"):
        solve(tall, "spd1-vr", tile=(300, 2))
    with pytest.raises(ParameterError, match="missing: tau"):
        solve(case.problem(), "spd1-vr", tile="auto", steps={"eta": 1.0})


# What "auto" means.


@pytest.mark.parametrize(("n", "d"), [(1, 1), (40, 3), (1000, 50), (90, 3000), (100, 70_000)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_automatic_tiles_fit_the_caches(n, d, order):
    problem = Problem(np.ones((n, d), order=order), np.ones(n), "logistic", L2(1.0))
    rows, columns = auto_tile(problem, "spd1-vr")
    assert columns == d
    assert rows == 1 or 8 * rows <= n
    assert rows == 1 or order == "F" or 8 * rows * d <= L2_BYTES // 2
    rows, columns = auto_tile(problem, "spd1")
    assert 1 <= columns <= d
    assert columns == 1 or 8 * rows * columns <= L1_BYTES // 2


# A part of the data is treated like data of its own: what parallel engines build on.


def part_of(rng, layout):
    A = rng.standard_normal((9, 8)).astype(np.float32).astype(float)
    rows, columns = slice(2, 9), slice(3, 8)
    return as_matrix(oracle.LAYOUTS[layout](A)), as_matrix(A[rows, columns]), rows, columns


def row_data(rng, n, p):
    return RowData(
        rng.choice([-1.0, 1.0], n), rng.random(n) / n, 0.5 + rng.random(n), np.zeros((n, p))
    )


@pytest.mark.parametrize("layout", ["dense_c", "dense_f", "dense_float32"])
def test_whole_row_steps_stay_in_their_area(layout, rng):
    data, own, I, J = part_of(rng, layout)
    rows, loss, net = row_data(rng, 9, 3), LOSSES["logistic"](), SharedNet(0.01, 0.1, -9.0, 9.0)
    start = Whole(*(0.3 * rng.standard_normal(size) for size in (8, 9, 8, 9)))
    state = Whole(*(v.copy() for v in start))
    area, tile = Area(I.start, I.stop, J.start, J.stop), Tile(3, 5, data.row_major)
    gram_of_tiles(data, area, tile, rows.gram)
    order, steps = np.array([2, 0, 1]), (0.7, 0.9)
    whole_row_steps(data, area, tile, rows, state, loss, net, steps, 0.1, order)

    mine = Whole(start.x[J].copy(), start.y[I].copy(), start.gradient[J].copy(), start.outside[I])
    parts = RowData(*(v[I] for v in rows))
    whole = Area(0, 7, 0, 5)
    whole_row_steps(own, whole, Tile(3, 5, True), parts, mine, loss, net, steps, 0.1, order)
    assert np.max(np.abs(mine.x - start.x[J])) > 1e-3
    for name, where in (("x", J), ("y", I), ("gradient", J)):
        expected = getattr(start, name).copy()
        expected[where] = getattr(mine, name)
        np.testing.assert_allclose(getattr(state, name), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kernel", [tile_spd1_steps, tile_vr_steps])
def test_random_tiles_stay_in_their_area(kernel, rng):
    data, own, I, J = part_of(rng, "dense_c")
    rows, loss, net = row_data(rng, 9, 0), LOSSES["logistic"](), SharedNet(0.01, 0.1, -9.0, 9.0)
    kind, lengths = (Averaged, (8, 9) * 3) if kernel is tile_spd1_steps else (Snapshot, (8, 9) * 3)
    steps = Schedule(0.7, 0.9, CONSTANT, 0, 0) if kind is Averaged else (0.7, 0.9)
    start = kind(*(0.3 * rng.standard_normal(size) for size in lengths))
    state = kind(*(v.copy() for v in start))
    area, tile = Area(I.start, I.stop, J.start, J.stop), Tile(3, 2, True)
    kernel(data, area, tile, rows, state, loss, net, steps, 0, 40, KEY)

    mine = kind(*(v[J if len(v) == 8 else I].copy() for v in start))
    parts = RowData(*(v[I] for v in rows))
    kernel(own, Area(0, 7, 0, 5), tile, parts, mine, loss, net, steps, 0, 40, KEY)
    for found, before, after in zip(state, start, mine, strict=True):
        expected = before.copy()
        expected[J if len(before) == 8 else I] = after
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    assert np.max(np.abs(state.x - start.x)) > 1e-3


def test_rows_without_weight_do_not_matter(rng):
    A, b, c = rng.standard_normal((20, 7)), rng.choice([-1.0, 1.0], 20), np.ones(20)
    c[3:11] = 0.0  # a whole tile and parts of others
    reg = ElasticNet(l1=0.01, l2=0.1)
    used, tile = c > 0, (4, 7)
    one = solve(Problem(A, b, "logistic", reg, c), "spd1-vr", tile=tile, tol=1e-9)
    two = solve(Problem(A[used], b[used], "logistic", reg), "spd1-vr", tile=tile, tol=1e-9)
    assert one.status == two.status == "converged"
    np.testing.assert_allclose(one.x, two.x, atol=1e-4)
