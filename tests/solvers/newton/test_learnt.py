"""Curvature learnt from steps, on data that is cut: its transcription, bits, certificates."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from spd1 import L1, L2, Box, IncompatibleError, Problem, certify, solve
from spd1.kernel.rng import key_of
from spd1.losses import LOSSES
from spd1.solvers import auto
from spd1.solvers.newton import learnt as module
from spd1.solvers.newton import tuning
from spd1.solvers.newton.learnt import learns
from spd1.solvers.registry import build
from support import oracle, reference
from support.checkpoints import assert_same, in_parts
from support.clusters import chunked, cluster_of, cut_problem, labelled, same_run
from support.reference_learnt import Sample, learnt

GRIDS = [(2, 1), (5, 1), (1, 3), (3, 2)]


def method_on(problem):
    found = build("learnt", problem, None, "auto", key_of(0))
    found.tol = 1e-9
    found.begin(np.zeros(problem.d), np.zeros(problem.n))
    return found


def drawn(rng, n=60, d=20, loss="logistic", layout="csr", l2=0.05, grid=(3, 1)):
    A, b = labelled(rng, n, d)
    whole = Problem(oracle.LAYOUTS[layout](A), b, loss, L2(l2), rng.random(n) + 0.1)
    return A, whole, whole.with_grid(whole.grid.cut(*grid))


def gap_of(A, problem, x, y):
    """P(x) - D(y) by definition."""
    case = oracle.Case(A, problem.b, problem.c, problem.loss, problem.reg)
    return oracle.primal(case, x) - oracle.dual(case, y)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
@pytest.mark.parametrize("grid", GRIDS)
def test_steps_as_they_stand_on_paper(loss, grid, rng, monkeypatch):
    """Fewer pairs than steps, so that some are forgotten; l2 is one a column."""
    monkeypatch.setattr(module, "STEPS_KEPT", 4)
    A, whole, cut = drawn(rng, loss=loss, l2=rng.uniform(0.1, 0.3, 20), grid=grid)
    task = reference.task_of(A, whole.b, whole.c, loss, whole.reg)
    method = method_on(cut)
    least = tuning.FAINT_BEND if loss == "logistic" else tuning.LEAST_BEND
    for x in learnt(task, reference.slope, 9, 4, least):
        list(method.epoch())
        np.testing.assert_allclose(method.state.x, x, rtol=1e-6, atol=1e-9)
    assert len(method.state.steps) == 4


@pytest.mark.parametrize("grid", [(2, 1), (2, 3)])
def test_the_same_with_a_sample_of_rows(grid, rng):
    n = int(1 + tuning.FEWEST_SAMPLED / tuning.LEARNT_SHARE)
    A, whole, cut = drawn(rng, n, 12, layout="dense_c", l2=1e-3, grid=grid)
    task = reference.task_of(A, whole.b, whole.c, "logistic", whole.reg)
    sample = Sample(tuning.FEWEST_SAMPLED, tuning.STILL_BENDS, tuning.STALE_CURVATURE)
    method, again = method_on(cut), tuning.SAMPLED_AGAIN
    for x in learnt(task, reference.slope, again + 3, tuning.STEPS_KEPT, 0.0, sample, again):
        list(method.epoch())
        np.testing.assert_allclose(method.state.x, x, rtol=1e-5, atol=1e-8)
    assert method.sampled is not None


@pytest.mark.parametrize("layout", ["dense_c", "dense_f", "csr", "csc"])
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "huber", "squared"])
def test_the_optimum(loss, layout, rng):
    A, whole, _ = drawn(rng, 80, 30, loss, layout, 1e-3)
    best = solve(whole, "newton", tol=1e-10).primal
    for grid in GRIDS:
        found = solve(whole.with_grid(whole.grid.cut(*grid)), "learnt", tol=1e-8)
        assert found.converged
        assert found.primal == pytest.approx(best, rel=2e-8)
        proof = gap_of(A, whole, found.x, found.y)
        assert proof <= 1.01e-8 * max(abs(found.primal), abs(found.dual))


def free_one(rng, n=80, d=15, loss="logistic", layout="dense_c", grid=(1, 1), l2=1e-3):
    """A column of a constant without penalty, neither the first nor the last."""
    A, b = labelled(rng, n, d)
    A[:, 4] = 0.5
    reg = L2(np.where(np.arange(d) == 4, 0.0, l2))
    whole = Problem(oracle.LAYOUTS[layout](A), b, loss, reg, rng.random(n) + 0.1)
    return A, whole, whole.with_grid(whole.grid.cut(*grid))


@pytest.mark.parametrize("layout", ["dense_c", "dense_f", "csr"])
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "huber", "squared"])
def test_one_column_without_penalty(loss, layout, rng):
    for grid in ((1, 1), *GRIDS):
        A, whole, cut = free_one(rng, loss=loss, layout=layout, grid=grid)
        found = solve(cut, "learnt", tol=1e-8)
        assert found.converged
        assert certify(found.x, whole, found.y).rel_gap <= 1.01e-8
        assert abs(A[:, 4] @ (whole.c * found.y)) <= 1e-14  # else no bound: v_4 has no other choice
        assert found.primal == pytest.approx(solve(whole, "newton", tol=1e-9).primal, rel=2e-8)


def test_a_free_column_is_looked_at_when_that_may_be_the_end(rng):
    """Steps between looks read the data once, and what they say is true of any x and feasible y."""
    A, whole, _ = free_one(rng, n=300, d=40, l2=1e-5)
    method, looks = method_on(whole), 0
    for _ in range(60):
        before, dual = method.ledger.entries, method.pair.dual
        list(method.epoch())
        pair, again = method.evaluated(), method.pair.dual is dual
        looks += not again
        assert not again or method.ledger.entries - before <= 2 * whole.stored
        case = oracle.Case(A, whole.b, whole.c, whole.loss, whole.reg)
        assert pair.point.value == pytest.approx(oracle.primal(case, pair.point.x), rel=1e-12)
        assert pair.gap >= pair.point.value - solve(whole, "newton", tol=1e-12).primal - 1e-12
        if pair.gap <= 1e-9 * pair.point.value:
            break
    assert pair.gap <= 1e-9 * pair.point.value
    assert looks < method.count


@pytest.mark.parametrize("layout", ["csr", "dense_c"])
def test_a_free_column_by_threads_from_a_saved_state_and_in_parts(layout, tmp_path, rng):
    n, seed = int(1 + tuning.FEWEST_SAMPLED / tuning.LEARNT_SHARE), rng.integers(2**31)

    def problem():
        return free_one(np.random.default_rng(seed), n, layout=layout, grid=(2, 1))[2]

    one, two = method_on(problem()), method_on(problem())
    for _ in range(6):
        list(one.epoch())
    two.restore(one.save())
    for _ in range(6):
        list(one.epoch())
        list(two.epoch())
    for left, right in zip(one.state, two.state, strict=True):
        np.testing.assert_array_equal(left, right)
    same_run(*[solve(problem(), "learnt", engine="threads", n_threads=k) for k in (1, 2)])
    same_run(*[solve(problem(), "learnt", engine="threads", n_threads=k) for k in (1, 4)])
    whole = solve(problem(), "learnt", tol=1e-8)
    found, _ = in_parts(problem, tmp_path / "run", method="learnt", tol=1e-8)
    assert_same(found, whole)


def test_every_round_is_a_look(rng):
    """Whole rows are read once a step; what the pair says is true of its point."""
    A, whole, cut = drawn(rng)
    method = method_on(cut)
    for _ in range(5):
        before = method.ledger.entries
        list(method.epoch())
        assert method.ledger.entries - before in (cut.stored, 2 * cut.stored)
        pair = method.evaluated()
        proof = gap_of(A, whole, pair.point.x, pair.dual.y)
        assert pair.gap == pytest.approx(proof, rel=1e-6, abs=1e-14)
        np.testing.assert_allclose(pair.dual.v, -A.T @ (whole.c * pair.dual.y), atol=1e-14)


def test_a_step_that_is_too_long_ends_at_the_best_point_of_the_way(rng):
    A, whole, cut = drawn(rng, l2=1e-3)
    method = method_on(cut)
    method.take_stock()
    step = 100.0 * method.direction(method.state.G + 1e-3 * method.state.x)
    t = method.best_on_the_way(step, A @ step)
    values = [whole.primal((t * share) * step) for share in (0.98, 1.0, 1.02)]
    assert 0.0 < t < 1.0
    assert values[1] < min(values[0], values[2])


def test_the_same_bits_from_a_saved_state_and_with_threads(rng):
    n = int(1 + tuning.FEWEST_SAMPLED / tuning.LEARNT_SHARE)
    for layout in ("csr", "dense_c"):
        _, _, cut = drawn(rng, n, 15, layout=layout, l2=1e-4)
        one, two = method_on(cut), method_on(cut)
        for _ in range(6):
            list(one.epoch())
        two.restore(one.save())
        for method in (one, two):
            for _ in range(6):
                list(method.epoch())
        for left, right in zip(one.state, two.state, strict=True):
            np.testing.assert_array_equal(left, right)
        runs = [solve(cut, "learnt", engine="threads", n_threads=k) for k in (1, 3)]
        same_run(*runs)


@pytest.mark.parametrize("sparse", [False, True])
def test_the_bits_of_threads_on_a_cluster(sparse, rng):
    n = int(1 + tuning.FEWEST_SAMPLED / tuning.LEARNT_SHARE)
    A, b = labelled(rng, n, 15)
    for workers in (1, 2):
        with cluster_of(workers) as client:
            for grid in ((5, 1), (3, 2)):
                problem = cut_problem(A, b, "logistic", L2(1e-3), grid, sparse)
                expected = solve(problem, "learnt", engine="threads")
                X = chunked(A, grid, sparse)
                found = solve(Problem(X, b, "logistic", L2(1e-3)), "learnt", engine="dask",
                              client=client)  # fmt: skip
                assert found.converged
                same_run(found, expected)


@pytest.mark.parametrize("layout", ["csr", "dense_c"])
def test_a_run_that_goes_on(layout, tmp_path, rng):
    n = int(1 + tuning.FEWEST_SAMPLED / tuning.LEARNT_SHARE)
    seed = rng.integers(2**31)

    def problem():
        return drawn(np.random.default_rng(seed), n, 15, layout=layout, l2=1e-3)[2]

    whole = solve(problem(), "learnt", tol=1e-8)
    found, stops = in_parts(problem, tmp_path / "run", method="learnt", tol=1e-8)
    assert stops > 5
    assert_same(found, whole)


def test_auto_takes_it_on_cut_data_and_lets_it_give_way(rng, monkeypatch):
    """Where neither few rows nor few columns make a small matrix, and nothing has a kink."""
    A = sp.random_array((2000, 1800), density=0.02, rng=rng, format="csr")
    b = np.where(A @ rng.standard_normal(1800) > 0.0, 1.0, -1.0)
    whole = Problem(A, b, "logistic", L2(1e-4))
    cut = whole.with_grid(whole.grid.cut(2, 2))
    assert learns(cut)
    assert not learns(whole)
    assert not learns(cut.with_regularizer(L1(1e-4)))
    found = solve(cut, tol=1e-7)
    assert found.method.startswith("auto: learnt (")
    monkeypatch.setattr(module, "WATCHED", 3)
    monkeypatch.setattr(module, "MOST_LEARNT", 0.0)
    other = solve(cut, tol=1e-7)
    assert other.method.startswith("auto: learnt, then newton")
    for one in (found, other):
        assert one.converged
        assert certify(one.x, whole, one.y).rel_gap <= 1.01e-7


def test_what_is_left_when_rounding_ends_it(rng):
    """A gap that no double can reach: it ends, and hands back the best point."""
    _, _, cut = drawn(rng)
    found = solve(cut, "learnt", tol=1e-30)
    assert found.status == "stalled"
    assert found.rel_gap < 1e-13


def test_refusals(rng):
    A, b = labelled(rng)
    for loss, reg, missing in (
        ("hinge", L2(0.1), "a smooth loss"),
        ("logistic", L1(0.1), "l2 > 0 for every feature but one"),
        ("logistic", L2(np.append(np.ones(18), [0.0, 0.0])), "l2 > 0 for every feature but one"),
        ("logistic", Box(-1.0, 1.0), "no bounds"),
    ):
        problem = Problem(A, b, LOSSES[loss](), reg)
        with pytest.raises(IncompatibleError, match=rf"learnt needs .*{missing}.*'auto'"):
            solve(problem.with_grid(problem.grid.cut(2, 1)), "learnt")


def test_auto_takes_it_on_much_dense_data(rng, monkeypatch):
    """In one piece, by any number of threads the same; not where a matrix would be small."""
    for name, number in (
        ("MUCH_DENSE_DATA", 5000), ("MANY_DENSE_ROWS", 90), ("MANY_DENSE_COLUMNS", 50)
    ):  # fmt: skip
        monkeypatch.setattr(auto, name, number)
    A = rng.standard_normal((100, 60))
    b = np.where(A @ rng.standard_normal(60) + rng.standard_normal(100) > 0.0, 1.0, -1.0)
    much = Problem(A, b, "logistic", L2(1e-3))
    assert auto.pick(much)[0] == "learnt"
    for other in (
        Problem(A, b, "squared", L2(1e-3)), Problem(A, b, "hinge", L2(1e-3)),
        much.with_regularizer(L1(1e-3)), Problem(A[:80], b[:80], "logistic", L2(1e-3)),
        Problem(sp.csr_array(A), b, "logistic", L2(1e-3)),
    ):  # fmt: skip
        assert auto.pick(other)[0] != "learnt"
    free = L2(np.append(np.full(59, 1e-3), 0.0))
    assert auto.pick(much.with_regularizer(free))[0] == "learnt"
    assert auto.pick(Problem(A, b, "squared_hinge", free))[0] != "learnt"  # rows are few
    found = [solve(much, "learnt", tol=1e-8, engine="threads", n_threads=n) for n in (1, 2, 4)]
    assert found[0].converged
    assert certify(found[0].x, much, found[0].y).rel_gap <= 1.01e-8
    for one in found[1:]:
        np.testing.assert_array_equal(one.x, found[0].x)
