"""Dual ascent over rows: its kernel by a plain transcription, rows by their argmin, answers."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp, wrightomega, xlogy
from test_multinomial_bound import best_by_cvxpy, data, written_out

from spd1.kernel.rng import key_of, shuffled, widths
from spd1.multinomial import ascent, solve
from spd1.multinomial.ascent import Ascent
from spd1.multinomial.bound import nothing_known
from spd1.multinomial.objective import Objective
from spd1.multinomial.rows import ascend_rows, best_chances
from spd1.multinomial.solve import solve_multinomial
from spd1.regularizers import ElasticNet

K = 3


@pytest.fixture
def always(monkeypatch):
    """Ascent for all problems that it can take, and never judged slow."""
    monkeypatch.setattr(solve, "pays", lambda one: one.sparse and one.l1 == 0.0 and one.l2 > 0.0)
    monkeypatch.setattr(ascent, "ASCENT_MOST", np.inf)


def value(p, t, h):
    return xlogy(p, p).sum() + 0.5 * h * (p @ p) - t @ p


def chances_by_bisection(t, h):
    """log p + h p = t - nu by Wright's omega (w + log w = its argument), nu by halving."""

    def of(nu):
        return wrightomega(t - nu + np.log(h)) / h if h > 0.0 else np.exp(t - nu)

    low, high = t.max() - h - 1.0, t.max() - h / len(t) + np.log(len(t)) + 1.0
    for _ in range(90):
        nu = 0.5 * (low + high)
        low, high = (nu, high) if of(nu).sum() > 1.0 else (low, nu)
    p = of(nu)
    return p / p.sum()


def solved(z, h, p0):
    q = z - logsumexp(z)
    p = np.exp(q)
    best_chances(z + h * p0, h, q, p)
    return p


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**31), st.integers(2, 8), st.floats(-9.0, 9.0), st.floats(-2.0, 3.0),
    st.booleans(),
)  # fmt: skip
@example(0, 5, 9.0, 3.0, True)
@example(1, 5, -9.0, 3.0, False)
def test_chances_of_a_row_are_the_argmin(seed, classes, power, spread, corner):
    rng = np.random.default_rng(seed)
    h, z = 10.0**power, 10.0**spread * rng.normal(size=classes)
    p0 = np.eye(classes)[0] if corner else rng.dirichlet(np.full(classes, 0.3))
    p = solved(z, h, p0)
    t = z + h * p0
    assert p.min() >= 0.0
    assert p.sum() == pytest.approx(1.0, abs=1e-14)
    np.testing.assert_allclose(p, chances_by_bisection(t, h), atol=1e-9)
    noise = 1e-13 * (1.0 + h + np.abs(t).max())
    for other in rng.dirichlet(np.full(classes, 0.5), size=50):
        for share in (1.0, 1e-3):
            mixed = (1.0 - share) * p + share * other
            assert value(p, t, h) <= value(mixed, t, h) + noise
    seen = p > 1e-200  # stationary: log p + h p - t is the same for all classes
    multiplier = (np.log(p[seen]) + h * p[seen] - t[seen]) / (1.0 + h * p[seen])
    scale = 1.0 / (1.0 + h * p[seen])
    middle = float(np.sum(p[seen] * multiplier) / np.sum(p[seen] * scale))
    np.testing.assert_allclose(multiplier, middle * scale, atol=1e-6)


def test_without_curvature_chances_are_softmax():
    z = np.array([3.0, -900.0, 2.0])
    np.testing.assert_allclose(solved(z, 0.0, np.eye(3)[1]), np.exp(z - logsumexp(z)), atol=1e-15)


def problem(intercept=True, classes=K, seed=0, empty=True):
    X, labels, weight = data(seed, n=60, d=12)
    X *= np.random.default_rng(seed).random(X.shape) < 0.4
    if empty:
        X[7] = 0.0
    weight[[3, 11]] = 0.0
    net = ElasticNet(l2=0.02)
    return X, labels, weight, net, Objective(
        sp.csr_array(X), labels, classes, weight, net, intercept
    )  # fmt: skip


@pytest.mark.parametrize("intercept", [True, False])
def test_a_pass_is_its_transcription(intercept):
    X, labels, _, _, one = problem(intercept)
    way = Ascent(one, one.start(), np.zeros((K, one.n)))
    A = np.column_stack([X, np.full(len(X), way.ones)])
    assert (way.ones > 0.0) == intercept
    W, P = way.W.copy(), way.P.copy()
    first, size = 2 * one.n, widths(one.n)
    order = [int(shuffled(key_of(0), first + t, *size)) for t in range(one.n)]
    assert sorted(order) == list(range(one.n))
    for _ in range(2):
        wanted = 0.0
        for i in order:
            if one.c[i] == 0.0:
                continue
            z, h = A[i] @ W, one.c[i] * (A[i] @ A[i]) / one.l2
            chances = np.exp(z - logsumexp(z))
            wanted += one.c[i] * min(0.5 * np.sum((P[i] - chances) ** 2 / chances), 1.0)
            p = chances_by_bisection(z + h * P[i], h)
            W += np.outer(A[i], (P[i] - p) * one.c[i] / one.l2)
            P[i] = p
        seen = ascend_rows(
            one.X.indptr, one.X.indices, one.X.data, labels, one.c, way.squares, one.l2, way.ones,
            way.W, way.P, way.work, way.key, first, *size,
        )  # fmt: skip
        assert seen == pytest.approx(wanted, rel=1e-6)
        np.testing.assert_allclose(way.P, P, atol=1e-8)
        np.testing.assert_allclose(way.W, W, atol=1e-7)


def test_every_pass_raises_the_dual_and_coefficients_stay_tied():
    X, labels, _, _, one = problem(False)
    way = Ascent(one, one.start(), np.zeros((K, one.n)))
    before = 0.0
    for _ in range(6):
        way.one_pass()
        tied = X.T @ (one.c[:, None] * (np.eye(K)[labels] - way.P)) / one.l2
        np.testing.assert_allclose(way.W[:-1], tied, atol=1e-12)
        dual = -one.c @ xlogy(way.P, way.P).sum(axis=1) - 0.5 * one.l2 * np.sum(tied**2)
        assert dual >= before - 1e-14
        before = dual


@pytest.mark.parametrize("intercept", [True, False])
def test_answers_and_gaps_against_an_oracle(intercept, always):
    X, labels, weight, net, _ = problem(intercept)
    best = best_by_cvxpy(X, labels, weight, net, intercept)
    for tol in (0.1, 1e-4, 1e-9):
        result = solve_multinomial(
            sp.csr_array(X), labels, K, net, weight, tol=tol, fit_intercept=intercept
        )
        found = written_out(X, labels, weight, net, result.x, intercept)
        assert result.converged
        assert result.method == "multinomial ascent (rows)"
        assert result.primal == pytest.approx(found, rel=1e-13)
        assert result.dual <= best * (1.0 + 1e-12)
        assert found - best <= result.gap + 1e-13
    newton = solve_multinomial(X, labels, K, net, weight, tol=1e-12, fit_intercept=intercept)
    np.testing.assert_allclose(result.x, newton.x, atol=1e-3)


@pytest.mark.parametrize("intercept", [True, False])
def test_classes_without_rows(intercept, always):
    X, labels, weight, net, _ = problem()
    result = solve_multinomial(
        sp.csr_array(X), labels + 1, K + 2, net, weight, tol=1e-8, fit_intercept=intercept
    )
    dense = solve_multinomial(X, labels + 1, K + 2, net, weight, tol=1e-10, fit_intercept=intercept)
    assert result.converged
    assert "ascent" in result.method
    assert result.primal == pytest.approx(dense.primal, rel=2e-8)


def test_same_call_same_bits_and_a_warm_start_has_less_to_do(always):
    X, labels, weight, net, _ = problem()
    A = sp.csr_array(X)
    one, other = (solve_multinomial(A, labels, K, net, weight, tol=1e-8) for _ in range(2))
    assert np.array_equal(one.x, other.x)
    again = solve_multinomial(A, labels, K, net, weight, tol=1e-8, x0=one.x)
    assert again.converged
    assert again.passes < 0.5 * one.passes
    threads = [
        solve_multinomial(A, labels, K, net, weight, tol=1e-8, engine="threads", n_threads=many).x
        for many in (1, 2)
    ]
    assert np.array_equal(*threads)


def test_gives_way_to_newton_if_slow(always, monkeypatch):
    X, labels, weight, _, _ = problem()
    monkeypatch.setattr(ascent, "ASCENT_MOST", 1.0)
    faint = ElasticNet(l2=1e-5)
    result = solve_multinomial(sp.csr_array(X), labels, K, faint, weight, tol=1e-9)
    assert result.converged
    assert "ascent (rows), then newton" in result.method


def test_limits_hold_during_ascent(always):
    X, labels, weight, net, _ = problem()
    A = sp.csr_array(X)
    result = solve_multinomial(A, labels, K, net, weight, tol=1e-12, max_passes=6)
    assert result.status == "max_passes"
    assert 6 <= result.passes <= 10
    rows = []
    result = solve_multinomial(
        A, labels, K, net, weight, tol=1e-12, callback=lambda row: rows.append(row) or len(rows) > 1
    )
    assert result.status == "interrupted"
    assert len(rows) == 2


def test_where_it_is_tried():
    rng = np.random.default_rng(0)
    X = sp.random_array((600, 5000), density=0.02, rng=rng, format="csr")
    labels = rng.integers(0, 20, size=600)

    def tried(A=X, **net):
        return ascent.pays(Objective(A, labels, 20, None, ElasticNet(**net), True))

    assert tried(l2=1.0 / 600)
    assert not tried(l2=1.0 / 600, l1=1e-3)
    assert not tried()
    assert not tried(l2=1e-12)  # rows would resist each other
    assert not tried(l2=1.0 / 600, A=X.toarray())
    assert not tried(l2=1.0 / 600, A=X[:, :500])  # short rows
    small = Objective(X, labels, 20, None, ElasticNet(l2=1.0 / 600), True)
    assert nothing_known(small, small.at(small.start())).dual == 0.0  # what cold ascent begins with
