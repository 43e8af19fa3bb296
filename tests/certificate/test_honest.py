"""Badly scaled columns: a run may give up, but its certificate must never claim too much.

Column j times s_j, l1_j times s_j and l2_j times s_j^2 is the same problem in other units: the
optimum of the well-scaled form, certified on its own, is the truth.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from spd1 import ElasticNet, Problem, certify, solve
from spd1.losses import LOSSES
from support import cases, oracle

REGS = {"l1": (0.02, 0.0), "l2": (0.0, 0.05), "elastic": (0.02, 0.05)}
SHAPES = {"tall": (40, 5), "square": (12, 10), "wide": (8, 30)}


def units(d, spread):
    """Sizes of the columns: most of them 1, one tiny, one large."""
    sizes = np.ones(d)
    sizes[1], sizes[3] = 1.0 / spread, np.sqrt(spread)
    return sizes


def pair_of_problems(loss, reg, shape, spread, kind):
    """The problem in good units and in bad ones; powers of two, so that nothing is rounded."""
    n, d = SHAPES[shape]
    rng = np.random.default_rng([n, d, len(loss)])
    A, instance = rng.standard_normal((n, d)), LOSSES[loss]()
    b = oracle.random_labels(instance, A[:, :5] @ np.ones(5), rng)
    s = 2.0 ** np.round(np.log2(units(d, spread)))
    l1, l2 = REGS[reg]
    good = Problem(A, b, loss, ElasticNet(l1=l1, l2=l2))
    return good, Problem(kind(A * s), b, loss, ElasticNet(l1=l1 * s, l2=l2 * s * s))


def check_honest(good, bad, found):
    """What the run claims holds against the truth, and its numbers are those of its points."""
    truth = solve(good, tol=1e-8)
    assert truth.status == "converged"
    size = 1e-9 * (1.0 + abs(truth.primal))
    assert found.primal == pytest.approx(bad.primal(found.x), rel=1e-8, abs=1e-12)
    assert found.dual <= truth.primal + size
    assert found.gap >= found.primal - truth.primal - size
    again = certify(found.x, bad, found.y)
    assert again.dual <= truth.primal + size
    assert again.gap >= found.primal - truth.primal - size
    if found.status == "converged":
        assert found.primal - truth.primal <= 1.01e-6 * max(abs(truth.primal), 1e-9) + size


@pytest.mark.parametrize("spread", [1e8, pytest.param(1e4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("loss", LOSSES)
def test_certificates_never_claim_too_much(loss, shape, spread):
    for reg in REGS:
        good, bad = pair_of_problems(loss, reg, shape, spread, np.asarray)
        check_honest(good, bad, solve(bad, max_passes=200))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [np.asfortranarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("spread", [1e2, 1e4, 1e6, 1e8])
@pytest.mark.parametrize("loss", LOSSES)
def test_certificates_never_claim_too_much_in_any_layout(loss, spread, kind):
    for shape in SHAPES:
        for reg in REGS:
            good, bad = pair_of_problems(loss, reg, shape, spread, kind)
            check_honest(good, bad, solve(bad, max_passes=200))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("loss", LOSSES)
def test_a_factor_of_a_hundred_between_columns_is_no_obstacle(loss, shape):
    for reg in ("l2", "elastic"):
        good, bad = pair_of_problems(loss, reg, shape, 100.0, np.asarray)
        found = solve(bad)
        check_honest(good, bad, found)
        assert found.status == "converged"


@pytest.mark.parametrize("method", ["newton", "rows"])
@pytest.mark.parametrize("weights", ["equal", "spread"])
def test_weights_that_differ_by_many_orders(method, weights, rng):
    """Rows of weight 1e-12 hardly count, but they do not spoil the proof."""
    A = rng.standard_normal((40, 4))
    b = A @ np.ones(4) + rng.standard_normal(40)
    c = np.ones(40) if weights == "equal" else 10.0 ** rng.uniform(-12, 0, 40)
    for loss, reg in (("squared", ElasticNet(l1=0.01, l2=0.01)), ("huber", ElasticNet(l2=0.1))):
        problem = Problem(A, b, loss, reg, c)
        found = solve(problem, method, tol=1e-6, max_passes=1e6)
        assert found.status == "converged"
        primal, dual = problem.primal(found.x), problem.dual(found.y)
        assert found.gap == pytest.approx(primal - dual, rel=1e-6, abs=1e-12)
        case = oracle.Case(A, b, c / c.sum(), problem.loss, reg)
        assert oracle.primal(case, found.x) - oracle.dual(case, found.y) <= 1.01e-6 * primal


FAR = [
    ("squared", "l1", "square"),
    ("squared", "elastic", "tall"),
    ("logistic", "l2", "tall"),
    ("squared_hinge", "elastic", "tall"),
    ("squared_epsilon_insensitive", "l2", "square"),
    ("hinge", "elastic", "tall"),
]


@pytest.mark.parametrize("start", ["x0", "y0"])
@pytest.mark.parametrize("far", [1e4, 1e8, 1e12])
@pytest.mark.parametrize("key", FAR, ids="-".join)
def test_far_starts(key, far, start):
    """The rounding of a first, huge margin must not survive in the last one."""
    case, best = cases.make(*key), cases.best(*key)
    problem = case.problem()
    point = np.full(problem.d, far)
    if start == "y0":
        ends = [case.loss.domain(b) for b in case.b.tolist()]
        point = np.array(
            [np.clip(-far * np.sign(b), *e) for b, e in zip(case.b, ends, strict=True)]
        )
    found = solve(problem, **{start: point})
    size = 1e-9 * (1.0 + abs(best))
    true = oracle.primal(case, found.x)
    assert found.primal == pytest.approx(true, rel=1e-9)
    assert found.dual <= best + size
    assert found.gap >= true - best - size
    assert found.status == "converged" or far > 1e4
