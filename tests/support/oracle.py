"""Independent truth: plain NumPy transcriptions of the definitions, and optima by cvxpy.

Nothing here calls a method of a loss or of a regularizer: their parameters are read, their
formulas are written down a second time. ``best`` of an ``Optimum`` is P at a feasible point, hence
an upper bound of P*: tests that compare with it need no tolerance for the oracle's accuracy.
"""

from __future__ import annotations

import functools
import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from spd1 import L1, L2, Box, ElasticNet, Problem
from spd1.losses import LOSSES, EpsilonInsensitive, Huber, Quantile, SmoothedHinge
from spd1.losses import SquaredEpsilonInsensitive as SquaredEps

#: Every registered loss with its default parameters, and variations of those that have some.
LOSS_CASES = [
    *(cls() for cls in LOSSES.values()),
    Huber(0.5),
    Quantile(0.9),
    SmoothedHinge(0.3),
    EpsilonInsensitive(0.0),
    EpsilonInsensitive(0.2),
    SquaredEps(0.0),
    SquaredEps(0.3),
]

#: How a user may hold the same numbers; each value turns a C-ordered float64 array into one.
LAYOUTS = {
    "dense_c": np.ascontiguousarray,
    "dense_f": np.asfortranarray,
    "dense_strided": lambda A: np.repeat(np.repeat(A, 2, axis=0), 3, axis=1)[::2, ::3],
    "dense_float32": lambda A: A.astype(np.float32),
    "csr": sp.csr_array,
    "csc": sp.csc_array,
    "csr_float32": lambda A: sp.csr_array(A.astype(np.float32)),
    "csc_float32": lambda A: sp.csc_array(A.astype(np.float32)),
    "csr_int64": lambda A: with_wide_indices(sp.csr_array(A)),
    "csc_int64": lambda A: with_wide_indices(sp.csc_array(A)),
}


def with_wide_indices(M: Any) -> Any:
    """The same sparse array with 64-bit indices."""
    parts = M.data, M.indices.astype(np.int64), M.indptr.astype(np.int64)
    return type(M)(parts, shape=M.shape)


def example_labels(loss: Any) -> tuple[float, ...]:
    """A few labels that the loss accepts."""
    return {"sign": (-1.0, 1.0), "count": (0.0, 1.0, 3.0), "real": (-1.3, 0.0, 2.5)}[
        loss.label_kind
    ]


def random_labels(loss: Any, scores: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Noisy labels that depend on the scores."""
    noisy = scores + rng.standard_normal(len(scores))
    if loss.label_kind == "sign":
        return np.where(noisy > 0, 1.0, -1.0)
    if loss.label_kind == "count":
        return rng.poisson(np.exp(np.clip(scores, -2, 2))).astype(float)
    return noisy


# The table of losses, transcribed. Arrays in, arrays out.


def phi(loss: Any, u: np.ndarray, b: np.ndarray) -> np.ndarray:
    r, m, over = np.abs(u - b), np.maximum(0.0, 1.0 - b * u), np.maximum
    with np.errstate(over="ignore", invalid="ignore"):
        match type(loss).__name__:
            case "Logistic":
                return np.logaddexp(0.0, -b * u)
            case "Hinge":
                return m
            case "SquaredHinge":
                return m**2
            case "SmoothedHinge":
                return np.where(m < loss.s, m**2 / (2 * loss.s), m - loss.s / 2)
            case "Squared":
                return r**2 / 2
            case "Huber":
                return np.where(r < loss.delta, r**2 / 2, loss.delta * r - loss.delta**2 / 2)
            case "Absolute":
                return r
            case "Quantile":
                return loss.q * over(b - u, 0.0) + (1 - loss.q) * over(u - b, 0.0)
            case "EpsilonInsensitive":
                return over(r - loss.eps, 0.0)
            case "SquaredEpsilonInsensitive":
                return over(r - loss.eps, 0.0) ** 2
            case "Poisson":
                return np.exp(u) - b * u
    raise LookupError(f"write down phi of {loss} in tests/oracle.py")


def phi_star(loss: Any, y: np.ndarray, b: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        by = b * y
        match type(loss).__name__:
            case "Logistic":
                s = -by
                value = np.where(s > 0, s * np.log(s), 0) + np.where(
                    s < 1, (1 - s) * np.log1p(-s), 0
                )
                inside = (s >= 0) & (s <= 1)
            case "Hinge":
                value, inside = by, (by >= -1) & (by <= 0)
            case "SquaredHinge":
                value, inside = by + y**2 / 4, by <= 0
            case "SmoothedHinge":
                value, inside = by + loss.s * y**2 / 2, (by >= -1) & (by <= 0)
            case "Squared":
                value, inside = by + y**2 / 2, np.isfinite(y)
            case "Huber":
                value, inside = by + y**2 / 2, np.abs(y) <= loss.delta
            case "Absolute":
                value, inside = by, np.abs(y) <= 1
            case "Quantile":
                value, inside = by, (y >= -loss.q) & (y <= 1 - loss.q)
            case "EpsilonInsensitive":
                value, inside = by + loss.eps * np.abs(y), np.abs(y) <= 1
            case "SquaredEpsilonInsensitive":
                value, inside = by + loss.eps * np.abs(y) + y**2 / 4, np.isfinite(y)
            case "Poisson":
                m = y + b
                value, inside = np.where(m > 0, m * np.log(m) - m, 0.0), m >= 0
            case _:
                raise LookupError(f"write down phi* of {loss} in tests/oracle.py")
    return np.where(inside, value, np.inf)


def net(reg: ElasticNet, d: int) -> tuple[np.ndarray, ...]:
    """l1, l2, lower, upper, feature by feature."""
    return tuple(np.broadcast_to(v, (d,)) for v in (reg.l1, reg.l2, reg.lower, reg.upper))


def g(reg: ElasticNet, x: np.ndarray) -> np.ndarray:
    l1, l2, lower, upper = net(reg, len(x))
    with np.errstate(over="ignore"):
        value = l1 * np.abs(x) + l2 / 2 * x**2
    return np.where((x < lower) | (x > upper), np.inf, value)


def g_star(reg: ElasticNet, v: np.ndarray) -> np.ndarray:
    """sup_t v t - g(t): the best of the bounds, of zero and of the two stationary points."""
    l1, l2, lower, upper = net(reg, len(v))
    best = np.full(len(v), -np.inf)
    with np.errstate(all="ignore"):
        for t in (lower, upper, np.zeros(len(v)), (v - l1) / l2, (v + l1) / l2):
            t = np.clip(np.nan_to_num(t, nan=0.0, posinf=np.inf, neginf=-np.inf), lower, upper)
            value = v * t - l1 * np.abs(t) - l2 / 2 * t**2
            best = np.where(np.isfinite(t) & (value > best), value, best)
    runs_up = np.isinf(upper) & (l2 == 0) & (v > l1)
    runs_down = np.isinf(lower) & (l2 == 0) & (v < -l1)
    return np.where(runs_up | runs_down, np.inf, best)


def primal(case: Case, x: np.ndarray) -> float:
    """P(x); what overflows counts as infinite."""
    with np.errstate(all="ignore"):
        terms = phi(case.loss, case.A @ x, case.b)
        value = np.sum(case.c[case.c > 0] * terms[case.c > 0]) + np.sum(g(case.reg, x))
    return float(value) if np.isfinite(value) else np.inf


def dual(case: Case, y: np.ndarray) -> float:
    """D(y); what overflows counts as minus infinity."""
    with np.errstate(all="ignore"):
        terms = phi_star(case.loss, y, case.b)
        v = -case.A.T @ (case.c * y)
        value = -np.sum(case.c[case.c > 0] * terms[case.c > 0]) - np.sum(g_star(case.reg, v))
    return float(value) if np.isfinite(value) else -np.inf


# Small problems and their optima.

N, D = 12, 6

REGULARIZERS = {
    "l2": L2(0.1),
    "l1": L1(0.05),
    "elastic": ElasticNet(l1=0.02, l2=0.1),
    "box": Box(-1.0, 1.0),
    "elastic_box": ElasticNet(l1=0.02, l2=0.05, lower=-0.2, upper=0.3),
    "per_feature": ElasticNet(
        l1=[0.05, 0.1, 0.0, 0.02, 0.05, 0.0],
        l2=[0.0, 0.1, 0.2, 0.05, 0.1, 0.0],
        lower=[-np.inf] * 5 + [-0.5],
        upper=[np.inf] * 5 + [0.5],
    ),
    "nonnegative_l2": ElasticNet(l2=0.1, lower=0.0),
    "intercept": ElasticNet(l2=[0.0, 0.1, 0.1, 0.1, 0.1, 0.1]),
    "nonnegative": Box(lower=0.0),
    "none": ElasticNet(),
}
UNPENALISED = ("nonnegative", "none")  # P* may not be attained with a margin loss


def combinations() -> list[tuple[str, str]]:
    """Loss and regularizer names of every problem that surely has a minimiser."""
    return [
        (loss, reg)
        for loss, cls in LOSSES.items()
        for reg in REGULARIZERS
        if reg not in UNPENALISED or cls().label_kind != "sign"
    ]


class Case(NamedTuple):
    """A problem in the plainest form."""

    A: np.ndarray
    b: np.ndarray
    c: np.ndarray
    loss: Any
    reg: ElasticNet

    def problem(self, layout: str = "dense_c") -> Problem:
        return Problem(LAYOUTS[layout](self.A), self.b, self.loss, self.reg, self.c * 7.0)


class Optimum(NamedTuple):
    """A minimiser, the dual point that goes with it, and P at the minimiser."""

    x: np.ndarray
    y: np.ndarray
    best: float


@functools.cache
def make_case(loss_name: str, reg_name: str, weighted: bool) -> Case:
    """The same data for every call; float32 holds its entries exactly, about half are zero."""
    rng = np.random.default_rng([len(loss_name), len(reg_name), weighted])
    loss = LOSSES[loss_name]()
    A = rng.standard_normal((N, D)).astype(np.float32).astype(float)
    A[rng.random((N, D)) < 0.4] = 0.0
    if reg_name == "intercept":
        A[:, 0] = 1.0
    b = random_labels(loss, A @ rng.standard_normal(D), rng)
    c = rng.random(N) * (rng.random(N) < 0.85) if weighted else np.ones(N)
    return Case(A, b, c / c.sum(), loss, REGULARIZERS[reg_name])


@functools.cache
def optimum(loss_name: str, reg_name: str, weighted: bool) -> Optimum:
    import cvxpy as cp

    case = make_case(loss_name, reg_name, weighted)
    l1, l2, lower, upper = net(case.reg, D)
    x, u = cp.Variable(D), cp.Variable(N)
    link = case.A @ x == u
    bounds = [x[j] >= lower[j] for j in range(D) if np.isfinite(lower[j])]
    bounds += [x[j] <= upper[j] for j in range(D) if np.isfinite(upper[j])]
    penalty = l1 @ cp.abs(x) + (l2 / 2) @ cp.square(x)
    objective = cp.Minimize(case.c @ expression(cp, case.loss, u, case.b) + penalty)
    tight = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "may be inaccurate": what comes out is checked by its gap
        cp.Problem(objective, [link, *bounds]).solve(solver=cp.CLARABEL, **tight)
    point = np.clip(x.value, lower, upper)
    y = np.divide(link.dual_value, case.c, out=np.zeros(N), where=case.c > 0)
    return Optimum(point, y, primal(case, point))


def expression(cp: Any, loss: Any, u: Any, b: np.ndarray) -> Any:
    """phi as cvxpy writes it."""
    short, r = cp.pos(1 - cp.multiply(b, u)), cp.abs(u - b)
    return {
        "Logistic": lambda: cp.logistic(-cp.multiply(b, u)),
        "Hinge": lambda: short,
        "SquaredHinge": lambda: cp.square(short),
        "SmoothedHinge": lambda: cp.huber(short, loss.s) / (2 * loss.s),
        "Squared": lambda: cp.square(u - b) / 2,
        "Huber": lambda: cp.huber(u - b, loss.delta) / 2,
        "Absolute": lambda: r,
        "Quantile": lambda: cp.maximum(loss.q * (b - u), (1 - loss.q) * (u - b)),
        "EpsilonInsensitive": lambda: cp.pos(r - loss.eps),
        "SquaredEpsilonInsensitive": lambda: cp.square(cp.pos(r - loss.eps)),
        "Poisson": lambda: cp.exp(u) - cp.multiply(b, u),
    }[type(loss).__name__]()
