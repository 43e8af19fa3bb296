"""``solve(..., tile=...)``: what it reaches and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from spd1 import L2, Problem, solve
from spd1.errors import IncompatibleError, ParameterError
from spd1.losses import LOSSES
from spd1.solve import starting_point
from spd1.solvers import method_class
from spd1.solvers.base import Method
from spd1.solvers.entries.tile_shapes import auto_tile
from spd1.solvers.entries.tuning import L1_BYTES, L2_BYTES
from support import cases, oracle
from support.cases import EVERY_METHOD
from support.checks import SMOOTH, STRONGLY_CONVEX, check_certificate
from support.setups import CASES, KEY, STEPS, Setup, run, worker_of

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


@pytest.mark.parametrize("weighted", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("loss", "reg", "layout", "tile"), RUNS)
def test_spd1_vr_reaches_the_oracles_optimum(loss, reg, layout, tile, weighted):
    case, best = oracle.make_case(loss, reg, weighted), oracle.optimum(loss, reg, weighted).best
    found = solve(case.problem(layout), "spd1-vr", tile=tile, tol=1e-6, max_passes=4000)
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
    found = solve(case.problem("dense_c"), "spd1", tile=tile, max_passes=2500)
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
    starts = whole.entries_read, parts.entries_read
    run(whole)
    run(parts)
    assert whole.t == parts.t
    counts = [
        worker.entries_read - start for worker, start in zip((whole, parts), starts, strict=True)
    ]
    assert counts[0] == pytest.approx(counts[1])
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
