"""Whole solves in one kernel: the algorithm as written down, its certificates, its manners."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp

from spd1 import L1, L2, ElasticNet, Problem, certify, solve
from spd1.engines.ledger import Ledger
from spd1.errors import IncompatibleError
from spd1.kernel.rng import index, key_of
from spd1.losses import LOSSES
from spd1.solvers.sprint import workers
from spd1.solvers.sprint.ascent import LOOKS
from spd1.solvers.sprint.sprint import kind_of, sprint
from spd1.solvers.sprint.workers import AscentWorker, DescentWorker
from support import cases, oracle
from support.custom_loss import LogCosh

LAYOUTS = {"dense": np.asarray, "columns": np.asfortranarray, "csr": sp.csr_array}


def problem_of(loss, reg, n=30, d=50, layout=np.asarray, seed=0, weights=False, counts=False):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.4)
    b = A @ (rng.standard_normal(d) * (rng.random(d) < 0.2)) + 0.3 * rng.standard_normal(n)
    b = np.where(b > 0, 1.0, -1.0) if LOSSES[loss]().label_kind == "sign" else b
    b = np.round(np.abs(b)) if counts else b
    c = rng.random(n) * (np.arange(n) % 5 > 0) if weights else None
    return Problem(layout(A), b, loss, reg, c)


def shuffled(rows, key, counter):
    """Rows one by one in the kernel's random order."""
    rows = list(rows)
    for k in range(len(rows) - 1, 0, -1):
        other = int(index(key, counter + k, k + 1))
        rows[k], rows[other] = rows[other], rows[k]
    return rows


@pytest.mark.parametrize("l1", [0.0, 0.02])
@pytest.mark.parametrize("loss", ["logistic", "squared"])
@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_ascent_is_the_algorithm_of_its_docstring(loss, l1, layout):
    """Two passes of plain NumPy on the same draws."""
    p = problem_of(loss, ElasticNet(l1, 0.05), layout=LAYOUTS[layout], weights=True)
    key, A = key_of(3), np.asarray(p.grid.dense_rows())
    worker = AscentWorker(p, key)
    worker.block = 1
    looks, passes = worker.run((1e-300, 0.0, 3.0, 3.0), np.empty((LOOKS, 4)))
    y, G, l2 = np.zeros(p.n), np.zeros(p.d), p.mu
    squares = (A * A).sum(axis=1)
    moves = [i for i in range(p.n) if p.c[i] * squares[i] > 0]
    for i in set(range(p.n)) - set(moves):
        y[i] = p.loss.derivative(0.0, p.b[i])
    for counter in (0, len(moves)):
        for i in shuffled(moves, key, counter):
            sigma = l2 / (p.c[i] * squares[i])
            x = -np.sign(G) * np.maximum(np.abs(G) - l1, 0.0) / l2
            y_new = p.loss.prox_near(y[i] + sigma * (A[i] @ x), p.b[i], sigma, y[i])
            G += p.c[i] * (y_new - y[i]) * A[i]
            y[i] = y_new
    assert (looks, passes) == (1, 3.0)  # the look reads all rows once more
    np.testing.assert_allclose(worker.y, y, atol=1e-12)
    np.testing.assert_allclose(worker.G, G, atol=1e-12)
    x = -np.sign(G) * np.maximum(np.abs(G) - l1, 0.0) / l2
    np.testing.assert_allclose(worker.x, x, atol=1e-11)
    np.testing.assert_allclose(worker.u[moves], (A @ x)[moves], atol=1e-11)


def plain_sweeps(p, sweeps):
    """Visits to all columns from zero, slopes and bends exact after every move; the objectives."""
    A, x, values = np.asarray(p.grid.dense_rows()), np.zeros(p.d), []
    l1, l2 = float(p.reg.l1), float(p.reg.l2)
    for _ in range(sweeps):
        for j in range(p.d):
            u = A @ x
            g = A[:, j] @ (p.c * [p.loss.derivative(*two) for two in zip(u, p.b, strict=True)])
            bends = [p.loss.curvature(*two) for two in zip(u, p.b, strict=True)]
            h = A[:, j] ** 2 @ (p.c * bends)
            z = h * x[j] - g
            step = np.sign(z) * max(abs(z) - l1, 0.0) / (h + l2) - x[j]
            r = p.loss.growth * np.abs(A[:, j]).max() * abs(step)
            x[j] += step * (math.log1p(r) / r if 0.0 < r < math.inf else 1.0)
        values.append(p.primal(x))
    return values


@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge"])
@pytest.mark.parametrize("shape", [(60, 60), (90, 40), (25, 120)])  # on the last one more pull
@pytest.mark.parametrize("l2", [0.0, 0.01])
def test_columns_most_of_which_pull(loss, shape, l2, rng):
    """All of them are visited, again and again: the end is where Newton's method ends."""
    A = rng.standard_normal(shape) + 0.3 * rng.standard_normal((shape[0], 1))
    b = np.sign(A @ rng.standard_normal(shape[1]) + rng.standard_normal(shape[0]))
    p = Problem(A, b, loss, L1(1.0))
    l1 = 0.05 * float(np.max(np.abs(p.pull_at_zero)))
    p = p.with_regularizer(ElasticNet(l1=l1, l2=l2 * l1))
    assert np.count_nonzero(np.abs(p.pull_at_zero) > l1) > 0.5 * shape[1]
    found, other = solve(p, "descent", tol=1e-7), solve(p, "newton", tol=1e-9)
    assert found.converged
    assert certify(found.x, p, found.y).rel_gap <= 1.01e-7
    assert found.primal == pytest.approx(other.primal, rel=2e-7)


@pytest.mark.parametrize("reg", [L1(0.02), L2(0.02)])
def test_damped_visits_never_climb_and_descent_ends_where_they_do(reg):
    """Of the logistic loss, by the bound of its third derivative; moves of any length."""
    p = problem_of("logistic", reg, 40, 12)
    values = plain_sweeps(p, 60)
    assert np.all(np.diff([p.primal(np.zeros(p.d)), *values]) <= 1e-15)
    found = solve(p, "descent", tol=1e-9)
    assert found.status == "converged"
    assert found.primal == pytest.approx(values[-1], rel=1e-7)


def test_sweeps_that_climb_are_taken_back(rng):
    """Columns that are much alike, and large: a sweep along the bends of its start overshoots.

    Every sweep ends no higher than it began, so looks are in order, too.
    """
    common = rng.standard_normal((60, 1))
    A = 10.0 * (common + 0.5 * rng.standard_normal((60, 20)))
    b = np.where(A[:, 0] + 20.0 * rng.standard_normal(60) > 0, 1.0, -1.0)
    p = Problem(A, b, "logistic", L2(0.1))
    found = solve(p, "descent", tol=1e-6)
    values = [row.primal for row in found.trace.rows]
    assert found.status == "converged"
    assert np.all(np.diff(values) <= 1e-12)
    reference = solve(p, "newton", tol=1e-9)
    assert found.primal == pytest.approx(reference.primal, rel=1e-5)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize(
    ("loss", "reg"),
    [
        ("logistic", L2(0.02)),
        ("hinge", L2(0.05)),
        ("squared", L1(0.05)),
        ("logistic", L1(0.02)),
        *(
            pytest.param(loss, reg, marks=pytest.mark.slow)  # kernels of their own
            for loss, reg in [
                ("squared_hinge", ElasticNet(0.01, 0.05)),
                ("squared", ElasticNet(0.05, 0.001)),
                ("squared_hinge", L1(0.05)),
            ]
        ),
    ],
)
def test_what_is_certified_holds(loss, reg, layout, weights):
    """The gap bounds the distance from an independent optimum, and certify finds the same."""
    p = problem_of(loss, reg, 20, 30, LAYOUTS[layout], weights=weights)
    found = sprint(p, 1e-7, key_of(0), Ledger(p.stored))
    assert found is not None
    c = found.certificate
    assert found.status == ("converged" if c.rel_gap <= 1e-7 else "")
    A = np.asarray(p.grid.dense_rows())
    assert c.primal == pytest.approx(p.primal(found.x), rel=1e-12)
    again = certify(found.x, p, c.y)  # may be better: it looks between two dual points
    assert again.dual >= c.dual - 1e-9 * c.gap - 1e-14
    best = cases.minimum(oracle.Case(A, p.b, p.c, p.loss, p.reg))
    assert c.dual <= best + 1e-12 * abs(best)
    assert c.gap >= c.primal - best - 1e-12 * abs(best)
    if found.status == "":  # too slow: others go on
        c = solve(p, tol=1e-7).certificate
    assert c.rel_gap <= 1e-7
    assert c.primal <= best + 2e-7 * abs(best) + 1e-12


@pytest.mark.parametrize("kind", ["ascent", "descent"])
@pytest.mark.parametrize("shape", ["tall", "wide", "gaps", "twins", "weights", "units", "one_row"])
def test_awkward_data_reach_the_optimum_by_name(kind, shape):
    loss, reg = ("logistic", "l2") if kind == "ascent" else ("squared", "l1")
    case = cases.make(loss, reg, shape)
    found = solve(case.problem(), kind, tol=1e-6)
    assert found.status == "converged" or shape == "units"  # columns a million times as long
    best = cases.best(loss, reg, shape)
    assert found.gap >= found.primal - best - 1e-9 * (1 + abs(best))


def test_a_second_call_goes_on_where_the_first_ended():
    """Data whose passes are dealt out in small portions: the point is kept, not begun anew."""
    p = problem_of("logistic", L1(0.005), 60, 80)
    worker, record = DescentWorker(p, key_of(0)), np.empty((LOOKS, 4))
    values = []
    for _ in range(4):
        looks, _ = worker.run((1e-300, 0.0, 8.0, math.inf), record)
        values += list(record[:looks, 1])
        assert record[looks - 1, 1] == pytest.approx(p.primal(worker.x), rel=1e-12)
        np.testing.assert_allclose(worker.u, p.margins(worker.x), atol=1e-12)
    assert np.all(np.diff(values) <= 1e-12)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_passes_of_sweeps_count_entries_not_columns(loss):
    """One column has most of the entries, and it alone moves: a sweep and a look each read it."""
    n, d = 80, 300
    rng = np.random.default_rng(1)
    long = rng.standard_normal(n) + 0.5
    short = sp.csc_array((np.full(d, 1e-3), (np.arange(d) % n, np.arange(d))), (n, d))
    A = sp.csc_array(sp.hstack([sp.csc_array(long[:, None]), short]))
    b = long + 0.3 * rng.standard_normal(n)
    p = Problem(A, np.sign(b) if loss == "logistic" else b, loss, L1(0.01))
    worker, record = DescentWorker(p, key_of(0)), np.empty((LOOKS, 4))
    looks, passes = worker.run((1e-13, 0.0, 500.0, 500.0), record)
    assert np.flatnonzero(worker.x).tolist() == [0]
    assert looks >= 2
    assert np.diff(record[:looks, 0]).min() >= 2 * n / p.stored * (1.0 - 1e-12)
    assert passes >= record[looks - 1, 0]


@pytest.mark.parametrize("reg", [L2(0.02), L1(0.1)])
def test_same_seed_same_bits_and_no_clock_decides(reg):
    one, two = (solve(problem_of("logistic", reg), random_state=5) for _ in range(2))
    np.testing.assert_array_equal(one.x, two.x)
    assert one.gap == two.gap
    assert "in one kernel" in one.method


def test_bounds_of_the_trace_only_improve(monkeypatch):
    for reg in (L2(0.02), L1(0.1)):
        found = solve(problem_of("logistic", reg), tol=1e-9)
        assert "in one kernel" in found.method
        assert np.all(np.diff(found.trace.dual) >= 0.0)
        assert found.trace.gap[-1] == found.gap
    p = problem_of("logistic", L1(1.0), 150, 700)
    few_sweeps = L1(0.055 * float(np.abs(p.pull_at_zero).max()))
    monkeypatch.setattr(workers, "MOST_TRIED_DESCENT", 8.0)
    found = solve(p.with_regularizer(few_sweeps), tol=1e-9)
    assert ", then " in found.method  # others have gone on
    assert np.all(np.diff(found.trace.dual) >= -1e-12)
    assert np.all(np.diff(found.trace.passes) >= 0.0)


@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared_hinge", "squared"])
def test_the_trace_begins_where_the_run_did(loss):
    """At x = 0, with the bound of y = 0; as certified by the definitions."""
    problem = problem_of(loss, L2(1e-3), layout=sp.csr_array)
    found = sprint(problem, 1e-2, key_of(0), Ledger(problem.stored))
    first = found.rows[0]
    assert (first.passes, first.seconds) == (0.0, 0.0)
    assert first.primal == pytest.approx(problem.primal(np.zeros(problem.d)), rel=1e-12)
    assert first.dual == problem.dual(np.zeros(problem.n)) == 0.0
    assert first.rel_gap == pytest.approx(1.0)
    assert first.gap > found.rows[-1].gap


@pytest.mark.parametrize("reg", [L2(1e-4), L1(1e-3)])
def test_a_callback_hears_of_every_look_and_may_stop(reg):
    heard = []
    found = solve(problem_of("logistic", reg), tol=1e-6, callback=heard.append)
    passes = [row.passes for row in heard]
    assert passes == list(found.trace.passes)[1 : 1 + len(passes)]  # the first row is the start
    assert len(passes) >= len(found.trace) - 2  # the loop does not ask after the last
    stopped = solve(problem_of("logistic", reg), tol=1e-300, callback=lambda row: True)
    assert stopped.status == "interrupted"
    assert math.isfinite(stopped.gap)


def test_only_what_the_kernels_know_is_given_to_them():
    assert kind_of(problem_of("logistic", L2(0.1))) == "ascent"
    assert kind_of(problem_of("hinge", L1(0.1))) == ""
    assert kind_of(problem_of("squared", L1(0.1))) == "descent"
    assert kind_of(problem_of("squared", ElasticNet(l1=0.1, lower=0.0))) == ""
    assert kind_of(problem_of("squared", ElasticNet(l1=np.full(50, 0.1)))) == ""
    assert kind_of(problem_of("squared", ElasticNet())) == ""
    p = problem_of("squared", L2(0.1))
    assert kind_of(Problem(np.eye(3), [1.0, 2.0, 3.0], LogCosh(), L2(0.1))) == ""
    assert kind_of(p.with_grid(p.grid.cut(2, 2))) == ""
    tall = problem_of("logistic", L2(1e-6), 200, 10)  # and l2 holds nothing
    assert kind_of(tall) == "newton-gram"
    assert kind_of(problem_of("logistic", L2(1e-6), 200, 10, sp.csr_array)) == "newton-gram"
    assert kind_of(problem_of("logistic", L2(1e-6), 1500, 100, sp.csr_array)) == "newton-gram"
    assert kind_of(problem_of("logistic", L2(1e-6), 9000, 30, sp.csr_array)) == "newton-gram"
    assert kind_of(problem_of("logistic", L2(0.1), 200, 10, sp.csr_array)) == "newton-gram"
    assert kind_of(problem_of("logistic", L2(1e-6), 100, 60, sp.csr_array)) == "newton-cg"
    assert kind_of(problem_of("huber", L2(1e-6), 200, 10)) == "newton-gram"
    free = tall.with_regularizer(ElasticNet(l2=np.append(np.full(9, 0.1), 0.0)))
    assert kind_of(free) == "newton-gram"
    more = tall.with_regularizer(ElasticNet(l2=np.append(np.full(8, 0.1), [0.0, 0.0])))
    assert kind_of(more) == ""  # two columns without penalty
    assert kind_of(problem_of("hinge", L2(1e-6), 200, 10)) == "ascent"  # little data
    assert kind_of(problem_of("hinge", L2(1e-6), 5000, 10)) == ""
    assert kind_of(problem_of("poisson", L2(1e-6), 200, 10, counts=True)) == ""
    rng = np.random.default_rng(0)
    short = sp.random_array((1000, 400), density=0.01, format="csr", rng=rng)
    b = np.sign(rng.standard_normal(1000))
    assert kind_of(Problem(short, b, "squared_hinge", L2(1e-4))) == "descent"
    assert kind_of(Problem(short, b, "hinge", L2(1.0))) == "ascent"  # no slope to follow


@pytest.mark.parametrize(
    ("method", "loss", "reg"),
    [("ascent", "logistic", L1(0.1)), ("descent", "logistic", ElasticNet()),
     ("descent", "hinge", L1(0.1)), ("ascent", "poisson", L2(0.1))],
)  # fmt: skip
def test_what_they_do_not_know_is_refused_by_name(method, loss, reg):
    b = [0.0, 1.0, 2.0] if loss == "poisson" else [1.0, -1.0, 1.0]
    with pytest.raises(IncompatibleError, match=f"{method} needs"):
        solve(Problem(np.eye(3), b, loss, reg), method)


@pytest.mark.parametrize("reg", [L2(1e-3), L1(1e-3)])
def test_ctrl_c_keeps_what_has_been_found(reg, monkeypatch):
    """It is raised when the kernel has returned; before the kernel ran there is no answer."""
    p = problem_of("logistic", reg)
    for worker in (AscentWorker, DescentWorker):
        run = worker.run

        def interrupted(self, limits, record, run=run):
            run(self, limits, record)
            raise KeyboardInterrupt

        monkeypatch.setattr(worker, "run", interrupted)
    found = solve(p, tol=1e-300)
    assert found.status == "interrupted"
    assert found.gap >= 0.0
    assert found.primal < p.primal(np.zeros(p.d))
    assert found.trace.gap[-1] == found.gap
    for worker in (AscentWorker, DescentWorker):
        monkeypatch.setattr(worker, "run", raises)
    with pytest.raises(KeyboardInterrupt):
        solve(p, tol=1e-12)


def raises(self, limits, record):
    raise KeyboardInterrupt


def test_the_live_line_shows_looks(capsys):
    solve(problem_of("logistic", L2(0.02)), verbose=True)
    assert "auto" in capsys.readouterr().err


def test_limits_are_kept_and_others_go_on():
    p = problem_of("logistic", L1(1e-4), 60, 200)
    few = solve(p, tol=1e-12, max_passes=5)
    assert few.status == "max_passes"
    assert few.passes <= 17
    far = solve(p, tol=1e-9)
    assert far.status == "converged"
    assert far.primal <= few.primal


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_rows_that_share_no_column_are_looked_at_after_one_pass(loss):
    rng = np.random.default_rng(0)
    A = sp.csr_matrix(np.diag(rng.random(30) + 0.5))
    p = Problem(A, np.where(rng.random(30) < 0.5, 1.0, -1.0), loss, L2(0.05))
    worker, record = AscentWorker(p, key_of(0)), np.empty((LOOKS, 4))
    looks, passes = worker.run((1e-3, 0.0, 100.0, 100.0), record)
    assert (looks, passes) == (1, 2.0)  # a pass is all it takes, and the look that says so
    assert record[0, 3] <= 1e-3 * record[0, 1]


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_looks_after_one_pass_prove_what_they_claim(loss):
    """Rows that point the same way: what those before have done says little of those after."""
    rng = np.random.default_rng(1)
    A = sp.csr_matrix(np.abs(rng.standard_normal((40, 60))) * (rng.random((40, 60)) < 0.3))
    p = Problem(A, np.where(rng.random(40) < 0.1, 1.0, -1.0), loss, L2(0.3))
    for tol in (0.5, 1e-1, 1e-2, 1e-4):
        result = solve(p, tol=tol)
        assert result.rel_gap <= tol
        assert certify(result.x, p, y=result.y).rel_gap <= tol
