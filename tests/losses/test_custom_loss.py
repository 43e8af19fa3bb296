"""A loss that a user wrote in a separate file works like one of the package."""

from __future__ import annotations

import importlib.util
import math
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from spd1 import L1, L2, Box, Problem, certify
from spd1.errors import ParameterError
from spd1.losses import as_loss

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
