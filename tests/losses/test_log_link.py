"""Gamma and Tweedie by their definitions: conjugate, prox, derivative, bracket; and solved."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar

from spd1 import DataError, ElasticNet, Gamma, ParameterError, Problem, Tweedie, solve
from spd1.losses import Loss, as_loss

LOSSES = [Gamma(), Tweedie(1.1), Tweedie(1.5), Tweedie(1.9)]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)
predictions = st.floats(-20.0, 20.0, allow_subnormal=False)


def labels(loss):
    return (0.03, 1.0, 40.0) if loss.positive_only else (0.0, 0.03, 1.0, 40.0)


def duals(loss, b):
    """Points inside the domain of phi*."""
    low, high = loss.domain(b)
    return [max(low, -15.0) + s * (min(high, 15.0) - max(low, -15.0)) for s in (0.01, 0.4, 0.9, 1)]


@every_loss
@pytest.mark.parametrize("u", [-8.0, -0.3, 0.0, 2.5, 9.0])
def test_values_are_those_of_the_deviance(loss, u):
    """Half the unit deviance of Tweedie's family at the mean exp(u), up to what b alone makes."""
    p = 2.0 if isinstance(loss, Gamma) else loss.power
    for b in labels(loss):
        mean = math.exp(u)
        expected = (b / mean + u) if p == 2.0 else (
            mean ** (2 - p) / (2 - p) - b * mean ** (1 - p) / (1 - p)
        )  # fmt: skip
        assert loss.phi(u, b) == pytest.approx(expected, rel=1e-13)
        h = 1e-6
        slope = (loss.phi(u + h, b) - loss.phi(u - h, b)) / (2 * h)
        assert loss.derivative(u, b) == pytest.approx(slope, rel=1e-6, abs=1e-6)
        bend = (loss.derivative(u + h, b) - loss.derivative(u - h, b)) / (2 * h)
        assert loss.curvature(u, b) == pytest.approx(bend, rel=1e-6, abs=1e-6)


@every_loss
@given(u=predictions, w=predictions)
def test_fenchel_young_holds_and_is_tight_at_the_derivative(loss, u, w):
    for b in labels(loss):
        value, y = loss.phi(u, b), loss.derivative(w, b)
        star = loss.conjugate(y, b)
        slack = 1e-13 * (1.0 + abs(value) + abs(star) + abs(u * y))
        assert value + star - u * y >= -slack
        assert loss.bracket(u, y, b, value, star) == pytest.approx(
            value + star - u * y, abs=10 * slack
        )
        tight = loss.derivative(u, b)
        left = value + loss.conjugate(tight, b) - u * tight
        assert abs(left) <= 1e-13 * (1.0 + abs(value) + abs(u * tight))


@every_loss
def test_conjugate_is_the_supremum(loss):
    for b in labels(loss):
        for y in duals(loss, b):
            best = minimize_scalar(lambda u, b=b, y=y: loss.phi(u, b) - u * y, (-1.0, 1.0))
            assert loss.conjugate(y, b) == pytest.approx(-best.fun, rel=1e-8, abs=1e-8)
        for end, step in zip(loss.domain(b), (-0.01, 0.01), strict=True):
            assert math.isinf(end) or loss.conjugate(end + step, b) == math.inf


@every_loss
@given(v=st.floats(-15.0, 15.0), e=st.floats(-3.0, 3.0))
def test_prox_is_the_minimiser(loss, v, e):
    sigma = 10.0**e
    for b in labels(loss):
        y = loss.prox_conjugate(v, b, sigma)
        least = sigma * loss.conjugate(y, b) + 0.5 * (y - v) ** 2
        assert math.isfinite(least)
        assert y == pytest.approx(Loss.prox_conjugate(loss, v, b, sigma), abs=1e-9 * (1 + abs(y)))
        for z in (*duals(loss, b), y - 1e-3, y + 1e-3):
            value = sigma * loss.conjugate(z, b) + 0.5 * (z - v) ** 2
            assert value - least >= 0.5 * (z - y) ** 2 - 1e-12 * (1.0 + abs(least) + sigma * 100.0)


@pytest.mark.parametrize("loss", [Gamma(), Tweedie(1.5)], ids=repr)
def test_a_solution_is_certified_and_is_that_of_scipy(loss, rng):
    A = rng.normal(size=(50, 4))
    b = np.exp(A @ [0.5, -0.3, 0.0, 0.2]) * rng.gamma(2.0, 0.5, size=50)
    if not loss.positive_only:
        b[::5] = 0.0
    found = solve(Problem(A, b, loss, ElasticNet(l2=0.1)), tol=1e-10)

    def objective(x):
        return np.mean([loss.phi(u, t) for u, t in zip(A @ x, b, strict=True)]) + 0.05 * x @ x

    best = minimize(objective, np.zeros(4), tol=1e-12)
    assert found.status == "converged"
    assert objective(found.x) == pytest.approx(found.primal, rel=1e-12)
    assert found.dual - 1e-12 <= best.fun <= found.primal + 1e-9
    np.testing.assert_allclose(found.x, best.x, atol=1e-5)


def test_what_is_refused():
    with pytest.raises(ParameterError, match="1 < power < 2"):
        as_loss(Tweedie(2.0))
    with pytest.raises(DataError, match="above 0"):
        Problem(np.eye(2), [0.0, 1.0], "gamma")
    assert as_loss("tweedie") == Tweedie(1.5)
