"""The regularizer family by its definition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spd1 import L1, L2, Box, ElasticNet
from spd1.errors import DataError, ParameterError
from spd1.kernel.jit import helper
from spd1.regularizers import FeatureNet, SharedNet, as_regularizer
from support import oracle

MEMBERS = [
    ElasticNet(),
    L1(0.7),
    L2(0.4),
    ElasticNet(l1=0.3, l2=0.2),
    Box(-0.5, 1.5),
    Box(lower=0.0),
    Box(upper=-0.25),
    ElasticNet(l1=0.5, lower=0.0),
    ElasticNet(l1=0.2, l2=1.5, lower=-0.3, upper=0.8),
    ElasticNet(l1=0.2, l2=1.5, lower=0.4, upper=0.8),
    Box(0.3, 0.3),
]
every_member = pytest.mark.parametrize("reg", MEMBERS, ids=repr)
numbers = st.floats(-5.0, 5.0, allow_subnormal=False)
steps = st.floats(-3.0, 3.0).map(lambda e: 10.0**e)


def feasible_grid(reg):
    return np.clip(np.linspace(-40.0, 40.0, 401), reg.lower, reg.upper)


def value(reg, t):
    return float(oracle.g(reg, np.array([t]))[0])


@every_member
@given(z=numbers, eta=steps)
def test_prox_is_the_minimiser(reg, z, eta):
    """The objective is 1-strongly convex: at every t it exceeds its minimum by (t - x)^2 / 2."""
    x = reg.bind(1).prox(z, eta, 0)
    least = eta * value(reg, x) + 0.5 * (x - z) ** 2
    assert math.isfinite(least)
    near = [x + sign * 10.0**-k for k in range(7) for sign in (-1, 1)]
    for t in [*feasible_grid(reg).tolist(), *near]:
        excess = eta * value(reg, t) + 0.5 * (t - z) ** 2 - least
        assert excess >= 0.5 * (t - x) ** 2 - 1e-12 * (1.0 + abs(least) + eta)


@every_member
@given(t=numbers)
def test_value_is_the_definition(reg, t):
    assert reg.bind(1).g(t, 0) == pytest.approx(value(reg, t), rel=1e-15)


@every_member
@given(v=numbers)
def test_conjugate_is_the_supremum(reg, v):
    """No point does better, and the point it names does as well."""
    net = reg.bind(1)
    found, t = net.g_conjugate(v, 0), net.g_argmax(v, 0)
    grid = feasible_grid(reg)
    assert np.max(v * grid - oracle.g(reg, grid)) <= found + 1e-12
    if math.isinf(found):
        ray = math.copysign(1e9, v)
        assert v * ray - value(reg, ray) > 1e-3 * abs(v) - 1e-12
        assert math.isinf(t)
        assert oracle.g_star(reg, np.array([v]))[0] == math.inf
    else:
        assert v * t - value(reg, t) == pytest.approx(found, abs=1e-12)


@every_member
@given(t=numbers, v=numbers)
def test_bracket_is_the_fenchel_young_term(reg, t, v):
    net = reg.bind(1)
    x = float(np.clip(t, reg.lower, reg.upper))
    found, expected = net.g_bracket(x, v, 0), net.g(x, 0) + net.g_conjugate(v, 0) - x * v
    assert found >= 0.0
    if math.isinf(expected):
        assert found == math.inf
    else:
        assert found == pytest.approx(expected, abs=1e-12 * (1.0 + x * x + v * v))
    if x != t:
        assert net.g_bracket(t, v, 0) == math.inf  # outside the box


@every_member
@given(v=numbers)
def test_bracket_vanishes_where_the_conjugate_is_attained(reg, v):
    net = reg.bind(1)
    t = net.g_argmax(v, 0)
    if math.isfinite(t):
        assert net.g_bracket(t, v, 0) == 0.0


def test_bracket_keeps_digits_that_the_plain_sum_loses():
    """Near the optimum the term is l2/2 (t - s)^2, far below the rounding error of its parts."""
    net = ElasticNet(l1=0.1, l2=2.0).bind(1)
    s = net.g_argmax(2e6, 0)
    t = s * (1.0 + 1e-12)
    assert net.g_bracket(t, 2e6, 0) == pytest.approx((t - s) ** 2, rel=1e-3)


@helper
def evaluate(net, points, out):
    for j in range(len(points)):
        out[j, 0] = net.prox(points[j], 0.7, j)
        out[j, 1] = net.g(points[j], j)
        out[j, 2] = net.g_argmax(points[j], j)
        out[j, 3] = net.g_conjugate(points[j], j)
        out[j, 4] = net.g_bracket(points[j], 0.3, j)


def by_python(net, points):
    return [
        (net.prox(t, 0.7, j), net.g(t, j), net.g_argmax(t, j), net.g_conjugate(t, j),
         net.g_bracket(t, 0.3, j))
        for j, t in enumerate(points.tolist())
    ]  # fmt: skip


@every_member
def test_shared_and_per_feature_forms_agree_compiled_or_not(reg):
    points = np.linspace(-3.0, 3.0, 61)
    shared = reg.bind(len(points))
    vector = ElasticNet(np.full(len(points), reg.l1), reg.l2, reg.lower, reg.upper)
    feature = vector.bind(len(points))
    assert isinstance(shared, SharedNet)
    assert isinstance(feature, FeatureNet)
    expected = by_python(shared, points)
    np.testing.assert_array_equal(by_python(feature, points), expected)
    for net in (shared, feature):
        found = np.empty((len(points), 5))
        evaluate(net, points, found)
        np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-14)


def test_each_feature_reads_its_own_numbers():
    reg = oracle.REGULARIZERS["per_feature"]
    net = reg.bind(oracle.D)
    for j in range(oracle.D):
        one = ElasticNet(*(values[j] for values in oracle.net(reg, oracle.D)))
        for t in (-2.0, -0.3, 0.4, 1.0):
            assert net.prox(t, 0.9, j) == one.bind(1).prox(t, 0.9, 0)
            assert net.g(t, j) == one.bind(1).g(t, 0)


@every_member
def test_minimiser_mu_and_radius(reg):
    d = 3
    x = reg.minimiser(d)
    assert x.shape == (d,)
    assert x.dtype == float
    corner = np.array([max(abs(reg.lower), abs(reg.upper))] * d)
    assert reg.radius(d) == pytest.approx(np.linalg.norm(corner))
    grid = feasible_grid(reg)
    assert oracle.g(reg, x).max() <= oracle.g(reg, grid).min()
    y, z = np.meshgrid(grid[::20], grid[::20])
    mean = (oracle.g(reg, y.ravel()) + oracle.g(reg, z.ravel())) / 2
    excess = mean - oracle.g(reg, (y + z).ravel() / 2)
    assert np.all(excess >= reg.mu / 8 * (y - z).ravel() ** 2 - 1e-10)


def test_mu_radius_and_minimiser_per_feature():
    reg = ElasticNet(l2=[0.5, 0.2, 0.9], lower=[-3.0, -4.0, 2.0], upper=[1.0, 0.0, 12.0])
    assert reg.mu == 0.2
    assert reg.radius(3) == pytest.approx(13.0)  # |(3, 4, 12)|
    np.testing.assert_array_equal(reg.minimiser(3), [0.0, 0.0, 2.0])
    assert ElasticNet(lower=[-1.0, -2.0]).radius(2) == math.inf


@pytest.mark.parametrize(
    ("build", "word"),
    [
        (lambda: L1(-1.0), "l1"),
        (lambda: L2(-1e-300), "l2"),
        (lambda: L2([0.1, -0.1]), "l2"),
        (lambda: L1(math.inf), "l1"),
        (lambda: L1(math.nan), "NaN"),
        (lambda: ElasticNet(l2=[0.0, math.nan]), "NaN"),
        (lambda: Box(math.nan, 1.0), "NaN"),
        (lambda: Box(1.0, 0.5), "exceed"),
        (lambda: Box([0.0, 1.0], [1.0, 0.0]), "exceed"),
        (lambda: Box(lower=math.inf), "lower"),
        (lambda: Box(upper=-math.inf), "upper"),
        (lambda: ElasticNet(l1=[1.0, 1.0], l2=[1.0, 1.0, 1.0]), "length"),
        (lambda: L1([[1.0]]), "shape"),
        (lambda: L1("a"), "l1"),
        (lambda: L1("0.5"), "l1"),
        (lambda: L1(["a", "b"]), "l1"),
        (lambda: L2(1j), "l2"),
        (lambda: L2(np.array([1j])), "l2"),
        (lambda: L2({}), "l2"),
    ],
)
def test_meaningless_numbers_are_refused_by_name(build, word):
    with pytest.raises(ParameterError, match=word):
        build()


def test_vectors_must_match_the_data():
    with pytest.raises(DataError, match=r"3.*4"):
        L1([1.0, 2.0, 3.0]).bind(4)


@pytest.mark.parametrize(
    ("reg", "said"),
    [
        ("l2", "L2"),
        (0.1, r"write reg=spd1\.L2\(0\.1\)"),
        (object(), "reg must be"),
        (L2, "reg must be"),
    ],
)
def test_what_is_no_regularizer_is_refused(reg, said):
    with pytest.raises(ParameterError, match=said):
        as_regularizer(reg)


def test_no_regularizer_is_the_zero_member():
    reg = as_regularizer(None)
    assert reg.mu == 0.0
    assert reg.radius(2) == math.inf
    assert reg.bind(1).g(1e6, 0) == 0.0


@pytest.mark.parametrize(
    ("reg", "text"),
    [
        (ElasticNet(), "ElasticNet()"),
        (L1(0.5), "ElasticNet(l1=0.5)"),
        (L2(1), "ElasticNet(l2=1.0)"),
        (Box(0.0, 2.0), "ElasticNet(lower=0.0, upper=2.0)"),
        (ElasticNet(l1=[1.0, 2.0], l2=0.5), "ElasticNet(l1=<2 values>, l2=0.5)"),
    ],
)
def test_repr_says_what_is_set(reg, text):
    assert repr(reg) == text


def test_later_changes_of_the_users_vector_have_no_effect():
    weights = np.array([1.0, 2.0])
    reg = L1(weights)
    weights[:] = 9.0
    np.testing.assert_array_equal(reg.l1, [1.0, 2.0])
    with pytest.raises(ValueError, match="read-only"):
        reg.l1[0] = 3.0
