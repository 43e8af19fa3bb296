"""Huber's scale, found and certified with the coefficients."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from spd1.design.huber import joint as joint_module
from spd1.design.huber.objective import (
    best_scale,
    joint_value,
    least_forces,
    sorted_scale,
)
from spd1.design.intercept import Design


@pytest.mark.parametrize("epsilon", [1.0, 1.35, 3.0])
def test_best_scale_by_its_definition(epsilon, rng):
    r = rng.standard_cauchy(40)
    c = rng.random(40)
    c /= c.sum()
    sigma = best_scale(r, c, epsilon)
    grid = sigma * np.geomspace(0.2, 5.0, 401)
    values = [joint_value(r, c, 0.0, s, epsilon) for s in grid]
    assert joint_value(r, c, 0.0, sigma, epsilon) <= min(values) + 1e-12


@pytest.mark.parametrize("shape", [(60, 8), (25, 40), (40, 40)])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_joint_newton_for_the_scale(shape, fit_intercept, layout, rng):
    """The gap is no less than what an independent minimiser of the joint objective gains."""
    from scipy.optimize import minimize

    from spd1.design.huber.objective import force_bound
    from spd1.design.huber.scale import HuberScale

    n, d = shape
    X = rng.normal(size=shape)
    b = X[:, 0] + 2.0 + rng.standard_cauchy(n)
    weight = rng.random(n)
    weight[0] = 0.0
    c, a, epsilon = weight / weight.sum(), 1e-2, 1.35
    search = HuberScale(
        Design(layout(X), fit_intercept, weight), b, epsilon, a, weight, {"tol": 1e-6}
    )
    found = search.run()
    assert found.converged
    assert "Newton's method" in found.method or n <= d  # exact fits may be left to slices

    def objective(point):
        x, level = point[:d], point[d] if fit_intercept else 0.0
        r = X @ x + level - b
        return joint_value(r, c, a * float(x @ x), best_scale(r, c, epsilon), epsilon)

    start = np.append(found.x, [] if fit_intercept else [0.0])
    assert np.isclose(objective(start), found.primal, rtol=1e-12)
    better = minimize(objective, start + 0.01 * rng.normal(size=d + 1), method="L-BFGS-B")
    assert found.primal - better.fun <= found.gap + 1e-12
    for q in (found.y, rng.normal(size=n), np.zeros(n)):  # any forces prove a bound that stands
        assert force_bound(X, b, c, q, a, epsilon, fit_intercept)[0] <= found.primal + 1e-12


@pytest.mark.parametrize("epsilon", [1.0, 1.35, 5.0])
def test_best_scale_without_sorting_is_that_of_sorting(epsilon, rng):
    for n in (1, 2, 7, 300):
        r = np.round(rng.standard_cauchy(n), 1)  # some are alike, some are zero
        c = rng.random(n)
        c /= c.sum()
        by_sorting = sorted_scale(r, c, epsilon)
        assert best_scale(r, c, epsilon) == pytest.approx(by_sorting, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("joint", [False, True])
def test_products_from_those_of_all_rows(joint, rng, monkeypatch):
    monkeypatch.setattr(joint_module, "WORTH_KEEPING_PRODUCTS", 0)
    n, d = 80, 5
    X, b = rng.normal(size=(n, d)) + 1.0, 2.0 * rng.normal(size=n)
    newton = joint_module.JointNewton(X, b, np.full(n, 1.0 / n), 1.35, 0.1, True)
    sides = rng.normal(size=(n, 3 if joint else 2))
    for share in (0.1, 0.3, 0.9):  # of rows that weigh less
        weight = np.where(rng.random(n) < share, rng.random(n), 1.0)
        found = newton._from_all(newton.X, sides, weight)
        whole = np.column_stack([X, sides])
        if share > 0.5:
            assert found is None
        else:
            np.testing.assert_allclose(found, whole.T @ (weight[:, None] * whole), atol=1e-10)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("seed", range(4))
def test_a_fit_that_meets_every_target_is_proven(seed, layout, fit_intercept):
    """The scale is zero there: what is proven is the penalty of the least coefficients."""
    from spd1.linear_model import HuberRegressor

    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 6))
    b = X[:, 0] - 0.5 * X[:, 3] + (2.0 if fit_intercept else 0.0)
    model = HuberRegressor(fit_intercept=fit_intercept).fit(layout(X), b)
    assert model.certificate_.rel_gap <= 1e-6
    np.testing.assert_allclose(model.coef_, [1.0, 0.0, 0.0, -0.5, 0.0, 0.0], atol=1e-3)


def test_least_forces_by_their_definition(rng):
    X, c = rng.standard_normal((9, 4)), rng.random(9)
    c[2] = 0.0
    c /= c.sum()
    x, a = rng.standard_normal(4), 0.3
    q = least_forces(X, c, x, a, True)
    np.testing.assert_allclose(X.T @ (c * q), -2.0 * a * x, atol=1e-10)
    assert abs(c @ q) <= 1e-10
    _, _, rest = np.linalg.svd(np.vstack([(c[:, None] * X).T, c]))
    for other in rest[5:]:  # moves that change neither pull nor balance make it longer
        assert abs((c * q) @ other) <= 1e-9
