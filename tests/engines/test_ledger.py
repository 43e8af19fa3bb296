"""Passes are entries read over entries stored, whoever reads them."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from spd1 import L1, L2, Problem, solve
from spd1.design.intercept import Design
from spd1.engines.ledger import Ledger
from support import cases

# Kernels as plain Python on matrices that count every use of an entry. A visit may use an entry
# twice (its product, then its update), products by BLAS are not seen: uses are at most twice what
# the ledger has, if the ledger has it all.
COUNTED = """
import json, sys
import numpy as np, scipy.sparse as sp
import spd1
from spd1.data.matrix import CSC, CSR, Dense

uses = 0
def counting(plain):
    def at(self, i, k):
        global uses
        uses += 1
        return plain(self, i, k)
    return at
for kind in (Dense, CSR, CSC):
    kind.at, kind.entry = counting(kind.at), counting(kind.entry)

rng = np.random.default_rng(0)
found = []
for method, loss, reg in json.loads(sys.argv[1]):
    wide = method == "few-rows"
    A = rng.standard_normal((8, 20) if wide else (24, 9))
    A[rng.random(A.shape) < 0.4] = 0.0
    b = np.where(A[:, 0] + 0.2 * rng.standard_normal(len(A)) > 0, 1.0, -1.0)
    for layout in (np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array):
        problem = spd1.Problem(layout(A), b, loss, spd1.ElasticNet(*reg))
        uses = 0
        result = spd1.solve(problem, method, tol=1e-7, max_passes=60)
        used, read = uses, result.passes * problem.stored
        found.append((method, loss, reg, layout.__name__, used, read))
print(json.dumps(found))
"""
RUNS = [
    ("rows", "logistic", (0.0, 0.1)),
    ("rows", "hinge", (0.05, 0.1)),
    ("columns", "logistic", (0.05, 0.0)),
    ("columns", "hinge", (0.0, 0.1)),
    ("spd1", "logistic", (0.0, 0.1)),
    ("spd1-vr", "squared", (0.01, 0.1)),
    ("psgd", "hinge", (0.0, 0.1)),
    ("svrg", "logistic", (0.0, 0.1)),
    ("saga", "squared", (0.05, 0.0)),
    ("newton", "logistic", (0.05, 0.0)),
    ("newton", "logistic", (0.0, 0.1)),
    ("newton", "squared", (0.02, 0.0)),
    ("newton", "hinge", (0.0, 0.1)),
    ("newton", "absolute", (0.02, 0.0)),
    ("few-rows", "logistic", (0.0, 0.1)),
]


@pytest.fixture(scope="module")
def counted():
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-c", COUNTED, json.dumps(RUNS)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("number", range(len(RUNS)), ids=["-".join(run[:2]) for run in RUNS])
def test_nothing_is_read_that_is_not_counted(counted, number):
    for method, loss, reg, layout, used, read in counted[4 * number : 4 * number + 4]:
        assert used > 0
        assert used <= 2.0 * read + 1e-6, (method, loss, reg, layout, used, read)


def test_hinge_by_newton_counts_its_sweeps(rng):
    """200 x 60: eleven looks, and the sweeps between them, which are most of the work."""
    A = rng.standard_normal((200, 60))
    b = np.where(A[:, 0] + rng.standard_normal(200) > 0, 1.0, -1.0)
    found = solve(Problem(A, b, "hinge", L2(1e-3)), "newton", tol=1e-8)
    assert found.status == "converged"
    assert found.passes > 3 * len(found.trace)


@pytest.mark.parametrize("method", cases.EVERY_METHOD)
def test_counts_never_go_back(method):
    case = cases.suited(method)
    trace = solve(case.problem(), method, tol=1e-9, max_passes=50).trace
    for column in ("passes", "paper_passes", "seconds"):
        assert np.all(np.diff(getattr(trace, column)) >= 0.0)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_a_run_in_two_parts_has_one_account(loss, sparse, rng):
    """The penalty on the intercept shows at this tol, so the run goes on without it."""
    X = rng.standard_normal((400, 500)) * (rng.random((400, 500)) < 0.3)
    b = np.where(X[:, 0] + 3.0 + rng.standard_normal(400) > 0, 1.0, -1.0)
    X = sp.csr_array(X) if sparse else X
    found = Design(X, True).solve(b, loss, L2(1e-4), tol=1e-5)
    trace = found.trace
    for column in ("passes", "seconds"):
        assert np.all(np.diff(getattr(trace, column)) >= 0.0)
    assert found.passes >= trace.passes[-1]
    short = Design(X, True).solve(b, loss, L2(1e-4), tol=1e-5, max_passes=12)
    assert short.passes <= 12 + 18  # each part ends its operation under way, and certifies


@pytest.mark.parametrize("method", cases.EVERY_METHOD)
def test_a_run_has_the_same_account_whoever_looked_before(method):
    """Norms and counts are computed once and kept with the data; who uses them is charged."""
    problem = cases.suited(method).problem("csr")
    runs = [solve(problem, method, max_passes=50, tol=1e-12) for _ in range(2)]
    np.testing.assert_array_equal(runs[0].trace.passes, runs[1].trace.passes)
    np.testing.assert_array_equal(runs[0].x, runs[1].x)
    assert runs[0].passes == runs[1].passes


def test_what_is_known_is_shared(rng):
    problem = Problem(rng.standard_normal((30, 20)), np.ones(30), "squared", L2(0.1))
    norms = problem.row_norms_squared
    other = problem.with_regularizer(L1(0.1)).watched(ledger := Ledger(problem.stored))
    assert other.row_norms_squared is norms
    assert other.row_norms_squared is norms
    assert ledger.passes == 1.0  # charged, once


def test_two_runs_on_one_problem_have_two_accounts(rng):
    problem = Problem(rng.standard_normal((30, 20)), np.ones(30), "squared", L2(0.1))
    one, two = Ledger(problem.stored), Ledger(problem.stored)
    first, second = problem.watched(one), problem.watched(two)
    first.margins(np.ones(20))
    second.adjoint(np.ones(30))
    second.adjoint(np.ones(30))
    problem.margins(np.ones(20))
    assert (one.passes, two.passes) == (1.0, 2.0)


def test_limits():
    ledger = Ledger(stored=10, max_passes=2.0, max_seconds=1e9)
    ledger.entries += 19
    assert not ledger.spent
    ledger.entries += 1
    assert ledger.out_of_passes
    assert ledger.spent
    assert not ledger.out_of_time
    assert Ledger(stored=0).passes == 0.0
    assert Ledger(stored=1, max_seconds=0.0).out_of_time
