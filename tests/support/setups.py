"""Small problems twice, for the package and for the plain transcriptions, and their starts."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp

from spd1 import L1, L2, ElasticNet, Problem
from spd1.kernel.rng import index, key_of, shuffled, widths
from spd1.solvers import method_class
from spd1.solvers.base import Method
from spd1.solvers.registry import build

from . import oracle, reference

N, D = 8, 6
KEY = key_of(11)
EPOCHS = 3
STEPS = {"eta": 0.3, "tau": 1.7}
SIGMA = 0.4

SMOOTH = ("logistic", "squared_hinge", "squared", "huber", "poisson")
LAYOUTS = {
    "dense_c": np.ascontiguousarray,
    "dense_f": np.asfortranarray,
    "csr": sp.csr_array,
    "csc": sp.csc_array,
}
REGULARIZERS = {
    "l2": L2(0.2),
    "l1": L1(0.1),
    "elastic": ElasticNet(l1=0.05, l2=0.3),
    "elastic_box": ElasticNet(l1=0.05, l2=0.3, lower=-0.4, upper=0.5),
    "per_feature": ElasticNet(
        l1=[0.0, 0.1, 0.0, 0.3, 0.05, 0.2],
        l2=[0.0, 0.0, 0.5, 0.1, 0.2, 0.0],
        lower=[-np.inf, -0.3, 0.2, -np.inf, -1.0, 0.0],
        upper=[np.inf, 0.3, 0.8, 0.1, np.inf, 0.6],
    ),
}
# Every layout, precision and sampling; losses, regularizers and weights rotate.
CASES = [
    # layout, dtype, sampling, loss, regularizer, weighted
    ("dense_c", "f8", "uniform", "logistic", "l2", False),
    ("dense_f", "f8", "uniform", "squared_hinge", "l1", True),
    ("csr", "f8", "uniform", "hinge", "elastic_box", False),
    ("csc", "f8", "uniform", "squared", "per_feature", True),
    ("csr", "f8", "nonzeros", "logistic", "per_feature", True),
    ("csc", "f8", "nonzeros", "squared_hinge", "l2", False),
    ("dense_c", "f4", "uniform", "hinge", "l1", True),
    ("dense_f", "f4", "uniform", "squared", "elastic_box", False),
    ("csr", "f4", "uniform", "logistic", "l1", True),
    ("csc", "f4", "uniform", "squared_hinge", "per_feature", False),
    ("csr", "f4", "nonzeros", "hinge", "l2", True),
    ("csc", "f4", "nonzeros", "squared", "elastic_box", True),
]
NAMES = ["-".join(map(str, case)) for case in CASES]


# Every kernel of a case takes seconds to compile: every second one waits for the slow tests.
def thinned(cases):
    return [
        pytest.param(case, id="-".join(map(str, case)), marks=[pytest.mark.slow] if k % 2 else [])
        for k, case in enumerate(cases)
    ]


SOME_CASES = thinned(CASES)
# Row methods draw rows only: one case for each layout and precision, both with and without gaps.
# Every layout is in the usual tests, dense and sparse ones with either precision.
WAITING = [("dense_f", "f8"), ("csc", "f8"), ("dense_c", "f4"), ("csr", "f4")]
ROW_CASES = [
    pytest.param(
        case,
        id="-".join(map(str, case)),
        marks=[pytest.mark.slow] if case[:2] in WAITING else [],
    )
    for case in CASES
    if case[2] == "uniform"
]
# Column tiles have two forms: with y tied to x for smooth losses, and free for those with corners.
COLUMN_FORMS = [
    ("csr", "f8", "uniform", "smoothed_hinge", "l2", True),
    ("csc", "f8", "uniform", "hinge", "l2", True),
    ("csr", "f4", "uniform", "absolute", "l1", True),
    ("dense_f", "f8", "uniform", "absolute", "per_feature", False),
]
COLUMN_CASES = [
    *ROW_CASES,
    *(pytest.param(case, id="-".join(map(str, case))) for case in COLUMN_FORMS),
]
SMOOTH = ("logistic", "squared_hinge", "squared")
REAL = ("squared", "absolute")  # the others have signs for labels


class Setup:
    """A problem twice, for the package and for the reference, and a starting point inside it."""

    def __init__(self, layout, dtype, sampling, loss, reg, weighted):
        rng = np.random.default_rng([ord(layout[-1]), len(loss), len(reg), weighted])
        A = rng.standard_normal((N, D)).astype(dtype)
        if layout.startswith("cs"):  # about half empty, row 2 and column 3 entirely
            A[rng.random((N, D)) < 0.5] = 0.0
            A[2, :], A[:, 3] = 0.0, 0.0
        b = rng.standard_normal(N) if loss in REAL else rng.choice([-1.0, 1.0], N)
        weights = rng.random(N) if weighted else np.ones(N)
        self.problem = Problem(LAYOUTS[layout](A), b, loss, REGULARIZERS[reg], weights)
        self.sampling = sampling
        self.drawn = A != 0 if sampling == "nonzeros" else np.ones((N, D), dtype=bool)
        self.r, self.k = self.drawn.sum(axis=1), self.drawn.sum(axis=0)
        self.task = reference.task_of(A, b, weights / weights.sum(), loss, REGULARIZERS[reg])
        self.x = np.clip(rng.standard_normal(D), self.task.lower, self.task.upper)
        self.y = reference.slope(loss, rng.standard_normal(N), b)

    def worker(self, name, chunk=None):
        """The method, ready to run with fixed steps, in kernel calls of ``chunk`` steps."""
        rows = name not in ("spd1", "spd1-vr")
        worker = method_class(name)(self.problem, "auto" if rows else self.sampling, KEY)
        steps = STEPS | {"sigma": SIGMA}
        worker.steps = {key: steps[key] for key in worker.step_names}
        if chunk:
            worker.chunks = lambda count, size=0: Method.chunks(worker, count, chunk)
        worker.begin(self.x, self.y)
        return worker

    def pair(self, counter, draws=2):
        """Which (i, j) draw number ``counter`` stands for, by the definition of the sampling."""
        if self.sampling == "uniform":
            return draw(counter, N), draw(counter + 1, D)
        i, j = np.argwhere(self.drawn)[self.in_order(counter // draws)]
        return int(i), int(j)

    def in_order(self, step):
        """Which stored entry a step draws: each once a pass, in an order of the pass."""
        return int(shuffled(KEY, np.uint64(step), *widths(int(self.drawn.sum()))))

    def quadruple(self, counter):
        """i, i', j, j' of a step of SPD1-VR: i' among the rows of j, j' among the columns of i."""
        i, j = self.pair(counter, draws=4)
        others = np.flatnonzero(self.drawn[:, j]), np.flatnonzero(self.drawn[i])
        i2, j2 = (line[draw(counter + 2 + q, len(line))] for q, line in enumerate(others))
        return i, i2, j, j2

    def steps_an_epoch(self):
        return int(self.drawn.sum())


def draw(counter, size):
    return int(index(KEY, counter, int(size)))


def run(worker, epochs=EPOCHS):
    for _ in range(epochs):
        for _ in worker.epoch():
            pass
    return worker


def assert_close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


def assert_moved(found, start):
    """Guard against a comparison of two methods that both do nothing."""
    assert np.max(np.abs(found - start)) > 1e-3


def worker_of(setup, name, tile):
    """A method on tiles at its start."""
    worker = build(name, setup.problem, tile, "auto", KEY)
    worker.steps = dict(STEPS)
    worker.begin(setup.x, setup.y)
    return worker


def smooth_problem(loss, shape, rng, layout="dense_c", l2=0.3):
    """A smooth loss and l2, weights of which one is zero; and its data as a plain array."""
    A = (rng.standard_normal(shape) / math.sqrt(shape[1])).astype(np.float32).astype(float)
    instance = oracle.LOSSES[loss]()
    b = oracle.random_labels(instance, A @ rng.standard_normal(shape[1]), rng)
    weights = rng.random(shape[0]) * (np.arange(shape[0]) != 1)
    return Problem(oracle.LAYOUTS[layout](A), b, loss, L2(l2), weights), A
