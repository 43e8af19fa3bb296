"""``solve(problem)`` as users call it: every loss, regularizer, layout and awkward shape."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp

from spd1 import L2, Problem, solve
from spd1.losses import LOSSES
from spd1.solvers.auto import pick
from support import cases, oracle
from support.checks import REGS, check, easy

MORE_REGS = (*REGS, "away_from_zero", "l2_array")
LAYOUTS = ("dense_c", "dense_f", "csr", "csc", "dense_float32")
SHAPES = tuple(cases.SHAPES)
REAL = [name for name, cls in LOSSES.items() if cls().label_kind == "real"]


def finite(loss, reg, shape):
    """exp(0.1 * 1e3) is no number to optimise with."""
    return not (loss == "poisson" and reg == "away_from_zero" and shape in ("units", "large"))


def check_run(loss, reg, shape, layout, tols=(1e-6, 1e-9), method="auto"):
    case, best = cases.make(loss, reg, shape), cases.best(loss, reg, shape)
    for tol in tols:
        if tol == 1e-6 or easy(loss, reg):
            problem = case.problem(layout)
            found = solve(problem, method, tol=tol)
            check(case, problem, found, best)
            # nothing is small relative to P* = 0: then the gap itself must be
            assert found.status == "converged" or (best < 1e-12 and found.gap < 1e-9)
            assert (found.status == "converged") == (found.rel_gap <= tol)


@pytest.mark.parametrize("reg", REGS)
@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_and_regularizer(loss, reg):
    """Two shapes each, so that every loss and every regularizer meets all of them."""
    first = 3 * list(LOSSES).index(loss) + 4 * REGS.index(reg)
    for k in range(2):
        check_run(loss, reg, SHAPES[(first + k) % len(SHAPES)], "dense_c")


def test_the_shapes_leave_nothing_out():
    met = {
        ("loss", i, (3 * i + 4 * j + k) % len(SHAPES))
        for i in range(len(LOSSES)) for j in range(len(REGS)) for k in range(2)
    } | {
        ("reg", j, (3 * i + 4 * j + k) % len(SHAPES))
        for i in range(len(LOSSES)) for j in range(len(REGS)) for k in range(2)
    }  # fmt: skip
    assert len(met) == (len(LOSSES) + len(REGS)) * len(SHAPES)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("loss", "reg", "shape"),
    [
        ("logistic", "l1", "wide"),
        ("logistic", "l2", "tall"),
        ("squared", "elastic", "weights"),
        ("squared_hinge", "l2", "square"),
        ("hinge", "l2", "gaps"),
        ("absolute", "arrays", "twins"),
    ],
)
def test_every_layout(loss, reg, shape, layout):
    check_run(loss, reg, shape, layout)


@pytest.mark.parametrize("shape", ["tall", "weights", "gaps", "twins", "units"])
@pytest.mark.parametrize("loss", ["squared", "huber", "squared_epsilon_insensitive"])
def test_no_regularizer_at_all(loss, shape):
    check_run(loss, "none", shape, "dense_c")


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "smoothed_hinge", "hinge"])
def test_separable_data_with_almost_no_regularizer(loss, rng):
    """P* is small and far away: the margins must grow to 10 or 20."""
    A = rng.standard_normal((30, 4))
    b = np.sign(A @ [1.0, -2.0, 0.5, 1.0])
    case = oracle.Case(A, b, np.full(30, 1 / 30), LOSSES[loss](), L2(1e-7))
    best = cases.minimum(case)
    for layout in ("dense_c", "csr"):
        problem = case.problem(layout)
        found = solve(problem)
        check(case, problem, found, best)
        assert found.status == "converged"


@pytest.mark.parametrize("unit", [1e3, 1e-3])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_unit_of_the_features_does_not_matter(loss, unit):
    """A in other units and l2 with it: the same problem, so the same optimum."""
    case, best = oracle.make_case(loss, "l2", False), oracle.optimum(loss, "l2", False).best
    scales = unit * np.array([3.0, 1.0, 1.0, 0.3, 1.0, 2.0])
    problem = Problem(case.A * scales, case.b, loss, L2(0.1 * scales**2))
    found = solve(problem, tol=1e-8)
    assert found.status == "converged"
    assert found.gap >= found.primal - best - 1e-12 * (1.0 + abs(best))
    assert found.primal == pytest.approx(best, rel=2e-7)


@pytest.mark.parametrize("copies", [2, 3])
def test_weights_are_repetitions(copies, rng):
    """A row of weight k is k rows."""
    case = oracle.make_case("logistic", "elastic", False)
    weights = np.ones(oracle.N)
    weights[:4] = copies
    long = np.repeat(np.arange(oracle.N), weights.astype(int))
    one = solve(Problem(case.A, case.b, "logistic", case.reg, weights), tol=1e-9)
    two = solve(Problem(case.A[long], case.b[long], "logistic", case.reg), tol=1e-9)
    assert abs(one.primal - two.primal) <= one.gap + two.gap + 1e-14
    np.testing.assert_allclose(one.x, two.x, atol=math.sqrt(4 * (one.gap + two.gap) / 0.1))


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("reg", MORE_REGS)
@pytest.mark.parametrize("loss", LOSSES)
def test_everything(loss, reg, layout):
    failed = []
    for shape in SHAPES:
        if finite(loss, reg, shape):
            try:
                check_run(loss, reg, shape, layout)
            except AssertionError as error:
                failed.append(f"{shape}: {str(error).splitlines()[0]}")
    assert not failed, failed


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("loss", LOSSES)
def test_random_shapes_and_regularizers(loss, seed):
    """Sizes up to 60, sparse or dense, weights, kinks and bounds drawn at random."""
    rng = np.random.default_rng([seed, len(loss)])
    n, d = (int(size) for size in rng.integers(1, 60, 2))
    A = rng.standard_normal((n, d)) * (rng.random((n, d)) < rng.choice([0.1, 0.5, 1.0]))
    A[0, 0] += 1.0
    instance = LOSSES[loss]()
    b = oracle.random_labels(instance, A @ rng.standard_normal(d) / math.sqrt(d), rng)
    c = rng.random(n) + 0.01
    reg = cases.make_reg(str(rng.choice(["l1", "elastic", "elastic_box", "arrays", "l2"])), d)
    case = oracle.Case(A, b, c / c.sum(), instance, reg)
    best = cases.minimum(case)
    for layout in ("dense_c", "csr", "csc"):
        problem = case.problem(layout)
        found = solve(problem)
        check(case, problem, found, best)
        assert found.status == "converged"


@pytest.mark.parametrize(("loss", "rows"), [("logistic", 2500), ("squared", 1500)])
def test_tall_sparse_rows_with_a_small_l2_take_newtons_steps(loss, rows):
    rng = np.random.default_rng(0)
    A = sp.random_array((rows, 1000), density=0.08, rng=rng, format="csr")
    b = np.where(A @ rng.standard_normal(1000) > 0.0, 1.0, -1.0)
    assert pick(Problem(A, b, loss, L2(1e-5)))[0] == "newton"
