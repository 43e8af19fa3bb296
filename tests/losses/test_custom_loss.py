"""A loss that a user wrote in a separate file works like one of the package."""

from __future__ import annotations

import importlib.util
import math
import pickle
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from spd1 import L1, L2, Box, Loss, Problem, certify, compiled, solve
from spd1.cli.metrics import metrics
from spd1.design.intercept import Design
from spd1.errors import ParameterError
from spd1.io import Data, fit_model
from spd1.linear_model import ERMClassifier
from spd1.losses import as_loss
from support.custom_loss import LogCosh

N, D = 20, 4


@pytest.fixture(scope="module")
def log_cosh():
    """The class, loaded from its file as a user's script would find it."""
    path = Path(__file__).parents[1] / "support" / "custom_loss.py"
    specification = importlib.util.spec_from_file_location("a_users_module", path)
    module = importlib.util.module_from_spec(specification)
    sys.modules["a_users_module"] = module  # where pickle looks for it
    specification.loader.exec_module(module)
    return module.LogCosh


@pytest.fixture
def data(rng):
    A = rng.standard_normal((N, D))
    return A, A @ [1.0, -2.0, 0.0, 0.5] + 0.3 * rng.standard_normal(N)


def plain_primal(A, b, s, reg, x):
    """P by its definition."""
    t = (A @ x - b) / s
    phi = s * (np.logaddexp(t, -t) - np.log(2.0))
    return phi.mean() + np.sum(reg.l1 * np.abs(x) + reg.l2 / 2 * x**2)


@pytest.mark.parametrize("s", [0.1, 0.5, 2.0])
def test_certificate_matches_the_definition(log_cosh, data, s):
    A, b = data
    reg = L2(0.1)
    best = minimize(lambda x: plain_primal(A, b, s, reg, x), np.zeros(D), tol=1e-12)
    problem = Problem(A, b, log_cosh(s), reg)
    for x in (np.zeros(D), np.ones(D), best.x):
        certificate = certify(x, problem)
        assert certificate.primal == pytest.approx(plain_primal(A, b, s, reg, x), rel=1e-13)
        assert certificate.gap >= certificate.primal - best.fun - 1e-14
        assert certificate.dual <= best.fun + 1e-14
    assert certify(best.x, problem).gap < 1e-8


@pytest.mark.parametrize("kind", [np.asfortranarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("reg", [L1(0.2), Box(-0.5, 0.5), None])
def test_every_layout_and_regularizer_takes_it(log_cosh, data, kind, reg):
    A, b = data
    x = np.array([0.1, -0.2, 0.3, 0.4])
    found = certify(x, Problem(kind(A), b, log_cosh(0.5), reg))
    expected = certify(x, Problem(A, b, log_cosh(0.5), reg))
    assert 0.0 < found.gap < math.inf
    assert found.gap == pytest.approx(expected.gap, rel=1e-10)


def test_inherited_prox_and_constants(log_cosh):
    loss = log_cosh(0.5)
    assert (loss.L, loss.gamma, loss.label_kind) == (1.0, 0.5, "real")
    for v in (-3.0, -0.4, 0.0, 0.9, 2.0):
        y = loss.prox_conjugate(v, 0.7, 0.3)
        u = (v - y) / 0.3  # the minimiser satisfies y = phi'(u)
        assert y == pytest.approx(math.tanh((u - 0.7) / 0.5), abs=1e-13)


def test_parameters_become_floats_and_pickle_works(log_cosh):
    loss = as_loss(log_cosh(2))
    assert type(loss.s) is float
    assert pickle.loads(pickle.dumps(loss)) == loss
    assert as_loss(log_cosh) == log_cosh(0.5)


def test_an_object_without_the_methods_is_refused():
    class NotALoss:
        pass

    with pytest.raises(ParameterError, match="NotALoss is not a loss"):
        Problem(np.eye(2), [0.0, 1.0], NotALoss())


# A loss is known by what it says of itself, not by its name.


#: The user's log-cosh under the name of another loss.
Squared = compiled(Loss)(type("Squared", LogCosh.__bases__, dict(vars(LogCosh))))


@compiled(Loss)
class Logistic(NamedTuple):
    """Twice the logistic loss: its margins are not the logarithms of odds."""

    factor: float = 2.0

    def phi(self, u, b):
        return self.factor * math.log1p(math.exp(-b * u))

    def derivative(self, u, b):
        return -self.factor * b / (1.0 + math.exp(b * u))

    def conjugate(self, y, b):
        s = -b * y / self.factor
        if not 0.0 <= s <= 1.0:
            return math.inf
        total = 0.0
        for t in (s, 1.0 - s):
            if t > 0.0:
                total += self.factor * t * math.log(t)
        return total

    def domain(self, b):
        return (-self.factor, 0.0) if b > 0.0 else (0.0, self.factor)

    @property
    def gamma(self) -> float:
        return 4.0 / self.factor

    @property
    def label_kind(self) -> str:
        return "sign"


@pytest.mark.parametrize(  # kernels of a user's class are compiled in every process: both once
    ("shape", "reg"),
    [
        ((200, 20), L2(0.01)),
        ((30, 60), L1(0.01)),
        pytest.param((200, 20), L1(0.01), marks=pytest.mark.slow),
        pytest.param((30, 60), L2(0.01), marks=pytest.mark.slow),
    ],
)
def test_a_name_that_is_taken_misleads_nobody(shape, reg, rng):
    A = rng.standard_normal(shape)
    b = A[:, :3].sum(axis=1) + rng.standard_normal(shape[0])
    found = solve(Problem(A, b, Squared(), reg), tol=1e-7)
    assert found.status == "converged"
    with_level = Design(A, True).solve(b, Squared(), reg, tol=1e-7)
    assert with_level.status == "converged"
    proof = certify(with_level.x, Design(A, True).problem(b, Squared(), reg))
    assert proof.rel_gap <= 1e-5


def test_only_losses_with_probabilities_have_them(rng):
    X = rng.standard_normal((40, 3))
    y = X[:, 0] > 0
    named = ERMClassifier(Logistic(), l2=0.1).fit(X, y)
    assert not hasattr(named, "predict_proba")
    assert hasattr(ERMClassifier("logistic", l2=0.1).fit(X, y), "predict_proba")
    model, _ = fit_model(Data(X, np.where(y, 1.0, -1.0)), Logistic(), L2(0.1))
    with pytest.raises(ParameterError, match="no probabilities"):
        model.probability(X)
    assert "log_loss" not in metrics(model, X, np.where(y, 1.0, -1.0))
