"""Workers that die, stop, join or never answer: the same bits, or a named error in time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
from distributed import Client

from spd1 import L1, L2, ClusterError, Problem, solve, write_store
from spd1.cluster import placed, tuning
from spd1.cluster.team import Team
from support.clusters import chunked, cluster_of, labelled, same_run


def pids(client):
    """Processes of the workers that are there."""
    return list(client.run(os.getpid).values())


def killing(monkeypatch, client, rounds):
    """Kill a worker that holds tiles when it has just been asked for something; who was killed."""
    killed, ask = [], Team._replies

    def replies(team, asked):
        team.asked = getattr(team, "asked", 0) + 1
        if team.asked in rounds:
            address = asked[0][0].address
            killed.append(client.run(os.getpid, workers=[address])[address])
            threading.Timer(0.001, os.kill, (killed[-1], signal.SIGKILL)).start()
        return ask(team, asked)

    monkeypatch.setattr(Team, "_replies", replies)
    return killed


def test_a_worker_that_is_killed(monkeypatch, rng):
    """Its tiles are made again elsewhere from the array's lineage; nothing else changes."""
    A, b = labelled(rng)
    problem = Problem(chunked(A, (4, 2), True), b, "logistic", L1(0.005))
    with cluster_of(2, processes=True) as client:
        expected = solve(problem, engine="dask", client=client)
        killed = killing(monkeypatch, client, {6})
        found = solve(problem, engine="dask", client=client)
    assert len(killed) == 1
    same_run(found, expected)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["auto", "rows", "ascent"])
def test_five_workers_that_are_killed(method, monkeypatch, tmp_path, rng):
    """Of six: nannies start others, but nobody waits for them."""
    A, b = labelled(rng, n=400, d=50)
    tiles = (8, 1) if method == "ascent" else (4, 2)
    store = write_store(tmp_path / "a.store", A, b, tiles=tiles)
    problem = Problem(store, loss="logistic", reg=L1(1e-3) if method == "auto" else L2(1e-3))
    settings = {"method": method, "tol": 1e-9, "max_passes": 200, "engine": "dask"}
    with cluster_of(6, processes=True) as client:
        expected = solve(problem, client=client, **settings)
        killed = killing(monkeypatch, client, {9, 10, 11, 12, 15})
        found = solve(problem, client=client, **settings)
    assert len(killed) == 5
    same_run(found, expected)


@pytest.mark.slow
def test_a_worker_that_stops_for_ten_seconds_and_one_that_joins(rng):
    A, b = labelled(rng)
    problem = Problem(chunked(A, (4, 2)), b, "squared_hinge", L2(1e-3))
    begun = []
    with cluster_of(2, processes=True) as client:
        expected = solve(problem, engine="dask", client=client)

        def pause_one(row):
            if not begun:
                begun.append(pids(client)[0])
                client.cluster.scale(3)
                os.kill(begun[0], signal.SIGSTOP)
                threading.Timer(10.0, os.kill, (begun[0], signal.SIGCONT)).start()

        clock = time.monotonic()
        found = solve(problem, engine="dask", client=client, callback=pause_one)
        assert time.monotonic() - clock > 9.0
    same_run(found, expected)


def test_every_wait_has_a_limit(rng, monkeypatch):
    A, b = labelled(rng)
    monkeypatch.setattr(tuning, "QUIET", 0.05)
    with cluster_of(1) as client:
        with placed(Problem(chunked(A, (2, 1)), b, reg=L2(1.0)), client) as problem:
            team = problem.grid.team
            team.limit = 0.2
            with pytest.raises(ClusterError, match=r"did not answer \(everywhere\) within 0 s"):
                list(problem.grid.everywhere(_sleep, 1.0))
            time.sleep(2.0)  # both tiles sleep; actors work one after the other
        monkeypatch.setattr(tuning, "FIRST_WORKER", 0.2)
        client.cluster.scale(0)
        while client.scheduler_info()["workers"]:
            time.sleep(0.02)
        with pytest.raises(ClusterError, match="no worker came within"):
            solve(Problem(chunked(A, (2, 1)), b, reg=L2(1.0)), engine="dask", client=client)


def _sleep(work, seconds):
    time.sleep(seconds)


def test_workers_that_only_ever_die(rng, monkeypatch):
    """Lost again and again: an end with a name."""
    A, b = labelled(rng)
    monkeypatch.setattr(tuning, "MOST_LOST", 0)
    with cluster_of(2) as client, placed(Problem(chunked(A, (2, 1)), b), client) as problem:
        address = problem.grid.team.seats[0].address
        [worker] = [w for w in client.cluster.workers.values() if w.address == address]
        client.sync(worker.close)
        with pytest.raises(ClusterError, match="1 workers were lost"):
            problem.grid.margins(np.ones(problem.d))


def test_a_run_goes_on_from_its_checkpoint(tmp_path, rng):
    """On another cluster: the first one is gone with its scheduler."""
    A, b = labelled(rng)
    problem = Problem(chunked(A, (3, 2), True), b, "logistic", L1(0.005))
    settings = {"engine": "dask", "tol": 1e-8}
    with cluster_of(2) as client:
        expected = solve(problem, client=client, checkpoint=tmp_path / "whole", **settings)
        first = solve(
            problem, client=client, checkpoint=tmp_path / "part", max_passes=expected.passes / 2,
            **settings,
        )  # fmt: skip
        assert first.status == "max_passes"
    with cluster_of(3) as client:
        found = solve(problem, client=client, checkpoint=tmp_path / "part", **settings)
    assert found.converged
    np.testing.assert_array_equal(found.x, expected.x)
    np.testing.assert_array_equal(found.y, expected.y)


@contextmanager
def cluster_with_a_scheduler_to_kill(folder):
    """A scheduler and two workers, each a process of its own; the scheduler's and a client."""
    file = folder / "scheduler.json"
    dask = [sys.executable, "-m", "dask"]
    quietly = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    started = [
        subprocess.Popen(
            [*dask, "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
             "--scheduler-file", str(file)], **quietly,
        )
    ]  # fmt: skip
    try:
        started += [
            subprocess.Popen(
                [*dask, "worker", "--scheduler-file", str(file), "--nthreads", "1", "--no-nanny",
                 "--no-dashboard", "--host", "127.0.0.1"], **quietly,
            )
            for _ in range(2)
        ]  # fmt: skip
        while not file.exists():
            time.sleep(0.1)
        with Client(scheduler_file=str(file), set_as_default=False, timeout=60) as client:
            client.wait_for_workers(2, timeout=120)
            yield client, started[0]
    finally:
        for process in started:
            process.kill()
            process.wait()


@pytest.mark.slow
@pytest.mark.parametrize("method", ["auto", "ascent"])
def test_a_scheduler_that_is_killed(method, tmp_path, rng):
    """The run ends with a name, and goes on from its checkpoint on another cluster."""
    A, b = labelled(rng, n=200, d=40)
    X = chunked(A, (3, 1), True)
    problem = Problem(X, b, "logistic", L1(1e-3) if method == "auto" else L2(1e-3))
    settings = {"method": method, "engine": "dask", "tol": 1e-9, "every": 1e-9}
    with cluster_of(2) as client:
        expected = solve(problem, client=client, checkpoint=tmp_path / "whole", **settings)
    looks = []
    with cluster_with_a_scheduler_to_kill(tmp_path) as (client, scheduler):

        def kill(row):
            looks.append(row)
            if len(looks) == len(expected.trace.rows) // 2:
                scheduler.kill()

        with pytest.raises(ClusterError, match="if the run had a checkpoint, start it again"):
            solve(problem, client=client, checkpoint=tmp_path / "part", callback=kill, **settings)
    assert 2 <= len(looks) < len(expected.trace.rows)
    with cluster_of(3) as client:
        found = solve(problem, client=client, checkpoint=tmp_path / "part", **settings)
    same_run(found, expected)
