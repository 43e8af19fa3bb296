"""Sums of terms: the worst of a vicinity, against the methods of the classes as plain Python."""

from __future__ import annotations

import math

import numpy as np
import pytest

from spd1.losses import Hinge, Logistic, Squared
from spd1.regularizers import ElasticNet
from spd1.terms import NO_REACH, domain_ends, loss_domain, loss_terms, loss_terms_near, net_terms

NETS = {
    "free": {"l1": 0.3, "l2": 0.5},
    "plain": {"l2": 0.7},
    "no l2": {"l1": 0.6},
    "boxed": {"l1": 0.2, "l2": 0.4, "lower": -1.0, "upper": 2.0},
}


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("per_feature", [False, True])
def test_columns_have_the_worst_of_both_ends(rng, name, per_feature):
    d = 9
    numbers = NETS[name]
    if per_feature:
        numbers = {key: np.full(d, value) for key, value in numbers.items()}
    net = ElasticNet(**numbers).bind(d)
    x, v = np.clip(rng.standard_normal(d), -1.0, 2.0), 0.25 * rng.standard_normal(d)
    reach = np.where(np.arange(d) % 3 == 0, 0.0, 0.1 * rng.random(d))
    for r in (NO_REACH, np.zeros(d), reach):
        wide = r if len(r) else np.zeros(d)
        ends = [(v[j] - wide[j], v[j] + wide[j]) for j in range(d)]
        wanted = [
            sum(net.g(x[j], j) for j in range(d)),
            sum(max(net.g_conjugate(end, j) for end in ends[j]) for j in range(d)),
            sum(max(net.g_bracket(x[j], end, j) for end in ends[j]) for j in range(d)),
        ]
        np.testing.assert_allclose(net_terms(x, v, r, net), wanted, rtol=1e-12)


def test_a_reach_that_leaves_the_bounds_is_infinite():
    net = ElasticNet(l1=1.0).bind(1)
    x, v = np.zeros(1), np.array([0.95])
    assert net_terms(x, v, np.array([0.04]), net)[1] == 0.0
    assert net_terms(x, v, np.array([0.06]), net)[1] == math.inf


@pytest.mark.parametrize("loss", [Logistic(), Hinge(), Squared()], ids=lambda one: repr(one))
def test_rows_have_the_worst_of_both_ends(rng, loss):
    n = 11
    b, c = np.where(rng.random(n) < 0.5, 1.0, -1.0), rng.random(n)
    c[4] = 0.0
    u, y = rng.standard_normal(n), -b * rng.uniform(0.2, 0.8, n)
    y[4] = 7.0 * b[4]  # outside the domain, and of no weight
    reach = 0.1 * rng.random(n)
    rows = np.flatnonzero(c)
    ends = {i: (y[i] - reach[i], y[i] + reach[i]) for i in rows}

    def bracket(i, end):
        return loss.phi(u[i], b[i]) + loss.conjugate(end, b[i]) - u[i] * end

    wanted = [
        sum(c[i] * loss.phi(u[i], b[i]) for i in rows),
        sum(c[i] * max(loss.conjugate(end, b[i]) for end in ends[i]) for i in rows),
        sum(c[i] * max(bracket(i, end) for end in ends[i]) for i in rows),
    ]
    np.testing.assert_allclose(loss_terms_near(u, y, reach, b, c, loss), wanted, rtol=1e-9)
    exact = loss_terms_near(u, y, np.zeros(n), b, c, loss)
    np.testing.assert_allclose(exact, loss_terms(u, y, b, c, loss), rtol=1e-12)
    if loss.label_kind == "sign":
        reach[3] = 1.0  # one end is outside the domain
        found = loss_terms_near(u, y, reach, b, c, loss)
        assert found[0] == pytest.approx(wanted[0], rel=1e-12)
        assert found[1:] == (math.inf, math.inf)


@pytest.mark.parametrize("loss", [Hinge(), Squared()], ids=lambda one: repr(one))
def test_ends_of_the_domain(loss):
    b = np.array([1.0, -1.0, 1.0])
    low, high = np.empty(3), np.empty(3)
    loss_domain(b, loss, low, high)
    np.testing.assert_array_equal(domain_ends(b, loss), (low, high))
    assert [loss.domain(one) for one in b] == list(zip(low, high, strict=True))
