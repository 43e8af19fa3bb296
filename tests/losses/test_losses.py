"""Every loss by its definition: conjugate, prox, derivative and constants.

Most tests call the methods as plain Python; ``test_compiled_code_agrees_with_python`` ties the
machine code to them.
"""

from __future__ import annotations

import itertools
import math
import pickle

import mpmath
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.special import expit

from spd1.kernel.jit import helper
from spd1.losses import LOSSES, Logistic, Loss, Poisson
from support import exact
from support.oracle import LOSS_CASES, example_labels, phi, phi_star

every_loss = pytest.mark.parametrize("loss", LOSS_CASES, ids=repr)
predictions = st.floats(-30.0, 30.0, allow_subnormal=False)
units = st.floats(0.0, 1.0, allow_subnormal=False)
steps = st.floats(-3.0, 3.0).map(lambda e: 10.0**e)
FAR = 20.0  # where an unbounded domain of phi* is cut off for sampling


def inside(loss, b, unit):
    """The point at a fraction of the domain of phi*."""
    low, high = (min(max(end, -FAR), FAR) for end in loss.domain(b))
    return low + unit * (high - low)


def maximum(f, low, high):
    """Maximiser of a concave function: ternary search, to the last bit even at a kink."""
    for _ in range(300):
        one, two = low + (high - low) / 3, high - (high - low) / 3
        low, high = (one, high) if f(one) < f(two) else (low, two)
    return 0.5 * (low + high)


@every_loss
@given(u=predictions, unit=units)
def test_fenchel_young_holds_and_is_tight_at_the_derivative(loss, u, unit):
    for b in example_labels(loss):
        value, y = loss.phi(u, b), inside(loss, b, unit)
        slack = 1e-13 * (1.0 + abs(value) + abs(u * y))
        assert value + loss.conjugate(y, b) - u * y >= -slack
        best = loss.derivative(u, b)
        slack = 1e-13 * (1.0 + abs(value) + abs(u * best))
        assert value + loss.conjugate(best, b) - u * best == pytest.approx(0.0, abs=slack)


@every_loss
def test_values_match_the_table(loss):
    u, y = np.linspace(-30, 30, 241), np.linspace(-4, 4, 161)
    for b in example_labels(loss):
        found = [loss.phi(t, b) for t in u.tolist()]
        np.testing.assert_allclose(found, phi(loss, u, b), rtol=1e-13, atol=1e-13)
        found = [loss.conjugate(t, b) for t in y.tolist()]
        np.testing.assert_allclose(found, phi_star(loss, y, b), rtol=1e-13, atol=1e-13)


@every_loss
@pytest.mark.parametrize("unit", [0.0, 0.01, 0.2, 0.5, 0.77, 0.99, 1.0])
def test_conjugate_is_the_supremum(loss, unit):
    for b in example_labels(loss):
        y = inside(loss, b, unit)
        u = maximum(lambda t, b=b, y=y: t * y - loss.phi(t, b), -100.0, 100.0)
        assert loss.conjugate(y, b) == pytest.approx(u * y - loss.phi(u, b), rel=1e-9, abs=1e-9)


@every_loss
def test_conjugate_is_infinite_exactly_outside_the_domain(loss):
    for b in example_labels(loss):
        for end, outward in zip(loss.domain(b), (-math.inf, math.inf), strict=True):
            if math.isinf(end):
                assert end == outward
                assert math.isfinite(loss.conjugate(math.copysign(1e6, outward), b))
                continue
            assert math.isfinite(loss.conjugate(end, b))
            assert loss.conjugate(math.nextafter(end, outward), b) == math.inf
            y = end + math.copysign(0.01, outward)
            assert loss.conjugate(y, b) == math.inf
            assert max(u * y - loss.phi(u, b) for u in (-1e6, 1e6)) > 1e3  # grows without end


@every_loss
@given(v=st.floats(-FAR, FAR, allow_subnormal=False), sigma=steps)
def test_prox_is_the_minimiser(loss, v, sigma):
    """The objective is 1-strongly convex: at every z it exceeds its minimum by (z - y)^2 / 2."""
    for b in example_labels(loss):
        y = loss.prox_conjugate(v, b, sigma)
        least = sigma * loss.conjugate(y, b) + 0.5 * (y - v) ** 2
        assert math.isfinite(least)
        grid = [inside(loss, b, k / 40) for k in range(41)]
        near = [y + sign * 10.0**-k for k in range(6) for sign in (-1, 1)]
        for z in grid + near:
            value = sigma * loss.conjugate(z, b) + 0.5 * (z - v) ** 2
            slack = 1e-13 * (1.0 + abs(least) + abs(sigma) * 100.0)
            assert value - least >= 0.5 * (z - y) ** 2 - slack


@every_loss
@given(v=st.floats(-FAR, FAR), sigma=steps, share=st.floats(0.0, 1.0))
def test_prox_near_a_point_is_off_by_a_thousandth_of_the_way(loss, v, sigma, share):
    """Methods that repeat it get ever closer, and what it returns is feasible."""
    for b in example_labels(loss):
        exact = loss.prox_conjugate(v, b, sigma)
        for y in (inside(loss, b, share), exact + 1e-3 * (inside(loss, b, share) - exact)):
            near = loss.prox_near(v, b, sigma, y)
            assert abs(near - exact) <= 1.5e-3 * abs(y - exact) + 1e-11 * (1.0 + abs(exact))
            assert math.isfinite(loss.conjugate(near, b))


@every_loss
@given(v=st.floats(-FAR, FAR, allow_subnormal=False), sigma=steps)
def test_moreau_identity(loss, v, sigma):
    """prox of phi*, at v, is v - sigma times the prox of phi / sigma at v / sigma."""
    for b in example_labels(loss):
        reach = (abs(v) + 5.0) / sigma + 5.0
        u = maximum(lambda t, b=b: -loss.phi(t, b) + v * t - 0.5 * sigma * t * t, -reach, reach)
        tolerance = 1e-6 * (1.0 + abs(v) + sigma)
        assert loss.prox_conjugate(v, b, sigma) == pytest.approx(v - sigma * u, abs=tolerance)


@every_loss
@given(v=st.floats(-1e3, 1e3, allow_subnormal=False), sigma=steps)
@example(v=-7.3, sigma=0.37)
def test_default_prox_is_the_closed_form_and_ends_inside_the_domain(loss, v, sigma):
    """A dual point outside by one rounding error would make the lower bound infinite."""
    for b in example_labels(loss):
        y = Loss.prox_conjugate(loss, v, b, sigma)
        assert y == pytest.approx(loss.prox_conjugate(v, b, sigma), abs=1e-12 * (1.0 + abs(v)))
        assert math.isfinite(loss.conjugate(y, b))


@every_loss
@given(u=predictions, w=predictions)
def test_derivative_is_a_subgradient(loss, u, w):
    """This holds at every pair of points only if phi is convex."""
    for b in example_labels(loss):
        slope, value, other = loss.derivative(u, b), loss.phi(u, b), loss.phi(w, b)
        slack = 1e-13 * (1.0 + abs(value) + abs(other) + abs(slope * (w - u)))
        assert other - value - slope * (w - u) >= -slack


@every_loss
@given(u=st.floats(-8.0, 8.0, allow_subnormal=False))
def test_derivative_is_the_slope_where_there_is_one(loss, u):
    h = 1e-6
    for b in example_labels(loss):
        left, middle, right = (loss.phi(t, b) for t in (u - h, u, u + h))
        scale = 1.0 + abs(middle) + abs(loss.derivative(u, b))
        if loss.gamma > 0 or abs(left - 2 * middle + right) < 1e-3 * h * scale:  # not at a kink
            slope = (right - left) / (2 * h)
            assert loss.derivative(u, b) == pytest.approx(slope, abs=1e-3 * scale)


@every_loss
@given(one=units, two=units)
def test_conjugate_is_gamma_strongly_convex(loss, one, two):
    for b in example_labels(loss):
        y, z = inside(loss, b, one), inside(loss, b, two)
        mean = 0.5 * (loss.conjugate(y, b) + loss.conjugate(z, b))
        middle = loss.conjugate(0.5 * (y + z), b)
        slack = 1e-13 * (1.0 + abs(mean))
        assert mean - middle >= loss.gamma / 8 * (y - z) ** 2 - slack


@every_loss
def test_gamma_is_the_tight_smoothness(loss):
    h = 0.01
    grid = np.arange(-3000, 3001) * h
    for b in example_labels(loss):
        slopes = np.array([loss.derivative(u, b) for u in grid.tolist()])
        steepest = np.max(np.abs(np.diff(slopes))) / h
        if loss.gamma == 0.0:
            assert steepest > 0.4 / h  # a jump, or growth without end
        else:
            assert steepest * loss.gamma == pytest.approx(1.0, rel=1e-4)


@every_loss
def test_lipschitz_constant_is_tight(loss):
    grid = (-1e4, -100.0, -2.0, 0.0, 2.0, 100.0, 700.0)
    slopes = [abs(loss.derivative(u, b)) for u in grid for b in example_labels(loss)]
    if math.isinf(loss.L):
        assert max(slopes) > 500.0
    else:
        assert max(slopes) == loss.L


@every_loss
def test_pickle_keeps_class_and_parameters(loss):
    copy = pickle.loads(pickle.dumps(loss))
    assert type(copy) is type(loss)
    assert copy == loss
    assert repr(copy) == repr(loss)


@helper
def evaluate(loss, u, b, sigma, out):
    for k in range(len(u)):
        out[k, 0] = loss.phi(u[k], b)
        out[k, 1] = loss.derivative(u[k], b)
        out[k, 2] = loss.conjugate(u[k], b)
        out[k, 3] = loss.prox_conjugate(u[k], b, sigma)
        out[k, 4], out[k, 5] = loss.domain(b)


@pytest.mark.parametrize("name", LOSSES)
def test_compiled_code_agrees_with_python(name, rng):
    loss = LOSSES[name]()
    u = np.concatenate([rng.normal(0.0, 3.0, 100), [0.0, 1.0, -1.0, 40.0, -40.0]])
    for b, sigma in itertools.product(example_labels(loss), (1e-4, 0.3, 50.0)):
        found = np.empty((len(u), 6))
        evaluate(loss, u, b, sigma, found)
        expected = [
            (loss.phi(t, b), loss.derivative(t, b), loss.conjugate(t, b),
             loss.prox_conjugate(t, b, sigma), *loss.domain(b))
            for t in u.tolist()
        ]  # fmt: skip
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


def exact_root(increasing, low, high):
    """Bisection with 50 digits."""
    for _ in range(260):
        middle = (low + high) / 2
        low, high = (middle, high) if increasing(middle) < 0 else (low, middle)
    return (low + high) / 2


def prox_errors(loss, exact, sigmas, points):
    """Errors of the Python and the compiled prox, relative to max(1, |y|)."""
    with mpmath.workdps(50):
        for sigma, v, b in itertools.product(sigmas, points, example_labels(loss)):
            truth = exact(mpmath.mpf(v), mpmath.mpf(b), mpmath.mpf(sigma))
            out = np.empty((1, 6))
            evaluate(loss, np.array([v]), b, sigma, out)
            for y in (loss.prox_conjugate(v, b, sigma), out[0, 3]):
                yield float(abs(y - truth) / max(1, abs(truth))), (v, b, sigma)


def exact_logistic(v, b, sigma):
    """y = -b S(z), S the sigmoid, where S(z) + sigma z + b v = 0."""
    root = exact_root(
        lambda z: 1 / (1 + mpmath.exp(-z)) + sigma * z + b * v, (-b * v - 1) / sigma, -b * v / sigma
    )
    return -b / (1 + mpmath.exp(-root))


def exact_poisson(v, b, sigma):
    """y = exp(z) - b where exp(z) + sigma z = v + b."""
    c = v + b
    low = min(c, 0) / sigma - 1 - abs(mpmath.log(sigma)) if c <= 1 + sigma else mpmath.mpf(0)
    high = mpmath.log(c) + 1 if c > 1 else mpmath.mpf(1)
    return mpmath.exp(exact_root(lambda z: mpmath.exp(z) + sigma * z - c, low, high)) - b


ENDS = [s * (e + t) for s in (-1, 1) for e in (0.0, 1.0) for t in (-1e-6, -1e-12, 0.0, 1e-15, 1e-9)]
SIZES = [s * 10.0**e for s in (-1, 1) for e in (-1.0, 0.0, 1.0, 4.0, 8.0)]
newton = pytest.mark.parametrize(
    ("loss", "exact"), [(Logistic(), exact_logistic), (Poisson(), exact_poisson)]
)


@newton
@pytest.mark.parametrize("sigma", [1e-8, 1e-2, 1.0, 1e4])  # others: the slow test below
def test_newton_proxes_are_exact_to_1e_12(loss, exact, sigma):
    worst = max(prox_errors(loss, exact, [sigma], [0.5, -0.5, 0.3, *ENDS[::2], *SIZES]))
    assert worst[0] < 1e-12, worst


@pytest.mark.slow
@newton
def test_newton_proxes_are_exact_everywhere(loss, exact, rng):
    sizes = rng.choice([-1, 1], 30) * 10 ** rng.uniform(-8, 8, 30)
    points = [*ENDS, *SIZES, *rng.uniform(-1, 1, 30).tolist(), *sizes.tolist()]
    worst = max(prox_errors(loss, exact, 10.0 ** np.arange(-8.0, 8.5, 0.5), points))
    assert worst[0] < 1e-12, worst


@helper
def prox_everywhere(loss, v, b, sigma, out):
    for k in range(len(v)):
        out[k] = loss.prox_conjugate(v[k], b, sigma[k])


@pytest.mark.parametrize(
    ("loss", "slope"),
    [(Logistic(), lambda z, b: -b * expit(-b * z)), (Poisson(), lambda z, b: np.exp(z) - b)],
)
def test_newton_proxes_agree_with_bisection_at_many_points(loss, slope, rng):
    """Enough to meet all branches: y = phi'(z) where phi'(z) + sigma z = v, in float64."""
    v, sigma = rng.uniform(-3, 3, 20_000), 10.0 ** rng.uniform(-8, 8, 20_000)
    for b in example_labels(loss):
        low, high = -(np.abs(v) + 5) / sigma - 50, np.minimum((np.abs(v) + 5) / sigma, 1e9)
        high = high if loss.label_kind == "sign" else np.minimum(high, 5.0)
        for _ in range(110):
            z = (low + high) / 2
            left = slope(z, b) + sigma * z < v
            low, high = np.where(left, z, low), np.where(left, high, z)
        found = np.empty(len(v))
        prox_everywhere(loss, v, b, sigma, found)
        np.testing.assert_allclose(found, slope(z, b), rtol=0, atol=1e-12)


def bracket_cases(loss, rng, count):
    """(u, y, b): labels from tiny to huge, u near and far from them, y anywhere in the domain."""
    for _ in range(count):
        b = float(rng.choice([-1.0, 1.0]))
        if loss.label_kind != "sign":
            b *= 10.0 ** rng.uniform(-6, 12)
        b = abs(b) if loss.label_kind == "count" else b
        u = float(rng.choice([b, b * (1.0 + rng.normal() * 10.0 ** rng.uniform(-16, 0)), 0.0]))
        u += float(rng.choice([0.0, rng.normal() * 10.0 ** rng.uniform(-8, 3)]))
        if loss.label_kind == "count":
            u = float(rng.normal() * 10.0 ** rng.uniform(-3, 2))
        low, high = (min(max(end, -1e6), 1e6) for end in loss.domain(b))
        choices = [low + rng.random() * (high - low), low, high, loss.derivative(u, b)]
        y = float(rng.choice(choices)) * (1.0 - 10.0 ** -rng.uniform(0, 17) * rng.integers(2))
        if math.isfinite(loss.conjugate(y, b)) and math.isfinite(loss.phi(u, b)):
            yield u, y, b


@every_loss
def test_brackets_lose_nothing_to_cancellation(loss, rng):
    """To a few eps of themselves and of (|y| + |phi'|) |u - b|, or |1 - b u|: b may be huge."""
    few = 16 * 2.0**-52
    with exact.digits(250):
        for u, y, b in bracket_cases(loss, rng, 600):
            U, Y, B = exact.exact(u), exact.exact(y), exact.exact(b)
            truth = exact.phi(loss, U, B) + exact.conjugate(loss, Y, B) - U * Y
            found = loss.bracket(u, y, b, loss.phi(u, b), loss.conjugate(y, b))
            own = 1.0 - b * u if loss.label_kind == "sign" else u - b
            size = (abs(y) + abs(loss.derivative(u, b))) * abs(own) + few * own * own
            if isinstance(loss, Logistic):
                size = loss.phi(u, b) + abs(loss.conjugate(y, b)) + abs(u * y)
            if isinstance(loss, Poisson):
                m = y + b
                size = math.exp(u) + m * (1.0 + abs(u) + abs(math.log(m) if m > 0.0 else 0.0))
            off = abs(float(exact.exact(found) - truth))
            assert off <= few * (float(truth) + size) + 1e-320, (u, y, b, found, truth)
            plain = max(loss.phi(u, b) + loss.conjugate(y, b) - u * y, 0.0)
            terms = abs(loss.phi(u, b)) + 2.0 * abs(b * y) + y * y + abs(u * y) + size
            if isinstance(loss, Poisson):
                terms += abs(b * u)
            assert abs(found - plain) <= few * terms + 1e-320, (u, y, b, found, plain)
