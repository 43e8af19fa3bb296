"""The short way to a result is the long way without the detours: same bits, same trace."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import spd1
from spd1.engines.ledger import Ledger
from spd1.kernel.rng import key_of
from spd1.result import Trace
from spd1.solvers.sprint import at_once
from spd1.solvers.sprint.sprint import Dash, called

KINDS = {
    "ascent": ("squared_hinge", {"l2": 0.05}),
    "descent": ("squared", {"l1": 0.05}),
    "newton-cg": ("logistic", {"l2": 0.02}),
    "newton-gram": ("logistic", {"l2": 0.02}),
}


def problem_of(kind: str, seed: int = 0) -> spd1.Problem:
    rng = np.random.default_rng(seed)
    n, d = {"newton-gram": (400, 20), "newton-cg": (80, 60)}.get(kind, (60, 90))
    A = sp.random(n, d, 0.2, random_state=seed, format="csr")
    b = np.where(A @ rng.standard_normal(d) + 0.3 * rng.standard_normal(n) > 0, 1.0, -1.0)
    loss, numbers = KINDS[kind]
    return spd1.Problem(A, b, loss, spd1.ElasticNet(**numbers))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tol", [1e-2, 1e-7])
def test_same_as_the_long_way(kind: str, tol: float) -> None:
    problem, heard = problem_of(kind), []
    short = spd1.solve(problem, tol=tol)
    long = spd1.solve(problem, tol=tol, callback=lambda row: heard.append(row) is not None)
    assert kind in short.method == long.method
    assert isinstance(short.trace, at_once.LateTrace)
    assert not isinstance(long.trace, at_once.LateTrace)
    assert short.x.tobytes() == long.x.tobytes()
    assert short.y.tobytes() == long.y.tobytes()
    assert (short.certificate.primal, short.rel_gap) == (long.certificate.primal, long.rel_gap)
    assert (short.status, short.passes) == ("converged", long.passes)
    for name in ("passes", "paper_passes", "primal", "dual", "gap", "rel_gap"):
        assert getattr(short.trace, name).tolist() == getattr(long.trace, name).tolist()
    assert len(heard) == len(long.trace) - 1  # the start is not told of


def test_one_call_that_is_not_enough_is_gone_on_from(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problem_of("ascent")
    expected = spd1.solve(problem, tol=1e-8)

    def one_pass(state: Dash, *others: object) -> object:
        state.left, rest = 1.0, state.left - 1.0
        found = called(state, *others)  # type: ignore[arg-type]
        state.left, state.over = rest, False
        return found

    monkeypatch.setattr(at_once, "called", one_pass)
    ledger = Ledger(problem.stored)
    state = at_once.solved_at_once(problem.watched(ledger), 1e-8, key_of(0), ledger)
    assert isinstance(state, Dash)
    assert len(state.rows) >= 2
    assert state.rows[-1].rel_gap > 1e-8
    result = spd1.solve(problem, tol=1e-8)
    assert result.converged
    assert result.primal == pytest.approx(expected.primal, rel=1e-8)


def test_ctrl_c_after_the_kernel_has_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problem_of("ascent")

    def pressed(*arguments: object) -> None:
        called(*arguments)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    monkeypatch.setattr(at_once, "called", pressed)
    result = spd1.solve(problem, tol=1e-6)
    assert result.status == "interrupted"
    assert result.gap >= problem.primal(result.x) - problem.dual(result.y) - 1e-12
    assert len(result.trace) == 2


def test_ctrl_c_before_the_kernel_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def pressed(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(at_once, "called", pressed)
    with pytest.raises(KeyboardInterrupt):
        spd1.solve(problem_of("ascent"), tol=1e-6)


def test_a_late_trace_travels(tmp_path: object) -> None:
    result = spd1.solve(problem_of("ascent"), tol=1e-6)
    again = pickle.loads(pickle.dumps(result))
    assert again.trace.rows == result.trace.rows
    assert isinstance(again.trace, Trace)
    path = f"{tmp_path}/result.npz"
    result.save(path)
    assert spd1.Result.load(path).trace.rows == result.trace.rows


@pytest.mark.parametrize("limit", [{"max_passes": 1.0}, {"max_seconds": 1e-9}])
def test_limits_hold(limit: dict[str, float]) -> None:
    result = spd1.solve(problem_of("ascent"), tol=1e-11, **limit)  # type: ignore[arg-type]
    assert result.status in ("max_passes", "max_seconds", "converged")
    if result.status != "converged":
        assert result.rel_gap > 1e-11
