"""Runs that are stopped and go on, for tests in this process and in others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from spd1 import L1, L2, Problem, open_store, solve, write_store
from support import cases

COLUMNS = ("passes", "paper_passes", "primal", "dual", "gap", "rel_gap")
FIELDS = ("x", "y", "primal", "dual", "gap", "rel_gap", "status", "passes", "method", "steps",
          "floor", "reach")  # fmt: skip


def small():
    """A problem that rows solves in some looks."""
    return cases.suited("rows").problem()


def after(looks):
    """A callback that asks a run to stop after so many looks."""
    left = [looks]

    def callback(row):
        left[0] -= 1
        return left[0] < 0

    return callback


def in_parts(problem, path, **options):
    """A run that is stopped at every look; each part has a problem of its own."""
    for stops in range(1000):
        found = solve(problem(), checkpoint=path, every=1e9, callback=after(1), **options)
        if found.status != "interrupted":
            return found, stops
    raise AssertionError("it does not end")


def assert_same(one, other):
    """Every bit but seconds."""
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(one.trace, name), getattr(other.trace, name), name)


def drawn(n, d, loss, reg, density=1.0):
    rng = np.random.default_rng([n, d])
    A = rng.standard_normal((n, d))
    if density < 1.0:
        A *= rng.random((n, d)) < density
    b = np.where(A @ rng.standard_normal(d) + rng.standard_normal(n) > 0, 1.0, -1.0)
    return Problem(A if density == 1.0 else sp.csr_array(A), b, loss, reg)


def stored(n, d, loss, reg):
    """The same from tiles on disk, in the folder that the process works in."""
    if not Path("store").exists():
        problem = drawn(n, d, loss, reg)
        A, b = problem.grid.tiles[0][0].values, problem.b
        write_store("store", A, b, tile_mb=A.nbytes / 2**20 / 5)
    return Problem(open_store("store"), loss=loss, reg=reg)


THREADS = {"engine": "threads", "n_threads": 2}

#: Runs of some looks: how to make the problem, and how to solve it.
TASKS = {
    "rows": (lambda: drawn(300, 40, "logistic", L2(1e-4)), {"method": "rows", "tol": 1e-9}),
    "spd1-vr": (
        lambda: drawn(200, 30, "logistic", L2(1e-2)), {"method": "spd1-vr", "tol": 1e-9},
    ),
    "newton": (
        lambda: drawn(400, 300, "logistic", L1(3e-3), 0.2), {"method": "newton", "tol": 1e-10},
    ),
    "auto": (lambda: drawn(300, 60, "hinge", L1(1e-3)), {"tol": 1e-9}),
    "ascent": (  # of some thirty looks: with few of them there is little to kill
        lambda: drawn(400, 200, "hinge", L2(1e-4)), {"method": "ascent", "tol": 1e-9},
    ),
    "rows on tiles": (
        lambda: drawn(300, 40, "logistic", L2(1e-3)),
        {"method": "rows", "tol": 1e-8, "grid": (3, 2)},
    ),
    "spd1-vr on tiles, threads": (
        lambda: drawn(200, 30, "logistic", L2(1e-2)),
        {"method": "spd1-vr", "tol": 1e-8, "grid": (2, 2)} | THREADS,
    ),
    "newton, threads": (  # large enough for threads to share its products
        lambda: drawn(2000, 200, "logistic", L1(1e-3)),
        {"method": "newton", "tol": 1e-10} | THREADS,
    ),
    "rows, store": (
        lambda: stored(300, 40, "logistic", L2(1e-3)), {"method": "rows", "tol": 1e-8},
    ),
    "newton, store": (
        lambda: stored(400, 300, "hinge", L1(3e-3)), {"method": "newton", "tol": 1e-9},
    ),
}  # fmt: skip


def smooth():
    """A problem that every method of gradients and of single entries takes."""
    return drawn(200, 30, "logistic", L2(1e-2))


#: The other methods that keep checkpoints, and the same on stores and with threads. Left out, as
#: there is hardly a moment between their looks: direct, multipliers (2 looks) and few-rows (3).
MORE_TASKS = {
    **{
        name: (smooth, {"method": name, "tol": tol})
        for name, tol in {
            "columns": 1e-9, "svrg": 1e-9, "saga": 1e-9, "psgd": 2e-2, "spd1": 0.25,
            "spd1-vr-acc": 1e-9, "spd1-vr-catalyst": 1e-9, "sdca": 1e-9, "asdca": 1e-9,
            "spdc": 1e-9, "spdhg": 1e-9, "rpd": 1e-9, "svrg-saddle": 1e-4, "svrg-saddle-acc": 1e-7,
            "saga-saddle": 5e-3, "katyusha": 1e-9, "dspdc": 0.4, "s2cd": 1e-9,
        }.items()
    },
    "chambolle-pock": (smooth, {"method": "chambolle-pock", "tol": 1e-12}),
    "extragradient": (
        lambda: drawn(200, 30, "logistic", L2(1e-4)), {"method": "extragradient", "tol": 1e-6},
    ),
    "pdlp": (
        lambda: drawn(200, 30, "logistic", L2(1e-4)), {"method": "pdlp", "tol": 1e-9},
    ),
    "interior": (
        lambda: drawn(60, 40, "hinge", L1(1e-3)), {"method": "interior", "tol": 1e-9},
    ),
    "descent": (
        lambda: drawn(200, 100, "logistic", L1(1e-4)), {"method": "descent", "tol": 1e-9},
    ),
    "newton-cg": (
        lambda: drawn(200, 30, "logistic", L2(1e-6)), {"method": "newton-cg", "tol": 1e-9},
    ),
    "newton-gram": (
        lambda: drawn(60, 50, "logistic", L2(1e-10)), {"method": "newton-gram", "tol": 1e-9},
    ),
    "learnt": (
        lambda: drawn(200, 30, "logistic", L2(1e-5)), {"method": "learnt", "tol": 1e-9},
    ),
    "auto, store": (lambda: stored(300, 60, "hinge", L1(1e-3)), {"tol": 1e-9}),
    "ascent, store": (
        lambda: stored(400, 200, "hinge", L2(1e-3)), {"method": "ascent", "tol": 1e-7},
    ),
    "learnt, store": (
        lambda: stored(300, 40, "logistic", L2(1e-5)), {"method": "learnt", "tol": 1e-9},
    ),
    "interior, store": (
        lambda: stored(60, 40, "hinge", L1(1e-3)), {"method": "interior", "tol": 1e-9},
    ),
    "spd1-vr, store": (
        lambda: stored(200, 30, "logistic", L2(1e-2)), {"method": "spd1-vr", "tol": 1e-6},
    ),
    "spd1, store": (
        lambda: stored(200, 30, "logistic", L2(1e-2)), {"method": "spd1", "tol": 0.25},
    ),
    "ascent, threads": (  # large enough for two blocks in one kernel
        lambda: drawn(2000, 200, "hinge", L2(1e-3)), {"method": "ascent", "tol": 1e-8} | THREADS,
    ),
    "rows, threads": (  # large enough for blocks side by side
        lambda: drawn(10000, 700, "logistic", L2(1e-4)), {"method": "rows", "tol": 1e-8} | THREADS,
    ),
    "rows on tiles, threads": (
        lambda: drawn(300, 40, "hinge", L2(1e-3)),
        {"method": "rows", "tol": 1e-7, "grid": (3, 2)} | THREADS,
    ),
    "learnt, threads": (
        lambda: drawn(2000, 200, "logistic", L2(1e-5)), {"method": "learnt", "tol": 1e-9} | THREADS,
    ),
    "rows, store, threads": (
        lambda: stored(300, 40, "logistic", L2(1e-3)), {"method": "rows", "tol": 1e-8} | THREADS,
    ),
    "newton, store, threads": (
        lambda: stored(400, 300, "hinge", L1(3e-3)), {"method": "newton", "tol": 1e-9} | THREADS,
    ),
}  # fmt: skip


def task(name, path, **more):
    """Begin one of them, or go on with it."""
    problem, options = (TASKS | MORE_TASKS)[name]
    return solve(problem(), checkpoint=path, **options, **more)
