"""Data of awkward shapes, and the optimum of any small problem by cvxpy."""

from __future__ import annotations

import functools
import warnings

import numpy as np

from spd1 import L1, L2, Box, ElasticNet
from spd1.losses import LOSSES
from spd1.solvers import METHODS, SPECIAL_METHODS
from support import oracle

#: What is promised of a method holds for these, too.
EVERY_METHOD = [*METHODS, *SPECIAL_METHODS]

#: Rows, columns; the names also say what ``make_data`` does to them.
SHAPES = {
    "tall": (40, 5),
    "square": (8, 8),
    "wide": (6, 20),
    "one_row": (1, 4),
    "one_column": (9, 1),
    "gaps": (12, 7),  # empty rows and columns
    "twins": (12, 8),  # duplicate columns, a constant column, duplicate rows
    "weights": (14, 6),  # sample weights, some zero
    "units": (16, 6),  # columns times 1e3 and 1e-3
    "large": (12, 5),  # everything times 1e3
    "small": (12, 5),  # everything times 1e-3
}


def make_reg(name: str, d: int) -> ElasticNet:
    """A regularizer for d features."""
    ramp = np.arange(d) / max(d, 1)
    return {
        "l1": lambda: L1(0.05),
        "l2": lambda: L2(0.1),
        "elastic": lambda: ElasticNet(l1=0.02, l2=0.1),
        "box": lambda: Box(-1.0, 1.0),
        "nonnegative": lambda: ElasticNet(l1=0.01, lower=0.0),
        "elastic_box": lambda: ElasticNet(l1=0.02, l2=0.05, lower=-0.2, upper=0.3),
        "away_from_zero": lambda: ElasticNet(l1=0.02, l2=0.05, lower=0.1, upper=0.7),
        "l2_array": lambda: L2(0.05 + ramp),
        "arrays": lambda: ElasticNet(
            l1=0.1 * ramp,
            l2=0.05 + 0.2 * ramp[::-1],
            lower=np.where(np.arange(d) % 3 == 1, 0.0, -np.inf),
            upper=np.where(np.arange(d) % 3 == 2, 0.4, np.inf),
        ),
        "mixed": lambda: ElasticNet(
            l1=np.where(np.arange(d) % 2 == 0, 0.1, 0.0),
            l2=np.where(np.arange(d) % 2 == 0, 0.0, 0.2),
            upper=np.where(np.arange(d) % 3 == 2, 0.4, np.inf),
        ),
        "none": lambda: ElasticNet(),
    }[name]()


def make_data(shape: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A and the weights; float32 holds the entries of A exactly."""
    n, d = SHAPES[shape]
    A, c = rng.standard_normal((n, d)), np.ones(n)
    A[rng.random((n, d)) < 0.3] = 0.0
    if shape == "gaps":
        A[[0, 5]], A[:, [2, 6]] = 0.0, 0.0
    elif shape == "twins":
        A[:, 3], A[:, 4], A[7] = A[:, 1], 1.0, A[2]
    elif shape == "weights":
        c = rng.random(n) * (np.arange(n) % 4 > 0)
    elif shape == "units":
        A *= np.array([1e3, 1e-3] + [1.0] * (d - 2))
    elif shape in ("large", "small"):
        A *= 1e3 if shape == "large" else 1e-3
    if not A.any():
        A[0, 0] = 1.0
    return A.astype(np.float32).astype(float), c / c.sum()


@functools.cache
def make(loss_name: str, reg_name: str, shape: str) -> oracle.Case:
    rng = np.random.default_rng([len(loss_name), len(reg_name), len(shape)])
    loss, (A, c) = LOSSES[loss_name](), make_data(shape, rng)
    size = np.maximum(np.linalg.norm(A, axis=0), 1e-300)
    scores = A @ (rng.standard_normal(A.shape[1]) / size * np.sqrt(len(A)))
    return oracle.Case(
        A, oracle.random_labels(loss, scores, rng), c, loss, make_reg(reg_name, A.shape[1])
    )


@functools.cache
def best(loss_name: str, reg_name: str, shape: str) -> float:
    """P at the best point cvxpy finds, >= P* and all but equal to it."""
    return minimum(make(loss_name, reg_name, shape))


@functools.cache
def suited(
    method: str, loss: str = "logistic", reg: str = "l2", weighted: bool = False
) -> oracle.Case:
    """The small case of the oracle, or a wide one for few-rows, which takes no other."""
    if method != "few-rows":
        return oracle.make_case(loss, reg, weighted)
    case = make(loss, reg, "wide")
    weights = np.arange(len(case.b)) % 4 if weighted else np.ones(len(case.b))
    return case._replace(c=weights / weights.sum())


@functools.cache
def best_suited(
    method: str, loss: str = "logistic", reg: str = "l2", weighted: bool = False
) -> float:
    """P at the best point known for ``suited``."""
    if method != "few-rows":
        return oracle.optimum(loss, reg, weighted).best
    return minimum(suited(method, loss, reg, weighted))


def minimum(case: oracle.Case) -> float:
    """The same for any case; scaling the columns helps the oracle, not the solvers under test."""
    import cvxpy as cp

    size = np.linalg.norm(case.A, axis=0)
    size = np.where(size > 0, size, 1.0)
    l1, l2, lower, upper = oracle.net(case.reg, len(size))
    z = cp.Variable(len(size))
    bounds = [z[j] >= lower[j] * size[j] for j in np.flatnonzero(np.isfinite(lower))]
    bounds += [z[j] <= upper[j] * size[j] for j in np.flatnonzero(np.isfinite(upper))]
    penalty = (l1 / size) @ cp.abs(z) + (l2 / size**2 / 2) @ cp.square(z)
    used = case.c > 0
    phi = oracle.expression(cp, case.loss, (case.A / size)[used] @ z, case.b[used])
    tight = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "may be inaccurate": used as an upper bound of P*
        goal = cp.Minimize(case.c[used] @ phi + penalty)
        cp.Problem(goal, bounds).solve(solver=cp.CLARABEL, **tight)
    return oracle.primal(case, np.clip(z.value / size, lower, upper))
