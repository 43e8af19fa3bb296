"""Blocks of rows with copies of their own: the same bits for any number of threads."""

from __future__ import annotations

import numpy as np
import pytest

from spd1 import L2, ElasticNet, Problem, solve
from spd1.control.balance import BalancedSteps
from spd1.control.steps import Seen
from spd1.engines.threads import Threads
from spd1.kernel.rng import key_of
from spd1.solvers.registry import build
from spd1.solvers.rows import blocks
from spd1.solvers.rows.blocks import Copies, Plan, plan_of
from support import oracle


@pytest.fixture
def eager(monkeypatch):
    """Let small data be worth several blocks."""
    monkeypatch.setattr(blocks, "LEAST_STRETCH", 1)
    monkeypatch.setattr(blocks, "DEAREST_MEETINGS", np.inf)


def problem_of(shape, layout, reg, rng):
    A = rng.standard_normal(shape) * (rng.random(shape) < 0.5)
    b = np.where(A @ rng.standard_normal(shape[1]) + rng.standard_normal(shape[0]) > 0, 1.0, -1.0)
    return Problem(oracle.LAYOUTS[layout](A), b, "logistic", reg)


@pytest.mark.plain
def test_moves_of_all_copies_are_added(rng):
    base = rng.standard_normal(1300)
    start, copies = base.copy(), Copies(base, 3, 1200)
    moves = rng.standard_normal((3, 1300))
    copies.each += moves
    copies.add_up()
    np.testing.assert_allclose(base[:1200], (start + moves.sum(axis=0))[:1200], rtol=1e-12)
    np.testing.assert_array_equal(base[1200:], start[1200:])
    for one in copies.each:
        np.testing.assert_array_equal(one[:1200], base[:1200])
    before = base.copy()
    copies.add_up()  # nobody has moved since
    np.testing.assert_array_equal(base, before)


def test_small_data_and_boxes_are_left_to_one_block(rng, monkeypatch):
    whole = problem_of((60, 30), "csr", L2(0.05), rng)
    assert plan_of(whole, tied=False) == Plan(1, 1)
    monkeypatch.setattr(blocks, "LEAST_STRETCH", 1)
    monkeypatch.setattr(blocks, "DEAREST_MEETINGS", np.inf)
    assert plan_of(whole, tied=False).blocks > 1
    boxed = whole.with_regularizer(ElasticNet(l2=0.05, lower=0.0))
    assert plan_of(boxed, tied=False) == Plan(1, 1)
    monkeypatch.setattr(blocks, "DEAREST_MEETINGS", 0.0)
    assert plan_of(whole, tied=True) == Plan(1, 1)


def test_there_are_as_many_stretches_as_are_worth_a_meeting(rng, monkeypatch):
    whole = problem_of((80, 30), "dense_c", L2(0.05), rng)  # 2,400 entries
    monkeypatch.setattr(blocks, "DEAREST_MEETINGS", np.inf)
    monkeypatch.setattr(blocks, "LEAST_STRETCH", 100)
    assert plan_of(whole, tied=True) == Plan(2, 12)
    monkeypatch.setattr(blocks, "LEAST_STRETCH", 151)
    assert plan_of(whole, tied=True) == Plan(1, 1)  # seven would be too few
    monkeypatch.setattr(blocks, "LEAST_STRETCH", 1)
    assert plan_of(whole, tied=True) == Plan(2, 32)
    monkeypatch.setattr(blocks, "DEAREST_MEETINGS", 0.5)  # 1,200 numbers, 90 a meeting
    assert plan_of(whole, tied=True) == Plan(2, 13)


@pytest.mark.parametrize(("shape", "layout"), [((80, 30), "dense_c"), ((40, 60), "csr")])
def test_side_by_side_has_the_same_bits_for_any_number_of_threads(shape, layout, rng, eager):
    whole = problem_of(shape, layout, L2(0.05), rng)
    serial = solve(whole, "rows", tol=1e-7)
    found = [
        solve(whole, "rows", tol=1e-7, engine="threads", n_threads=threads) for threads in (1, 2, 4)
    ]
    assert all(one.converged for one in found)
    assert found[0].primal == pytest.approx(serial.primal, rel=3e-7)
    assert not np.array_equal(found[0].x, serial.x)  # copies were at work
    for one in found[1:]:
        np.testing.assert_array_equal(one.x, found[0].x)
        np.testing.assert_array_equal(one.y, found[0].y)
        assert one.passes == found[0].passes


@pytest.mark.parametrize("tied", [True, False])
def test_the_gradient_is_that_of_y_after_every_stretch(tied, rng, eager):
    """Also if the run is stopped between two of them."""
    whole = problem_of((48, 60), "csr", L2(0.05), rng)
    worker = build("rows", whole, None, "auto", key_of(3))
    worker.tied = tied
    worker.adopt(worker.rule(worker).first())
    worker.begin(np.zeros(60), np.zeros(48))
    with Threads(2) as engine:
        worker.work_with(engine)
        for _ in worker.epoch():
            _, G = worker.point()
            np.testing.assert_allclose(G, whole.adjoint(whole.c * worker.state.y), atol=1e-12)
            assert worker.copies is not None


def test_copies_that_go_too_far_give_way_to_one_block(rng, eager):
    whole = problem_of((80, 30), "dense_c", L2(0.05), rng)
    worker = build("rows", whole, None, "auto", key_of(3))
    with Threads(2) as engine:
        worker.work_with(engine)
        assert worker.side_by_side
        rule = BalancedSteps(worker)
        x, y = np.zeros(30), np.zeros(80)
        rule.start(Seen(1.0, x, y, 1.0))
        good = Seen(0.1, x, y, 1.0)
        assert not rule.after_epoch(good).alone
        proposal = rule.after_epoch(Seen(50.0, x, y, 1.0))
        assert proposal.alone
        assert proposal.back_to is good
        worker.adopt(proposal)
        assert not worker.side_by_side
        assert not rule.after_epoch(Seen(0.09, x, y, 1.0)).alone
