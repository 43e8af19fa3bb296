"""The ways around a free intercept lead to the same, certified point."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from spd1 import L2, ElasticNet, Problem, certify, solve
from spd1.huber_objective import best_scale, joint_value
from spd1.intercept import Design
from spd1.offsets import OffsetSearch

N, D = 50, 30
TOL = 1e-7


def data(rng, signs):
    X = rng.normal(size=(N, D)) + 0.5
    t = X[:, 0] - 2.0 * X[:, 1] + 3.0 + rng.normal(size=N)
    return X, np.where(t > np.quantile(t, 0.3), 1.0, -1.0) if signs else t


SEARCHED = {
    "hinge": True, "squared_hinge": True, "epsilon_insensitive": False, "absolute": False,
    "quantile": False, "squared_epsilon_insensitive": False,
}  # fmt: skip


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", SEARCHED)
def test_search_agrees_with_the_column_of_ones(loss, weighted, rng):
    X, b = data(rng, SEARCHED[loss])
    weight = rng.random(N) if weighted else None
    X = sp.csr_array(X) if weighted else X
    design = Design(X, True, weight)
    assert OffsetSearch.suits(design, loss, L2(0.1))
    found = design.solve(b, loss, L2(0.1), tol=TOL)
    assert found.converged
    assert "search along the intercept" in found.method
    problem = design.problem(b, loss, L2(0.1))
    assert problem.d == D + 1
    again = certify(found.x, problem, found.y)  # the problem with its intercept, once more
    assert again.rel_gap <= TOL
    reference = solve(problem, tol=1e-5, max_passes=1e5)
    assert found.primal <= reference.primal + TOL * reference.primal
    assert found.primal >= reference.dual * (1 - 1e-12)


def test_search_from_a_start_far_off(rng):
    X, b = data(rng, signs=False)
    design = Design(X, True)
    near = design.solve(b, "absolute", L2(0.1), tol=TOL)
    far = design.solve(b, "absolute", L2(0.1), tol=TOL, x0=np.append(np.zeros(D), 1e4))
    assert far.converged
    np.testing.assert_allclose(far.primal, near.primal, rtol=2 * TOL)


@pytest.mark.parametrize("reg", [L2(0.1), ElasticNet(l1=0.2), ElasticNet(lower=0.0, upper=0.1)])
def test_centring_is_the_column_of_ones(reg, rng):
    X, b = data(rng, signs=False)
    weight = rng.random(N)
    design = Design(X, True, weight)
    centred = design.solve(b, "squared", reg, tol=1e-10)
    problem = design.problem(b, "squared", reg)
    again = certify(centred.x, problem, centred.y)
    np.testing.assert_allclose(again.primal, centred.primal, rtol=1e-12)
    np.testing.assert_allclose(again.dual, centred.dual, rtol=1e-9)
    assert again.rel_gap <= 1e-9
    assert abs(problem.c @ centred.y) <= 1e-12 * np.abs(centred.y).max()


def test_constant_columns_leave_nothing_behind(rng):
    X, b = data(rng, signs=False)
    X[:, 3] = 0.1  # whose mean, rounded, is not 0.1
    result = Design(X, True).solve(b, "squared", ElasticNet(), tol=1e-8)
    assert result.x[3] == 0.0


def test_sparse_data_stay_sparse(rng):
    X = sp.random_array((N, D), density=0.1, rng=rng, format="csc")
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    joined = Design(X, True).data
    assert sp.issparse(joined)
    assert joined.format == "csc"
    assert joined.nnz == X.nnz + N
    np.testing.assert_array_equal(joined.toarray(), np.column_stack([X.toarray(), np.ones(N)]))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ones_keep_type_and_order(order, dtype):
    X = np.asarray(np.arange(6).reshape(3, 2), dtype=dtype, order=order)
    joined = Design(X, True).data
    assert joined.dtype == dtype
    assert joined.flags[f"{order}_CONTIGUOUS"]


@pytest.mark.parametrize("epsilon", [1.0, 1.35, 3.0])
def test_best_scale_by_its_definition(epsilon, rng):
    r = rng.standard_cauchy(40)
    c = rng.random(40)
    c /= c.sum()
    sigma = best_scale(r, c, epsilon)
    grid = sigma * np.geomspace(0.2, 5.0, 401)
    values = [joint_value(r, c, 0.0, s, epsilon) for s in grid]
    assert joint_value(r, c, 0.0, sigma, epsilon) <= min(values) + 1e-12


def test_internal_losses_are_what_the_hinges_become(rng):
    from spd1.losses import Hinge, SquaredHinge
    from spd1.losses.one_sided import OneSided, SquaredOneSided

    for whole, part in ((Hinge(), OneSided()), (SquaredHinge(), SquaredOneSided())):
        for _ in range(50):
            u, o, b = *rng.normal(size=2), rng.choice([-1.0, 1.0])
            t = 1.0 - b * o
            assert np.isclose(whole.phi(u + o, b), part.phi(b * u, t))
            y = part.derivative(b * u, t)  # Fenchel-Young holds with equality at the derivative
            assert np.isclose(part.phi(b * u, t) + part.conjugate(y, t), b * u * y)
            z, s = rng.normal(), rng.random() + 0.1
            p = part.prox_conjugate(z, t, s)
            near = [p + h for h in (-1e-4, 1e-4)]
            value = s * part.conjugate(p, t) + 0.5 * (p - z) ** 2
            assert all(value <= s * part.conjugate(q, t) + 0.5 * (q - z) ** 2 for q in near)


def test_problem_is_what_is_certified(rng):
    X, b = data(rng, signs=True)
    result = Design(X, True).solve(b, "logistic", L2(0.1), tol=TOL)
    problem = Problem(
        np.column_stack([X, np.ones(N)]), b, "logistic", L2(np.append(np.full(D, 0.1), 0.0))
    )
    assert certify(result.x, problem, result.y).rel_gap <= TOL
