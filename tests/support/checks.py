"""What must hold of any result, whoever found it."""

from __future__ import annotations

import numpy as np
import pytest

from spd1 import certify
from spd1.loop.tuning import HARMLESS
from spd1.losses import LOSSES

from . import cases, oracle

REGS = ("l1", "l2", "elastic", "box", "nonnegative", "elastic_box", "arrays", "mixed")
SMOOTH = [name for name, cls in LOSSES.items() if cls().gamma > 0]
STRONGLY_CONVEX = ("l2", "elastic", "elastic_box", "nonnegative_l2")


def easy(loss, reg):
    """Smooth loss or strongly convex regularizer: the last digits are within reach, too."""
    instance = LOSSES[loss]()
    smooth = instance.gamma > 0 or instance.label_kind == "count"
    return smooth or cases.make_reg(reg, 6).mu > 0


def check(case, problem, found, best):
    """The certificate holds for the points handed back, and P* is inside it.

    ``best`` is P at the oracle's point: at least P*, and above it by the oracle's error only.
    """
    size = 1.0 + abs(best)
    assert found.primal == pytest.approx(oracle.primal(case, found.x), rel=1e-9, abs=1e-13)
    assert found.gap >= found.primal - best - 1e-12 * size
    assert found.dual <= best + 1e-12 * size
    assert found.primal >= best - 1e-7 * size
    assert found.gap == pytest.approx(found.primal - found.dual, rel=1e-6, abs=1e-12 * size)
    again = certify(found.x, problem, found.y)
    assert again.primal == pytest.approx(found.primal, rel=1e-9, abs=1e-13)
    assert again.dual >= found.dual - 1e-11 * size  # it may find a better one
    assert again.dual <= best + 1e-12 * size
    assert again.gap <= found.gap + 1e-11 * size


def by_definition(case, x, y):
    """P(x) and D(y) in plain NumPy; v may leave the domain of g* by rounding, not by more."""
    l1, l2, lower, upper = oracle.net(case.reg, len(x))
    high = np.where((l2 == 0) & np.isinf(upper), l1, np.inf)
    low = np.where((l2 == 0) & np.isinf(lower), -l1, -np.inf)
    v = -case.A.T @ (case.c * y)
    assert np.all(v <= high + 1e-12)
    assert np.all(v >= low - 1e-12)
    used = case.c > 0
    star = np.sum((case.c * oracle.phi_star(case.loss, y, case.b))[used])
    return oracle.primal(case, x), -star - np.sum(oracle.g_star(case.reg, np.clip(v, low, high)))


def check_certificate(case, found, best):
    """The gap is P(x) - D(y) for the points handed back, and P* is inside it."""
    primal, dual = by_definition(case, found.x, found.y)
    size = max(abs(primal), abs(dual), 1e-300)
    assert found.primal == pytest.approx(primal, rel=1e-12)
    assert found.dual == pytest.approx(dual, rel=1e-10, abs=1e-13)
    # what rounding can have done to sums kept up to date is added, where that is next to nothing
    assert found.gap >= (primal - dual) * (1.0 - 1e-9) - 1e-12 * size
    assert found.gap <= (primal - dual) * (1.0 + HARMLESS + 1e-9) + 1e-12 * size
    assert found.rel_gap == pytest.approx(found.gap / size, rel=1e-9)
    assert found.gap >= found.primal - best - 1e-12 * size  # best: P at the oracle's point, >= P*
    assert found.dual <= best + 1e-12 * size
