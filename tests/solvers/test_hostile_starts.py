"""Any start, any tolerance, any limit: refused by name, or result and certificate agree."""

from __future__ import annotations

import math

import numpy as np
import pytest

import spd1
from spd1.errors import DataError
from spd1.solvers.registry import FAMILY_METHODS, METHODS, SPECIAL_METHODS
from support.hostile_starts import LIMITS, TOLS, complaint, problems, starts

ALL = ["auto", *METHODS, *FAMILY_METHODS, *SPECIAL_METHODS]
PROBLEMS = problems()


def cases(problem):
    """Options of ``solve``, hostile one at a time."""
    for name, size in (("x0", problem.d), ("y0", problem.n)):
        for kind, point in starts(size).items():
            yield f"{name} {kind}", {name: point}
    for tol in TOLS:
        yield f"tol {tol!r}", {"tol": tol}
    for limit in LIMITS:
        endless = isinstance(limit, float) and limit > 1e9
        others = {"max_passes": {"max_seconds": 0.3}, "max_seconds": {"max_passes": 60}}
        for name, other in others.items():
            yield f"{name} {limit!r}", {"tol": 1e-9, name: limit} | (other if endless else {})


def sweep(problem, method):
    found = {label: complaint(problem, method, **options) for label, options in cases(problem)}
    return {label: text for label, text in found.items() if text}


@pytest.mark.parametrize("method", ["auto", "psgd", "newton"])
def test_hostile_starts_and_limits(method):
    assert sweep(PROBLEMS["logistic"], method) == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("method", ALL)
def test_every_method_with_hostile_starts_and_limits(method, name):
    assert sweep(PROBLEMS[name], method) == {}


def test_a_start_where_the_objective_overflows_is_refused():
    problem = PROBLEMS["lasso"]
    with pytest.raises(DataError, match="x0 is too far away: the objective is not finite there"):
        spd1.solve(problem, "newton", x0=np.full(problem.d, 1e300))


def test_the_users_start_is_never_changed():
    problem = PROBLEMS["logistic"]
    x0, y0 = np.full(problem.d, 0.5), spd1.solve(problem).y.copy()
    before = x0.copy(), y0.copy()
    for method in ("auto", "spd1"):
        spd1.solve(problem, method, x0=x0, y0=y0, max_passes=20)
    np.testing.assert_array_equal((x0, y0)[0], before[0])
    np.testing.assert_array_equal((x0, y0)[1], before[1])
    assert math.isfinite(problem.primal(x0))
