"""solve(X, y, ...) beside solve(problem), lambda_max, show_versions, and what notebooks show."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import spd1
from spd1.errors import IncompatibleError, ParameterError
from spd1.linear_model import path
from spd1.solvers.registry import builder

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 6))
SIGNS = np.where(X[:, 0] + 0.3 * RNG.normal(size=40) > 0, 1.0, -1.0)
TARGETS = X @ [1.0, -2.0, 0.0, 0.0, 0.5, 0.0] + 0.1 * RNG.normal(size=40)


def test_the_shorthand_solves_the_same_problem():
    weight = RNG.random(40)
    net = {"l1": 0.01, "l2": 0.1, "lower": -0.5, "upper": 0.5}
    long = spd1.Problem(X, TARGETS, "squared", spd1.ElasticNet(**net), weight)
    short = spd1.solve(X, TARGETS, loss="squared", sample_weight=weight, **net)
    np.testing.assert_array_equal(short.x, spd1.solve(long).x)
    by_reg = spd1.solve(X, TARGETS, loss="squared", sample_weight=weight, reg=long.reg)
    np.testing.assert_array_equal(by_reg.x, short.x)


def test_zero_and_one_have_the_answer_of_the_signs():
    zero_one = spd1.solve(X, (SIGNS > 0).astype(int), l2=0.1)
    np.testing.assert_array_equal(zero_one.x, spd1.solve(X, SIGNS, l2=0.1).x)
    assert np.mean((X @ zero_one.x > 0) == (SIGNS > 0)) > 0.8  # a margin above zero speaks for 1
    problem = spd1.Problem(X, SIGNS > 0, "logistic", spd1.L2(0.1))
    assert spd1.certify(zero_one.x, problem).rel_gap <= 1e-6


def test_the_method_has_its_old_place():
    problem = spd1.Problem(X, SIGNS, "logistic", spd1.L2(0.1))
    by_place, by_name = spd1.solve(problem, "saga"), spd1.solve(problem, method="saga")
    assert by_place.method == by_name.method == "saga"
    assert spd1.solve(X, SIGNS, method="saga", l2=0.1).method == "saga"


PROBLEM = spd1.Problem(X, SIGNS, "logistic", spd1.L2(0.1))
MIXTURES = [
    ((PROBLEM, SIGNS), {}, ParameterError, "a Problem has its labels"),
    ((PROBLEM,), {"l2": 1.0}, ParameterError, "a Problem has its own l2"),
    ((PROBLEM,), {"loss": "hinge", "l1": 1.0}, ParameterError, "its own loss, l1"),
    ((PROBLEM, "saga"), {"method": "svrg"}, ParameterError, "two methods are named"),
    ((X,), {}, ParameterError, "labels are missing: write solve"),
    ((X, "saga"), {}, ParameterError, r"write solve\(X, y, method='saga'"),
    (("train.csv",), {}, ParameterError, "takes a spd1.Problem, or data X and labels y, not str"),
    ((X, SIGNS), {"reg": "l2"}, ParameterError, r"write reg=spd1.L2\(0.1\), or l2=0.1"),
    ((X, SIGNS), {"reg": "lasso"}, ParameterError, r"write reg=spd1.L1\(0.01\), or l1=0.01"),
    ((X, SIGNS), {"reg": 0.1}, ParameterError, r"write reg=spd1.L2\(0.1\)"),
    ((X, SIGNS), {"reg": spd1.L2(1.0), "l2": 1.0}, ParameterError, "reg and l2 are both given"),
    ((X, SIGNS), {"C": 1.0}, TypeError, r"no option 'C': write l2=1 / \(C \* n\)"),
    ((X, SIGNS), {"max_pases": 1}, TypeError, "did you mean 'max_passes'"),
    ((X, SIGNS), {"method": "svgr"}, ParameterError, "did you mean 'svrg'"),
    ((X, SIGNS), {"method": "lbfgs"}, ParameterError, "did you mean 'auto'"),
    ((X, SIGNS), {"engine": "multithreading"}, ParameterError, "did you mean 'threads'"),
]


@pytest.mark.parametrize(("given", "options", "error", "message"), MIXTURES)
def test_mixtures_and_mistypings_are_refused_by_name(given, options, error, message):
    with pytest.raises(error, match=message):
        spd1.solve(*given, **options)


REFUSING = ["svrg", "saga", "asdca", "katyusha", "spdc", "few-rows", "direct", "multipliers"]


@pytest.mark.parametrize("method", REFUSING)
def test_refusals_advise_auto_first(method):
    """A hinge without l2 is more than these take."""
    problem = spd1.Problem(X, SIGNS, "hinge", spd1.Box(-1.0, 1.0))
    with pytest.raises(IncompatibleError, match="use method 'auto'"):
        builder(method, problem, None)


CASES = {
    "squared": ("squared", TARGETS, {}),
    "logistic": ("logistic", SIGNS, {"l2": 0.3}),
    "hinge": ("hinge", SIGNS, {}),
    "huber with bounds": ("huber", TARGETS, {"lower": 0.0}),
    "upper bound": ("squared", TARGETS, {"upper": 0.0}),
    "absolute, zeros among the targets": ("absolute", np.where(SIGNS > 0, 0.0, TARGETS), {}),
    "epsilon": ("epsilon_insensitive", np.where(SIGNS > 0, 0.1, TARGETS), {}),
    "poisson": ("poisson", np.round(np.exp(0.3 * TARGETS)), {}),
}


def losses_by_cvxpy(loss, u, b):
    """Sum of the losses, up to a constant."""
    return {
        "squared": lambda: cp.sum_squares(u - b) / 2,
        "logistic": lambda: cp.sum(cp.logistic(-cp.multiply(b, u))),
        "hinge": lambda: cp.sum(cp.pos(1 - cp.multiply(b, u))),
        "huber": lambda: cp.sum(cp.huber(u - b, 1.35)) / 2,
        "absolute": lambda: cp.sum(cp.abs(u - b)),
        "epsilon_insensitive": lambda: cp.sum(cp.pos(cp.abs(u - b) - 0.1)),
        "poisson": lambda: cp.sum(cp.exp(u) - cp.multiply(b, u)),
    }[loss]()


@pytest.mark.parametrize("case", CASES)
def test_lambda_max_by_its_definition(case):
    """Zero is optimal at it, and not below it: an independent solver says so."""
    loss, b, net = CASES[case]
    chosen = spd1.EpsilonInsensitive(0.1) if loss == "epsilon_insensitive" else loss
    largest = spd1.lambda_max(spd1.Problem(X, b, chosen, spd1.ElasticNet(**net)))
    assert largest > 0
    x = cp.Variable(6)
    bounds = [x >= net.get("lower", -9.0), x <= net.get("upper", 9.0)]
    for share, optimal in ((1.0, True), (0.98, False)):
        value = losses_by_cvxpy(loss, X @ x, b) / 40 + share * largest * cp.norm1(x)
        value += net.get("l2", 0.0) / 2 * cp.sum_squares(x)
        x.value = np.zeros(6)
        at_zero = value.value
        best = cp.Problem(cp.Minimize(value), bounds).solve(solver=cp.CLARABEL)
        assert (best >= at_zero - 1e-7 * max(abs(at_zero), 1.0)) == optimal


def test_lambda_max_begins_the_path_and_refuses_the_rest():
    problem = spd1.Problem(X, TARGETS, "squared")
    found = path(X, TARGETS, n_alphas=3, fit_intercept=False)
    assert spd1.lambda_max(problem) == pytest.approx(found.alphas[0], rel=1e-12)
    with pytest.raises(IncompatibleError, match="bounds forbid x = 0"):
        spd1.lambda_max(spd1.Problem(X, TARGETS, "squared", spd1.Box(0.5, 1.0)))
    with pytest.raises(ParameterError, match="one number for all features"):
        spd1.lambda_max(spd1.Problem(X, TARGETS, "squared", spd1.L1(np.ones(6))))
    with pytest.raises(ParameterError, match=r"takes a spd1\.Problem"):
        spd1.lambda_max(X)


def test_versions_of_all_that_computes(capsys):
    spd1.show_versions()
    shown = capsys.readouterr().out
    for name, value in (("spd1", spd1.__version__), ("numpy", np.__version__)):
        assert any(line.split()[:2] == [name, value] for line in shown.splitlines())


def test_notebooks_show_the_sentence_and_not_the_vector():
    result = spd1.solve(X, SIGNS, l2=0.1)
    certificate = result.certificate
    assert certificate._repr_html_() == f"<p>{certificate}</p>"
    assert "array(" not in repr(certificate)
    assert str(certificate) in result._repr_html_()
    assert f"{result.passes:.1f}" in result._repr_html_()
    assert result.trace._repr_html_().count("<tr>") == 1 + len(result.trace)
    found = path(X, TARGETS, n_alphas=20)
    assert found._repr_html_().count("<tr>") == 1 + 8
    assert f"{found.alphas[0]:.4g}" in found._repr_html_()
