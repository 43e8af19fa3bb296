"""Ascent by threads that stay in one kernel: the algorithm, its bits, and no divergence."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from spd1 import L2, Problem, certify, solve
from spd1.engines.threads import Threads
from spd1.kernel.rng import index, key_of
from spd1.solvers import merging
from spd1.solvers.sprint import choice, together
from spd1.solvers.sprint.ascent import LOOKS
from spd1.solvers.sprint.momentum import ON
from spd1.solvers.sprint.sprint import kind_of
from spd1.solvers.sprint.workers import AscentWorker

LAYOUTS = {"dense": np.asarray, "csr": sp.csr_array}
SLOW = pytest.mark.slow  # each loss and layout compiles a kernel of its own


@pytest.fixture(autouse=True)
def eager(monkeypatch):
    """Let small data be worth a team, with a merge after every few rows."""
    monkeypatch.setattr(together, "WORTH_A_TEAM", 1)
    monkeypatch.setattr(together, "WORTH_A_MERGE", 1e-9)
    monkeypatch.setattr(merging, "available_cores", lambda: 8)


def problem_of(loss="squared_hinge", layout="csr", n=40, d=60, l2=0.05, seed=0, alike=0.0):
    """Some data; rows that are ``alike`` share a direction."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.5)
    A = A + alike * rng.random(d)
    b = np.where(A @ rng.standard_normal(d) + rng.standard_normal(n) > 0, 1.0, -1.0)
    return Problem(LAYOUTS[layout](A), b, loss, L2(l2), rng.random(n) + 0.5)


def with_crew(problem, engine):
    from spd1.engines.ledger import Ledger

    return problem.watched(Ledger(problem.stored), engine)


def shuffled(rows, key, counter):
    rows = list(rows)
    for k in range(len(rows) - 1, 0, -1):
        other = int(index(key, counter + k, k + 1))
        rows[k], rows[other] = rows[other], rows[k]
    return rows


def plain_passes(p, key, passes, stretches, blocks):
    """The docstrings of ``ascent_blocks`` and ``merging`` in NumPy."""
    A, l2 = np.asarray(p.grid.dense_rows()), p.mu
    y, G, care = np.zeros(p.n), np.zeros(p.d), float(blocks)
    squares, rows = (A * A).sum(axis=1), list(range(p.n))
    for number in range(passes):
        order = shuffled(rows, key, number * p.n)
        if not p.loss.probabilities:  # rows that can rest: those that go on, as they were visited
            rows = order
        size = -(-p.n // stretches)
        for start in range(0, p.n, size):
            part, moves = order[start : start + size], []
            for k in range(blocks):
                move = np.zeros(p.d)  # of this block alone
                for i in part[len(part) * k // blocks : len(part) * (k + 1) // blocks]:
                    sigma = l2 / (care * p.c[i] * squares[i])
                    margin = -A[i] @ (G + care * move) / l2
                    new = p.loss.prox_near(y[i] + sigma * margin, p.b[i], sigma, y[i])
                    move += p.c[i] * (new - y[i]) * A[i]
                    y[i] = new
                moves.append(move)
            G = G + sum(moves)
            apart = sum(move @ move for move in moves)
            care = min(max(sum(moves) @ sum(moves) / apart, 1.0), float(blocks))
    return y, G


@pytest.mark.parametrize(
    ("loss", "layout"),
    [("squared_hinge", "csr"), pytest.param("logistic", "dense", marks=SLOW)],
)
def test_a_team_does_what_its_docstring_says(loss, layout):
    p, key = problem_of(loss, layout), key_of(3)
    with Threads(2) as engine:
        worker = AscentWorker(with_crew(p, engine), key)
        worker.block = 1
        looks, passes = worker.run((1e-300, 0.0, 3.0, 3.0), np.empty((LOOKS, 4)))
        assert (looks, passes) == (1, 3.0)  # two passes and a look
        y, G = plain_passes(p, key, 2, worker.team.stretches, worker.team.blocks)
    np.testing.assert_allclose(worker.y, y, atol=1e-12)
    np.testing.assert_allclose(worker.G, G, atol=1e-12)
    np.testing.assert_allclose(worker.G, p.adjoint(p.c * worker.y), atol=1e-12)
    np.testing.assert_allclose(worker.u, p.margins(worker.x), atol=1e-11)


@pytest.mark.parametrize(
    ("loss", "layout"),
    [
        ("squared_hinge", "csr"),
        pytest.param("logistic", "csr", marks=SLOW),
        pytest.param("hinge", "dense", marks=SLOW),
        pytest.param("squared", "csr", marks=SLOW),
    ],
)
def test_a_team_has_the_same_bits_for_any_number_of_threads(loss, layout):
    p = problem_of(loss, layout, n=120, d=200)
    if loss != "squared":
        assert kind_of(p, 1e-6) == "ascent"
    found = [
        solve(p, "ascent", tol=1e-8, engine="threads", n_threads=threads)
        for threads in (1, 2, 4, 8)
    ]
    assert found[0].converged
    serial = solve(p, "ascent", tol=1e-8)
    assert found[0].primal == pytest.approx(serial.primal, rel=3e-8)
    assert not np.array_equal(found[0].x, serial.x)  # blocks were at work
    for one in found[1:]:
        np.testing.assert_array_equal(one.x, found[0].x)
        np.testing.assert_array_equal(one.y, found[0].y)
        assert (one.gap, one.passes) == (found[0].gap, found[0].passes)
    c = certify(found[0].x, p, found[0].y)
    assert c.rel_gap <= 1.01e-8


@pytest.mark.parametrize("alike", [0.3, 3.0, 30.0])
def test_blocks_that_pull_the_same_way_never_diverge(alike):
    """Rows that share a direction: sums of moves as they are would go twice as far each time."""
    p = problem_of(n=64, d=20, l2=1e-3, alike=alike)
    with Threads(2) as engine:
        worker = AscentWorker(with_crew(p, engine), key_of(0))
        record, best = np.empty((LOOKS, 4)), -np.inf
        for _ in range(4):
            looks, _ = worker.run((1e-12, 0.0, 8.0, 1e9), record)
            duals = record[:looks, 2]
            assert np.all(np.diff([best, *duals]) >= -1e-10 * np.abs(duals))
            best = duals[-1]
            assert best == pytest.approx(p.dual(worker.y), rel=1e-9)
            np.testing.assert_allclose(worker.G, p.adjoint(p.c * worker.y), atol=1e-9)


def hard_for_ascent(layout, n=120, d=50):
    """Noisy labels and an l2 that holds nothing back: passes without momentum are many."""
    rng = np.random.default_rng(3)
    A = rng.standard_normal((n, d)) * (rng.random((n, d)) < (1.0 if layout == "dense" else 0.4))
    b = np.where(A @ rng.standard_normal(d) + 5.0 * rng.standard_normal(n) > 0, 1.0, -1.0)
    return Problem(LAYOUTS[layout](A), b, "hinge", L2(1e-4))


def dual_of(p, y):
    """-sum c phi*(y) - |A'(c y)|^2 / (2 l2) of a hinge, by its definition."""
    G = np.asarray(p.grid.dense_rows()).T @ (p.c * y)
    assert np.all(p.b * y <= 0.0)
    assert np.all(p.b * y >= -1.0)
    return -float(p.c @ (p.b * y)) - float(G @ G) / (2.0 * p.mu)


@pytest.mark.parametrize("layout", ["csr", pytest.param("dense", marks=SLOW)])
def test_a_team_has_momentum_and_its_dual_objective_never_falls(layout):
    p = hard_for_ascent(layout)
    with Threads(2) as engine:
        worker, record = AscentWorker(with_crew(p, engine), key_of(0)), np.empty((LOOKS, 4))
        assert worker.team is not None
        duals = []
        for _ in range(8):
            looks, _ = worker.run((1e-12, 0.0, 60.0, 6000.0), record)
            duals += record[:looks, 2].tolist()
            assert record[looks - 1, 2] == pytest.approx(dual_of(p, worker.y), rel=1e-9)
            sums = np.asarray(p.grid.dense_rows()).T @ (p.c * worker.y)
            assert pytest.approx(sums, rel=0.0, abs=1e-13) == worker.G
    assert worker.fast[ON] == 1.0
    assert np.diff(duals).min() >= -1e-12 * abs(duals[-1])
    best = solve(p, "interior", tol=1e-10).primal
    assert duals[-1] <= best * (1.0 + 1e-9)
    assert p.primal(worker.x) - best <= certify(worker.x, p, worker.y).gap + 1e-9 * best


def test_momentum_of_a_team_has_the_same_bits_for_any_number_of_threads():
    p, found = hard_for_ascent("csr"), []
    for n_threads in (1, 2, 4, 8):
        result = solve(p, "ascent", tol=1e-6, max_passes=1e6, engine="threads", n_threads=n_threads)
        assert result.converged
        found.append((result.x.tobytes(), result.y.tobytes(), result.gap, result.passes))
    assert len(set(found)) == 1


def test_passes_of_a_team_with_momentum_are_fewer():
    p, taken = hard_for_ascent("csr"), []
    for momentum in (True, False):
        with Threads(2) as engine:
            worker, record = AscentWorker(with_crew(p, engine), key_of(0)), np.empty((LOOKS, 4))
            if not momentum:
                worker.y_last = worker.G_last = worker.fast = None
            passes, gap = 0.0, 1.0
            while gap > 1e-4 and passes < 20_000.0:
                looks, more = worker.run((1e-4, 0.0, 200.0, 1e6), record)
                passes, gap = passes + more, record[looks - 1, 3] / record[looks - 1, 1]
        taken.append(passes)
    assert taken[0] < taken[1]


def test_bits_do_not_depend_on_where_arrays_lie(rng):
    """A loop that writes and sums up has two versions, and picks one by the distance of arrays."""
    p, held, found = problem_of(n=120, d=200, l2=1e-3), [], set()
    for _ in range(40):
        held.append(np.empty(int(rng.integers(1, 3000))))
        if len(held) > 10:
            del held[int(rng.integers(10))]
        found.add(solve(p, "ascent", tol=1e-6, engine="threads", n_threads=1).x.tobytes())
    assert len(found) == 1


def test_much_sparse_data_is_for_ascent_where_l2_makes_it_easy(monkeypatch):
    monkeypatch.setattr(choice, "MOST_ENTRIES", 100)
    easy = problem_of("logistic", l2=10.0)
    assert easy.stored > 100
    assert kind_of(easy, 1e-6) == "ascent"
    assert kind_of(problem_of("logistic", l2=1e-6), 1e-6) == ""  # rows feel each other
    assert kind_of(problem_of("logistic", "dense", l2=10.0), 1e-6) == ""
    assert kind_of(problem_of("hinge", l2=10.0), 1e-6) == ""  # Newton's method is faster
    monkeypatch.setattr(choice, "MOST_EASY_ENTRIES", 100)
    assert kind_of(easy, 1e-6) == ""


def test_little_data_is_left_to_one_thread(monkeypatch):
    monkeypatch.setattr(together, "WORTH_A_TEAM", 10**6)
    p = problem_of()
    with Threads(2) as engine:
        assert AscentWorker(with_crew(p, engine), key_of(0)).team is None
    monkeypatch.setattr(together, "WORTH_A_TEAM", 1)
    assert AscentWorker(p, key_of(0)).team is None  # no crew
    with Threads(2) as engine:
        assert AscentWorker(with_crew(p, engine), key_of(0)).team is not None


def test_a_checkpoint_of_a_team_goes_on_with_the_same_bits(tmp_path):
    p = problem_of(n=120, d=200, l2=1e-3)
    options = {"method": "ascent", "tol": 1e-9, "engine": "threads"}
    whole = solve(p, **options, n_threads=2)
    path = tmp_path / "run"
    part = solve(p, **options, n_threads=2, checkpoint=path, max_passes=3)
    assert part.status == "max_passes"
    rest = solve(p, **options, n_threads=1, checkpoint=path)
    assert rest.converged
    assert whole.converged
    np.testing.assert_array_equal(rest.x, whole.x)
    np.testing.assert_array_equal(rest.y, whole.y)
