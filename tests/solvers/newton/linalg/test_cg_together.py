"""Conjugate gradients by threads that stay in one kernel: the equations, bits, and what is left."""

from __future__ import annotations

import numpy as np
import pytest

from spd1.data.convert import as_matrix
from spd1.engines.ledger import Ledger
from spd1.engines.threads import Threads
from spd1.solvers import merging
from spd1.solvers.newton.linalg import cg_together
from spd1.solvers.newton.linalg.cg_together import gradients_by, worth_one_call
from spd1.solvers.newton.linalg.working_set import Lines
from support import oracle

COUNT, WIDTH = 37, 50


@pytest.fixture(autouse=True)
def eager(monkeypatch):
    """Let few lines be worth several blocks."""
    monkeypatch.setattr(cg_together, "CG_A_POSITION", 1)
    monkeypatch.setattr(cg_together, "CG_WORTH", 1.0)
    monkeypatch.setattr(merging, "available_cores", lambda: 8)


@pytest.mark.parametrize("layout", ["dense_c", "csr"])
def test_the_equations_are_solved_with_the_same_bits_by_any_number_of_threads(layout, rng):
    A = rng.standard_normal((60, WIDTH)) * (rng.random((60, WIDTH)) < 0.7)
    B, ids = as_matrix(oracle.LAYOUTS[layout](A)), rng.permutation(60)[:COUNT]
    bend, l2, right = rng.random(WIDTH), rng.random(COUNT), rng.standard_normal(COUNT)
    H = (A[ids] * bend) @ A[ids].T + np.diag(l2)
    found, read = [], set()
    for n_threads in (1, 2, 4, 8):
        ledger = Ledger(stored=1)
        with Threads(n_threads) as engine:
            lines = Lines(B, ids, WIDTH, ledger, engine)
            assert worth_one_call(lines)
            found.append(gradients_by(lines, bend, l2, right, np.diag(H).copy(), 1e-10, 500))
            read.add(ledger.entries / (2.0 * lines.entries))
    np.testing.assert_allclose(H @ found[0], right, atol=1e-7)
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])
    assert len(read) == 1  # products, each a reading forth and back
    assert 1 < read.pop() <= 500


def test_no_more_products_than_allowed(rng):
    A = rng.standard_normal((COUNT, WIDTH))
    ledger = Ledger(stored=1)
    with Threads(2) as engine:
        lines = Lines(as_matrix(A), np.arange(COUNT), WIDTH, ledger, engine)
        step = gradients_by(
            lines, np.ones(WIDTH), np.zeros(COUNT), A @ A[0], np.ones(COUNT), 1e-12, 1
        )
    right = A @ A[0]  # one step along the right side, to where the model is least
    np.testing.assert_allclose(step, right * (right @ right) / np.sum((right @ A) ** 2))
    assert ledger.entries == 2 * COUNT * WIDTH


def test_without_a_crew_there_is_nobody_to_share_with(rng):
    lines = Lines(as_matrix(rng.standard_normal((8, 5))), np.arange(8), 5, Ledger(stored=1))
    assert not worth_one_call(lines)
