"""One run from the outside: same seed same bits, why it stops, what it leaves alone."""

from __future__ import annotations

import math
import os
import signal
import threading

import numpy as np
import pytest
import scipy.sparse as sp

from spd1 import L2, METHODS, Problem, Progress, solve
from spd1.datasets import make_synthetic
from spd1.errors import ParameterError
from spd1.linear_model import (
    ERMClassifierCV,
    LassoCV,
    LogisticRegression,
    LogisticRegressionCV,
    Ridge,
    lasso_path,
)
from support import cases, oracle
from support.cases import EVERY_METHOD

COLUMNS = ("passes", "paper_passes", "seconds", "primal", "dual", "gap", "rel_gap")


def endless(problem, **arguments):
    """A run that only its limits end: fading steps never bring the gap to zero."""
    defaults = {"method": "spd1", "tol": 1e-300, "max_passes": 1e12, "max_seconds": 60.0}
    return solve(problem, **{**defaults, **arguments})


@pytest.mark.parametrize("method", EVERY_METHOD)
def test_same_seed_same_bits(method):
    problem = cases.suited(method).problem()
    runs = [
        solve(problem, method, max_passes=60, tol=1e-12, random_state=seed) for seed in (3, 3, 4)
    ]
    one, same, other = runs
    np.testing.assert_array_equal(one.x, same.x)
    np.testing.assert_array_equal(one.y, same.y)
    for name in set(COLUMNS) - {"seconds"}:
        np.testing.assert_array_equal(getattr(one.trace, name), getattr(same.trace, name))
    assert one.steps == same.steps
    if method in METHODS:  # the others draw nothing at random that shows here
        assert not np.array_equal(one.x, other.x)


def test_random_state_may_be_a_generator(problem):
    one, same = (
        solve(problem, "spd1", max_passes=60, random_state=np.random.default_rng(1))
        for _ in range(2)
    )
    np.testing.assert_array_equal(one.x, same.x)
    generator = np.random.default_rng(1)
    runs = [solve(problem, "spd1", max_passes=60, random_state=generator) for _ in range(2)]
    assert not np.array_equal(runs[0].x, runs[1].x)  # it has moved on


@pytest.mark.parametrize("seed", [-1, np.int64(-3), "0", 1.0, True, [1]])
def test_what_is_no_seed_is_refused_everywhere(problem, seed):
    X, y = np.eye(4), np.array([1.0, 2.0, 3.0, 4.0])
    for call in (
        lambda: solve(problem, random_state=seed),
        lambda: solve(problem, "newton", random_state=seed),  # which draws nothing
        lambda: lasso_path(X, y, random_state=seed),
        lambda: LassoCV(cv=2, selection="random", random_state=seed).fit(X, y),
        lambda: Ridge(random_state=seed).fit(X, y),
        lambda: LogisticRegression(random_state=seed).fit(X, [0, 1, 2, 0]),
        lambda: LogisticRegressionCV(cv=2, random_state=seed).fit(X, [0, 1, 0, 1]),
        lambda: ERMClassifierCV(cv=2, random_state=seed).fit(X, [0, 1, 0, 1]),
    ):
        with pytest.raises(ParameterError, match=r"random_state .*: take 0, 1, 2"):
            call()
    with pytest.raises(ParameterError, match=r"seed .*: take 0, 1, 2"):
        make_synthetic(4, 3, seed=seed)


@pytest.mark.parametrize("method", EVERY_METHOD)
def test_max_passes(method):
    found = solve(cases.suited(method).problem(), method, tol=1e-300, max_passes=20)
    assert found.status == "max_passes"
    # the epoch that passes the limit is finished
    assert 20 <= found.passes <= 32


@pytest.mark.parametrize("method", EVERY_METHOD)
def test_max_seconds_of_every_method(method):
    found = endless(cases.suited(method).problem(), method=method, max_seconds=0.05, max_passes=1e6)
    exact = found.status == "converged" and found.gap == 0.0
    ended = method == "interior" and found.status == "stalled"  # at the end of what digits allow
    assert found.status == "max_seconds" or exact or ended
    assert found.gap <= found.trace.gap[0]


def test_max_seconds(problem):
    found = endless(problem, max_seconds=1e-9)
    assert (found.status, found.trace.paper_passes[-1]) == ("max_seconds", 0.0)
    assert math.isfinite(found.gap)
    found = endless(problem, max_seconds=0.2)
    assert found.status == "max_seconds"
    assert found.trace.paper_passes[-1] > 0


def test_max_seconds_stops_inside_an_epoch():
    """An epoch has 3e6 steps here; a look at the clock comes every 2e6."""
    A = np.random.default_rng(0).standard_normal((1000, 3000))
    big = Problem(A, np.where(A[:, 0] > 0, 1.0, -1.0), "logistic", L2(1.0))
    found = endless(big, method="spd1-vr", max_seconds=0.02)
    assert found.status == "max_seconds"
    assert found.trace.paper_passes[-1] < 1.9


def test_tol_alone_decides_what_is_converged(problem):
    for tol in (1e-1, 1e-3, 1e-6):
        found = solve(problem, "spd1-vr", tol=tol, max_passes=2000)
        assert (found.status, found.rel_gap <= tol) == ("converged", True)
        assert np.all(found.trace.rel_gap[:-1] > tol)  # and no later than that
    limited = solve(problem, "spd1-vr", tol=1e-6, max_passes=1)
    assert (limited.status, limited.rel_gap > 1e-6) == ("max_passes", True)


@pytest.mark.parametrize("method", EVERY_METHOD)
def test_callback_sees_every_row_and_may_stop(method):
    rows = []
    found = endless(
        cases.suited(method).problem(),
        method=method,
        callback=lambda row: rows.append(row) or len(rows) == 5,
    )
    assert found.status == "interrupted"
    assert all(type(row) is Progress for row in rows)
    assert rows == found.trace.rows
    assert len(rows) == 5


def test_errors_of_a_callback_are_not_swallowed(problem):
    with pytest.raises(ZeroDivisionError):
        solve(problem, callback=lambda row: 1 / 0)


def press_ctrl_c():
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("how", ["raised", "pressed"])
@pytest.mark.parametrize("method", ["spd1", "psgd", "newton", "few-rows"])
def test_ctrl_c_returns_the_best_point(how, method):
    rows, problem = [], cases.suited(method).problem()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs ignore it

    def callback(row):
        rows.append(row)
        if len(rows) == 2 and how == "pressed":
            threading.Timer(0.05, press_ctrl_c).start()  # in the middle of something later
        if len(rows) == 4 and how == "raised":
            raise KeyboardInterrupt

    try:
        found = endless(problem, method=method, callback=callback)
    finally:
        signal.signal(signal.SIGINT, before)
    assert found.status == "interrupted"
    assert math.isfinite(found.gap)
    assert found.primal <= min(row.primal for row in found.trace.rows)
    assert found.gap <= rows[0].gap
    assert problem.primal(found.x) == pytest.approx(found.primal, rel=1e-12)


@pytest.mark.parametrize("layout", ["dense_c", "csr"])
@pytest.mark.parametrize("method", EVERY_METHOD)
def test_inputs_are_left_alone_and_may_be_read_only(method, layout, rng):
    case = cases.suited(method, weighted=True)
    A, (n, d) = oracle.LAYOUTS[layout](case.A), case.A.shape
    x0, y0 = rng.standard_normal(d), -case.b * rng.random(n)
    arrays = [case.b.copy(), case.c.copy(), x0, y0]
    entries = (A.data, A.indices, A.indptr) if sp.issparse(A) else (A,)
    kept = [array.copy() for array in (*arrays, *entries)]

    def run():
        b, c, x0, y0 = arrays
        return solve(Problem(A, b, "logistic", L2(0.1), c), method, x0=x0, y0=y0, max_passes=30)

    loose = run()
    for array, before in zip((*arrays, *entries), kept, strict=True):
        np.testing.assert_array_equal(array, before)
        array.flags.writeable = False
    np.testing.assert_array_equal(run().x, loose.x)
    assert not np.shares_memory(loose.x, x0)
