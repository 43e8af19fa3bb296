"""Momentum of slow ascents: y stays feasible, G stays its sum, the dual objective never falls."""

from __future__ import annotations

import math

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

from spd1 import L2, ElasticNet, EpsilonInsensitive, Problem, certify, solve
from spd1.kernel.rng import key_of
from spd1.losses import as_loss
from spd1.solvers.sprint import sprint
from spd1.solvers.sprint.ascent import LOOKS, until_momentum
from spd1.solvers.sprint.free import FreeAscentWorker, lifted
from spd1.solvers.sprint.momentum import BEST, FAST_NUMBERS, ON, SINCE, go_on, keep_or_return
from spd1.solvers.sprint.tuning import WORTH_MOMENTUM
from spd1.solvers.sprint.workers import AscentWorker
from support import oracle

RESTING = ["hinge", "squared_hinge", EpsilonInsensitive(0.1)]


def hard(loss, sparse=True, n=90, d=60, l2=1e-5, seed=0):
    """Rows that share columns, and an l2 that holds nothing back: ascent alone is slow."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, d)) * (rng.random((n, d)) < (0.2 if sparse else 1.0))
    b = A @ rng.standard_normal(d) + rng.standard_normal(n)
    if as_loss(loss).label_kind == "sign":
        b = np.where(b > 0.0, 1.0, -1.0)
    return Problem(sp.csr_matrix(A) if sparse else A, b, loss, L2(l2))


def least(p):
    """The least objective, by an interior-point solver that knows nothing of this package."""
    A, x = p.grid.dense_rows(), cp.Variable(p.d)
    each = oracle.expression(cp, p.loss, A @ x, p.b)
    l2 = np.broadcast_to(np.asarray(p.reg.l2, dtype=float), (p.d,))
    problem = cp.Problem(cp.Minimize(p.c @ each + 0.5 * l2 @ cp.square(x)))
    problem.solve(solver="CLARABEL")
    return float(problem.value)


def dual_of(p, y):
    """-sum c phi*(y) - |A'(c y)|^2 / (2 l2), by the definitions of the tests."""
    G = p.grid.dense_rows().T @ (p.c * y)
    return -float(p.c @ oracle.phi_star(p.loss, y, p.b)) - float(G @ G) / (2.0 * p.mu)


@pytest.mark.parametrize("sparse", [True, False], ids=["sparse", "dense"])
@pytest.mark.parametrize("loss", RESTING, ids=str)
def test_slow_ascent_takes_momentum_and_what_it_says_is_true(loss, sparse):
    p = hard(loss, sparse)
    worker, record = AscentWorker(p, key_of(0)), np.empty((LOOKS, 4))
    duals = []
    for _ in range(6):
        looks, _ = worker.run((1e-12, 0.0, 40.0, 4000.0), record)
        duals += record[:looks, 2].tolist()
        assert record[looks - 1, 2] == pytest.approx(dual_of(p, worker.y), rel=1e-9, abs=1e-12)
        sums = p.grid.dense_rows().T
        rounding = 1e-15 * p.n * (np.abs(sums) @ (p.c * np.abs(worker.y))).max()
        assert pytest.approx(sums @ (p.c * worker.y), rel=0.0, abs=rounding) == worker.G
    assert worker.fast[ON] == 1.0
    falls = np.diff([dual for dual in duals if math.isfinite(dual)])
    assert falls.min() >= -1e-12 * abs(duals[-1])
    best, x = least(p), worker.x
    assert duals[-1] <= best * (1.0 + 1e-6)
    assert p.primal(x) - best <= certify(x, p, worker.y).gap + 1e-6 * best


def test_passes_with_momentum_are_fewer():
    """Counted, not timed: what it is for."""
    p, taken = hard("hinge", n=300, d=260), []
    for momentum in (True, False):
        worker, record, passes, gap = AscentWorker(p, key_of(0)), np.empty((LOOKS, 4)), 0.0, 1.0
        if not momentum:
            worker.y_last = worker.G_last = worker.fast = None
        while gap > 1e-4 and passes < 4000.0:
            looks, more = worker.run((1e-4, 0.0, 200.0, 1e6), record)
            passes, gap = passes + more, record[looks - 1, 3] / record[looks - 1, 1]
        taken.append(passes)
    assert taken[0] < taken[1]


def test_momentum_may_begin_where_passes_leave_much_of_the_gap():
    for passes in (1.0, 4.0, 9.5):
        assert until_momentum(0.9**passes, 1.0, passes) == WORTH_MOMENTUM
        assert until_momentum(0.3**passes, 1.0, passes) == math.inf


@pytest.mark.parametrize(("l2", "momentum"), [(0.3, 0.0), (1e-4, 1.0)], ids=["fast", "slow"])
def test_fast_passes_are_left_without_momentum(l2, momentum):
    """Many digits are asked for, so that dozens of passes are ahead of both."""
    p = hard("hinge", n=200, d=400, l2=l2)
    worker, record = AscentWorker(p, key_of(0)), np.empty((LOOKS, 4))
    looks, _ = worker.run((1e-13, 0.0, 400.0, 4000.0), record)
    assert worker.fast[ON] == momentum
    assert record[looks - 1, 0] > 20.0


@pytest.mark.parametrize("loss", RESTING, ids=str)
def test_going_on_keeps_to_the_domain_and_to_the_sums(loss):
    p, rng = hard(loss), np.random.default_rng(1)
    A = p.grid.by_rows.matrix
    low, high = np.array([p.loss.domain(label) for label in p.b]).T
    y, y_last = (np.clip(rng.standard_normal(p.n), low, high) for _ in range(2))
    sums = p.grid.dense_rows().T
    G, G_last = sums @ (p.c * y), sums @ (p.c * y_last)
    wanted = np.clip(y + 4.0 / 7.0 * (y - y_last), low, high)
    before = y.copy()
    go_on(A, p.b, p.c, p.loss, np.array([1.0, 4.0, 0.0]), y, y_last, G, G_last, np.empty(p.n))
    assert y == pytest.approx(wanted, abs=1e-15)
    assert np.array_equal(y_last, before)
    assert pytest.approx(sums @ (p.c * y), abs=1e-14) == G
    assert G_last == pytest.approx(sums @ (p.c * before), abs=1e-14)


def test_a_pass_that_falls_is_taken_back():
    p, rng = hard("squared_hinge"), np.random.default_rng(2)
    sums, fast = p.grid.dense_rows().T, np.zeros(FAST_NUMBERS)
    y_last = np.zeros(p.n)
    y = -p.b * rng.random(p.n)
    G, G_last, fast[BEST], fast[SINCE] = sums @ (p.c * y), np.zeros(p.d), 0.0, 5.0
    assert dual_of(p, y) < 0.0 == dual_of(p, y_last)
    keep_or_return(p.b, p.c, 0.0, p.mu, p.loss, fast, y, y_last, G, G_last)
    assert not y.any()
    assert not G.any()
    assert fast[SINCE] == 0.0
    assert fast[BEST] == 0.0
    y -= 1e-9 * p.b  # the first step upwards
    G[:] = sums @ (p.c * y)
    keep_or_return(p.b, p.c, 0.0, p.mu, p.loss, fast, y, y_last, G, G_last)
    assert y.any()
    assert fast[SINCE] == 1.0
    assert fast[BEST] == pytest.approx(dual_of(p, y), rel=1e-9)


def test_a_centre_stays_where_sums_are_computed_anew():
    near = hard("hinge", n=200, d=50, l2=1e-4)
    A = sp.csr_matrix(np.hstack([near.grid.dense_rows(), np.ones((near.n, 1))]))
    p = Problem(A, near.b, "hinge", ElasticNet(l2=np.append(np.full(50, 1e-4), 0.0)))
    worker = FreeAscentWorker(p, lifted(p), key_of(0))
    for _ in range(4):
        worker.run((1e-10, 0.0, 60.0, 6000.0), np.empty((LOOKS, 4)))
        assert worker.fast[ON] == 1.0
        expected = A.T @ (p.c * worker.y)
        expected[worker.free] -= p.reg.l2[0] * worker.centre
        assert pytest.approx(expected, rel=1e-9, abs=1e-12 * np.abs(expected).max()) == worker.G
        worker.follow()
        assert not worker.fast.any()
    result, best = solve(p, tol=1e-5), least(p)
    assert result.rel_gap <= 1e-5
    assert result.dual <= best * (1.0 + 1e-6)
    assert result.primal <= best + result.gap + 1e-6 * best


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("shape", [(90, 60), (300, 100)])
def test_who_stops_at_a_gap_gets_one_that_is_no_larger(shape, seed, monkeypatch):
    """Momentum lets the gap rise again, and a callback hears of looks when the kernel is back."""
    monkeypatch.setattr(sprint, "ENTRIES_A_CALL", 3e5)
    p = hard(EpsilonInsensitive(0.1), n=shape[0], d=shape[1], seed=seed)
    for wanted in np.geomspace(1e-1, 1e-4, 12):
        heard = []

        def enough(row, wanted=wanted, heard=heard):
            heard.append(row.rel_gap)
            return row.rel_gap <= wanted

        result = solve(p, tol=1e-12, callback=enough, random_state=seed)
        assert sum(gap <= wanted for gap in heard) == 1  # asked once, not again
        assert result.rel_gap <= wanted
