"""Workers that ask each other and add up on the way back: the same bits, and lost ones survived."""

from __future__ import annotations

import numpy as np
import pytest

from spd1 import L2, DataError, Problem, solve
from spd1.cluster import placed, tuning
from spd1.cluster.relays import branches_of
from spd1.cluster.seats import Seat
from spd1.data.facts import Nobody
from spd1.data.slopes import rows_of
from spd1.engines.threads import Threads
from support.clusters import chunked, cluster_of, cut_problem, labelled, same_run


@pytest.fixture
def eager(monkeypatch):
    """As many workers would do it, two asked by each."""
    monkeypatch.setattr(tuning, "RELAYS_FROM", 2)
    monkeypatch.setattr(tuning, "FORK", 2)


@pytest.fixture(scope="module")
def client():
    with cluster_of(5) as made:
        yield made


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 17, 100])
@pytest.mark.parametrize("fork", [1, 2, 4])
def test_every_tile_is_asked_for_once(count, fork, monkeypatch):
    monkeypatch.setattr(tuning, "FORK", fork)
    seats = [Seat(f"w{k}", f"key{k}", None, [(k, 1), (k, 0)]) for k in range(count)][::-1]
    places = [(k, q) for k in range(count) for q in range(2)]
    heads = branches_of(seats, places)
    assert len(heads) == min(fork, count)
    assert [place for head, _ in heads for place in head.every()] == places  # neighbours together
    for head, some in heads:
        assert head.address == some[0].address
        assert {p for p, _ in head.every()} == {seat.places[0][0] for seat in some}
    [(head, _), *_] = branches_of(seats, [(0, 0)])
    assert head.every() == [(0, 0)]


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("grid", [(7, 1), (1, 6), (4, 3)])
def test_products_have_the_bits_of_memory_and_few_bytes(grid, sparse, client, eager, rng):
    A, b = labelled(rng)
    here = cut_problem(A, b, "logistic", L2(0.01), grid, sparse)
    x, w = rng.standard_normal(A.shape[1]), rng.standard_normal(A.shape[0])
    with placed(Problem(chunked(A, grid, sparse), b, reg=L2(0.01)), client) as problem:
        grid_there, traffic = problem.grid, problem.grid.team.traffic
        with Threads(2) as engine:
            mine = here.grid.watched(Nobody(), engine)
            np.testing.assert_array_equal(grid_there.margins(x), mine.margins(x))
            np.testing.assert_array_equal(grid_there.adjoint(w), mine.adjoint(w))
            for _ in range(2):  # the second time the bend is there already
                np.testing.assert_array_equal(grid_there.curved(w * w, x), mine.curved(w * w, x))
                if mine.whole_rows:
                    asked = rows_of(b, here.c), x, here.loss
                    for two in zip(grid_there.slopes(*asked), mine.slopes(*asked), strict=True):
                        np.testing.assert_array_equal(*two)
        assert traffic.relayed > 0
        before = traffic.received
        grid_there.adjoint(w)
        assert traffic.received - before <= 2 * 8 * A.shape[1] * (2 if grid[1] == 1 else 3)


def test_a_run_has_the_bits_of_one_without(client, monkeypatch, rng):
    A, b = labelled(rng)
    problem = Problem(chunked(A, (5, 2), True), b, "logistic", L2(1e-3))
    expected = solve(problem, engine="dask", client=client)
    monkeypatch.setattr(tuning, "RELAYS_FROM", 2)
    monkeypatch.setattr(tuning, "FORK", 2)
    same_run(solve(problem, engine="dask", client=client), expected)


def test_errors_of_tiles_come_back_as_they_are(client, eager, rng):
    A, b = labelled(rng)
    with placed(Problem(chunked(A, (5, 1)), b), client) as problem:
        team = problem.grid.team
        with pytest.raises(DataError, match="on purpose"):
            problem.grid.totals(_fails, by_rows=True)
        assert team.relays
        assert team.breaks == 0


def _fails(work):
    raise DataError("on purpose")


@pytest.mark.parametrize("which", ["head", "leaf"])
def test_a_worker_that_is_lost_is_survived(which, eager, rng):
    """Everybody is asked directly then, and tiles are made again elsewhere."""
    A, b = labelled(rng)
    x = rng.standard_normal(A.shape[1])
    with cluster_of(5) as own, placed(Problem(chunked(A, (10, 1)), b), own) as problem:
        team = problem.grid.team
        expected = problem.grid.margins(x)
        relayed = team.traffic.relayed
        head, *_, leaf = [seat.address for _, seats in branches_of(
            team.seats, problem.grid.places) for seat in seats]  # fmt: skip
        address = head if which == "head" else leaf
        [worker] = [w for w in own.cluster.workers.values() if w.address == address]
        own.sync(worker.close)
        np.testing.assert_array_equal(problem.grid.margins(x), expected)
        assert team.breaks == 1
        assert team.losses == 1
        assert address not in {seat.address for seat in team.seats}
        np.testing.assert_array_equal(problem.grid.margins(x), expected)
        assert team.breaks == 1  # those that are left ask each other again
        assert team.traffic.relayed > relayed


def test_where_workers_cannot_talk_they_are_asked_directly(client, eager, monkeypatch, rng):
    from spd1.cluster import holder

    async def unreachable(*_):
        raise OSError("no route")

    monkeypatch.setattr(holder, "ask_branch", unreachable)
    monkeypatch.setattr(tuning, "MOST_BROKEN", 2)
    A, b = labelled(rng)
    x = rng.standard_normal(A.shape[1])
    with placed(Problem(chunked(A, (5, 1)), b), client) as problem:
        for _ in range(4):
            np.testing.assert_allclose(problem.grid.margins(x), A @ x, rtol=1e-12, atol=1e-12)
        assert problem.grid.team.breaks == 2
        assert not problem.grid.team.relays
