"""Runs, grids, the store and the pool: what the figures are made of."""

from __future__ import annotations

import multiprocessing
import time
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import spd1
from spd1.io.arrays import write_npz
from spd1.kernel.rng import index, key_of
from spd1.reproduce.optimum import find_optimum
from spd1.reproduce.pool import Job, Pool
from spd1.reproduce.runs import Curve, run_method
from spd1.reproduce.settings import NAMES
from spd1.reproduce.store import Store, WallClock
from spd1.reproduce.table2 import METHODS_TIMED, seconds_a_pass
from spd1.reproduce.talk import Talk
from spd1.solvers.gradient.averaged import AveragedPSGD


@pytest.fixture(scope="module")
def problem():
    A, b = spd1.datasets.make_synthetic(40, 30, seed=1)
    return spd1.Problem(A, b, "logistic", spd1.L2(0.1))


STEPS = {
    "svrg": {"eta": 0.05},
    "saga": {"eta": 0.02},
    "psgd": {"eta": 0.05, "decay": 0.5},
    "spd1-vr": {"eta": 0.02, "tau": 0.1},
    "spd1": {"eta": 0.01, "tau": 0.05, "decay": 0.5},
}


@pytest.mark.parametrize("method", NAMES)
def test_a_curve_is_that_of_solve_with_the_same_steps(problem, method):
    curve = run_method(problem, method, STEPS[method], seed=7, horizon=8)
    trace = spd1.solve(
        problem,
        method,
        steps=dict(STEPS[method]),
        random_state=7,
        tol=1e-15,
        callback=lambda row: row.paper_passes >= 8,
        sampling="uniform" if "spd1" in method else "auto",
    ).trace
    np.testing.assert_allclose(curve.paper_passes[1:], trace.paper_passes[1:])
    assert np.all(curve.passes[1:] < trace.passes[1:])  # a curve reads nothing to certify
    if method == "psgd":  # solve averages the ends of epochs, a curve all iterates
        np.testing.assert_allclose(curve.primal[:2], trace.primal[:2])
    elif method == "spd1":  # solve certifies the average alone
        assert np.all(curve.primal <= trace.primal + 1e-12)
        assert np.any(curve.primal < trace.primal - 1e-12)
    else:
        np.testing.assert_allclose(curve.primal, trace.primal)
    assert curve.paper_passes[-1] == 8


def test_passes_are_counted_as_the_paper_does(problem):
    vr = run_method(problem, "spd1-vr", STEPS["spd1-vr"], 0, 6)
    np.testing.assert_allclose(vr.paper_passes, [0, 2, 4, 6])  # snapshot 1, nd inner steps 1
    # snapshot 2, but 1 where x = 0; three entries a step
    np.testing.assert_allclose(vr.passes, [0, 4, 9, 14])
    assert np.all(np.diff(vr.seconds) > 0)


def test_a_run_that_diverges_stops(problem):
    twice = np.repeat(problem.A.values, 2, axis=0)  # every row with both labels: far away is bad
    torn = spd1.Problem(twice, np.tile([1.0, -1.0], problem.n), "logistic", spd1.L2(0.0))
    curve = run_method(torn, "svrg", {"eta": 1e7}, 0, 100)
    assert len(curve.primal) < 51
    assert np.all(curve.primal[:-1] < 1e6)
    assert not curve.primal[-1] < 1e6


def test_seconds_are_processor_time(problem, monkeypatch):
    """A run that is paused, or shares its core, takes no longer."""
    from spd1.solvers.gradient.svrg import SVRG

    run_method(problem, "svrg", STEPS["svrg"], 0, 2)  # compiled
    real = SVRG.epoch

    def paused(self):
        time.sleep(0.2)
        yield from real(self)

    monkeypatch.setattr(SVRG, "epoch", paused)
    curve = run_method(problem, "svrg", STEPS["svrg"], 0, 2)
    assert 0 < curve.seconds[-1] < 0.1


def test_compiling_takes_no_processor_time(monkeypatch):
    from numba.core import event

    from spd1.reproduce.processor import processor_clock

    began = processor_clock()
    with event.trigger_event("numba:compiler_lock"), event.trigger_event("numba:compiler_lock"):
        burn(0.3)
    assert processor_clock() - began < 0.1
    burn(0.3)
    assert processor_clock() - began > 0.2


def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_processor_time_of_results_is_summed_over_calls(tmp_path):
    store = Store(tmp_path)
    store.put({"kind": "run", "seed": 1}, [1.0], 2.5)
    store.put({"kind": "run", "seed": 2}, [1.0], 1.0)
    assert store.processor == 3.5
    again = Store(tmp_path)
    assert again.processor == 0.0
    for _ in range(2):  # each result once
        again.get({"kind": "run", "seed": 1})
    assert again.processor == 2.5


def test_the_clock_goes_on_after_a_call_that_was_stopped(tmp_path, monkeypatch):
    from spd1.reproduce import store as module

    now = [100.0]
    monkeypatch.setattr(module.time, "perf_counter", lambda: now[0])
    clock = WallClock(Store(tmp_path))
    now[0] = 103.0
    assert clock.tick() == 3.0
    now[0] = 900.0  # stopped at 103; 797 s in which nothing ran
    clock = WallClock(Store(tmp_path))
    now[0] = 902.0
    assert clock.tick() == 5.0


def test_curves_survive_json(problem):
    import json

    curve = run_method(problem, "svrg", STEPS["svrg"], 0, 4)
    again = Curve.from_lists(json.loads(json.dumps(curve.to_lists())))
    for one, other in zip(curve, again, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_optimum_is_proven(problem):
    found = find_optimum(problem)
    assert found["rel_gap"] <= 1e-12
    assert found["optimum"] <= problem.primal(spd1.solve(problem, tol=1e-9).x) + 1e-15
    assert found["start"] == pytest.approx(np.log(2.0))


def test_the_store_forgets_what_it_cannot_read(tmp_path):
    store = Store(tmp_path / "runs")
    task = {"kind": "run", "seed": 1, "steps": {"eta": 0.1}}
    store.put(task, [1.0, float("inf")])
    assert store.get(task) == [1.0, float("inf")]
    assert store.get(task | {"seed": 2}) is None
    store.path(task).write_text('{"task": ')
    assert store.get(task) is None
    store.path(task).write_text("[]")
    assert store.get(task) is None


def tasks(count):
    shared = {
        "kind": "run",
        "data": "set",
        "loss": "logistic",
        "l2": 0.1,
        "horizon": 4,
        "sampling": "uniform",
        "method": "svrg",
        "steps": STEPS["svrg"],
    }
    return [Job(shared | {"seed": seed}, f"seed {seed}", 1.0) for seed in range(count)]


def test_a_stopped_run_goes_on_where_it_was(problem, tmp_path, monkeypatch):
    from spd1.reproduce import pool as module

    write_npz(tmp_path / "set.npz", problem.A.values, problem.b)
    store, done = Store(tmp_path / "runs"), []
    real = module.run_task

    def counted(folder, task):
        done.append(task["seed"])
        if len(done) == 3:
            raise KeyboardInterrupt
        return real(folder, task)

    monkeypatch.setattr(module, "run_task", counted)
    pool = Pool(store, tmp_path, 1, Talk())
    with pytest.raises(KeyboardInterrupt):
        pool.run(tasks(4))
    reports = []
    pool.talk = Talk(reports.append, planned=4.0)
    results = pool.run(tasks(4))
    assert sorted(done) == [0, 1, 2, 2, 3]
    assert [progress.label for progress in reports] == ["seed 2", "seed 3"]
    assert pool.talk.planned == pool.talk.finished == 2.0
    assert len({tuple(r["primal"]) for r in results}) == 4
    pool.run(tasks(4))
    assert len(done) == 5


def interrupt(progress):
    raise KeyboardInterrupt


def test_two_processes_find_what_one_finds(problem, tmp_path):
    write_npz(tmp_path / "set.npz", problem.A.values, problem.b)
    others = set(multiprocessing.active_children())  # of tests before, not of the pool
    found = []
    for jobs in (1, 2):
        with Pool(Store(tmp_path / f"runs{jobs}"), tmp_path, jobs, Talk()) as pool:
            found.append(pool.run(tasks(2)))
            assert len(pool.run(tasks(3))) == 3  # the same processes
            if jobs == 2:
                assert set(multiprocessing.active_children()) - others
                pool.talk = Talk(interrupt)
                with pytest.raises(KeyboardInterrupt):
                    pool.run(tasks(5))
                left = set(multiprocessing.active_children()) - others
                assert not left  # whatever they were at
    for one, two in zip(*found, strict=True):
        assert one["primal"] == two["primal"]


@pytest.mark.slow
def test_seconds_a_pass_are_positive_and_about_those_of_whole_epochs(problem):
    for label in METHODS_TIMED:
        assert 0 < seconds_a_pass(problem, label) < 1.0


@pytest.mark.parametrize("setup", [0, 4])
def test_a_long_pass_is_extrapolated_from_its_chunks(monkeypatch, setup):
    """A snapshot of 5 s, then ten chunks of 2 s: two passes, 25 s; chunks of set-up aside."""
    from spd1.reproduce import table2

    now = [0.0]
    monkeypatch.setattr(table2, "processor_clock", lambda: now[0])

    class Worker:
        name, paper_passes = "spd1-vr", 0.0

        def epoch(self):
            for _ in range(setup):
                now[0] += 7.0
                yield
            now[0] += 5.0
            self.paper_passes += 1
            for _ in range(10):
                now[0] += 2.0
                self.paper_passes += 0.1
                yield

    for budget in (0.0, 1e9):
        cost, _ = table2._time_epoch(Worker(), budget)
        assert cost == pytest.approx(12.5)


def test_figure_4_goes_by_processor_time(monkeypatch):
    """A run of 8 s by the clock of which the processor spent 2: all its times are a quarter.

    It is repeated while it takes less than a tenth of the limit, and the fastest counts.
    """
    from spd1.reproduce import figure4

    trace = SimpleNamespace(seconds=np.array([0.0, 4.0, 8.0]), primal=np.array([3.0, 1.0, 2.0]))
    times = {"clock": iter([0.0, 8.0]), "processor_clock": iter([0.0, 2.0])}
    for name, values in times.items():
        monkeypatch.setattr(figure4, name, values.__next__)
    monkeypatch.setattr(figure4, "solve", lambda *_, **__: SimpleNamespace(trace=trace))
    found = figure4.measure(None, "rows", 1.0)
    assert found == {"seconds": [0.0, 1.0, 2.0], "primal": [3.0, 1.0, 1.0]}
    repeated = {"clock": range(0, 80, 8), "processor_clock": [0, 4, 4, 6, 6, 7, 7, 11, 11, 15]}
    for name, values in repeated.items():
        monkeypatch.setattr(figure4, name, iter(values).__next__)
    found = figure4.measure(None, "rows", 1000.0)
    assert found["seconds"] == [0.0, 0.5, 1.0]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("steps", [{"eta": 0.05}, {"eta": 2.0 / 0.1, "offset": 4.0}])
def test_psgd_averages_all_its_iterates(problem, sparse, steps):
    """Step by step, by the definition."""
    A = problem.A.values * (np.random.default_rng(0).random((40, 30)) < 0.3 if sparse else 1.0)
    p = spd1.Problem(sp.csr_array(A) if sparse else A, problem.b, "logistic", spd1.L2(0.1))
    worker = AveragedPSGD(p, key_of(3))
    worker.steps = dict(steps)
    worker.begin(np.zeros(30), np.zeros(40))
    for _ in range(3):
        for _ in worker.epoch():
            pass
    x, total = np.zeros(30), np.zeros(30)
    for t in range(120):
        total += x
        i = index(key_of(3), t, 40)
        eta = steps["eta"] / (t + 4.0) if "offset" in steps else steps["eta"]
        slope = -p.b[i] / (1.0 + np.exp(p.b[i] * (A[i] @ x)))
        x = (x - eta * slope * A[i]) / (1.0 + eta * 0.1)
    (last, _), (average, _) = worker.iterates()
    np.testing.assert_allclose(last, x, atol=1e-12)
    np.testing.assert_allclose(average, total / 120, atol=1e-12)
    assert worker.paper_passes == 3.0
