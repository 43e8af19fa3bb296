"""``solve``: what it reaches, what it proves, what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from spd1 import L1, L2, METHODS, Box, ElasticNet, Problem, solve
from spd1.errors import DataError, IncompatibleError, ParameterError
from spd1.losses import LOSSES
from spd1.solvers import SPECIAL_METHODS, method_class
from support import cases, oracle
from support.cases import EVERY_METHOD
from support.checks import SMOOTH, STRONGLY_CONVEX, check_certificate

NOISY = ("spd1", "psgd")  # their steps fade; the others converge linearly
REDUCED = [name for name in METHODS if name not in NOISY]
LINEAR = [*REDUCED, *SPECIAL_METHODS]

# Every loss, method, layout and kind of regularizer; the product is among the slow tests.
DIAGONAL = [
    ("logistic", "l2", "spd1-vr", "dense_c"),
    ("hinge", "elastic", "spd1", "dense_f"),
    ("logistic", "l1", "rows", "csr"),
    ("squared", "elastic", "rows", "dense_c"),
    ("logistic", "elastic", "columns", "csc"),
    ("hinge", "l2", "columns", "dense_c"),
    ("squared_hinge", "l2", "svrg", "csr"),
    ("smoothed_hinge", "elastic_box", "saga", "csc"),
    ("squared", "nonnegative_l2", "spd1-vr", "csr_float32"),
    ("huber", "elastic", "spd1-vr", "csc_float32"),
    ("absolute", "l2", "psgd", "dense_float32"),
    ("quantile", "elastic", "psgd", "csr_int64"),
    ("epsilon_insensitive", "l2", "spd1-vr", "csc_int64"),
    ("squared_epsilon_insensitive", "l1", "saga", "dense_strided"),
    ("poisson", "l2", "spd1", "csr"),
    ("logistic", "per_feature", "svrg", "dense_f"),
    ("squared", "none", "spd1-vr", "csc"),
    ("hinge", "box", "spd1", "csr"),
    ("logistic", "intercept", "saga", "dense_c"),
    # where a first epoch with the default steps explodes, or a lucky point misleads the search
    ("poisson", "l1", "spd1", "dense_c"),
    ("poisson", "nonnegative", "spd1-vr", "dense_c"),
    ("squared_hinge", "elastic_box", "spd1-vr", "dense_c"),
    # each face of Newton's method, and few rows
    ("logistic", "l1", "newton", "csc"),
    ("squared_hinge", "l2", "newton", "csr"),
    ("hinge", "elastic_box", "newton", "dense_f"),
    ("absolute", "l1", "newton", "csr_float32"),
    ("quantile", "intercept", "newton", "csc_int64"),
    ("logistic", "l2", "few-rows", "csc"),
    ("squared", "l2_array", "few-rows", "dense_f"),
    ("poisson", "l2", "few-rows", "csr_int64"),
    # rows and columns with every kind of kink, and smooth losses
    ("hinge", "intercept", "interior", "csr"),
    ("epsilon_insensitive", "elastic_box", "interior", "dense_f"),
    ("logistic", "l1", "interior", "csc"),
    ("poisson", "nonnegative", "interior", "dense_c"),
]


def check_run(loss, reg, method, layout, weighted, share):
    """Solve by automatic steps; the gap must fall to ``share`` of what it was, or to ``tol``."""
    case, tol = cases.suited(method, loss, reg, weighted), 1e-6
    found = solve(case.problem(layout), method, tol=tol, max_passes=2500)
    check_certificate(case, found, cases.best_suited(method, loss, reg, weighted))
    assert (found.status == "converged") == (found.rel_gap <= tol)
    assert found.status in ("converged", "max_passes", "stalled")
    assert found.gap <= share * found.trace.gap[0] or found.rel_gap <= tol
    if loss in SMOOTH and reg in STRONGLY_CONVEX and method in LINEAR:
        assert found.status == "converged"
    return found


#: Weights take turns; what a turn leaves out is among the slow tests.
TURNS = [
    pytest.param(*case, weighted, marks=[] if weighted == k % 2 else [pytest.mark.slow])
    for k, case in enumerate(DIAGONAL)
    for weighted in (False, True)
]


@pytest.mark.parametrize(("loss", "reg", "method", "layout", "weighted"), TURNS)
def test_automatic_steps_shrink_the_certified_gap(loss, reg, method, layout, weighted):
    check_run(loss, reg, method, layout, weighted, share=0.25)


def test_the_diagonal_leaves_nothing_out():
    seen = [set(column) for column in zip(*DIAGONAL, strict=True)]
    assert seen[0] == set(LOSSES)
    assert seen[2] == set(EVERY_METHOD)
    assert seen[3] == set(oracle.LAYOUTS)
    turns = [(case[2], k % 2) for k, case in enumerate(DIAGONAL)]
    assert set(turns) == {(method, turn) for method in EVERY_METHOD for turn in (0, 1)}


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["dense_c", "csr", "csc_float32"])
@pytest.mark.parametrize("method", [*METHODS, "newton"])
@pytest.mark.parametrize(("loss", "reg"), oracle.combinations())
def test_every_combination(loss, reg, method, layout):
    if method in ("svrg", "saga") and loss not in SMOOTH:
        with pytest.raises(IncompatibleError, match=type(LOSSES[loss]()).__name__):
            solve(oracle.make_case(loss, reg, False).problem(layout), method)
        return
    case, best = oracle.make_case(loss, reg, False), oracle.optimum(loss, reg, False).best
    # a bounded dual without any penalty has few feasible points: there x may be all but optimal
    # and the proof still missing, so what must shrink is the distance to the optimum
    found = check_run(loss, reg, method, layout, False, share=1.0)
    start = oracle.primal(case, case.reg.minimiser(oracle.D))
    assert found.primal - best <= 0.5 * (start - best)


@pytest.mark.parametrize("method", LINEAR)
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "squared"])
def test_smooth_loss_and_l2_converge_linearly(loss, method):
    """Three more digits for at most three times the passes."""
    problem = cases.suited(method, loss, weighted=True).problem("csr")
    rough = solve(problem, method, tol=1e-4, max_passes=3500)
    fine = solve(problem, method, tol=1e-9, max_passes=10_000)
    assert (rough.status, fine.status) == ("converged", "converged")
    assert fine.rel_gap <= 1e-9
    assert fine.passes <= 5 * rough.passes + 200


@pytest.mark.parametrize("loss", ["squared_hinge", "squared"])
def test_no_seed_leaves_spd1_vr_stuck(loss):
    """On small data an epoch ends near the optimum by luck now and then: a trap for the search."""
    problem = oracle.make_case(loss, "elastic_box", True).problem()
    runs = [solve(problem, "spd1-vr", max_passes=3500, random_state=seed) for seed in range(12)]
    assert [found.status for found in runs] == ["converged"] * 12


@pytest.mark.parametrize("sampling", ["uniform", "nonzeros"])
@pytest.mark.parametrize("method", ["spd1", "spd1-vr"])
def test_both_samplings_reach_the_optimum_of_sparse_data(method, sampling):
    problem = oracle.make_case("logistic", "l2", False).problem("csr")
    best = oracle.optimum("logistic", "l2", False).best
    found = solve(problem, method, sampling=sampling, tol=1e-6, max_passes=5000)
    assert found.primal - best <= (1e-6 if method == "spd1-vr" else 1e-2) * abs(best)


def wild(problem, method):
    """Steps far beyond what the method bears."""
    cls = method_class(method)
    return {name: 1e5 * value for name, value in cls(problem, "auto", 0).default_steps().items()}


@pytest.mark.parametrize("method", ["spd1", "spd1-vr", "psgd", "svrg", "saga"])
def test_fixed_steps_that_are_too_large_diverge_and_say_so(method):
    problem = oracle.make_case("squared", "l2", False).problem()
    start = problem.primal(np.zeros(problem.d))
    found = solve(problem, method, steps=wild(problem, method), max_passes=3500)
    assert found.status == "diverged"
    assert np.all(np.isfinite(found.x))
    assert np.isfinite(found.gap)
    assert found.primal <= start


@pytest.mark.parametrize("method", REDUCED)
def test_automatic_steps_recover_from_a_start_that_diverges(method, monkeypatch):
    problem = oracle.make_case("squared", "l2", False).problem()
    steps = wild(problem, method)
    monkeypatch.setattr(method_class(method), "default_steps", lambda self: dict(steps))
    found = solve(problem, method, tol=1e-6, max_passes=5000)
    assert found.status == "converged"


@pytest.mark.parametrize("unit", [1e3, 1e-3])
@pytest.mark.parametrize("method", EVERY_METHOD)
def test_automatic_steps_cope_with_any_unit_of_the_features(method, unit):
    """A in other units, l2 with it: the same P*, but steps off by the square of the unit."""
    case = cases.suited(method)
    scales = unit * np.resize([3.0, 1.0, 1.0, 0.3, 1.0, 2.0], case.A.shape[1])  # a little uneven
    problem = Problem(case.A * scales, case.b, "logistic", L2(0.1 * scales**2))
    found = solve(problem, method, tol=1e-5, max_passes=5000)
    best = cases.best_suited(method)
    assert found.gap >= found.primal - best - 1e-14
    assert found.rel_gap <= (1e-5 if method in LINEAR else 0.1)


@pytest.mark.parametrize("method", ["svrg", "saga"])
@pytest.mark.parametrize("loss", ["hinge", "absolute", "poisson"])
def test_gradient_methods_refuse_losses_without_lipschitz_gradient(method, loss):
    problem = oracle.make_case(loss, "l2", False).problem()
    message = rf"{method} needs a smooth loss and {LOSSES[loss].__name__}"
    with pytest.raises(IncompatibleError, match=message):
        solve(problem, method, callback=pytest.fail)


REFUSED = [
    ({"method": "sgd"}, r"unknown method 'sgd'.*spd1-vr.*saga"),
    ({"steps": "best"}, "unknown steps 'best'"),
    ({"steps": 0.1}, "steps must be"),
    ({"steps": {"eta": 0.1, "tau": 0.1, "rho": 1.0}}, "eta, tau; unknown: rho"),
    ({"steps": {"eta": 0.1}}, "missing: tau"),
    ({"steps": {"eta": 0.1, "tau": 0.1, "decay": 1.0}}, "unknown: decay"),
    ({"steps": {"eta": -0.1, "tau": 0.1}}, "eta must be a positive"),
    ({"steps": {"eta": 0.1, "tau": float("nan")}}, "tau must be a positive"),
    ({"method": "psgd", "steps": {"eta": 0.1, "tau": 0.1}}, "unknown: tau"),
    ({"sampling": "rows"}, "unknown sampling 'rows'"),
    ({"method": "saga", "sampling": "nonzeros"}, "'nonzeros' means nothing to saga"),
    ({"tol": 0.0}, "tol must be a positive"),
    ({"tol": "small"}, "tol must be a positive"),
    ({"max_passes": -1}, "max_passes must be a positive"),
    ({"max_seconds": 0}, "max_seconds must be a positive"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED, ids=[m[:25] for _, m in REFUSED])
def test_wrong_parameters_are_refused_by_name_before_any_work(arguments, message):
    problem = oracle.make_case("logistic", "l2", False).problem()
    with pytest.raises(ParameterError, match=message):
        solve(problem, **{"method": "spd1-vr", "callback": pytest.fail, **arguments})


def test_what_is_no_problem_is_refused():
    with pytest.raises(ParameterError, match="labels are missing"):
        solve(np.eye(2))
    with pytest.raises(ParameterError, match="not str"):
        solve("data.svm")


@pytest.mark.parametrize("method", EVERY_METHOD)
def test_warm_start_at_the_solution_stops_at_once(method):
    problem = cases.suited(method).problem()
    exact = solve(problem, "spd1-vr", tol=1e-10, max_passes=5000)
    again = solve(problem, method, tol=1e-8, x0=exact.x, y0=exact.y)
    assert (again.status, len(again.trace)) == ("converged", 1)
    assert len(again.trace) == 1
    # steps to start from, which spd1 and spd1-vr estimate by power iteration, and the first look
    assert again.passes <= 25.0
    np.testing.assert_array_equal(again.x, exact.x)
    # x alone proves itself through y = phi'(Ax), only less sharply
    assert len(solve(problem, method, tol=1e-4, x0=exact.x).trace) == 1


START_ERRORS = [
    ({"x0": np.full(6, 0.5)}, "x0 is outside the feasible set"),
    ({"x0": np.full(6, np.nan)}, "x0 has NaN"),
    ({"x0": np.full(6, -np.inf)}, "x0 has infinite|x0 is outside"),
    ({"x0": np.zeros(5)}, r"x0 must have shape \(6,\)"),
    ({"y0": np.full(12, 3.0)}, "y0 is outside the domain of the conjugate of Logistic"),
    ({"y0": np.full(12, np.nan)}, "y0 has NaN"),
    ({"y0": np.zeros((12, 1))}, r"y0 must have shape \(12,\)"),
]


@pytest.mark.parametrize(("start", "message"), START_ERRORS, ids=[m[:9] for _, m in START_ERRORS])
def test_infeasible_starts_are_refused(start, message):
    problem = oracle.make_case("logistic", "elastic_box", False).problem()
    with pytest.raises(DataError, match=message):
        solve(problem, callback=pytest.fail, **start)


@pytest.mark.parametrize("method", EVERY_METHOD)
def test_empty_rows_and_columns_take_their_closed_form(method, rng):
    d = 20 if method == "few-rows" else 6
    A = rng.standard_normal((10, d))
    A[[0, 4], :] = 0.0
    A[:, [1, 5]] = 0.0
    b = rng.choice([-1.0, 1.0], 10)
    reg = L2(0.2) if method == "few-rows" else ElasticNet(l2=0.2, lower=0.05, upper=1.0)
    found = solve(
        Problem(sp.csr_array(A), b, "logistic", reg), method, tol=1e-7, x0=np.full(d, 0.7)
    )
    least = max(0.0, reg.lower)
    np.testing.assert_array_equal(found.x[[1, 5]], least)  # argmin g, whatever x0 says
    # argmin phi*; phi* is 4-strongly convex, so the gap bounds the distance
    reach = np.sqrt(2 * found.gap * 10 / 4)
    np.testing.assert_allclose(found.y[[0, 4]], -b[[0, 4]] / 2, atol=reach + 1e-12)


def test_data_without_entries():
    empty = Problem(sp.csr_array((3, 2)), [1.0, -1.0, 1.0], "logistic", Box(0.5, 1.0))
    with pytest.raises(DataError, match="no stored entries"):
        solve(empty, "spd1-vr")
    found = solve(empty, "saga")
    assert (found.status, found.passes) == ("converged", 0.0)
    np.testing.assert_array_equal(found.x, 0.5)
    assert found.primal == pytest.approx(np.log(2.0))


@pytest.mark.parametrize("method", EVERY_METHOD)
def test_rows_of_weight_zero_have_no_influence(method, rng):
    case = cases.suited(method)
    n, x0 = len(case.b), np.ones(case.A.shape[1])
    weights = np.where(np.arange(n) % 3 == 0, 0.0, rng.random(n))
    kept = weights > 0
    A = case.A.copy()
    A[kept, 2] = 0.0  # a column for rows of weight zero alone: nothing but g moves its x
    whole, part = (
        solve(
            Problem(sp.csr_array(A[i]), case.b[i], "logistic", L2(0.1), weights[i]), method, x0=x0
        )
        for i in (slice(None), kept)
    )
    assert abs(whole.primal - part.primal) <= max(whole.gap, part.gap)  # both hold the same P*
    if method in LINEAR:
        assert (whole.status, part.status) == ("converged", "converged")


@pytest.mark.parametrize(("data", "targets"), [(1.0, 1e200), (1e160, 1.0)])
@pytest.mark.parametrize("method", ["auto", "newton"])
def test_numbers_that_overflow_are_certified_without_warnings(data, targets, method, rng):
    A, b = rng.standard_normal((40, 6)), rng.standard_normal(40)
    found = solve(
        Problem(data * A, targets * b, "squared", L1(1e190)), method, tol=1e-8, max_passes=50
    )
    assert found.converged or found.rel_gap > 1e-8  # warnings are errors here
