"""What auto picks follows from prices: what is made dearer is taken less often."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import spd1
from spd1.kernel.prices import REFERENCE, Prices
from spd1.solvers import auto


@pytest.fixture
def charged(monkeypatch):
    """Let prices be the reference times what is named."""

    def set_rates(**factors: float) -> None:
        rate = Prices(*([1.0] * len(REFERENCE)))._replace(**factors)
        here = Prices(*(a * b for a, b in zip(rate, REFERENCE, strict=True)))
        monkeypatch.setattr(auto, "rates", lambda: rate)
        monkeypatch.setattr(auto, "prices", lambda: here)

    set_rates()
    return set_rates


def labels(A, rng):
    return np.where(A @ rng.standard_normal(A.shape[1]) > 0, 1.0, -1.0)


def test_dearer_exponentials_speak_against_visits(charged, rng):
    A = sp.csr_array(sp.random(300, 600, 0.02, "csr", random_state=0))
    square = float(A.power(2).sum()) / 300
    problem = spd1.Problem(A, labels(A, rng), "logistic", spd1.L2(2 * auto.COUNTS * square / 300))
    assert auto.pick(problem)[0] == "rows"
    charged(exp=10.0)
    assert auto.pick(problem)[0] != "rows"
    hinge = spd1.Problem(A, problem.b, "squared_hinge", problem.reg)
    assert auto.pick(hinge)[0] == "rows"  # takes none


def test_dearer_multiplications_speak_against_matrices_of_columns(charged, rng):
    A = sp.csr_array(sp.random(4000, 200, 0.1, "csr", random_state=0))
    problem = spd1.Problem(A, labels(A, rng), "logistic", spd1.L2(1e-3))
    few = ("newton", "smooth loss, few columns")
    assert auto.pick(problem) == few
    charged(scattered_entry=10.0)
    assert auto.pick(problem) != few
    charged(scattered_entry=10.0, sparse_entry=10.0)  # readings are dearer, too
    assert auto.pick(problem) == few


def test_dearer_multiplications_speak_against_factors(charged, rng):
    A = rng.standard_normal((1500, 1500))
    problem = spd1.Problem(A, labels(A, rng), "hinge", spd1.L2(1e-9))
    assert auto.square_and_hard(problem)
    charged(flop=10.0)
    assert not auto.square_and_hard(problem)


def test_a_machine_that_is_slower_in_all_chooses_alike(charged, rng):
    for kind in ("logistic", "squared_hinge", "hinge", "squared"):
        for n, d, density in ((3000, 100, 0.1), (200, 900, 0.05), (1300, 900, 1.0)):
            A = rng.standard_normal((n, d))
            X = A if density == 1.0 else sp.csr_array(A * (rng.random((n, d)) < density))
            problem = spd1.Problem(X, labels(A, rng), kind, spd1.L2(1e-3))
            charged()
            before = auto.pick(problem)
            charged(**dict.fromkeys(REFERENCE._fields, 4.0))
            assert auto.pick(problem) == before
