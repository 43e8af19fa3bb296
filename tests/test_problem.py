"""The problem: what it accepts, what it refuses by name, its values and its constants."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from spd1 import L2, Box, ElasticNet, Problem, certify
from spd1.errors import DataError, ParameterError
from spd1.losses import EpsilonInsensitive, Huber, Quantile, SmoothedHinge, as_loss
from support import oracle
from support.oracle import LAYOUTS, LOSSES
from support.setups import SMOOTH

EYE = np.eye(3)
SIGNS = [1.0, -1.0, 1.0]


@pytest.mark.parametrize("name", [n for n, cls in LOSSES.items() if cls().label_kind == "sign"])
def test_margin_losses_need_signs(name):
    with pytest.raises(DataError, match=r"0 and 1, got 1, 2: pass np.where\(b == 2, 1, -1\)"):
        Problem(EYE, [1, 2, 1], name)
    with pytest.raises(DataError, match=r"0 and 1, got -1, 1, 2: 3 classes"):
        Problem(EYE, [-1, 1, 2], name)
    with pytest.raises(DataError, match="numbers to predict, which need loss='squared'"):
        Problem(EYE, [-1, 1.5, 2], name)
    with pytest.raises(DataError, match=r"b holds text, 'yes' for one: pass np.where"):
        Problem(EYE, ["yes", "no", "no"], name)
    assert Problem(EYE, np.array([-1, 1, 1], dtype=np.int8), name).b.tolist() == [-1.0, 1.0, 1.0]


def test_poisson_needs_counts():
    with pytest.raises(DataError, match=r"Poisson.*not negative.*-1"):
        Problem(EYE, [0, 3, -1], "poisson")
    assert Problem(EYE, [0, 3, 0.5], "poisson").b.tolist() == [0.0, 3.0, 0.5]


@pytest.mark.parametrize(
    ("b", "cause"),
    [
        ([1.0, math.nan, 0.0], "b has NaN"),
        ([1.0, math.inf, 0.0], "b has NaN or infinite"),
        ([1.0, 2.0], "2 labels, A has 3 rows"),
        (np.ones((3, 2)), "one-dimensional"),
        (1.0, "one-dimensional"),
        (["a", "b", "c"], "numbers only"),
        ([1.0, None, 2.0], "object"),
        ([1j, 1.0, 2.0], "complex"),
        ([2**53 + 1, 0, 0], r"2\*\*53"),
    ],
)
def test_unusable_labels_are_refused_by_cause(b, cause):
    with pytest.raises(DataError, match=cause):
        Problem(EYE, b, "squared")


@pytest.mark.parametrize(
    ("weights", "cause"),
    [
        ([1.0, -1.0, 1.0], "negative value"),
        ([0.0, 0.0, 0.0], "zero everywhere"),
        ([1.0, math.nan, 1.0], "NaN"),
        ([1.0, math.inf, 1.0], "infinite"),
        ([1.0, 1.0], r"shape \(3,\), not \(2,\)"),
        (np.ones((3, 1)), "shape"),
        (2.0, "shape"),
        (["a", "b", "c"], "numbers only"),
    ],
)
def test_unusable_weights_are_refused_by_cause(weights, cause):
    with pytest.raises(DataError, match=f"sample_weight.*{cause}"):
        Problem(EYE, SIGNS, sample_weight=weights)


@pytest.mark.parametrize(
    ("point", "cause"),
    [([1.0, 2.0], "shape"), ([1.0, math.nan, 0.0], "NaN"), (["a"] * 3, "numbers only"),
     (None, "numbers only"), (np.ones((3, 1)), "shape")],
)  # fmt: skip
def test_unusable_points_are_refused_by_name(point, cause):
    problem = Problem(EYE, SIGNS, reg=L2(0.1))
    with pytest.raises(DataError, match=f"x.*{cause}"):
        problem.primal(point)
    with pytest.raises(DataError, match=f"x.*{cause}"):
        certify(point, problem)
    with pytest.raises(DataError, match=f"y.*{cause}"):
        problem.dual(point)
    if point is not None:
        with pytest.raises(DataError, match=f"y.*{cause}"):
            certify(np.zeros(3), problem, point)


@pytest.mark.parametrize(
    ("loss", "name"),
    [("no such loss", "no such loss"), (Huber(0.0), "delta"), (Huber(math.nan), "delta"),
     (Huber(math.inf), "delta"), (Quantile(1.0), "q"), (Quantile(0.0), "q"),
     (EpsilonInsensitive(-0.1), "eps"), (SmoothedHinge("1"), "s"), (3.0, "float")],
)  # fmt: skip
def test_meaningless_losses_are_refused_by_name(loss, name):
    with pytest.raises(ParameterError, match=name):
        as_loss(loss)


@pytest.mark.parametrize(
    ("loss", "expected"),
    [("quantile", Quantile(0.5)), ("squared_hinge", LOSSES["squared_hinge"]()),
     (Huber, Huber(1.35)), (Huber(2), Huber(2.0)), (EpsilonInsensitive(0), EpsilonInsensitive(0.0)),
     (Huber(np.int64(2)), Huber(2.0)), (Huber(np.float32(0.5)), Huber(0.5))],
)  # fmt: skip
def test_losses_may_be_names_classes_or_instances(loss, expected):
    found = as_loss(loss)
    assert type(found) is type(expected)
    assert found == expected
    assert all(type(value) is float for value in found)  # one type, one compilation


def test_weights_are_normalised_and_copied():
    weights = np.array([1.0, 3.0, 0.0])
    problem = Problem(EYE, SIGNS, sample_weight=weights)
    weights[:] = 5.0
    np.testing.assert_array_equal(problem.c, [0.25, 0.75, 0.0])
    np.testing.assert_array_equal(Problem(EYE, SIGNS).c, np.full(3, 1 / 3))
    assert Problem(EYE, SIGNS, sample_weight=[2, 2, 2]).uniform_weights
    assert not problem.uniform_weights


def test_labels_are_copied():
    b = np.array(SIGNS)
    problem = Problem(EYE, b)
    b[:] = 7.0
    np.testing.assert_array_equal(problem.b, SIGNS)


def test_pandas_objects_are_accepted():
    frame = pd.DataFrame({"one": [1.0, 0.0, 2.0], "two": [1, 1, 0]})
    problem = Problem(frame, pd.Series(SIGNS), reg=L2(0.1), sample_weight=pd.Series([1, 2, 3]))
    plain = Problem(frame.to_numpy(), SIGNS, reg=L2(0.1), sample_weight=[1, 2, 3])
    assert problem.primal([0.3, -0.2]) == plain.primal([0.3, -0.2])


@pytest.mark.parametrize("name", LOSSES)
def test_a_row_twice_is_a_row_of_double_weight(name):
    case = oracle.make_case(name, "elastic", weighted=False)
    weights = np.ones(oracle.N)
    weights[3] = 2.0
    weighted = Problem(case.A, case.b, case.loss, case.reg, weights)
    rows = [*range(oracle.N), 3]
    doubled = Problem(case.A[rows], case.b[rows], case.loss, case.reg)
    for scale in (0.0, 0.3, 1.0):
        x = scale * np.arange(-2.0, 4.0)
        one, two = certify(x, weighted), certify(x, doubled)
        assert weighted.primal(x) == pytest.approx(doubled.primal(x), rel=1e-13)
        assert one.primal == pytest.approx(two.primal, rel=1e-13)
        assert one.gap == pytest.approx(two.gap, rel=1e-12)


@pytest.mark.parametrize(("loss", "reg"), oracle.combinations())
def test_primal_and_dual_are_the_definitions(loss, reg, rng):
    case = oracle.make_case(loss, reg, weighted=True)
    problem = case.problem()
    ends = np.array([case.loss.domain(b) for b in case.b]).T
    for scale in (0.0, 0.1, 1.0, 5.0):
        x, y = scale * rng.standard_normal(oracle.D), scale * rng.standard_normal(oracle.N)
        assert problem.primal(x) == pytest.approx(oracle.primal(case, x), rel=1e-12)
        assert problem.dual(y) == pytest.approx(oracle.dual(case, y), rel=1e-12)
        inside = np.clip(y, *ends)
        assert problem.dual(inside) == pytest.approx(oracle.dual(case, inside), rel=1e-11)
    optimum = oracle.optimum(loss, reg, True)
    assert problem.primal(optimum.x) == pytest.approx(optimum.best, rel=1e-12, abs=1e-15)
    # Half of a feasible point is feasible; without any penalty v must vanish to the last bit.
    y = (0.0 if reg in (*oracle.UNPENALISED, "intercept") else 0.5) * np.clip(optimum.y, *ends)
    assert problem.dual(y) == pytest.approx(oracle.dual(case, y), rel=1e-11)


def test_rows_without_weight_do_not_count():
    """Not even where their dual variable is infeasible or their loss overflows."""
    A = np.array([[1.0], [1e308]])
    problem = Problem(A, [1.0, 1.0], "hinge", L2(0.1), sample_weight=[1.0, 0.0])
    assert problem.primal([-10.0]) == pytest.approx(11.0 + 5.0)
    assert problem.dual([-1.0, 99.0]) == pytest.approx(1.0 - 5.0)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_constants_are_those_of_the_paper(layout):
    case = oracle.make_case("logistic", "l2", weighted=False)
    problem, A = case.problem(layout), case.A
    n, d = A.shape
    row, column = np.linalg.norm(A, axis=1).max(), np.linalg.norm(A, axis=0).max()
    assert (problem.n, problem.d) == (n, d)
    assert pytest.approx(row, rel=1e-14) == problem.R
    assert problem.R_prime == pytest.approx(column, rel=1e-14)
    assert (problem.L, problem.gamma, problem.mu) == (1.0, 4.0, 0.1)
    assert problem.kappa == pytest.approx(row**2 / (0.1 * 4.0), rel=1e-14)
    assert problem.kappa_prime == pytest.approx(d * column**2 / (n * 0.1 * 4.0), rel=1e-14)
    assert math.inf == problem.D
    np.testing.assert_allclose(problem.row_norms_squared, (A**2).sum(axis=1), rtol=1e-14)
    np.testing.assert_allclose(problem.column_norms_squared, (A**2).sum(axis=0), rtol=1e-14)


def test_constants_without_smoothness_strong_convexity_or_bounds():
    assert Problem(EYE, SIGNS, "hinge", L2(0.1)).kappa == math.inf  # gamma = 0
    assert Problem(EYE, SIGNS, "logistic", Box(-1, 1)).kappa_prime == math.inf  # mu = 0
    assert pytest.approx(2.0 * math.sqrt(3)) == Problem(EYE, SIGNS, "logistic", Box(-2.0, 1.0)).D


def test_constants_of_the_losses_match_the_table():
    table = {
        "logistic": (1.0, 4.0, "sign"),
        "hinge": (1.0, 0.0, "sign"),
        "squared_hinge": (math.inf, 0.5, "sign"),
        "smoothed_hinge": (1.0, 1.0, "sign"),
        "squared": (math.inf, 1.0, "real"),
        "huber": (1.35, 1.0, "real"),
        "absolute": (1.0, 0.0, "real"),
        "quantile": (0.5, 0.0, "real"),
        "epsilon_insensitive": (1.0, 0.0, "real"),
        "squared_epsilon_insensitive": (math.inf, 0.5, "real"),
        "poisson": (math.inf, 0.0, "count"),
    }
    for name, cls in LOSSES.items():
        problem = Problem(EYE, SIGNS if cls().label_kind == "sign" else [0, 1, 2], name)
        assert (problem.L, problem.gamma, cls().label_kind) == table[name]


def test_companions_are_made_once():
    problem = Problem(sp.csc_array(EYE), SIGNS)
    assert problem.grid.by_columns.matrix is problem.A
    assert problem.grid.by_rows.matrix is problem.grid.by_rows.matrix
    np.testing.assert_array_equal(problem.grid.row_counts, [1, 1, 1])


def test_regularizer_vectors_must_match_the_columns():
    with pytest.raises(DataError, match=r"2 values.*3 columns"):
        Problem(EYE, SIGNS, reg=ElasticNet(l1=[0.1, 0.2]))


def test_repr_names_the_pieces():
    text = repr(Problem(sp.csr_array(EYE), SIGNS, "huber", L2(0.5)))
    assert text == "Problem(3 x 3 CSR, Huber(delta=1.35), ElasticNet(l2=0.5))"


@pytest.mark.parametrize("loss", SMOOTH)
def test_the_pull_at_zero_is_the_gradient_of_the_loss_there(loss, rng):
    A, b = rng.standard_normal((9, 5)), np.where(rng.random(9) < 0.5, 1.0, -1.0)
    problem = Problem(A, np.abs(b) if loss == "poisson" else b, loss, L2(1.0), rng.random(9))
    h = 1e-6
    for j in range(5):
        step = h * np.eye(5)[j]
        slope = (problem.primal(step) - problem.primal(-step)) / (2 * h)
        assert problem.pull_at_zero[j] == pytest.approx(slope, abs=1e-7)
    other = problem.with_regularizer(L2(0.5))
    np.testing.assert_array_equal(other.pull_at_zero, problem.pull_at_zero)


@pytest.mark.parametrize("name", [n for n, cls in LOSSES.items() if cls().label_kind == "sign"])
@pytest.mark.parametrize("b", [[0, 1, 1], [0.0, 1.0, 1.0], [False, True, True]])
def test_labels_zero_and_one_are_minus_one_and_one(name, b):
    """The objective, and with it every certificate, is that of the signs."""
    signs, x = np.array([-1.0, 1.0, 1.0]), np.array([0.3, -0.2, 0.5])
    problem = Problem(EYE, b, name)
    assert problem.b.tolist() == signs.tolist()
    assert problem.primal(x) == Problem(EYE, signs, name).primal(x)


@pytest.mark.parametrize(
    ("word", "meant"),
    [("squared-hinge", "squared_hinge"), ("SquaredHinge", "squared_hinge"),
     ("Logistic", "logistic"),
     ("log_loss", "logistic"), ("mse", "squared"), ("hubr", "huber"), ("pinball", "quantile")],
)  # fmt: skip
def test_a_loss_has_one_spelling_and_others_are_understood(word, meant):
    with pytest.raises(ParameterError, match=f"unknown loss {word!r}: did you mean {meant!r}"):
        as_loss(word)


@pytest.mark.parametrize("name", LOSSES)
def test_values_at_zero_are_sums_of_the_loss_there(name):
    rng = np.random.default_rng(5)
    loss = as_loss(name)
    b = np.where(rng.random(30) < 0.3, 1.0, -1.0)
    b = b if loss.label_kind == "sign" else rng.random(30) + 0.5
    p = Problem(rng.standard_normal((30, 4)), b, loss, L2(0.1), rng.random(30))
    phi, star = (
        sum(c * ask(0.0, t) for c, t in zip(p.c, p.b, strict=True))
        for ask in (p.loss.phi, p.loss.conjugate)
    )
    assert p.value_at_zero == pytest.approx(phi, rel=1e-13)
    assert p.conjugate_at_zero == pytest.approx(star, rel=1e-13, abs=1e-300)


def test_another_regularizer_has_its_own_strong_convexity():
    p = Problem(np.eye(3), [1.0, -1.0, 1.0], "hinge", L2(0.5))
    assert p.mu == 0.5
    assert p.with_regularizer(L2(0.25)).mu == 0.25
    assert p.mu == 0.5
