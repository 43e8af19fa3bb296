"""The preconditioner from the rows that bend most."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from spd1 import L2, ElasticNet, Problem, certify, solve
from spd1.solvers.newton import smooth
from spd1.solvers.newton.linalg import sampled
from spd1.solvers.newton.linalg.sampled import SampledRows, rows_to_sample


def grid_of(A, sparse, tiles=3):
    return Problem(sp.csr_array(A) if sparse else A, np.ones(len(A))).grid.cut(tiles, 1)


@pytest.mark.parametrize("sparse", [False, True])
def test_its_inverse_by_definition(sparse, rng):
    A = rng.standard_normal((30, 8)) * (rng.random((30, 8)) < 0.7)
    for l2 in (np.full(8, 0.2), rng.random(8) + 0.1):
        one = SampledRows(grid_of(A, sparse), l2, np.sum(A * A, axis=0), 6)
        for k in range(3):  # other rows bend most each time, and ten times as much
            bend = 10.0**k * rng.random(30) ** 4
            assert one.at(bend)
            chosen = np.sort(one.which)
            weight = bend.sum() / bend[chosen].sum()
            B = A[chosen] * np.sqrt(weight * bend[chosen])[:, None]
            s = np.sum(A * A, axis=0)
            m = np.linalg.eigvalsh((B / s) @ B.T)[3]
            M = np.diag(l2 + m * s) + B.T @ B
            right = rng.standard_normal(8)
            np.testing.assert_allclose(one.solve(right), np.linalg.solve(M, right), rtol=1e-9)
        best = np.sort(np.argsort(-bend)[:6])
        assert bend[chosen].sum() >= sampled.STILL_BENDS * bend[best].sum()


def test_what_bends_nowhere_or_is_not_finite(rng):
    grid = grid_of(rng.standard_normal((30, 8)), False)
    one = SampledRows(grid, np.full(8, 0.2), np.ones(8), 6)
    assert not one.at(np.zeros(30))
    assert not one.at(np.full(30, np.nan))


def test_how_many_rows_are_worth_a_copy(rng):
    grid = grid_of(rng.standard_normal((320, 8)), False)
    assert rows_to_sample(grid) == 20
    grid.copies = 8 * 8 * 5 * 4
    assert rows_to_sample(grid) == 5


@pytest.mark.parametrize("sparse", [False, True])
def test_newton_comes_to_the_same_optimum_with_fewer_products(sparse, rng, monkeypatch):
    """Whose directions have very different curvatures, along columns and across them."""
    turned, _ = np.linalg.qr(rng.standard_normal((60, 60)))
    A = (rng.standard_normal((900, 60)) * np.logspace(1.0, -2.0, 60)) @ turned
    A *= rng.random((900, 60)) < 0.95
    b = np.sign(A @ rng.standard_normal(60) + 0.3 * rng.standard_normal(900))
    whole = Problem(sp.csr_array(A) if sparse else A, b, "logistic", L2(1e-5))
    problem = whole.with_grid(whole.grid.cut(3, 1))
    monkeypatch.setattr(smooth, "LARGEST_SMOOTH_GRAM", 10)  # conjugate gradients
    monkeypatch.setattr(smooth, "FEWEST_SAMPLED", 10)
    passes = []
    for many in (np.inf, 3):
        monkeypatch.setattr(smooth, "MANY_PRODUCTS", many)
        found = solve(problem, "newton", tol=1e-8)
        assert certify(found.x, whole, found.y).rel_gap <= 1.01e-8
        passes.append(found.passes)
    assert passes[1] < passes[0]


def test_columns_with_other_penalties(rng, monkeypatch):
    A = rng.standard_normal((900, 12))
    b = np.sign(A[:, 0] + 0.5 * rng.standard_normal(900))
    l2 = np.full(12, 1e-3)
    l2[-1] = 1e-2
    monkeypatch.setattr(smooth, "LARGEST_SMOOTH_GRAM", 5)
    monkeypatch.setattr(smooth, "FEWEST_SAMPLED", 10)
    monkeypatch.setattr(smooth, "MANY_PRODUCTS", 1)
    whole = Problem(A, b, "logistic", ElasticNet(l2=l2))
    found = solve(whole.with_grid(whole.grid.cut(3, 1)), "newton", tol=1e-8)
    assert certify(found.x, whole, found.y).rel_gap <= 1.01e-8
