"""Threads that share all they write: not reproducible, yet certified."""

from __future__ import annotations

import numpy as np
import pytest

from spd1 import L2, IncompatibleError, Problem, certify, solve
from spd1.engines.racing import Racing
from spd1.engines.serial import Serial
from spd1.engines.threads import Threads
from spd1.kernel.rng import key_of
from spd1.solvers.registry import build
from support import oracle


def problem_of(rng, layout="csr", shape=(60, 40)):
    A = rng.standard_normal(shape) * (rng.random(shape) < 0.6)
    b = np.where(A @ rng.standard_normal(shape[1]) + rng.standard_normal(shape[0]) > 0, 1.0, -1.0)
    return Problem(oracle.LAYOUTS[layout](A), b, "logistic", L2(0.05)), A, b


def test_staleness_counts_the_steps_of_others():
    """Two threads by hand: one makes 3 steps while the other makes its piece of 10."""
    engine = Racing(2)
    slow, fast = engine.pieces(0, 10, 10), engine.pieces(0, 3, 3)
    next(slow), next(fast)
    assert list(fast) == []
    assert engine.staleness == (0.0, 0)
    assert list(slow) == []
    assert engine.staleness == (3 / 13, 3)


@pytest.mark.parametrize("engine", [Serial(), Threads(2)])
def test_where_nobody_races_steps_stay_in_one_piece(engine):
    assert list(engine.pieces(5, 100, 7)) == [(5, 100)]
    assert engine.staleness is None
    assert not engine.racing


@pytest.mark.parametrize(
    ("method", "layout"),
    [("rows", "csr"), ("rows", "dense_c"), ("spd1-vr", "csr"), ("spd1", "csr")],
)
def test_a_race_ends_with_a_true_certificate(method, layout, rng):
    """Recomputed by the definitions, from x and y alone."""
    problem, A, b = problem_of(rng, layout)
    limit = 60 if method == "spd1" else 3000
    found = solve(problem, method, tol=1e-5, max_passes=limit, engine="async", n_threads=3)
    assert found.converged or method == "spd1"
    assert "async: not reproducible" in found.method
    assert found.staleness is not None
    assert 0.0 <= found.staleness.mean <= found.staleness.max
    u, v = A @ found.x, -A.T @ found.y / len(b)
    s = -b * found.y
    assert np.all((s >= 0.0) & (s <= 1.0))
    entropy = sum(t * np.log(t) if t > 0 else 0.0 for p in s for t in (p, 1.0 - p)) / len(b)
    primal = np.mean(np.logaddexp(0.0, -b * u)) + 0.025 * found.x @ found.x
    dual = -entropy - v @ v / 0.1
    assert found.primal == pytest.approx(primal, rel=1e-12)
    assert found.gap >= (primal - dual) * (1.0 - 1e-6) - 1e-14
    assert certify(found.x, problem, found.y).gap <= found.gap * (1.0 + 1e-9) + 1e-14


def test_lost_updates_never_reach_the_certificate(rng):
    """G is spoilt on purpose, as a race might; the pair and the next steps have the true one."""
    problem, A, _ = problem_of(rng)
    worker = build("rows", problem, None, "auto", key_of(1))
    worker.adopt(worker.rule(worker).first())
    with Racing(2) as engine:
        worker.work_with(engine)
        assert worker.maintains == ""
        worker.begin(np.zeros(40), np.zeros(60))
        list(worker.epoch())
        for table in (table for _, table in worker.tables()):
            table[:, 1] += 1.0
        pair = worker.evaluated()
    np.testing.assert_allclose(pair.dual.v, -A.T @ worker.state.y / 60, atol=1e-12)
    np.testing.assert_allclose(worker.point()[1], -pair.dual.v, atol=1e-12)


REFUSED = [
    ({"method": "auto"}, "needs a method"),
    ({"method": "newton"}, "not this newton"),
    ({"method": "saga"}, "not this saga"),
    ({"method": "spd1", "tile": "auto"}, "without tile=, not this spd1"),
    ({"method": "rows", "grid": (2, 2)}, "in one piece .*not this rows"),
    ({"method": "spd1-vr", "steps": "theory"}, "one step after the other"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
def test_what_cannot_race_is_refused_by_name(arguments, message, rng):
    problem, _, _ = problem_of(rng, "dense_c")
    with pytest.raises(IncompatibleError, match=message):
        solve(problem, engine="async", n_threads=2, **arguments)
