"""Small problems whose saddle point is known to many digits, and points around it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spd1 import L2, ElasticNet, Problem, solve

from . import reference

#: gamma is 1 and 1/2: a gamma that is missing in a formula shows.
LOSSES = ("squared", "squared_hinge")
SHAPES = ((4, 3), (2, 6), (7, 2), (1, 1))


class Saddle(NamedTuple):
    """A problem, the same in plain NumPy, and its saddle point."""

    problem: Problem
    task: reference.Task
    x: np.ndarray
    y: np.ndarray


def small_saddle(rng, shape, reg, l2, loss="squared") -> Saddle:
    """Rows of different lengths, with weights; ``reg`` is "l2" or "box" (with an l1)."""
    n, d = shape
    A = rng.standard_normal((n, d)) * rng.uniform(0.3, 3.0, (n, 1))
    b, weights = rng.standard_normal(n), rng.uniform(0.5, 2.0, n)
    b = np.where(b > 0, 1.0, -1.0) if loss == "squared_hinge" else b
    net = L2(l2) if reg == "l2" else ElasticNet(l1=0.1, l2=l2, lower=-0.6, upper=0.7)
    problem = Problem(A, b, loss, net, weights)
    task = reference.task_of(A, b, weights / weights.sum(), loss, net)
    x = polished(task, solve(problem, tol=1e-14).x)
    return Saddle(problem, task, x, reference.slope(loss, A @ x, b))


def polished(task: reference.Task, x) -> np.ndarray:
    """The minimiser to rounding: both losses are quadratic near it, so one linear system is left.

    A gap of 1e-14 alone would leave 1e-7 of x open.
    """
    bend = task.c * {"squared": 1.0, "squared_hinge": 2.0}[task.loss]
    if task.loss == "squared_hinge":
        bend = np.where(task.b * (task.A @ x) < 1.0, bend, 0.0)
    free = (np.abs(x) > 1e-9) & (x > task.lower + 1e-9) & (x < task.upper - 1e-9)
    F, rest, x = task.A[:, free], task.A[:, ~free] @ x[~free], x.copy()
    curved = F.T @ (bend[:, None] * F) + np.diag(task.l2[free])
    pushed = F.T @ (bend * (task.b - rest)) - task.l1[free] * np.sign(x[free])
    x[free] = np.linalg.solve(curved, pushed)
    return x


def points_around(rng, saddle: Saddle, count=10):
    """x, y and another x, each as far from the saddle point as chance will have it."""
    low, high = saddle.problem.reg.lower, saddle.problem.reg.upper
    for _ in range(count):
        size, far = 10.0 ** rng.uniform(-3, 1, 2)
        x = np.clip(saddle.x + size * rng.standard_normal(len(saddle.x)), low, high)
        y = saddle.y + size * rng.standard_normal(len(saddle.y))
        yield x, y, np.clip(x + far * rng.standard_normal(len(x)), low, high)
