"""Several threads: the bits of one, what is refused, and what becomes of errors."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp
from joblib import Parallel, delayed, parallel_config
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV

from spd1 import L1, L2, Problem, solve
from spd1.certificate import points
from spd1.data import crew
from spd1.data.blocks import Scratch
from spd1.data.convert import with_square_sum
from spd1.data.facts import Nobody
from spd1.data.grid import Grid
from spd1.data.matrix import Dense
from spd1.engines import threads
from spd1.engines.blas import one_thread
from spd1.engines.choose import available_cores, make_engine
from spd1.engines.ledger import Ledger
from spd1.engines.serial import Serial, Task
from spd1.engines.threads import Threads
from spd1.errors import DataError, ParameterError
from spd1.linear_model import ERMClassifier, LogisticRegression
from spd1.linear_model._jobs import engine_for, threads_for

LAYOUTS = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "csr": sp.csr_array,
    "csc": sp.csc_array,
}


@pytest.fixture
def fine(monkeypatch):
    """Small data is cut, too."""
    monkeypatch.setattr(crew, "ALONE", 300)
    monkeypatch.setattr(crew, "ALONE_PRODUCT", 1e3)
    monkeypatch.setattr(crew, "LONG_SUM", 100)


def spd1_threads():
    return [one for one in threading.enumerate() if one.name.startswith("spd1-")]


# The engine


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_results_come_in_the_order_of_the_items(n_threads):
    with Threads(n_threads) as engine:
        for count in (0, 1, 3, 40):
            assert engine.map(lambda k: k * k, range(count)) == [k * k for k in range(count)]
    assert not spd1_threads()


def test_items_run_at_the_same_time():
    """Each of two waits for the other: one after the other they would wait forever."""
    meeting = threading.Barrier(2)
    with Threads(2) as engine:
        engine.map(lambda _: meeting.wait(timeout=60), [0, 1])


def test_a_round_has_the_entries_of_its_tasks():
    grid = Grid.whole(Dense(np.eye(6))).cut(2, 2)
    tasks = [Task(p, p, lambda tile: 0.1 * tile.stored) for p in range(2)]
    with Threads(2) as engine:
        assert engine.run(grid, tasks) == Serial().run(grid, tasks) == 0.1 * 9 + 0.1 * 9


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_the_first_error_reaches_the_caller(error):
    done = []

    def work(k):
        if k in (3, 5):
            raise error(k)
        done.append(k)

    with Threads(4) as engine:
        with pytest.raises(error) as caught:
            engine.map(work, range(20))
        assert caught.value.args == (3,)
        assert {0, 1, 2} <= set(done)
        assert engine.map(abs, [-1, -2]) == [1, 2]  # and it works on
    assert not spd1_threads()


def test_ctrl_c_waits_for_the_round_and_leaves_no_thread():
    done = []

    def work(k):
        if k == 0:
            signal.raise_signal(signal.SIGINT)
        time.sleep(0.01)
        done.append(k)

    with pytest.raises(KeyboardInterrupt), Threads(2) as engine:
        engine.map(work, range(4))
    assert sorted(done) == [0, 1, 2, 3]
    assert not spd1_threads()


def test_the_caller_waits_for_nobody_who_has_not_come(monkeypatch):
    """A thread that wakes up too late finds the round closed, and does none of its items."""
    woken, plain = threading.Event(), threads.Round.join
    left = []

    def late(self):
        woken.wait(60)
        plain(self)
        left.append(self.inside)

    monkeypatch.setattr(threads.Round, "join", late)
    with Threads(2) as engine:
        who = engine.map(lambda _: threading.current_thread().name, range(3))
        woken.set()
    assert set(who) == {threading.current_thread().name}
    assert not any(left)  # nobody is inside of it


def test_work_inside_work_is_done_by_its_own_thread():
    with Threads(2) as engine:
        found = engine.map(lambda k: engine.map(lambda j: 10 * k + j, range(3)), range(2))
    assert found == [[0, 1, 2], [10, 11, 12]]


def test_the_error_state_of_numpy_is_the_callers():
    with Threads(2) as engine, np.errstate(all="raise"):
        states = engine.map(lambda _: (time.sleep(0.01), np.geterr()["over"])[1], range(4))
    assert states == ["raise"] * 4


@pytest.mark.parametrize(
    ("name", "n_threads", "says"),
    [
        ("fast", None, "choose from serial, threads"),
        ("threads", 0, "n_threads must be"),
        ("threads", -1, "n_threads must be"),
        ("threads", 1.5, "n_threads must be"),
        ("threads", True, "n_threads must be"),
        ("serial", 2, "use engine 'threads'"),
    ],
)
def test_engines_that_are_none_are_refused(name, n_threads, says):
    with pytest.raises(ParameterError, match=says):
        make_engine(name, n_threads)


@pytest.mark.parametrize("grid", [3, "ab", (0, 1), (1.5, 1), (1, 2, 3)])
def test_grids_that_are_none_are_refused(grid):
    problem = Problem(np.eye(3), np.ones(3), "squared", L2(1.0))
    with pytest.raises(ParameterError, match="grid must be a pair"):
        solve(problem, grid=grid)


def test_a_grid_finer_than_the_data_is_refused():
    problem = Problem(np.eye(3), np.ones(3), "squared", L2(1.0))
    with pytest.raises(DataError, match="can't be cut"):
        solve(problem, grid=(4, 1))


# Bulk operations


def operations(grid):
    rng = np.random.default_rng(1)
    x, w, bend = rng.standard_normal(grid.d), rng.standard_normal(grid.n), rng.random(grid.n)
    return {
        "margins": grid.margins(x),
        "adjoint": grid.adjoint(w),
        "curved": grid.curved(bend, x),
        "row squares": grid.row_squares,
        "column squares": grid.column_squares,
        "weighted squares": grid.weighted_squares(bend),
        "row counts": grid.row_counts,
        "column counts": grid.column_counts,
        "gram": np.tril(grid.gram(bend)),
        "sampled gram": np.tril(grid.gram(bend, 3, Scratch())),
        "gram of rows": grid.gram_of_rows(0.5),
        "scaled gram of rows": grid.gram_of_rows(1.0 + x * x),
    }


@pytest.mark.parametrize("cut", [(1, 1), (3, 2)])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_bulk_operations_have_the_bits_of_one_thread(layout, cut, fine, rng):
    A = rng.standard_normal((83, 41)) * (rng.random((83, 41)) < 0.6)
    plain = Grid.whole(*with_square_sum(LAYOUTS[layout](A)))
    plain = plain if cut == (1, 1) else plain.cut(*cut)
    found = {}
    with one_thread():
        expected = operations(plain)
        for n_threads in (1, 2, 4, 8):
            with Threads(n_threads) as engine:
                found[n_threads] = operations(plain.watched(Nobody(), engine))
    for name, value in expected.items():
        np.testing.assert_allclose(found[1][name], value, rtol=1e-12, atol=1e-12, err_msg=name)
        for n_threads in (2, 4, 8):
            np.testing.assert_array_equal(found[n_threads][name], found[1][name], err_msg=name)


def test_sums_of_the_certificate_have_the_bits_of_one_thread(rng, monkeypatch):
    monkeypatch.setattr(points, "MANY_ROWS", 10)
    monkeypatch.setattr(crew, "ALONE", 10)
    A = rng.standard_normal((83, 5))
    problem = Problem(A, np.where(A[:, 0] > 0, 1.0, -1.0), "logistic", L2(0.1), rng.random(83))
    u, y = rng.standard_normal(83), -0.5 * problem.b
    expected = points.row_terms(problem, u, y)
    guess, found = points.dual_from_margins(problem, u), []
    for n_threads in (1, 2, 4, 8):
        with Threads(n_threads) as engine:
            watched = problem.watched(Ledger(problem.stored), engine)
            found.append(points.row_terms(watched, u, y))
            np.testing.assert_array_equal(points.dual_from_margins(watched, u), guess)
    np.testing.assert_allclose(found[0], expected, rtol=1e-13)
    assert found == [found[0]] * 4


def test_cuts_cover_every_line_once(rng):
    for n, pieces in [(1, 4), (7, 3), (100, 16), (3, 8)]:
        ends = crew.slices(n, pieces, 4)
        assert [k for part in ends for k in range(n)[part]] == list(range(n))
    A, _ = with_square_sum(sp.random_array((50, 9), density=0.2, rng=rng, format="csr"))
    for pieces in (1, 3, 60):
        assert [k for part in crew.line_ends(A, pieces) for k in range(50)[part]] == list(range(50))


def test_facts_of_one_engine_are_not_those_of_the_other(fine, rng):
    """What a serial run has found out must not show in the bits of one by threads."""
    A = rng.standard_normal((90, 40))
    with Threads(2) as engine:
        alone = Grid.whole(Dense(A)).watched(Nobody(), engine).column_squares
        shared = Grid.whole(Dense(A))
        first = shared.column_squares
        second = shared.watched(Nobody(), engine).column_squares
    np.testing.assert_array_equal(second, alone)
    assert np.any(first != second)


# Whole solves


SOLVES = [
    ("auto", "logistic", L2(1e-3), "rows"),
    ("newton", "logistic", L2(1e-3), "csr"),
    ("newton", "squared", L1(0.02), "rows"),
    ("newton", "squared", L1(0.02), "csc"),
    ("newton", "hinge", L2(1e-2), "csr"),
    ("rows", "logistic", L2(1e-2), "rows"),
]


@pytest.mark.parametrize(("method", "loss", "reg", "layout"), SOLVES)
def test_solves_have_the_bits_of_one_thread(method, loss, reg, layout, fine, rng):
    A = rng.standard_normal((120, 60)) * (rng.random((120, 60)) < 0.5)
    b = np.where(A[:, 0] + 0.5 * rng.standard_normal(120) > 0, 1.0, -1.0)
    problem = Problem(LAYOUTS[layout](A), b, loss, reg)
    runs = [
        solve(problem, method, engine="threads", n_threads=n_threads) for n_threads in (1, 2, 4, 8)
    ]
    serial = solve(problem, method)
    assert runs[0].converged
    assert abs(runs[0].primal - serial.primal) <= serial.gap + runs[0].gap
    for other in runs[1:]:
        np.testing.assert_array_equal(other.x, runs[0].x)
        np.testing.assert_array_equal(other.y, runs[0].y)
        assert (other.gap, other.passes) == (runs[0].gap, runs[0].passes)
    assert not spd1_threads()


def test_a_run_that_fails_leaves_no_thread(fine, rng):
    A = rng.standard_normal((120, 60))
    problem = Problem(A, np.sign(A[:, 0]), "logistic", L2(1e-3))

    def fail(_):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        solve(problem, "newton", engine="threads", n_threads=2, callback=fail)
    assert not spd1_threads()


# Estimators


def test_n_jobs_is_how_many_threads():
    cores = available_cores()
    assert engine_for(None) == engine_for(1) == {}
    assert engine_for(3) == {"engine": "threads", "n_threads": 3}
    assert threads_for(-1) == cores
    assert threads_for(-cores - 5) == 1


def test_estimators_have_the_same_bits_for_any_number_of_jobs(fine):
    X, y = make_classification(150, 40, random_state=0)
    fits = [LogisticRegression(n_jobs=jobs).fit(X, y) for jobs in (2, 4, -2)]
    if available_cores() > 2:  # else -2 is one thread
        assert threads_for(-2) > 1
    for other in fits[1:]:
        np.testing.assert_array_equal(other.coef_, fits[0].coef_)
    assert not spd1_threads()


class Telling(ERMClassifier):
    """Keeps the number of threads that it was allowed."""

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.allowed_ = threads_for(4)
        return self

    def score(self, X, y, sample_weight=None):
        return -self.allowed_


def test_a_search_by_threads_shares_the_cores_out():
    """Two fits at a time with four threads each would be eight."""
    X, y = make_classification(60, 5, random_state=0)
    with parallel_config("threading", n_jobs=2):
        search = GridSearchCV(Telling(n_jobs=4), {"l2": [0.1, 0.2]}, cv=2, refit=False).fit(X, y)
    assert search.best_score_ == -1


def large():
    """Data that threads are worth more on than one kernel."""
    return make_classification(20_000, 60, random_state=0)


class Counted(LogisticRegression):
    """Its score is minus the number of threads that one fit has run on: those of the system."""

    def fit(self, X, y, sample_weight=None):
        started, plain = [], threading.Thread.start

        def start(thread):
            plain(thread)
            started.append(thread.native_id)

        threading.Thread.start = start
        try:
            super().fit(X, y, sample_weight)
        finally:
            threading.Thread.start = plain
        self.threads_ = 1 + len(started)
        return self

    def score(self, X, y, sample_weight=None):
        return -self.threads_


def test_threads_of_a_fit_are_counted():
    """Alone it takes the two that it is allowed: what is counted in searches can be exceeded."""
    X, y = large()
    assert Counted(n_jobs=2).fit(X, y).threads_ == 2
    assert Counted(n_jobs=1).fit(X, y).threads_ == 1


def test_a_search_by_threads_starts_no_others(monkeypatch):
    """Two fits at a time, each on the thread of joblib that it runs on."""
    X, y = large()
    helpers, plain = [], threads.Helper.__init__

    def counted(self, number, spins):
        helpers.append(number)
        plain(self, number, spins)

    monkeypatch.setattr(threads.Helper, "__init__", counted)
    LogisticRegression(n_jobs=2).fit(X, y)
    assert len(helpers) == 1
    with parallel_config("threading"):
        model = LogisticRegression(n_jobs=2)
        GridSearchCV(model, {"C": [0.1, 1.0]}, cv=2, refit=False, n_jobs=2).fit(X, y)
    assert len(helpers) == 1


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_search_by_processes_stays_within_the_cores_asked_for(jobs):
    """Fits at a time, times threads of a fit: no more than the cores, or than the jobs."""
    X, y = large()
    search = GridSearchCV(Counted(n_jobs=2), {"C": [0.1, 1.0]}, cv=2, refit=False, n_jobs=jobs)
    threads_a_fit = -np.min(search.fit(X, y).cv_results_["mean_test_score"])
    assert jobs * threads_a_fit <= max(available_cores(), 2)


@pytest.mark.slow
def test_a_search_by_processes_shares_the_cores_out():
    """joblib tells each of its processes how many threads it has."""
    with parallel_config("loky", n_jobs=2, inner_max_num_threads=3):
        assert Parallel()(delayed(threads_for)(jobs) for jobs in (2, 4)) == [2, 3]


def test_a_process_may_use_fewer_cores_than_there_are():
    script = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))});"
        "from spd1.engines.choose import make_engine; print(make_engine('threads').n_threads)"
    )
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("no affinity here")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "1", done.stderr
