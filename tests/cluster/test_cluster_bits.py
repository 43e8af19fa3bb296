"""Data on a cluster: the bits of the threads engine on the same cut, for any number of workers."""

from __future__ import annotations

import subprocess
import sys
from itertools import product

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from distributed import futures_of

import spd1
from spd1 import L1, L2, DataError, IncompatibleError, ParameterError, Problem, solve, write_store
from spd1.cluster import placed, tuning
from support.clusters import chunked, cluster_of, cut_problem, labelled, same_run


@pytest.fixture(scope="module")
def client():
    with cluster_of(2) as client:
        yield client


PROBLEMS = {
    "smooth": ("logistic", L2(0.01)),
    "kinks": ("logistic", L1(0.02)),
    "dual": ("hinge", L2(0.01)),
    "least squares": ("squared", L1(0.02)),
}
GRIDS = [(5, 1), (1, 3), (3, 2)]


SLOW = pytest.mark.slow
CASES = [
    ("smooth", False), ("smooth", True), ("kinks", True), ("least squares", False),
    pytest.param("dual", True, marks=SLOW), pytest.param("dual", False, marks=SLOW),
    pytest.param("kinks", False, marks=SLOW), pytest.param("least squares", True, marks=SLOW),
]  # fmt: skip


@pytest.mark.parametrize(("key", "sparse"), CASES)
def test_the_bits_of_threads(client, key, sparse, rng):
    A, b = labelled(rng)
    for grid, method in product(GRIDS, ("auto", "newton") if key == "smooth" else ("auto",)):
        problem = cut_problem(A, b, *PROBLEMS[key], grid, sparse)
        expected = solve(problem, method, engine="threads")
        X = chunked(A, grid, sparse)
        found = solve(Problem(X, b, *PROBLEMS[key]), method, engine="dask", client=client)
        assert found.converged
        assert found.method == expected.method
        assert "newton" in found.method or (key == "smooth" and "learnt" in found.method)
        same_run(found, expected)


@pytest.mark.parametrize("key", ["smooth", "kinks", pytest.param("dual", marks=SLOW)])
def test_where_no_line_may_be_copied(client, key, rng, monkeypatch):
    """Then every question is a message about all tiles."""
    monkeypatch.setattr(tuning, "CLUSTER_COPIES_MB", 100.0 / 2**20)
    A, b = labelled(rng)
    problem = cut_problem(A, b, *PROBLEMS[key], (5, 1), True)
    problem.grid.copies = 100.0
    found = solve(
        Problem(chunked(A, (5, 1), True), b, *PROBLEMS[key]), engine="dask", client=client
    )
    assert found.converged
    same_run(found, solve(problem, engine="threads"))


def test_tiles_do_not_travel_where_they_are_large(client, rng, monkeypatch):
    """Conjugate gradients then take the place of Gram matrices across columns of tiles."""
    monkeypatch.setattr(tuning, "CLUSTER_COPIES_MB", 100.0 / 2**20)
    A, b = labelled(rng)
    for key in ("smooth", "kinks"):
        with placed(Problem(chunked(A, (3, 2)), b, *PROBLEMS[key]), client) as problem:
            found = solve(problem, engine="dask", client=client)
            with pytest.raises(IncompatibleError, match=r"tile \(0, 0\) itself"):
                problem.grid.gram(problem.c)
        assert found.converged
        assert spd1.certify(found.x, Problem(A, b, *PROBLEMS[key]), found.y).rel_gap <= 1.01e-6


@pytest.mark.parametrize("method", ["rows", "spd1-vr", pytest.param("spd1", marks=SLOW)])
def test_tile_methods_in_rounds(client, method, rng):
    A, b = labelled(rng, n=60, d=12)
    settings = {"tol": 1e-6, "max_passes": 30}
    for grid in GRIDS:
        problem = cut_problem(A, b, "logistic", L2(0.05), grid, True)
        expected = solve(problem, method, engine="threads", **settings)
        X = Problem(chunked(A, grid, True), b, "logistic", L2(0.05))
        same_run(solve(X, method, engine="dask", client=client, **settings), expected)


@pytest.mark.parametrize("loss", ["logistic", pytest.param("hinge", marks=SLOW)])
def test_passes_on_each_tile_and_safe_sums(client, loss, rng):
    A, b = labelled(rng, n=60, d=30)
    for sparse in (False, True):
        problem = cut_problem(A, b, loss, L2(0.02), (3, 1), sparse)
        expected = solve(problem, "ascent", engine="threads")
        assert expected.converged
        X = Problem(chunked(A, (3, 1), sparse), b, loss, L2(0.02))
        same_run(solve(X, "ascent", engine="dask", client=client), expected)
    X = Problem(chunked(A, (3, 2)), b, loss, L2(0.02))
    with pytest.raises(IncompatibleError, match="whole rows"):
        solve(X, "ascent", engine="dask", client=client)


def test_any_number_of_workers(client, rng):
    A, b = labelled(rng)
    problem = Problem(chunked(A, (4, 2)), b, "logistic", L2(0.01))
    two = solve(problem, engine="dask", client=client)
    with cluster_of(3) as other:
        same_run(solve(problem, engine="dask", client=other), two)


def test_a_store_that_every_worker_opens(client, tmp_path, rng):
    A, b = labelled(rng)
    store = write_store(tmp_path / "a.store", sp.csr_array(A), b, tiles=(4, 2))
    problem = Problem(store, loss="logistic", reg=L1(0.01))
    found = solve(problem, engine="dask", client=client)
    assert spd1.certify(found.x, problem, found.y).rel_gap <= 1.01e-6
    X = chunked(A, (4, 2), True)
    again = solve(Problem(X, b, "logistic", L1(0.01)), engine="dask", client=client)
    np.testing.assert_array_equal(found.x, again.x)


def test_another_grid_than_the_chunks(client, rng):
    A, b = labelled(rng)
    X = da.from_array(A, chunks=(17, 9))
    found = solve(Problem(X, b, "logistic", L2(0.1)), engine="dask", client=client, grid=(3, 2))
    expected = solve(Problem(chunked(A, (3, 2)), b, "logistic", L2(0.1)), engine="dask",
                     client=client)  # fmt: skip
    same_run(found, expected)
    one = solve(Problem(da.from_array(A, chunks=-1), b, reg=L2(0.1)), engine="dask", client=client)
    two = cut_problem(A, b, "logistic", L2(0.1), (2, 1))
    same_run(one, solve(two, engine="threads"))


def test_bulk_operations_by_definition(client, rng):
    """Those that no run above asks for, too."""
    A, b = labelled(rng, n=30, d=8)
    w, x = rng.random(30), rng.standard_normal(8)
    for sparse in (False, True):
        for grid in ((3, 1), (1, 2), (3, 2)):
            with placed(Problem(chunked(A, grid, sparse), b, reg=L2(1.0)), client) as problem:
                g = problem.grid
                close = np.testing.assert_allclose
                close(g.margins(x), A @ x, atol=1e-12)
                close(g.adjoint(w), A.T @ w, atol=1e-12)
                close(g.curved(w, x), A.T @ (w * (A @ x)), atol=1e-12)
                close(np.tril(g.gram(w)), np.tril(A.T @ (w[:, None] * A)), atol=1e-12)
                close(g.gram_of_rows(0.5), 2.0 * A @ A.T, atol=1e-12)
                close(g.dense_columns(np.array([5, 1])), A[:, [5, 1]])
                close(g.dense_rows(), A)
                close(g.weighted_squares(w), w @ (A * A), atol=1e-12)
                close(g.row_squares, np.sum(A * A, axis=1), atol=1e-12)
                stored = A != 0 if sparse else np.ones_like(A)
                close(g.column_counts, stored.sum(axis=0))
                close(g.column_counts_where(w > 0.5), (
                    stored[w > 0.5].sum(axis=0) if sparse else stored.sum(axis=0)
                ))  # fmt: skip
                assert problem.primal(x) == pytest.approx(
                    np.mean(np.logaddexp(0.0, -b * (A @ x))) + 0.5 * x @ x
                )


def test_chunks_in_memory_stay_where_they_are(client, rng):
    A, b = labelled(rng, n=40, d=6)
    for k, address in enumerate(client.scheduler_info()["workers"]):
        X = client.persist(chunked(A + k, (4, 1)), workers=[address])
        client.gather(futures_of(X))  # computed
        with placed(Problem(X, b, "squared"), client) as problem:
            team = problem.grid.team
            assert {seat.address for seat in team.home.values()} == {address}
            assert len(team.home) == 4


def test_what_travels_is_vectors(client, rng):
    """A product sends x to every worker that needs it, once, and each row's sum comes back."""
    A, b = labelled(rng, n=400, d=60)
    with placed(Problem(chunked(A, (4, 1)), b, reg=L2(1.0)), client) as problem:
        traffic = problem.grid.team.traffic
        sent, received, messages = traffic.sent, traffic.received, traffic.messages
        problem.grid.margins(np.ones(60))
        assert traffic.messages - messages == 2
        assert traffic.sent - sent == 2 * 60 * 8
        assert traffic.received - received == 400 * 8
        received = traffic.received
        problem.grid.adjoint(np.ones(400))
        assert traffic.received - received == 2 * 60 * 8  # a worker adds up its two tiles


def test_what_a_holder_has_is_not_sent_again(client, rng):
    """The bend of conjugate gradients, and what a task wrote where the next one begins with it."""
    A, b = labelled(rng, n=400, d=60)
    with placed(Problem(chunked(A, (4, 1)), b, reg=L2(1.0)), client) as problem:
        traffic, bend = problem.grid.team.traffic, rng.random(400)
        for expected in (400 + 2 * 60, 2 * 60):
            sent = traffic.sent
            found = problem.grid.curved(bend, np.ones(60))
            assert traffic.sent - sent == 8 * expected
            np.testing.assert_allclose(found, A.T @ (bend * A.sum(axis=1)), atol=1e-11)
        bend[7] += 1.0  # in place: the holder's copy is another one now
        found = problem.grid.curved(bend, np.ones(60))
        np.testing.assert_allclose(found, A.T @ (bend * A.sum(axis=1)), atol=1e-11)


# Refusals, all before any work starts


def test_wrong_data_is_refused_by_name(client):
    def refused(X, b, words, error=DataError):
        with pytest.raises(error, match=words):
            solve(Problem(X, b, "squared", L2(1.0)), engine="dask", client=client)

    A, b = np.ones((4, 4)), np.ones(4)
    bad = A.copy()
    bad[3, 1] = np.nan
    refused(da.from_array(bad, chunks=2), b, r"tile \(1, 0\).*non-finite value \(nan\)")
    refused(da.from_array(A.astype(complex), chunks=2), b, "complex")
    mixed = da.from_array(A, chunks=2).map_blocks(
        lambda block, block_id: sp.csr_array(block) if block_id == (1, 1) else block,
        meta=np.ones((0, 0)), dtype=float,
    )  # fmt: skip
    refused(mixed, b, r"tile \(1, 1\) is CSR, tile \(0, 0\) Dense")
    refused(da.from_array(A, chunks=2), np.ones(3), "3 labels")
    refused(da.ones((4,), chunks=2), b, "two dimensions")
    unknown = da.from_array(A, chunks=2)
    unknown._chunks = ((np.nan, np.nan), (2, 2))
    refused(unknown, b, "compute_chunk_sizes")

    def broken(block):
        raise OSError("no such disk")

    refused(
        da.from_array(A, chunks=2).map_blocks(broken, dtype=float, meta=A[:0]), b, "no such disk"
    )


def test_what_can_not_be_done_is_refused_by_name(client, rng, monkeypatch):
    monkeypatch.setattr(tuning, "SCHEDULER_WAIT", 1.0)
    A, b = labelled(rng)
    problem = Problem(chunked(A, (2, 1)), b, reg=L2(0.1))
    with pytest.raises(IncompatibleError, match="engine='dask'"):
        solve(problem)
    with pytest.raises(IncompatibleError, match="takes a dask array"):
        solve(Problem(A, b), engine="dask", client=client)
    for method in ("saga", "columns"):
        with pytest.raises(IncompatibleError, match="newton"):
            solve(problem, method, engine="dask", client=client)
    for wrong in ({"n_threads": 2}, {"n_workers": 0}, {"n_workers": 2, "client": client}):
        with pytest.raises(ParameterError):
            solve(problem, engine="dask", **wrong)
    with pytest.raises(ParameterError, match="engine 'dask'"):
        solve(problem, engine="threads", client=client)
    with pytest.raises(ParameterError, match="no scheduler"):
        solve(problem, engine="dask", client="tcp://127.0.0.1:9")
    assert "chunks in 2 x 1 tiles" in repr(problem)


def test_importing_the_package_does_not_import_dask():
    code = "import sys, spd1, spd1.cluster; assert not {'dask', 'distributed'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
