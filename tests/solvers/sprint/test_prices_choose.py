"""Choices that follow from prices: the same for the same prices, sensible at both ends."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp

import spd1
from spd1.kernel import prices as module
from spd1.kernel.prices import REFERENCE, prices, rates
from spd1.solvers.newton.charges import charges
from spd1.solvers.sprint.choice import kind_of, too_hard_for_products
from spd1.solvers.sprint.gram import by_gram, dense_sweeps
from spd1.solvers.sprint.trial import products_of_a_step, trial_pays
from spd1.solvers.sprint.workers import worth_of_a_gram


@pytest.fixture
def charge(monkeypatch):
    """Sets prices, as multiples of the reference, for one test."""

    def clear():
        for one in (prices, rates, charges):
            one.cache_clear()

    def these(**factors):
        found = {**REFERENCE._asdict()}
        for name, factor in factors.items():
            found[name] *= factor
        monkeypatch.setattr(module, "REFERENCE", REFERENCE)
        monkeypatch.setattr(module, "fixed", lambda path: module.Prices(**found))
        monkeypatch.setenv(module.PRICES, "somewhere")
        clear()

    yield these
    clear()


def tall(rng, loss, reg, n=8000, d=40, scales=None):
    A = rng.normal(size=(n, d))
    if scales is not None:
        A = A * scales @ np.linalg.qr(rng.normal(size=(d, d)))[0]
    b = A @ rng.normal(size=d) + rng.normal(size=n)
    return spd1.Problem(A, b if loss == "squared" else np.where(b > 0, 1.0, -1.0), loss, reg)


def test_a_matrix_is_worth_fewer_products_where_flops_are_cheap(rng, charge):
    p = tall(rng, "logistic", spd1.L2(1e-3))
    charge()
    usual = worth_of_a_gram(p)
    charge(flop=0.25)
    assert worth_of_a_gram(p) == pytest.approx(0.25 * usual)
    charge(entry=0.25)
    assert worth_of_a_gram(p) == pytest.approx(4.0 * usual)


def test_a_matrix_of_sparse_rows_follows_pairs_flops_and_calls(rng, charge):
    A = sp.random_array((4000, 60), density=0.1, rng=rng, format="csr")
    p = spd1.Problem(A, np.sign(rng.normal(size=4000)), "logistic", spd1.L2(1e-3))
    charge()
    usual = worth_of_a_gram(p)
    charge(scattered_entry=2.0, flop=2.0, call=2.0)
    assert worth_of_a_gram(p) == pytest.approx(2.0 * usual)
    charge(sparse_entry=2.0)
    assert worth_of_a_gram(p) == pytest.approx(0.5 * usual)


@pytest.mark.parametrize(("flop", "swept"), [(0.01, False), (100.0, True)])
def test_a_matrix_of_columns_gives_way_to_sweeps_where_flops_are_dear(flop, swept, rng, charge):
    p = tall(rng, "squared", spd1.L1(1e-2))  # most columns move
    charge(flop=flop)
    assert kind_of(p) == "gram"
    assert (by_gram(p, 1e-6)[1] is None) == swept
    method = spd1.solve(p, tol=1e-6).method
    assert method.startswith("auto: descent" if swept else "auto: gram")


def test_a_small_l1_asks_for_more_sweeps(rng):
    most = float(np.max(np.abs(tall(rng, "squared", spd1.L1(1.0)).pull_at_zero)))
    few, many = (
        dense_sweeps(tall(np.random.default_rng(0), "squared", spd1.L1(share * most), d=110))
        for share in (0.5, 1e-3)
    )
    assert few < many


def definition_of_products(problem, rows, accuracy, most):
    """Preconditioned conjugate gradients on some rows, in as many words."""
    A, c, b = problem.A.values[rows], problem.c[rows], problem.b[rows]
    H = (A.T * (c * problem.n / len(rows) / problem.gamma)) @ A + problem.mu * np.eye(problem.d)
    D = np.diag(1.0 / np.diag(H))
    r = A.T @ (c * b)
    q = D @ r
    start = r @ D @ r
    for k in range(1, most + 1):
        step = (r @ D @ r) / (q @ H @ q)
        after = r - step * (H @ q)
        if after @ D @ after <= accuracy**2 * start:
            return k
        q = D @ after + (after @ D @ after) / (r @ D @ r) * q
        r = after
    return most


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
@pytest.mark.parametrize("spread", [0.0, 0.5, 1.0])
def test_a_trial_counts_the_products_of_a_step(loss, spread, rng):
    p = tall(rng, loss, spd1.L2(1e-3), n=6400, d=40, scales=np.logspace(0, spread, 40))
    rows = np.arange(0, 6400, 40)
    assert abs(products_of_a_step(p) - definition_of_products(p, rows, 1e-3, 25)) <= 1  # rounding


@pytest.mark.parametrize("layout", [np.asfortranarray, sp.csr_array, np.ascontiguousarray])
def test_a_trial_has_the_same_answer_in_every_layout(layout, rng):
    p = tall(rng, "logistic", spd1.L2(1e-3), n=1600, d=20)
    other = spd1.Problem(layout(p.A.values), p.b, "logistic", spd1.L2(1e-3))
    if other.grid.row_major:
        assert products_of_a_step(other) == products_of_a_step(p)
    else:
        assert not trial_pays(other, 10.0)


def test_a_trial_is_told_to_the_ledger_once_a_run(rng):
    p = tall(rng, "logistic", spd1.L2(1e-6), n=20000, d=30, scales=np.logspace(0, 2, 30))
    passes = [spd1.solve(p, tol=1e-3).passes for _ in range(2)]
    assert passes[0] == passes[1]


def test_many_sizes_of_curvature_are_left_to_matrices(rng):
    easy = tall(rng, "logistic", spd1.L2(1e-4), n=20000, d=100)
    hard = tall(rng, "logistic", spd1.L2(1e-7), n=20000, d=100, scales=np.logspace(0, 4, 100))
    assert not too_hard_for_products(easy)
    assert too_hard_for_products(hard)


def test_no_trial_where_a_matrix_is_out_of_the_question(rng):
    p = tall(rng, "logistic", spd1.L2(1e-4), n=20000, d=100)
    assert trial_pays(p, 15.0)
    assert not trial_pays(p, math.inf)
    square = tall(rng, "logistic", spd1.L2(1e-4), n=300, d=100)
    assert not trial_pays(square, 15.0)


@pytest.mark.parametrize(
    ("shape", "kind"), [((3000, 20), "newton-gram"), ((300, 300), "newton-cg")]
)
def test_an_l2_above_all_curvature_takes_newtons_steps(shape, kind, rng):
    A = sp.random_array(shape, density=0.1, rng=rng, format="csr")
    b = np.where(rng.normal(size=shape[0]) > 0, 1.0, -1.0)
    strong = float((A.data**2).sum()) / shape[0]
    p = spd1.Problem(A, b, "squared_hinge", spd1.L2(strong))
    assert kind_of(p) == kind
    result = spd1.solve(p, tol=1e-9)
    assert result.converged
    assert kind in result.method


def test_same_prices_same_choice_same_bits(rng, charge):
    charge(exp=2.0, flop=0.5)
    p = tall(rng, "logistic", spd1.L2(1e-4))
    one, other = (spd1.solve(p.with_regularizer(spd1.L2(1e-4)), tol=1e-8) for _ in range(2))
    assert one.method == other.method
    np.testing.assert_array_equal(one.x, other.x)
