"""One column without penalty: the short way proves what the long way proves."""

from __future__ import annotations

import numpy as np
import pytest

from spd1 import ElasticNet, Problem
from spd1.certificate.balance import mended
from spd1.certificate.free_columns import free_columns_of
from spd1.certificate.one_column import balanced_alone
from spd1.certificate.vicinity import vicinity
from spd1.terms import dual_guess

N, D = 60, 5


@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared_hinge", "squared", "absolute"])
def test_the_short_way_proves_what_the_long_way_does(rng, loss):
    A = np.column_stack([rng.standard_normal((N, D)), np.full(N, 0.5)])
    b = np.where(rng.random(N) < 0.4, 1.0, -1.0)
    reg = ElasticNet(l2=np.append(np.full(D, 0.1), 0.0))
    problem = Problem(A, b, loss, reg, rng.random(N))
    free, y = free_columns_of(problem), np.empty(N)
    dual_guess(0.3 * rng.standard_normal(N), problem.b, problem.loss, y)
    y *= 0.9  # some room on both sides
    found, near = balanced_alone(problem, y.copy(), free)
    other, wide = vicinity(problem, mended(problem, y.copy(), free), free)
    np.testing.assert_allclose(found, other, rtol=1e-6, atol=1e-12)
    off = abs(float(np.sum(A[:, -1] * problem.c * found)))
    assert off <= float(np.sum(np.abs(A[:, -1]) * problem.c * near.rows))
    assert np.all(near.rows <= 10.0 * wide.rows + 1e-14)
    assert near.columns[-1] == 0.0
    assert not np.any(near.open)


def test_what_can_not_balance_is_left_to_others(rng):
    """Hinges of one label: y = 0 alone balances."""
    A = np.column_stack([rng.standard_normal((N, D)), np.ones(N)])
    reg = ElasticNet(l2=np.append(np.full(D, 0.1), 0.0))
    problem = Problem(A, np.ones(N), "hinge", reg)
    assert balanced_alone(problem, np.full(N, -0.5), free_columns_of(problem))[1] is None
