"""Starting points and limits that nobody should pass, and what must be true of what comes back."""

from __future__ import annotations

import math
import warnings

import numpy as np
import scipy.sparse as sp

import spd1
from spd1.errors import DataError, IncompatibleError, ParameterError

REFUSALS = (DataError, IncompatibleError, ParameterError)
TOLS = [0, -1.0, math.nan, math.inf, 1e300, 1.0, True, "1e-3", None, 1e-16, np.float32(1e-3), 1j]
LIMITS = [0, -1, math.nan, math.inf, 1e-9, 1e300, True, "3", 1, np.int64(2), 0.5, [3]]


def problems():
    """Smooth and not, with l2, with l1 alone, in a box; dense and sparse."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((40, 8))
    b = np.where(A[:, 0] + 0.5 * rng.standard_normal(40) > 0, 1.0, -1.0)
    box = spd1.ElasticNet(l2=0.05, lower=-0.5, upper=0.5)
    counts = rng.poisson(np.exp(0.3 * A[:, 0])).astype(float)
    weight = rng.random(40) * (rng.random(40) < 0.8)
    wide = rng.standard_normal((6, 60))
    both = spd1.ElasticNet(l1=0.02, l2=0.05)
    return {
        "logistic": spd1.Problem(A, b, "logistic", spd1.L2(0.1)),
        "lasso": spd1.Problem(A, A[:, 0] - A[:, 1], "squared", spd1.L1(0.05)),
        "hinge": spd1.Problem(sp.csr_array(A * (np.abs(A) > 0.5)), b, "hinge", spd1.L2(0.1)),
        "box": spd1.Problem(A, b, "squared_hinge", box),
        "counts": spd1.Problem(A, counts, "poisson", spd1.L2(0.1)),
        "corners": spd1.Problem(A, A[:, 0] + 1.0, "absolute", both, weight),
        "wide": spd1.Problem(wide, wide[:, 0], "squared", spd1.L2(0.01)),
        "large": spd1.Problem(1e6 * A, b, "logistic", spd1.L1(1e3)),
        "small": spd1.Problem(sp.csc_array(1e-6 * A), 1e6 * A[:, 0], "huber", spd1.L2(1e-9)),
    }


def starts(size):
    """Points of every kind, by name."""
    wide = np.zeros(2 * size)
    wide[::2] = 0.1
    point = {
        "nan": np.full(size, math.nan), "inf": np.full(size, math.inf),
        "one nan": np.r_[math.nan, np.zeros(size - 1)], "huge": np.full(size, 1e300),
        "large": np.full(size, 1e150), "far": np.full(size, 1e8), "tiny": np.full(size, 5e-324),
        "long": np.zeros(size + 1), "short": np.zeros(size - 1), "flat": np.zeros((size, 1)),
        "scalar": 0.0, "integers": np.ones(size, dtype=int), "list": [0.25] * size,
        "bools": np.ones(size, dtype=bool), "view": wide[::2], "text": ["x"] * size,
        "complex": np.zeros(size, dtype=complex), "object": np.array([None] * size),
        "single": np.full(size, 0.5, dtype=np.float32), "back": np.linspace(-0.4, 0.4, size)[::-1],
        "foreign": np.full(size, 0.1).astype(">f8"), "empty": [], "string": "zero",
        "masked": np.ma.masked_array(np.zeros(size), mask=np.arange(size) == 1),
    }  # fmt: skip
    locked = np.full(size, 0.2)
    locked.flags.writeable = False
    return point | {"locked": locked}


def complaint(problem, method, **options):
    """Run it; what is wrong with what comes back, or ''."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", RuntimeWarning)  # sums from 1e150 away may overflow
        try:
            found = spd1.solve(problem, method, **({"max_passes": 60} | options))
        except REFUSALS:
            return ""
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        tol = options.get("tol", 1e-6)
        return disagreement(found, problem, float(tol))


def disagreement(found, problem, tol):
    """Status, gap and a certificate computed anew must tell one story."""
    if found.x.shape != (problem.d,) or not np.all(np.isfinite(found.x)):
        return "x is no point"
    proof = spd1.certify(found.x, problem, found.y)
    if not math.isclose(proof.primal, found.primal, rel_tol=1e-9, abs_tol=1e-12):
        return f"primal {found.primal} is {proof.primal}"
    slack = 1e-6 * found.gap + 1e-13 * max(abs(found.primal), abs(found.dual), 1.0)
    if not proof.gap <= found.gap + slack:
        return f"gap {found.gap} is {proof.gap}"
    if found.converged != (found.rel_gap <= tol):
        return f"{found.status} at {found.rel_gap} of {tol}"
    return ""
