"""Lazy updates: many missed proximal steps at once, and sparse data as good as dense."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spd1 import L1, L2, ElasticNet, Problem, solve
from spd1.regularizers import SharedNet
from spd1.solvers.gradient.lazy import repeat_prox

TOLERANCE = 1e-9
thorough = settings(max_examples=300)  # no compilation inside: examples are cheap


def one_step(x, gradient, eta, l1, l2, lower, upper):
    """prox_{eta g}(x - eta gradient) by its definition."""
    z = x - eta * gradient
    soft = math.copysign(max(abs(z) - eta * l1, 0.0), z)
    return min(max(soft / (1.0 + eta * l2), lower), upper)


def naive(x, gradient, eta, times, *net):
    """The end of ``times`` steps, and the largest size met on the way."""
    largest = abs(x)
    for _ in range(times):
        x = one_step(x, gradient, eta, *net)
        largest = max(largest, abs(x))
    return x, largest


def check(x, gradient, eta, times, l1, l2, lower, upper):
    expected, largest = naive(x, gradient, eta, times, l1, l2, lower, upper)
    # floats throughout: an int would be another type, and another compilation
    net = SharedNet(float(l1), float(l2), float(lower), float(upper))
    found = repeat_prox(net, float(x), float(gradient), float(eta), times, 0)
    # the way to the end may come from far: what counts is the size of the numbers met
    scale = max(largest, eta * (abs(gradient) + l1))
    assert abs(found - expected) <= TOLERANCE * scale
    assert lower <= found <= upper


def sizes(low, high):
    """Numbers of all orders of magnitude between two powers of ten."""
    return st.floats(low, high).map(lambda power: 10.0**power)


signed = st.builds(lambda size, sign: size * sign, sizes(-6, 3), st.sampled_from([-1.0, 1.0]))
maybe = st.one_of(st.just(0.0), sizes(-8, 1))
times_missed = st.one_of(st.integers(0, 8), st.integers(0, 300), st.integers(300, 10_000))


@thorough
@given(signed, st.one_of(signed, st.just(0.0)), sizes(-5, 1), times_missed, maybe, maybe)
@example(1.0, 0.5, 0.1, 1000, 0.0, 0.0)  # arithmetic progression across zero and on
@example(1.0, 0.1, 0.1, 1000, 0.5, 0.0)  # ends at rest in zero
@example(-3.0, -2.0, 0.3, 500, 0.5, 0.1)  # from the far side over zero to a fixed point
@example(1.0, 0.0, 0.5, 64, 0.0, 2.0)  # pure shrinking
@example(0.0, 0.7, 0.1, 50, 0.7, 0.1)  # a gradient that l1 just holds
@example(5.0, 1.0, 1.0, 5, 0.0, 0.0)  # lands on zero exactly, with nothing left
@example(5.0, 1.0, 1.0, 6, 0.0, 0.0)
def test_repeating_without_bounds(x, gradient, eta, times, l1, l2):
    check(x, gradient, eta, times, l1, l2, -math.inf, math.inf)


@thorough
@given(
    st.tuples(signed, signed),
    st.floats(0, 1),
    st.one_of(signed, st.just(0.0)),
    sizes(-5, 1),
    times_missed,
    maybe,
    maybe,
)
@example((0.5, 2.0), 1.0, 1.0, 0.1, 100, 0.3, 0.1)  # zero is outside: rests on the lower bound
@example((-2.0, -0.5), 0.0, -1.0, 0.1, 100, 0.3, 0.1)  # and on the upper one
@example((0.5, 2.0), 0.0, -5.0, 0.1, 7, 0.3, 0.1)  # away from the bound it stands on
@example((-1.0, 1.0), 1.0, 1.0, 0.1, 500, 0.0, 0.0)  # across zero to the other bound
@example((1.0, 1.0), 0.5, 3.0, 0.1, 10, 1.0, 1.0)  # a single point
def test_repeating_inside_a_box(bounds, where, gradient, eta, times, l1, l2):
    lower, upper = sorted(bounds)
    x = min(max(lower + where * (upper - lower), lower), upper)
    check(x, gradient, eta, times, l1, l2, lower, upper)


@thorough
@given(signed, signed, sizes(-4, 0), times_missed, maybe, maybe)
def test_repeating_with_one_bound(x, gradient, eta, times, l1, l2):
    """Non-negativity is the common case; its mirror image must behave alike."""
    check(abs(x), gradient, eta, times, l1, l2, 0.0, math.inf)
    check(-abs(x), gradient, eta, times, l1, l2, -math.inf, 0.0)


def test_nothing_missed_is_nothing_done():
    assert repeat_prox(SharedNet(0.5, 0.5, -1.0, 1.0), 0.75, 3.0, 0.1, 0, 0) == 0.75


N, D = 30, 40
NETS = {
    "l2": L2(0.05),
    "l1": L1(0.02),
    "elastic": ElasticNet(l1=0.02, l2=0.1),
    "box_without_zero": ElasticNet(l1=0.01, l2=0.02, lower=0.05, upper=0.4),
    "none": ElasticNet(),
    "per_feature": ElasticNet(l1=np.linspace(0.0, 0.05, D), l2=np.linspace(0.1, 0.0, D)),
}


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("net", NETS)
@pytest.mark.parametrize("method", ["psgd", "svrg", "saga"])
def test_sparse_runs_equal_dense_runs(method, net, kind, rng):
    """Most coordinates miss most steps at 5 % density; some are never touched at all."""
    A = rng.standard_normal((N, D)) * (rng.random((N, D)) < 0.05)
    assert np.any(np.all(A == 0, axis=0))
    assert np.any(np.all(A == 0, axis=1))
    b, weights = rng.choice([-1.0, 1.0], N), rng.random(N)
    # empty columns of sparse data start, and stay, at argmin g
    x0 = np.where(np.any(A != 0, axis=0), 0.3, NETS[net].minimiser(D))
    dense, sparse = (
        solve(
            Problem(data, b, "logistic", NETS[net], weights),
            method,
            steps={"eta": 0.5},
            max_passes=1e4,
            callback=lambda row: row.paper_passes >= 30,
            tol=1e-15,
            x0=x0,
        )
        for data in (A, kind(A))
    )
    np.testing.assert_allclose(sparse.x, dense.x, rtol=TOLERANCE, atol=TOLERANCE)
    np.testing.assert_allclose(sparse.trace.primal, dense.trace.primal, rtol=TOLERANCE)
    np.testing.assert_array_equal(sparse.trace.paper_passes, dense.trace.paper_passes)
