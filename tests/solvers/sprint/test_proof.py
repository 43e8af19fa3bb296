"""The proof in one walk: the sums of the certificate, as they are defined."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import spd1
from spd1.certificate.gap import certificate_of
from spd1.certificate.points import pair_of
from spd1.engines.ledger import Ledger
from spd1.kernel.rng import key_of
from spd1.solvers.sprint.proof import fresh_pair
from spd1.solvers.sprint.workers import NewtonCGWorker

LAYOUTS = {"dense": np.asarray, "csr": sp.csr_array}


def problem_of(loss, layout, l2=0.02, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((40, 9)) * (rng.random((40, 9)) < 0.6)
    A[3], A[:, 4] = 0.0, 0.0  # an empty row and an empty column
    b = np.where(rng.random(40) < 0.4, 1.0, -1.0)
    return spd1.Problem(LAYOUTS[layout](A), b, loss, spd1.L2(l2), rng.random(40))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_the_pair_is_that_of_its_definition(loss, layout):
    p, rng = problem_of(loss, layout), np.random.default_rng(1)
    x, y = rng.standard_normal(9), -p.b * rng.random(40)
    found = fresh_pair(p, p.A, x, y)
    assert found.point.value == pytest.approx(p.primal(x), rel=1e-12)
    assert found.dual.value == pytest.approx(p.dual(y), rel=1e-12)
    assert found.gap == pytest.approx(p.primal(x) - p.dual(y), rel=1e-10)
    assert found.point.u == pytest.approx(p.margins(x), rel=1e-12)
    assert found.dual.v == pytest.approx(-p.adjoint(p.c * y), rel=1e-12)
    same = pair_of(p, x, p.margins(x), y, -p.adjoint(p.c * y))
    assert (found.rows, found.columns) == pytest.approx((same.rows, same.columns), rel=1e-10)


def test_a_y_outside_of_its_domain_proves_nothing():
    p = problem_of("logistic", "csr")
    found = fresh_pair(p, p.A, np.zeros(9), 2.0 * p.b)
    assert found.dual.value == -np.inf
    assert certificate_of(p, found).rel_gap == np.inf


def test_the_walk_is_counted_as_one_reading():
    p = problem_of("logistic", "csr")
    ledger = Ledger(p.stored)
    worker = NewtonCGWorker(p.watched(ledger), key_of(0))
    before = ledger.entries
    worker.pair()
    assert ledger.entries - before == p.stored


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "huber", "smoothed_hinge"])
def test_the_first_bound_is_that_of_no_dual_point(loss):
    p = problem_of(loss, "csr")
    assert NewtonCGWorker(p, key_of(0)).bound == pytest.approx(p.dual(np.zeros(p.n)), abs=1e-15)
