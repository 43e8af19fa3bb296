"""Least squares with an intercept from sums of products: the same problem, proven as such."""

from __future__ import annotations

import numpy as np
import pytest

from spd1 import L1, L2, ElasticNet, certify
from spd1.design import tall
from spd1.design.intercept import Design

TOL = 1e-7
NETS = {
    "lasso": L1(0.05),
    "elastic net": ElasticNet(l1=0.03, l2=0.02),
    "ridge": L2(0.01),
    "box": ElasticNet(l1=0.02, lower=0.0, upper=0.4),
}


def data(rng, n=200, d=6, far=0.0):
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + far
    return X, X[:, 0] - 0.5 * X[:, 1] + 3.0 + rng.normal(size=n)


@pytest.mark.parametrize("net", NETS)
@pytest.mark.parametrize("far", [0.0, 2.0, 1e4])  # the last has no digits to lose: a centred copy
def test_what_is_proven_holds_for_the_column_of_ones(net, far, rng):
    X, b = data(rng, far=far)
    design = Design(X, True)
    found = design.solve(b, "squared", NETS[net], tol=TOL)
    assert found.converged
    assert (design._sums is None) == (far > 100.0)
    problem = design.problem(b, "squared", NETS[net])
    assert certify(found.x, problem, found.y).rel_gap <= 2.0 * TOL
    assert problem.primal(found.x) == pytest.approx(found.primal, rel=1e-9)


def test_gram_matrix_is_that_of_centred_columns(rng):
    X, b = data(rng, far=1.0)
    design = Design(X, True)
    design.solve(b, "squared", L1(0.1), tol=1e-3)
    centred = X - X.mean(axis=0)
    np.testing.assert_allclose(design._sums.mean, X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(design._sums.gram, centred.T @ centred / len(X), atol=1e-12)


def test_sums_are_made_once_for_several_targets(rng, monkeypatch):
    X, b = data(rng)
    design, made = Design(X, True), []
    one = tall.sums_of
    monkeypatch.setattr(tall, "sums_of", lambda p: made.append(1) or one(p))
    for target in (b, -2.0 * b):
        assert design.solve(target, "squared", L1(0.1), tol=TOL).converged
    assert len(made) == 1


def test_who_asks_for_more_than_a_gap_takes_the_usual_way(rng):
    X, _ = data(rng)
    for options in ({"tol": 1e-12}, {"x0": np.zeros(7)}, {"max_passes": 2.0}, {"verbose": True}):
        assert not tall.suits(X, L1(0.1), options)
    assert not tall.suits(X, ElasticNet(), {"tol": 1e-6})  # no penalty
    assert not tall.suits(X[:10], L1(0.1), {"tol": 1e-6})  # not tall


def test_callbacks_hear_of_the_one_look(rng):
    X, b = data(rng)
    rows = []
    found = Design(X, True).solve(b, "squared", L1(0.1), tol=TOL, callback=rows.append)
    assert len(rows) == 1
    assert rows[0].rel_gap == found.rel_gap <= TOL
