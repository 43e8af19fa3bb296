"""The certificate: never below the truth, whatever x and y are given; tight at the optimum.

``oracle.optimum(...).best`` is P at a feasible point, so ``gap >= P(x) - best`` must hold up to
rounding, however accurate the oracle is.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest

from spd1 import L1, L2, Box, ElasticNet, Problem, certify
from spd1.certificate.feasible import replace_infeasible
from spd1.certificate.points import feasible_dual, pair_of
from spd1.engines.ledger import Ledger
from spd1.errors import IncompatibleError
from spd1.kernel.jit import compiled
from spd1.losses import Loss
from support import oracle
from support.oracle import LOSSES, D, N

ROUNDING = 1e-12
LAYOUTS = ["dense_c", "dense_f", "dense_float32", "csr", "csc"]

#: Every loss with every regularizer; layouts and weights take turns to save compilations.
CASES = [
    pytest.param(loss, reg, bool(k % 2), LAYOUTS[k % len(LAYOUTS)], id=f"{loss}-{reg}")
    for k, (loss, reg) in enumerate(oracle.combinations())
]
every_case = pytest.mark.parametrize(("loss", "reg", "weighted", "layout"), CASES)


def test_every_loss_and_regularizer_has_an_oracle():
    assert {loss for loss, _ in oracle.combinations()} == set(LOSSES)
    assert {reg for _, reg in oracle.combinations()} == set(oracle.REGULARIZERS)


def domain_ends(case):
    return np.array([case.loss.domain(b) for b in case.b]).T


def primal_points(case, optimum, rng):
    """Feasible points, friendly and hostile."""
    _, _, lower, upper = oracle.net(case.reg, D)
    signs = rng.choice([-1.0, 1.0], D)
    points = {
        "zero": np.zeros(D),
        "small": 1e-3 * rng.standard_normal(D),
        "random": rng.standard_normal(D),
        "large": 100.0 * rng.standard_normal(D),
        "corner": np.where(signs > 0, np.minimum(upper, 2.0), np.maximum(lower, -2.0)),
        "huge": 1e150 * signs,
        "enormous": 1e300 * signs,
        "optimum": optimum.x,
        "near": optimum.x + 1e-7 * rng.standard_normal(D),
    }
    return {name: np.clip(x, lower, upper) for name, x in points.items()}


def dual_points(case, optimum, rng):
    """Dual points, feasible and not; None lets certify find one."""
    normal = rng.standard_normal(N)
    return {
        "none": None,
        "optimum": np.clip(optimum.y, *domain_ends(case)),
        "inside": np.clip(normal, *domain_ends(case)),
        "random": 3.0 * normal,
        "zero": np.zeros(N),
        "huge": 1e150 * normal,
        "enormous": 1e300 * normal,
        "infinite": np.where(normal > 0, np.inf, -np.inf),
    }


def assert_proven(case, best, x, certificate):
    """Everything a certificate claims, checked against the transcriptions."""
    value = oracle.primal(case, x)
    assert certificate.primal == pytest.approx(value, rel=ROUNDING, abs=ROUNDING)
    slack = ROUNDING * max(1.0, abs(best))
    assert certificate.dual <= best + slack
    assert certificate.gap >= 0.0
    assert certificate.gap >= (value - best) * (1.0 - ROUNDING) - slack
    if not math.isfinite(certificate.gap):
        assert certificate.gap == certificate.rel_gap == math.inf
        return
    size = max(abs(certificate.primal), abs(certificate.dual))
    difference = certificate.primal - certificate.dual
    assert certificate.gap == pytest.approx(difference, abs=1e-9 * max(size, 1.0))
    assert certificate.rel_gap == certificate.gap / max(size, np.finfo(float).tiny)
    assert_dual_feasible(case, certificate)


def assert_dual_feasible(case, certificate):
    """y lies in the domain of phi*, v in that of g* up to rounding, and D is evaluated there."""
    y = certificate.y
    assert np.all(np.isfinite(oracle.phi_star(case.loss, y, case.b)))
    l1, l2, lower, upper = oracle.net(case.reg, D)
    v = -case.A.T @ (case.c * y)
    high = np.where((l2 == 0) & np.isinf(upper), l1, np.inf)
    low = np.where((l2 == 0) & np.isinf(lower), -l1, -np.inf)
    rounding = 1e-12 * np.linalg.norm(case.A, axis=0) * np.linalg.norm(case.c * y)
    assert np.all(v <= high + rounding)
    assert np.all(v >= low - rounding)
    terms = oracle.phi_star(case.loss, y, case.b)[case.c > 0] * case.c[case.c > 0]
    value = -np.sum(terms) - np.sum(oracle.g_star(case.reg, np.clip(v, low, high)))
    size = max(1.0, np.sum(np.abs(terms)))
    assert certificate.dual == pytest.approx(value, rel=1e-10, abs=1e-10 * size)


@every_case
def test_gap_is_never_below_the_truth(loss, reg, weighted, layout, rng):
    case, optimum = oracle.make_case(loss, reg, weighted), oracle.optimum(loss, reg, weighted)
    problem = case.problem(layout)
    for x in primal_points(case, optimum, rng).values():
        for y in dual_points(case, optimum, rng).values():
            assert_proven(case, optimum.best, x, certify(x, problem, y))


@every_case
def test_gap_vanishes_at_the_optimum(loss, reg, weighted, layout):
    case, optimum = oracle.make_case(loss, reg, weighted), oracle.optimum(loss, reg, weighted)
    problem = case.problem(layout)
    y = np.clip(optimum.y, *domain_ends(case))
    given = certify(optimum.x, problem, y)
    assert given.gap <= 1e-7 * max(1.0, abs(given.primal))
    if case.loss.gamma > 0 or loss == "poisson":  # differentiable: x alone is enough
        found = certify(optimum.x, problem)
        assert found.gap <= 1e-5 * max(1.0, abs(found.primal))


@every_case
def test_infeasible_points_are_not_certified(loss, reg, weighted, layout):
    case = oracle.make_case(loss, reg, weighted)
    lower, upper = oracle.net(case.reg, D)[2:]
    problem = case.problem(layout)
    for j in range(D):
        for end, outward in ((lower[j], -np.inf), (upper[j], np.inf)):
            if np.isfinite(end):
                x = np.clip(np.zeros(D), lower, upper)
                x[j] = np.nextafter(end, outward)
                certificate = certify(x, problem)
                assert certificate.primal == certificate.gap == certificate.rel_gap == math.inf
                assert "Not certified" in str(certificate)
                x[j] = end
                assert math.isfinite(certify(x, problem).primal)


@pytest.mark.parametrize("x", [[np.inf] * 3, [np.inf, -np.inf, 0.0], [1e308] * 3])
@pytest.mark.parametrize("reg", [L2(0.1), L1(0.1), None])
def test_points_that_overflow_are_not_certified(x, reg):
    A = np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0], [0.0, 1.0, -1.0], [1.0, 1.0, 1.0]])
    certificate = certify(x, Problem(A, [0.0, 1.0, 2.0, 3.0], "squared", reg))
    assert certificate.gap == math.inf


@pytest.mark.parametrize("reg", ["none", "nonnegative", "intercept", "l1", "l2"])
@pytest.mark.parametrize("steepness", [300.0, 450.0, 700.0])
def test_gap_bounds_where_squares_of_dual_variables_overflow(reg, steepness):
    """Poisson's y reaches exp(700): its norm overflows though P(x) itself is finite."""
    case, optimum = oracle.make_case("poisson", reg, False), oracle.optimum("poisson", reg, False)
    x = np.ones(D) * steepness / np.max(case.A @ np.ones(D))
    assert math.isfinite(oracle.primal(case, x))
    certificate = certify(x, case.problem())
    assert certificate.gap >= (certificate.primal - optimum.best) * (1.0 - ROUNDING)


@pytest.mark.parametrize("reg", [None, Box(lower=0.0), L1(0.1), L2(0.1)])
@pytest.mark.parametrize("scale", [1e-200, 1e-100, 1e100, 1e160, 1e200])
@pytest.mark.parametrize("loss", ["squared", "huber", "absolute"])
def test_gap_bounds_for_data_of_extreme_scale(loss, scale, reg, rng):
    """Column norms overflow or underflow; x scaled to match proves how low P can be."""
    A = rng.standard_normal((N, 3))
    b = A @ [1.0, 2.0, 0.5] + 0.1 * rng.standard_normal(N)
    problem = Problem(A * scale, b, loss, reg)
    zero = certify(np.zeros(3), problem)
    better = certify(np.array([1.0, 2.0, 0.5]) / scale, problem)
    assert zero.gap >= (zero.primal - better.primal) * (1.0 - ROUNDING)
    assert better.dual <= zero.primal * (1.0 + ROUNDING)


def test_pure_l1_scales_the_dual_point_by_the_largest_factor_that_fits():
    """theta = min(1, min_j l1 / |v_j|), by its definition."""
    case = oracle.make_case("logistic", "l1", False)
    x = 0.1 * np.arange(1.0, 1.0 + D)
    raw = np.array([case.loss.derivative(u, b) for u, b in zip(case.A @ x, case.b, strict=True)])
    v = case.A.T @ (case.c * raw)
    theta = min(1.0, float(np.min(case.reg.l1 / np.abs(v))))
    assert theta < 0.9  # otherwise this test would not look at scaling
    np.testing.assert_allclose(feasible_dual(case.problem(), raw).y, theta * raw, rtol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_an_intercept_is_balanced_by_a_move_inside_the_domain(loss, rng):
    """y = 0 is always balanced, but proves little: it must stay the last resort."""
    case = oracle.make_case(loss, "intercept", True)
    low, high = np.clip(domain_ends(case), -3.0, 3.0)
    for _ in range(20):
        found = feasible_dual(case.problem(), low + rng.uniform(0.02, 0.98, N) * (high - low))
        assert math.isfinite(found.value)
        assert np.any(found.y)


@pytest.mark.parametrize("loss", ["logistic", "hinge", "smoothed_hinge", "squared_hinge"])
def test_an_intercept_is_balanced_even_if_all_of_y_is_at_the_ends(loss):
    """One class's part can always be scaled down until the two classes weigh the same."""
    case = oracle.make_case(loss, "intercept", False)
    found = feasible_dual(case.problem(), -case.b)
    assert math.isfinite(found.value)
    assert np.any(found.y)


def test_the_better_of_two_dual_points_counts(rng):
    case, optimum = oracle.make_case("hinge", "l2", False), oracle.optimum("hinge", "l2", False)
    problem = case.problem()
    alone = certify(optimum.x, problem)
    good = certify(optimum.x, problem, np.clip(optimum.y, *domain_ends(case)))
    bad = certify(optimum.x, problem, np.clip(rng.standard_normal(N), *domain_ends(case)))
    assert good.gap < 1e-6 < alone.gap
    assert bad.gap <= alone.gap


@pytest.mark.parametrize("bad", [1e308, -1e308, np.inf, -np.inf])
@pytest.mark.parametrize("loss", LOSSES)
def test_infeasible_parts_of_y_are_clipped_or_replaced(loss, bad, rng):
    """Infeasible includes finite y whose conjugate overflows: the guess stands in for those."""
    case = oracle.make_case(loss, "l2", False)
    ends = domain_ends(case)
    guess = np.clip(rng.standard_normal(N), *ends)
    y = np.clip(rng.standard_normal(N), *ends)
    y[4] = bad
    given, expected = y.copy(), y.copy()
    expected[4] = np.clip(bad, *ends[:, 4])
    if not np.isfinite(oracle.phi_star(case.loss, expected[4:5], case.b[4:5])[0]):
        expected[4] = guess[4]
    assert math.isfinite(certify(np.zeros(D), case.problem(), given).gap)
    np.testing.assert_array_equal(given, y)  # the user's vector is left alone
    assert replace_infeasible(given, guess, case.b, case.loss) == 1
    np.testing.assert_array_equal(given, expected)


@pytest.mark.parametrize("loss", LOSSES)
def test_layouts_give_the_same_certificate(loss):
    case = oracle.make_case(loss, "elastic", True)
    x = np.linspace(-1.0, 1.0, D)
    gaps = [certify(x, case.problem(layout)).gap for layout in LAYOUTS]
    np.testing.assert_allclose(gaps, gaps[0], rtol=1e-12)


def test_float32_data_and_points_are_evaluated_in_float64():
    case = oracle.make_case("squared", "l2", False)
    x = np.full(D, 0.1, dtype=np.float32)
    found = certify(x, case.problem("dense_float32"))
    assert found.primal == pytest.approx(oracle.primal(case, x.astype(float)), rel=1e-14)


def test_text_says_what_is_proven():
    problem = Problem(np.eye(2), [1.0, -1.0], "squared", L2(0.5))
    certificate = certify([0.25, -0.25], problem)
    text = str(certificate)
    for number in (certificate.primal, certificate.dual):
        assert f"{number:.10g}" in text
    assert f"{certificate.gap:.3g}" in text
    assert text.startswith("Certified")
    assert "-0;" not in str(certify([0.0, 0.0], Problem(np.eye(2), [1.0, -1.0])))


@compiled(Loss)
class Slanted(NamedTuple):
    """phi(u) = max(u, 2 u): its dual variable lives in [1, 2], so that 0 is not feasible."""

    steep: float = 2.0

    def phi(self, u, b):
        return max(u, self.steep * u)

    def derivative(self, u, b):
        return self.steep if u > 0.0 else 1.0

    def conjugate(self, y, b):
        return 0.0 if 1.0 <= y <= self.steep else math.inf

    def domain(self, b):
        return (1.0, self.steep)


def test_a_loss_without_zero_in_its_dual_domain_needs_l2_or_bounds():
    A, b = np.array([[1.0, 0.0], [1.0, -1.0]]), [0.0, 0.0]
    for reg in (L1(0.1), None):
        with pytest.raises(IncompatibleError, match=r"Slanted.*conjugate at 0"):
            certify([0.0, 0.0], Problem(A, b, Slanted(), reg))
    for reg in (L2(0.1), Box(-1.0, 1.0), L1(10.0)):  # nothing to scale: nothing to refuse
        assert math.isfinite(certify([0.0, 0.0], Problem(A, b, Slanted(), reg)).gap)


def test_a_feasible_y_is_used_even_if_the_guess_can_not_be_made_feasible():
    """phi'(0) = 1 for both rows leaves v = -1 outside; y = (1, 2) balances the first column."""
    problem = Problem(np.array([[1.0], [-0.5]]), [0.0, 0.0], Slanted(), L1(0.1))
    assert math.isfinite(certify([0.0], problem, y=[1.0, 2.0]).gap)


@pytest.mark.parametrize("l2", [0.1, [0.1] * 7 + [0.0]])
@pytest.mark.parametrize("l1", [0.0, 0.02])
def test_a_pair_whose_v_nobody_knows(l1, l2, rng):
    """The same pair to the last bit; the data is read once, also where y has to be mended."""
    A = np.column_stack([rng.standard_normal((30, 7)), np.ones(30)])
    b = np.where(rng.random(30) < 0.4, 1.0, -1.0)
    l1 = l1 * (np.asarray(l2) > 0.0) if np.ndim(l2) else l1
    ledger = Ledger(A.size)
    p = Problem(A, b, "logistic", ElasticNet(l1=l1, l2=l2)).watched(ledger)
    x, y = rng.standard_normal(8), -b * rng.random(30)
    u, v = p.margins(x), -p.adjoint(p.c * y)
    known = pair_of(p, x, u, y, v)
    before = ledger.entries
    found = pair_of(p, x, u, y, None)
    assert ledger.entries - before == A.size
    assert found.gap == known.gap
    np.testing.assert_array_equal(found.dual.y, known.dual.y)
    np.testing.assert_array_equal(found.dual.v, known.dual.v)
