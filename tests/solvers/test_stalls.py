"""Problems that stood still once: every one is certified to 1e-6 now."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement

import numpy as np
import pytest

from spd1 import L1, L2, ElasticNet, Problem, solve
from spd1.linear_model import LinearSVC
from spd1.solvers.interior.interior import Interior
from support import cases
from support.checks import check


def polynomials(rng, n, variables, degree):
    t = rng.uniform(-2, 2, (n, variables))
    return np.column_stack(
        [
            np.prod(t[:, list(chosen)], axis=1)
            for k in range(1, degree + 1)
            for chosen in combinations_with_replacement(range(variables), k)
        ]
    )


def alike(rng):
    a = rng.standard_normal(40)
    A = np.column_stack([a, a + 1e-8 * rng.standard_normal(40)])
    return Problem(A, rng.standard_normal(40), "squared")


def one_large_entry(rng):
    A = rng.standard_normal((200, 2))
    A[3, 1] = 1e6
    return Problem(A, np.sign(A[:, 0] + 0.5 * rng.standard_normal(200)), "hinge")


def logistic_polynomials(rng):
    A = polynomials(rng, 500, 3, 3)
    return Problem(A, np.sign(A[:, 0] + rng.standard_normal(500)), "logistic")


def squared_polynomials(rng):
    t = rng.uniform(0, 10, 500)
    A = np.column_stack([t**k for k in range(14)])
    return Problem(A, np.sin(t) + 0.1 * rng.standard_normal(500), "squared")


def scaled_columns_from_zero(rng):
    A = rng.standard_normal((300, 150)) * 10.0 ** rng.uniform(-5, 5, 150)
    return Problem(A, rng.standard_normal(300), "absolute", ElasticNet(l2=8e-4, lower=0.0))


def absolute_with_next_to_no_penalty(rng):
    A = rng.standard_normal((200, 100))
    b = A @ rng.standard_normal(100) + rng.standard_normal(200)
    return Problem(A, b, "absolute", L2(2e-11))


def wide_squared_hinge(rng):
    A = rng.standard_normal((40, 200))
    return Problem(A, np.sign(rng.standard_normal(40)), "squared_hinge", L1(1e-7))


def wide_squared_tube(rng):
    A = rng.standard_normal((30, 500))
    return Problem(A, rng.standard_normal(30), "squared_epsilon_insensitive", L1(1e-7))


def some_columns_free(rng, name):
    A = rng.standard_normal((40, 200))
    penalty = np.where(np.arange(200) % 5 == 0, 0.0, 0.01)
    return Problem(A, rng.standard_normal(40), "absolute", ElasticNet(**{name: penalty}))


def tube_of_polynomials(rng):
    """An l2 that is as faint as rounding for the longest columns, and not for the others."""
    t = rng.uniform(0, 10, 500)
    A = np.column_stack([t**k for k in range(10)])
    return Problem(A, 3.0 * np.sin(t) + rng.standard_normal(500), "epsilon_insensitive", L2(3e-8))


def wide_hinge(rng):
    A = rng.standard_normal((40, 200))
    return Problem(A, np.sign(rng.standard_normal(40)), "hinge", L2(1.6e-12))


def separable_without_penalty(rng):
    A = rng.standard_normal((60, 8))
    return Problem(A, np.sign(A @ np.ones(8)), "logistic")


def low_rank(rng, n, d, noise):
    r = max(1, d // 4)
    A = rng.standard_normal((n, r)) @ rng.standard_normal((r, d)) / math.sqrt(r)
    return A + noise * rng.standard_normal((n, d))


def absolute_of_low_rank(rng):
    """All columns count at the optimum, most of them by 1e-8 of their length."""
    return Problem(low_rank(rng, 75, 16, 1e-8), rng.standard_normal(75), "absolute")


def absolute_of_low_rank_from_zero(rng):
    """Coefficients are a million times as large as a start near the bounds."""
    A = low_rank(rng, 11, 300, 1e-6)
    return Problem(A, rng.standard_normal(11), "absolute", ElasticNet(l2=8e-13, lower=0.0))


def poisson_of_scaled_rows(rng):
    A = polynomials(rng, 14, 2, 4) * 10.0 ** rng.uniform(-3, 3, (14, 1))
    b = rng.poisson(np.exp(np.clip(A[:, 0], -3, 3))).astype(float)
    return Problem(A, b, "poisson", L2(1.5e-6))


def poisson_without_penalty(rng):
    A = low_rank(rng, 17, 60, 1e-7) * 10.0 ** rng.uniform(-3, 3, (17, 1))
    return Problem(A, rng.poisson(1.0, 17).astype(float), "poisson")


def quantile_of_alike_polynomials(rng):
    A = polynomials(rng, 300, 2, 5)
    A[:, 10:] = A[:, [0]] + 1e-7 * A[:, 10:]
    b = A @ rng.standard_normal(A.shape[1])
    return Problem(A, b, "quantile", L1(5e-8))


def rows_that_must_be_nothing(rng):
    """Columns without penalty that touch one row ask for a dual variable of exactly zero."""
    A = rng.standard_normal((8, 60)) * (rng.random((8, 60)) < 0.1)
    l2 = np.where(np.arange(60) % 5 == 0, 0.0, 3e-10)
    return Problem(A, rng.standard_normal(8), "quantile", ElasticNet(l2=l2))


STALLS = {
    "absolute of low rank": absolute_of_low_rank,
    "absolute of low rank, from zero": absolute_of_low_rank_from_zero,
    "poisson of scaled rows": poisson_of_scaled_rows,
    "poisson without penalty": poisson_without_penalty,
    "quantile of alike polynomials": quantile_of_alike_polynomials,
    "rows that must be nothing": rows_that_must_be_nothing,
    "alike": alike,
    "one large entry": one_large_entry,
    "logistic polynomials": logistic_polynomials,
    "squared polynomials": squared_polynomials,
    "scaled columns": scaled_columns_from_zero,
    "tiny l2": absolute_with_next_to_no_penalty,
    "wide squared hinge": wide_squared_hinge,
    "wide squared tube": wide_squared_tube,
    "some free, l1": lambda rng: some_columns_free(rng, "l1"),
    "some free, l2": lambda rng: some_columns_free(rng, "l2"),
    "tube of polynomials": tube_of_polynomials,
    "wide hinge": wide_hinge,
    "separable": separable_without_penalty,
}


@pytest.mark.parametrize("name", STALLS)
def test_what_stood_still(name, rng):
    found = solve(STALLS[name](rng), max_seconds=60.0)
    assert found.status == "converged"
    assert found.reach == math.inf or name == "rows that must be nothing"  # parallel columns


def test_a_nearly_hard_margin(rng):
    X, y = rng.standard_normal((50, 100)), np.sign(rng.standard_normal(50))
    model = LinearSVC(C=1e6, loss="hinge").fit(X, y)
    assert model.rel_gap_ <= model.tol


def test_an_optimum_of_zero_is_measured_by_the_start(rng):
    """Exact fits: the sentence names what the gap is relative to."""
    A = rng.standard_normal((10, 50))
    for loss in ("squared", "absolute", "huber"):
        found = solve(Problem(A, rng.standard_normal(10), loss), max_seconds=60.0)
        assert found.status == "converged"
        assert found.floor > found.primal
        assert "of the objective at the start" in str(found.certificate)


def test_a_fall_back_that_does_not_get_there_gives_back(monkeypatch):
    """Newton's method gives way early here, and is needed after all: others may use up their looks.

    A run ended where the fall-back had no looks left, however well the first method had done.
    """
    case, best = (make("logistic", "arrays", "large") for make in (cases.make, cases.best))
    problem = case.problem("dense_c")
    monkeypatch.setattr(Interior, "price", classmethod(lambda cls, problem: 2e-3))
    assert "then interior" in solve(problem).method
    monkeypatch.setattr(Interior, "most_looks", 2)
    assert not solve(problem, "interior").converged
    found = solve(problem)
    assert "then interior" in found.method
    check(case, problem, found, best)
    assert found.converged
    limited = solve(problem, max_passes=30)  # what the user says holds
    assert (limited.status, limited.converged) == ("max_passes", False)
