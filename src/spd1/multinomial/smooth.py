"""A step for problems without l1: Newton's, by conjugate gradients with a preconditioner."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lapack

from ..certificate.tuning import REACH
from .objective import Objective, Point
from .tuning import EARLY, FORCING, GOAL_SHARE, MOST_STEPS

__all__ = ["Step", "bent", "guess", "levelled", "newton_step"]


class Step(NamedTuple):
    """A direction, what it does to the scores, and by how much its model falls."""

    x: np.ndarray
    scores: np.ndarray
    decrease: float


def bent(point: Point, scores: np.ndarray) -> np.ndarray:
    """Change of the chances when the scores change, to first order."""
    p = point.chances
    return np.asarray(p * (scores - np.einsum("ki,ki->i", p, scores)))


def guess(point: Point, step: Step) -> np.ndarray:
    """Chances after a full step, to first order.

    A'(c (p - e)) of them is the gradient of the model at its end: where the model is minimised,
    they are the dual point that belongs to it, and intercepts balance exactly.
    """
    return np.asarray(point.chances + bent(point, step.scores))


def newton_step(objective: Objective, point: Point, make: Any, goal: float) -> Step:
    """Minimise the quadratic model, until what is left costs the gap little."""
    c, l2 = objective.c, objective.l2_rows
    gradient = objective.adjoint(objective.pulls(point.chances)) + l2 * point.x
    inverse = make(objective, point.chances)
    x, z = np.zeros_like(point.x), np.zeros_like(point.scores)
    left = -gradient
    wish = inverse.solve(left)
    along, size = wish, float(np.vdot(left, wish))
    if inverse.exact and 0.5 * size > EARLY * point.value:  # its gap is of no interest
        return Step(wish, objective.scores(wish), 0.5 * size)
    decrease = 0.0
    for _ in range(MOST_STEPS):
        if not size > 0.0:
            break
        scores = objective.scores(along)
        turned = objective.adjoint(c * bent(point, scores)) + l2 * along
        curvature = float(np.vdot(along, turned))
        if not curvature > 0.0:
            break
        length = size / curvature
        x += length * along
        z += length * scores
        left -= length * turned
        decrease += 0.5 * length * size
        cost = _cost(objective, point, left)
        share = min(FORCING, decrease / max(point.value, 1e-300))
        if cost <= max(GOAL_SHARE * goal, share * decrease):
            break
        wish = inverse.solve(left)
        before, size = size, float(np.vdot(left, wish))
        if decrease > EARLY * point.value and 0.5 * size <= inverse.early_share * decrease:
            break
        along = wish + (size / before) * along
    if objective.l2 == 0.0:  # what all classes share changes no score: it must not drift
        x -= x.mean(axis=1, keepdims=True)
        z -= z.mean(axis=0)
    return levelled(objective, point, Step(x, z, decrease))


def _cost(objective: Objective, point: Point, left: np.ndarray) -> float:
    """What a residual adds to the gap."""
    slopes = left[: objective.d]
    if objective.l2 > 0.0:
        flat = slopes.ravel()
        return float(np.dot(flat, flat)) / (2.0 * objective.l2)
    reach = REACH * (1.0 + float(np.abs(point.scores).max()))
    return float(np.sum(np.abs(slopes) / objective.largest[: objective.d, None])) * reach


def levelled(objective: Objective, point: Point, step: Step) -> Step:
    """The step with the intercepts that minimise the model, all else as it is.

    The guess that belongs to it then balances but for rounding.
    """
    if not objective.fit_intercept:
        return step
    p = point.chances
    left = objective.share - guess(point, step) @ objective.c
    weighted = p * objective.c
    H = -(weighted @ p.T)
    H.flat[:: objective.K + 1] += weighted.sum(axis=1)
    H += H.trace() / objective.K**2 + 1e-300
    _, level, failed = lapack.dposv(H, left)
    if failed or not np.all(np.isfinite(level)):
        return step
    step.x[-1] += level
    step.scores[...] += level[:, None]
    return step._replace(decrease=step.decrease + 0.5 * float(level @ left))
