"""Least squares with l1 on tall dense data, by the matrix of columns that move."""

import numpy as np
import pytest

import spd1
from spd1 import ElasticNet, Problem
from spd1.solvers.sprint import gram, sprint
from spd1.solvers.sprint.choice import kind_of
from spd1.solvers.sprint.gram import MovingColumns, by_gram, dense_matrix_in_sweeps, on_all
from spd1.solvers.sprint.short import by_matrix

TALL = 3000, 60  # more entries than those that sweeps take at once


def made(rng, l1=0.1, l2=0.0, shape=TALL, weights=None, common=1.0, order="F"):
    """Columns with a direction in common; l1 as a share of the one that moves none."""
    n = shape[0]
    A = rng.standard_normal(shape) + common * rng.standard_normal((n, 1))
    b = A[:, :5] @ rng.standard_normal(5) + rng.standard_normal(n)
    c = np.ones(n) if weights is None else weights
    most = float(np.max(np.abs(A.T @ (c / c.sum() * b))))
    return Problem(np.array(A, order=order), b, "squared", ElasticNet(l1 * most, l2), weights)


@pytest.fixture
def without_sweeps(monkeypatch):
    monkeypatch.setattr(gram, "too_dear", lambda *_: False)


@pytest.fixture
def in_sets(monkeypatch):
    """Never all columns at once, however few there are."""
    monkeypatch.setattr(gram, "all_at_once", lambda _: False)


def assert_optimal(p, x, proof, tol):
    """No coordinate can do better: by the definition of a subgradient."""
    A, reg = p.A.values, p.reg
    pull = A.T @ (p.c * (A @ x - p.b)) + reg.l2 * x
    slack = np.sqrt(2.0 * tol * p.value_at_zero * (p.c @ (A * A)).max())
    assert proof.rel_gap <= tol
    assert proof.primal == pytest.approx(p.primal(x), rel=1e-9)
    assert np.all(np.abs(pull) <= reg.l1 + slack)
    moved = x != 0.0
    assert np.all(np.abs(pull[moved] + reg.l1 * np.sign(x[moved])) <= slack)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("l1", "l2"), [(0.3, 0.0), (0.02, 0.0), (0.02, 0.3), (10.0, 0.0)])
def test_nothing_is_left_to_gain(rng, order, weighted, l1, l2, without_sweeps, in_sets):
    weights = rng.random(TALL[0]) + 0.1 if weighted else None
    p = made(rng, l1, l2, weights=weights, order=order)
    x, proof = by_gram(p, 1e-10)
    assert_optimal(p, x, proof, 1e-10)
    assert np.any(x) == (l1 < 1.0)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("l1", "l2"), [(0.05, 0.0), (0.02, 0.3), (10.0, 0.0)])
def test_one_matrix_of_all_columns(rng, weighted, l1, l2):
    p = made(rng, l1, l2, (90, 12), rng.random(90) + 0.1 if weighted else None)
    x, proof = on_all(p, 1e-10)
    assert_optimal(p, x, proof, 1e-10)


def test_a_matrix_that_is_not_enough_leaves_the_best_it_has(rng, monkeypatch, in_sets):
    monkeypatch.setattr(gram, "minimise_on_gram", lambda *_: 0.0)  # nothing is gained
    p = made(rng, 0.3, shape=(90, 12))
    for x, proof in (by_gram(p, 1e-10), on_all(p, 1e-10)):
        assert not x.any()
        assert proof.primal == pytest.approx(p.primal(x))
        assert proof.rel_gap > 1e-10


@pytest.mark.parametrize("weighted", [False, True])
def test_products_of_columns_that_join_later(rng, weighted):
    p = made(rng, shape=(50, 9), weights=rng.random(50) + 0.1 if weighted else None)
    moving = MovingColumns(p)
    moving.join(np.array([2, 7]))
    moving.join(np.array([0, 3, 8]))
    A, x = p.A.values, np.zeros(9)
    x[moving.ids] = rng.standard_normal(5)
    picked = A[:, moving.ids]
    np.testing.assert_allclose(moving.G, picked.T @ (p.c[:, None] * picked), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(moving.margins(x), A @ x, rtol=1e-12, atol=1e-13)
    assert list(np.flatnonzero(moving.member)) == [0, 2, 3, 7, 8]


def test_few_columns_join_where_few_move(rng, monkeypatch, in_sets):
    joined = []
    join = MovingColumns.join
    monkeypatch.setattr(
        MovingColumns, "join", lambda self, which: (joined.append(len(which)), join(self, which))
    )
    p = made(rng, 0.3, shape=(2000, 400))
    x, proof = by_gram(p, 1e-9)
    assert_optimal(p, x, proof, 1e-9)
    assert np.count_nonzero(x) <= sum(joined) < 200


def test_dear_matrices_are_left_to_sweeps_which_go_on(rng, monkeypatch, in_sets):
    monkeypatch.setattr(gram, "too_dear", lambda p, columns, stay: columns > 10)
    p = made(rng, 0.01)
    x, proof = by_gram(p, 1e-9)
    assert proof is None
    assert np.any(x)
    heard = []
    result = spd1.solve(p, tol=1e-9, callback=heard.append)
    assert result.method.startswith("auto: descent")
    assert_optimal(p, result.x, result.certificate, 1e-9)
    passes = [row.passes for row in result.trace.rows]
    assert passes == sorted(passes)
    assert {row.passes for row in heard} <= set(passes)  # those of the matrix, too


def test_slow_sweeps_are_followed_by_the_matrix_of_columns(rng, monkeypatch, in_sets):
    monkeypatch.setattr(gram, "too_dear", lambda *_: True)
    monkeypatch.setattr("spd1.solvers.sprint.workers.DENSE_MATRICES_WORTH", 0.5)
    p = made(rng, 0.001, common=3.0)
    result = spd1.solve(p, tol=1e-10)
    assert result.method.startswith("auto: descent, then gram")
    assert_optimal(p, result.x, result.certificate, 1e-10)
    passes = [row.passes for row in result.trace.rows]
    assert passes == sorted(passes)
    assert result.trace.rows[-1].rel_gap == result.rel_gap


def test_copies_are_kept_within_what_a_grid_allows(rng, in_sets):
    p = made(rng, 0.01)
    p.grid.copies = 8.0 * 4 * p.n
    x, proof = by_gram(p, 1e-9)
    assert proof is None
    assert not np.any(x)


def test_who_hears_of_looks_may_stop_there(rng, in_sets, without_sweeps):
    p, heard = made(rng, 0.01), []
    result = spd1.solve(p, tol=1e-12, callback=lambda row: (heard.append(row), len(heard) == 2)[1])
    assert result.status == "interrupted"
    assert len(heard) == 2
    assert result.rel_gap == pytest.approx(min(row.rel_gap for row in heard), rel=1e-6)
    assert result.gap >= p.primal(result.x) - spd1.solve(p, tol=1e-12).primal


@pytest.mark.parametrize("once", [True, False])
def test_every_look_is_a_row_of_the_trace(rng, once, without_sweeps, monkeypatch):
    monkeypatch.setattr(gram, "all_at_once", lambda _: once)
    heard = []
    result = spd1.solve(made(rng, 0.01), tol=1e-8, callback=heard.append)
    rows = result.trace.rows
    assert result.method.startswith("auto: gram")
    assert rows[0].passes <= 1.0
    assert [row.passes for row in rows[1:]] == [row.passes for row in heard]
    assert rows[-1].passes == pytest.approx(result.passes)
    assert rows[-1].rel_gap == result.rel_gap < rows[0].rel_gap


def test_a_limit_ends_it_between_two_looks(rng, in_sets, without_sweeps):
    p = made(rng, 0.01)
    result = spd1.solve(p, tol=1e-13, max_passes=3.0)
    assert result.status == "max_passes"
    assert np.isfinite(result.rel_gap)


def test_the_matrix_says_how_many_sweeps_it_is_worth(rng):
    p = made(rng)
    prices = [dense_matrix_in_sweeps(p, k) for k in (0, 10, 60)]
    assert prices == sorted(prices)
    assert kind_of(p) == "gram"
    assert kind_of(made(rng, l2=2.0)) == "descent"  # curved by l2
    assert kind_of(made(rng, shape=(600, 60))) == "descent"  # little data
    assert kind_of(made(rng, shape=(600, 500))) == "descent"  # not tall


def test_a_factor_that_fails_is_left_to_others(rng, monkeypatch):
    p = Problem(rng.standard_normal((90, 4)), rng.standard_normal(90), "squared", spd1.L2(0.1))
    monkeypatch.setattr("spd1.solvers.sprint.factor.damped_cholesky", lambda *_: None)
    ledger = spd1.engines.ledger.Ledger(p.stored)
    assert by_matrix(p, "factor", 1e-6, ledger, None) is None
    assert sprint.sprint(p, 1e-6, np.uint64(0), ledger) is None
    assert spd1.solve(p, tol=1e-6).converged
