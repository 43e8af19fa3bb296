"""Where auto begins with the interior-point method, and what goes on where that ends."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from spd1 import ElasticNet, Quantile, solve
from spd1.design.intercept import Design
from spd1.solvers import auto
from spd1.solvers.auto import pick
from spd1.solvers.interior.interior import Interior

N, D = 60, 400


@pytest.fixture
def wide(rng):
    A = rng.standard_normal((N, D))
    return A, A[:, 0] - A[:, 1] + 0.5 * rng.standard_normal(N)


def program(A, b, share, intercept=True):
    """Median regression with a share of the l1 that keeps all coefficients at zero."""
    most = 0.5 * np.abs(A.T @ np.sign(b - np.median(b))).max() / len(b)
    return Design(A, intercept).problem(b, Quantile(0.5), ElasticNet(l1=share * most))


def test_wide_dense_linear_programs_with_little_l1(wide):
    A, b = wide
    for intercept in (True, False):
        assert pick(program(A, b, 0.05, intercept))[0] == "interior"
        assert pick(program(A, b, 0.5, intercept))[0] == "newton"  # few columns will move
    assert pick(program(A[:, :100], b, 0.05))[0] == "newton"
    assert pick(program(A.T.copy(), np.resize(b, D), 0.05))[0] != "interior"
    thin = np.where(np.abs(A) > 1.5, A, 0.0)
    assert pick(Design(sp.csr_array(thin), False).problem(
        b, Quantile(0.5), ElasticNet(l1=1e-3)))[0] == "newton"  # fmt: skip


def test_losses_in_pieces_on_large_square_data_with_little_l2(rng, monkeypatch):
    A = rng.standard_normal((120, 100))
    b = A[:, 0] + 0.1 * rng.standard_normal(120)

    def first(A, b, l2, loss="absolute", intercept=True):
        return pick(Design(A, intercept).problem(b, loss, ElasticNet(l2=l2)))[0]

    assert first(A, b, 0.01) == "newton"  # little data
    monkeypatch.setattr(auto, "FACTORS_PAY", 1000)
    for intercept in (True, False):
        assert first(A, b, 0.01, intercept=intercept) == "interior"
        assert first(A, b, 10.0, intercept=intercept) == "newton"  # sweeps will do
        assert first(A[:40], b[:40], 0.01, intercept=intercept) != "interior"  # wide
    assert first(A, b, 0.01, "squared") != "interior"
    found = solve(Design(A, True).problem(b, "absolute", ElasticNet(l2=0.01)), tol=1e-8)
    assert found.converged
    assert found.method.startswith("auto: interior")


def test_a_start_is_made_use_of(wide):
    problem = program(*wide, 0.05)
    found = solve(problem, tol=1e-7)
    assert found.converged
    assert found.method.startswith("auto: interior")
    again = solve(problem, tol=1e-7, x0=found.x, y0=found.y)
    assert again.converged
    assert again.method.startswith("auto: newton")
    assert len(again.trace) <= 2


def test_where_it_comes_to_its_end_newton_goes_on(wide, monkeypatch):
    problem = program(*wide, 0.05)
    best = solve(problem, "newton", tol=1e-7)

    def give_up(self):
        self.exhausted = True

    monkeypatch.setattr(Interior, "step", give_up)
    found = solve(problem, tol=1e-6)
    assert found.converged
    assert found.primal == pytest.approx(best.primal, rel=2e-6)
