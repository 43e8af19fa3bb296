"""Smooth corners that become sharper: what their slope is, and the optimum of what is certified."""

from __future__ import annotations

import numpy as np
import pytest

from spd1 import L1, L2, ElasticNet, Problem, solve
from spd1.design.intercept import Design, with_free_intercept
from spd1.errors import IncompatibleError, ParameterError
from spd1.kernel.rng import key_of
from spd1.losses import LOSSES
from spd1.solvers import multipliers
from spd1.solvers.auto import pick
from spd1.solvers.multipliers import Multipliers, MultipliersState
from support import cases, oracle
from support.checks import check

IN_PIECES = ["hinge", "squared_hinge", "smoothed_hinge", "huber", "absolute", "quantile",
             "epsilon_insensitive", "squared_epsilon_insensitive"]  # fmt: skip


def case_of(loss: str, free: bool, rng: np.random.Generator, n: int = 60) -> oracle.Case:
    """Tall data, its last column ones and without penalty, one row of no weight."""
    A = np.hstack([rng.standard_normal((n, 4)) * [1.0, 3.0, 0.1, 1.0], np.ones((n, 1))])
    b = oracle.random_labels(LOSSES[loss](), A[:, 0] + 0.7, rng)
    c = rng.uniform(0.2, 2.0, n)
    c[3] = 0.0
    reg = with_free_intercept(L2(0.02), 4) if free else L2(0.02)
    return oracle.Case(A, b, c / c.sum(), LOSSES[loss](), reg)


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("loss", IN_PIECES)
def test_the_optimum_and_its_proof(loss, free, rng):
    case = case_of(loss, free, rng)
    found = solve(case.problem(), "multipliers", tol=1e-8)
    assert found.status == "converged"
    check(case, case.problem(), found, cases.minimum(case))


@pytest.mark.parametrize("loss", ["hinge", "epsilon_insensitive", "squared_hinge"])
def test_the_slope_is_the_best_dual_value_around_the_middle(loss, rng):
    """Of u t - phi*(t) - s/2 (t - y)^2, by its definition, over a fine grid."""
    case = case_of(loss, True, rng)
    worker = Multipliers(case.problem(), "auto", key_of(0))
    width = 0.0 if worker.gamma > 0.0 else 0.7
    middle = np.clip(rng.standard_normal(60), worker.low, worker.high)
    worker.state = MultipliersState(rng.standard_normal(5), middle, width)
    t = worker.slope(worker.u)

    def value(t: np.ndarray) -> np.ndarray:
        star = oracle.phi_star(case.loss, t, case.b)
        return worker.u * t - star - 0.5 * width * (t - middle) ** 2

    best = value(t)
    assert np.all(np.isfinite(best))
    for at in np.linspace(-6.0, 6.0, 601):
        other = np.clip(np.full(60, at), worker.low, worker.high)
        assert np.all(value(other) <= best + 1e-12)


@pytest.mark.parametrize("loss", ["hinge", "epsilon_insensitive"])
@pytest.mark.parametrize("shift", [0.0, 30.0])
def test_an_intercept_that_is_far_away(loss, shift, rng):
    """Columns far from zero: the intercept makes up for all of that, and is found all the same."""
    case = case_of(loss, True, rng, 120)
    A = case.A.copy()
    A[:, :4] += shift
    moved = case._replace(A=A)
    found = solve(moved.problem(), "multipliers", tol=1e-6)
    assert found.status == "converged"
    there = solve(case.problem(), "multipliers", tol=1e-6)
    size = found.gap + there.gap + 1e-9
    assert abs(found.primal - there.primal) <= size  # the same problem in other coordinates


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_what_is_proven_holds_where_it_is_cut_short(loss, rng, monkeypatch):
    """One step a centre, and no more on its line: far from the optimum, and honest about it."""
    monkeypatch.setattr(multipliers, "MOST_STEPS_A_CENTRE", 1)
    case = case_of(loss, True, rng)
    found = solve(case.problem(), "multipliers", tol=1e-12, max_passes=40)
    check(case, case.problem(), found, cases.minimum(case))


def test_it_goes_on_from_a_saved_place_with_the_same_bits(rng):
    problem = case_of("hinge", True, rng).problem()
    one, other = (Multipliers(problem, "auto", key_of(0)) for _ in range(2))
    for worker in (one, other):
        worker.tol = 1e-4
        worker.begin(np.zeros(5), np.zeros(60))
    list(one.epoch())
    saved = one.save()
    list(one.epoch())
    other.restore(saved)
    list(other.epoch())
    assert one.pair.gap == other.pair.gap
    np.testing.assert_array_equal(one.x, other.x)


def test_a_start_is_not_made_worse(rng):
    case = case_of("hinge", True, rng)
    first = solve(case.problem(), "multipliers", tol=1e-3)
    again = solve(case.problem(), "multipliers", tol=1e-9, x0=first.x, y0=first.y)
    assert again.rel_gap <= 1e-9
    assert again.primal <= first.primal


def test_auto_takes_it_for_tall_data_with_an_intercept(rng):
    X = rng.standard_normal((80, 3))
    b = np.where(X[:, 0] > 0.1, 1.0, -1.0)
    tall = Design(X, True).problem(b, "hinge", L2(0.01))
    assert pick(tall)[0] == "multipliers"
    wide = Design(X[:10], True).problem(b[:10], "hinge", L2(0.01))
    assert pick(wide)[0] != "multipliers"
    assert "multipliers" in Design(X, True).solve(b, "hinge", L2(1e-6)).method  # rows give up


def test_dense_quadratic_pieces_with_more_rows_than_columns_go_to_rows():
    rng = np.random.default_rng(0)
    for n, wanted in ((700, "rows"), (500, "rows"), (250, "newton")):
        A = rng.standard_normal((n, 300))
        problem = Problem(A, np.sign(A[:, 0]), "squared_hinge", L2(1e-3))
        assert pick(problem)[0] == wanted


@pytest.mark.parametrize(
    ("loss", "reg", "reason"),
    [
        ("logistic", L2(0.1), "pieces"),
        ("squared", L2(0.1), "pieces"),
        ("hinge", L1(0.1), "l2 > 0"),
        ("hinge", ElasticNet(l2=[0.1, 0.0, 0.0, 0.0]), "l2 > 0"),
        ("hinge", ElasticNet(l2=0.1, lower=0.0), "no bounds"),
    ],
)
def test_others_are_refused(loss, reg, reason):
    b = np.array([1.0, -1.0, 1.0, -1.0])
    with pytest.raises(IncompatibleError, match=reason):
        solve(Problem(np.eye(4), b, loss, reg), "multipliers")


def test_sparse_and_wide_data_are_refused(rng):
    from scipy.sparse import csr_array

    b = np.array([1.0, -1.0, 1.0])
    for A in (csr_array(np.eye(3)), rng.standard_normal((3, 301))):
        with pytest.raises(IncompatibleError, match="dense data with up to 300 columns"):
            solve(Problem(A, b, "hinge", L2(0.1)), "multipliers")
    with pytest.raises(ParameterError, match="sampling"):
        solve(Problem(np.eye(3), b, "hinge", L2(0.1)), "multipliers", sampling="uniform")
