"""Ascent on the columns that have entries: the same problem, and x is zero elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from spd1 import L2, ElasticNet, Problem, certify, solve
from spd1.kernel.rng import key_of
from spd1.solvers.sprint.ascent import LOOKS
from spd1.solvers.sprint.squeezed import SqueezedAscentWorker, squeezed
from spd1.solvers.sprint.workers import AscentWorker


def mostly_empty(loss, reg, n=40, d=9000, used=70, seed=0):
    """Rows with entries in a few of many columns."""
    rng = np.random.default_rng(seed)
    columns = np.sort(rng.choice(d, used, replace=False))
    few = rng.standard_normal((n, used)) * (rng.random((n, used)) < 0.2)
    few[0] = 1.0  # every one of them has an entry
    A = sp.lil_matrix((n, d))
    A[:, columns] = few
    b = np.where(few @ rng.standard_normal(used) > 0.0, 1.0, -1.0)
    return Problem(A.tocsr(), b, loss, reg), columns, few, b


@pytest.mark.parametrize(
    ("loss", "reg"),
    [("logistic", L2(1e-3)), ("logistic", ElasticNet(1e-2, 1e-1)), ("hinge", L2(1e-3))],
    ids=str,
)
def test_the_answer_is_that_of_the_columns_with_entries(loss, reg):
    p, columns, few, b = mostly_empty(loss, reg)
    found = solve(p, tol=1e-8)
    assert "ascent" in found.method
    assert found.rel_gap <= 1e-8
    assert not np.delete(found.x, columns).any()
    proof = certify(found.x, p, found.y)  # computed anew from all of the data
    assert proof.gap <= found.gap * (1.0 + 1e-6) + 1e-15
    small = solve(Problem(few, b, loss, reg), tol=1e-8)
    assert found.primal == pytest.approx(small.primal, rel=3e-8)


def test_every_entry_stays_in_its_place():
    p, columns, few, _ = mostly_empty("hinge", L2(1.0))
    rows, names = squeezed(p.grid.matrix)
    assert np.array_equal(names, columns)
    again = sp.csr_matrix(
        (rows.data, rows.indices.astype(int), rows.indptr.astype(int)), rows.shape
    )
    assert np.array_equal(again.toarray(), few)
    assert rows.indices.dtype == p.grid.matrix.indices.dtype
    assert not rows.indices.flags.writeable  # as all data: one kernel


@pytest.mark.parametrize(
    ("n", "d", "used"),
    [(40, 3000, 20), (4, 9000, 5000), (40, 9000, 2000)],
    ids=["narrow", "full", "many entries"],
)
def test_others_are_left_alone(n, d, used):
    p = mostly_empty("hinge", L2(1.0), n=n, d=d, used=used)[0]
    rows, names = squeezed(p.grid.matrix)
    assert names is None
    assert rows is p.grid.matrix


def test_the_same_passes_as_on_all_columns():
    """The kernel draws rows, never columns: numbers of columns change no step."""
    p, columns, _, _ = mostly_empty("squared_hinge", L2(1e-4))
    ends = []
    for kind in (SqueezedAscentWorker, AscentWorker):
        worker, record = kind(p, key_of(0)), np.empty((LOOKS, 4))
        looks, passes = worker.run((1e-9, 0.0, 300.0, 300.0), record)
        ends.append((looks, passes, worker.y, worker.x))
        assert worker.pair().dual.v == pytest.approx(-p.adjoint(p.c * worker.y), abs=1e-12)
    assert ends[0][:2] == ends[1][:2]
    assert np.array_equal(ends[0][2], ends[1][2])
    assert np.array_equal(ends[0][3], ends[1][3])
    assert len(columns) == 70
