"""The certificate of a multinomial model: definitions, and an optimum by cvxpy."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp, softmax, xlogy

from spd1.multinomial.bound import balanced, prove, simplex
from spd1.multinomial.certify import certify_multinomial
from spd1.multinomial.objective import Objective
from spd1.multinomial.solve import solve_multinomial
from spd1.regularizers import ElasticNet

N, D, K = 40, 5, 3
NETS = {
    "l2": ElasticNet(l2=0.05),
    "faint": ElasticNet(l2=1e-3),
    "l1": ElasticNet(l1=0.03),
    "both": ElasticNet(l1=0.02, l2=0.05),
}


def data(seed=0, n=N, d=D, classes=K):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 0.5
    scores = X @ rng.normal(size=(d, classes)) + rng.gumbel(size=(n, classes))
    labels = scores.argmax(axis=1)
    labels[:classes] = np.arange(classes)
    return X, labels, rng.uniform(0.2, 3.0, size=n)


def written_out(X, labels, weight, net, x, intercept):
    """P by its definition."""
    c = np.full(len(labels), 1.0 / len(labels)) if weight is None else weight / weight.sum()
    W = x[:, :-1] if intercept else x
    z = X @ W.T + (x[:, -1] if intercept else 0.0)
    loss = logsumexp(z, axis=1) - z[np.arange(len(labels)), labels]
    return c @ loss + net.l1 * np.abs(W).sum() + 0.5 * net.l2 * np.sum(W * W)


def best_by_cvxpy(X, labels, weight, net, intercept):
    """P at the oracle's point: an upper bound of P*."""
    import cvxpy as cp

    n, d = X.shape
    c = np.full(n, 1.0 / n) if weight is None else weight / weight.sum()
    W, level = cp.Variable((K, d)), cp.Variable((1, K))
    z = X @ W.T + (np.ones((n, 1)) @ level if intercept else 0.0)
    unit = np.eye(K)[labels]
    loss = c @ cp.log_sum_exp(z, axis=1) - cp.sum(cp.multiply(c[:, None] * unit, z))
    penalty = net.l1 * cp.sum(cp.abs(W)) + 0.5 * net.l2 * cp.sum_squares(W)
    cp.Problem(cp.Minimize(loss + penalty)).solve(solver=cp.CLARABEL)
    x = np.column_stack([W.value, level.value.ravel()]) if intercept else W.value
    return written_out(X, labels, weight, net, x, intercept)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", NETS)
def test_gap_bounds_what_is_left(name, intercept):
    X, labels, weight = data()
    weight = weight if name in ("l2", "l1") else None
    net = NETS[name]
    best = best_by_cvxpy(X, labels, weight, net, intercept)
    for tol in (0.3, 1e-3, 1e-10):
        result = solve_multinomial(X, labels, K, net, weight, tol=tol, fit_intercept=intercept)
        value = written_out(X, labels, weight, net, result.x, intercept)
        assert result.converged
        assert result.primal == pytest.approx(value, rel=1e-13)
        assert result.dual <= best * (1.0 + 1e-13)
        assert value - best <= result.gap + 1e-13
    assert value <= best * (1.0 + 1e-9)
    objective = Objective(X, labels, K, weight, net, intercept)
    rng = np.random.default_rng(1)
    for size in (1e-4, 0.1, 10.0):
        x = result.x + size * rng.normal(size=result.x.shape)
        proof = certify_multinomial(objective, x)
        left = written_out(X, labels, weight, net, x, intercept) - best
        assert left <= proof.gap * (1.0 + 1e-12) + 1e-13
        assert proof.gap <= left + 1e-6 * proof.primal  # and it is no idle bound


@pytest.mark.parametrize("name", NETS)
def test_dual_point_is_feasible_and_proves_what_is_said(name):
    X, labels, weight = data(1)
    net = NETS[name]
    result = solve_multinomial(X, labels, K, net, weight, tol=1e-9)
    c = weight / weight.sum()
    p = result.y + np.eye(K)[labels]
    assert p.min() >= 0.0
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-14)
    assert np.abs(c @ result.y).max() <= 1e-15
    V = -(c[:, None] * result.y).T @ X
    over = np.maximum(np.abs(V) - net.l1, 0.0)
    if net.l2 == 0.0:
        assert over.max() <= 1e-16
    conjugate = np.sum(over**2) / (2.0 * net.l2) if net.l2 > 0.0 else 0.0
    assert -c @ xlogy(p, p).sum(axis=1) - conjugate == pytest.approx(result.dual, rel=1e-12)


def test_conjugate_of_log_sum_exp_is_negative_entropy():
    """Fenchel-Young: log sum exp(z) >= z'p - sum p log p, with equality at p = softmax(z)."""
    rng = np.random.default_rng(0)
    z, p = 3.0 * rng.normal(size=(200, 4)), rng.dirichlet(np.ones(4), size=200)
    p[:20, 0] = 0.0
    p /= p.sum(axis=1, keepdims=True)
    bracket = logsumexp(z, axis=1) + xlogy(p, p).sum(axis=1) - np.sum(z * p, axis=1)
    assert bracket.min() > 0.0
    own = softmax(z, axis=1)
    tight = logsumexp(z, axis=1) + xlogy(own, own).sum(axis=1) - np.sum(z * own, axis=1)
    np.testing.assert_allclose(tight, 0.0, atol=1e-13)
    # The proof of a problem without data but intercepts is this bracket, sample by sample.
    labels = np.arange(200) % 4
    objective = Objective(np.ones((200, 1)), labels, 4, None, ElasticNet(l2=1.0), False)
    point = objective.point(np.zeros((1, 4)), np.ascontiguousarray(z.T))
    found = prove(objective, point, np.ascontiguousarray(p.T)).gap
    v = np.ones(200) @ (p - np.eye(4)[labels]) / 200
    assert found == pytest.approx(bracket.mean() + 0.5 * float(v @ v), rel=1e-12)


def test_mending_keeps_the_simplex_and_balances():
    X, labels, weight = data(2)
    objective = Objective(X, labels, K, weight, ElasticNet(l2=1.0), True)
    rng = np.random.default_rng(0)
    for _ in range(20):
        p = rng.normal(size=(K, N))
        p = simplex(p + (1.0 - p.sum(axis=0)) / K)
        mended = balanced(objective, p)
        assert mended.min() >= 0.0
        np.testing.assert_allclose(mended.sum(axis=0), 1.0, atol=1e-14)
        np.testing.assert_allclose(mended @ objective.c, objective.share, atol=1e-16 * N)
    exact = balanced(objective, simplex(np.repeat(objective.share[:, None], N, axis=1)))
    np.testing.assert_allclose(exact, np.repeat(objective.share[:, None], N, axis=1), atol=1e-15)


def test_weights_are_repeated_rows_and_sparse_is_dense():
    X, labels, _ = data(3)
    times = np.random.default_rng(0).integers(0, 4, size=N)
    times[:K] = 1
    rows = np.repeat(np.arange(N), times)
    for net in (NETS["l2"], NETS["l1"]):
        answers = [
            solve_multinomial(A, b, K, net, c, tol=1e-13).x
            for A, b, c in (
                (X, labels, times.astype(float)),
                (X[rows], labels[rows], None),
                (sp.csc_array(X[rows]), labels[rows], None),
                (sp.csr_array(X), labels, 5.0 * times),
            )
        ]
        for other in answers[1:]:
            np.testing.assert_allclose(other, answers[0], atol=1e-6)


def test_without_penalty_the_reach_says_against_whom():
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(300, 2)), rng.integers(0, K, size=300)
    result = solve_multinomial(X, labels, K, None, tol=1e-9)
    assert result.converged
    assert math.isfinite(result.reach)
    slope = X.T @ (softmax(X @ result.x[:, :-1].T + result.x[:, -1], axis=1) - np.eye(K)[labels])
    assert np.abs(slope).max() / 300 < 1e-6
