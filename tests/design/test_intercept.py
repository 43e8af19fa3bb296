"""The ways around a free intercept lead to the same, certified point."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from spd1 import L2, ElasticNet, Problem, certify, solve
from spd1.design.intercept import Design
from spd1.losses import LOSSES
from support import cases, oracle

N, D = 50, 30
TOL = 1e-7


def data(rng, signs, n=N, d=D, share=0.3):
    X = rng.normal(size=(n, d)) + 0.5
    t = X[:, 0] - 2.0 * X[:, 1] + 3.0 + rng.normal(size=n)
    return X, np.where(t > np.quantile(t, share), 1.0, -1.0) if signs else t


CORNERS = {
    "hinge": True, "squared_hinge": True, "epsilon_insensitive": False, "absolute": False,
    "quantile": False, "squared_epsilon_insensitive": False, "huber": False,
}  # fmt: skip


@pytest.mark.parametrize("shape", [(50, 30), (30, 80)])  # the dual face, and its small matrix
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", CORNERS)
def test_corners_with_a_free_column(loss, weighted, shape, rng):
    n, d = shape
    X, b = data(rng, CORNERS[loss], n, d)
    weight = rng.random(n) if weighted else None
    X = sp.csr_array(X) if weighted else X
    design = Design(X, True, weight)
    found = design.solve(b, loss, L2(0.1), tol=TOL)
    assert found.converged
    problem = design.problem(b, loss, L2(0.1))
    assert problem.d == d + 1
    again = certify(found.x, problem, found.y)  # the problem with its intercept, once more
    assert again.rel_gap <= TOL
    assert abs(problem.c @ found.y) <= 1e-12 * np.abs(found.y).max()
    # another way to the optimum: cvxpy's, with the column of ones written down
    A = np.column_stack([X.toarray() if weighted else X, np.ones(n)])
    reg = L2(np.append(np.full(d, 0.1), 0.0))
    best = cases.minimum(oracle.Case(A, b, problem.c, LOSSES[loss](), reg))
    assert found.primal <= best * (1.0 + TOL)
    assert found.dual <= best <= found.primal * (1.0 + TOL)  # which is no worse than ours


def test_few_free_columns_are_told_apart():
    from spd1.solvers.newton.faces.choose import face_of, few_free

    X, b = np.eye(4), np.ones(4)
    free = Problem(X, b, "hinge", L2(np.array([1.0, 1.0, 0.0, 1.0])))
    assert few_free(free)
    assert type(face_of(free)).__name__ == "FreeFace"
    assert not few_free(Problem(X, b, "hinge", L2(1.0)))
    assert not few_free(Problem(X, b, "hinge", L2(np.array([0.0, 0.0, 0.0, 1.0]))))
    bounded = ElasticNet(l2=np.array([1.0, 1.0, 0.0, 1.0]), lower=-1.0)
    assert not few_free(Problem(X, b, "hinge", bounded))


@pytest.mark.parametrize("uneven", [False, True])
@pytest.mark.parametrize("shape", [(400, 300), (30, 80)])
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "huber", "squared"])
def test_a_faint_penalty_does_not_show(loss, shape, uneven, rng):
    X, b = data(rng, loss in ("logistic", "squared_hinge"), *shape, 0.1 if uneven else 0.5)
    X = sp.csr_array(np.where(rng.random(X.shape) < 0.5, X, 0.0))
    design = Design(X, True)
    found = design.solve(b, loss, L2(0.01), tol=1e-4)
    assert found.converged
    problem = design.problem(b, loss, L2(0.01))
    assert certify(found.x, problem, found.y).rel_gap <= 1.001e-4
    best = solve(problem, tol=1e-9, max_passes=1e6)
    assert found.primal - best.primal <= found.gap + 1e-9
    assert found.dual <= best.primal * (1 + 1e-12)


def test_a_start_far_off(rng):
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


def test_problem_is_what_is_certified(rng):
    X, b = data(rng, signs=True)
    result = Design(X, True).solve(b, "logistic", L2(0.1), tol=TOL)
    problem = Problem(
        np.column_stack([X, np.ones(N)]), b, "logistic", L2(np.append(np.full(D, 0.1), 0.0))
    )
    assert certify(result.x, problem, result.y).rel_gap <= TOL


def test_one_design_serves_any_weights(rng):
    """Fresh arrays may lie where an old one lay: weights are known by what they hold."""
    X, b = rng.standard_normal((30, 4)) + 2.0, rng.standard_normal(30)
    design = Design(X, True)
    for _ in range(40):
        weight = rng.random(30)
        found = design.solve(b, "squared", L2(0.1), weight, tol=1e-10)
        alone = Design(X, True).solve(b, "squared", L2(0.1), weight, tol=1e-10)
        np.testing.assert_allclose(found.x, alone.x, rtol=1e-7, atol=1e-9)
        del weight
    weight = np.ones(30)
    design.solve(b, "squared", L2(0.1), weight)
    weight[:] = rng.random(30)  # the same array, other weights
    found = design.solve(b, "squared", L2(0.1), weight, tol=1e-10)
    alone = Design(X, True).solve(b, "squared", L2(0.1), weight, tol=1e-10)
    np.testing.assert_allclose(found.x, alone.x, rtol=1e-7, atol=1e-9)


def test_classes_share_the_column_of_a_constant(rng):
    """Other units are another matrix, and solutions are those of a design of their own."""
    X, _ = data(rng, signs=True)
    design = Design(X, True)
    assert design.joined(0.5) is design.joined(0.5)
    found = design.joined(0.25).matrix.values
    np.testing.assert_array_equal(found, np.column_stack([X, np.full(N, 0.25)]))
    for column in X.T[:3]:
        b = np.where(column > np.median(column), 1.0, -1.0)
        one, other = (
            some.solve(b, "squared_hinge", ElasticNet(l2=0.01), tol=1e-4)
            for some in (design, Design(X, True))
        )
        np.testing.assert_array_equal(one.x, other.x)
