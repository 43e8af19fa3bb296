"""The certificate: a dual point that is feasible, and the gap that it proves.

For any p_i in the simplex, with e_i the unit vector of the class of sample i, Q_ik = c_i (p_ik -
e_ik) and V = -A'Q,

    D(p) = -sum_i c_i sum_k p_ik log p_ik - sum_jk g*(V_jk) <= P*,

if V is within l1 where there is no l2, and zero for intercepts. With P = softmax(Z) of a point x,

    P(x) - D(p) = sum_i c_i KL(p_i | P_i) + sum_jk [g(x_jk) + g*(V_jk) - x_jk V_jk].

Every term is >= 0, so that nothing is lost to cancellation.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..certificate.gap import Certificate, relative
from ..certificate.points import TINY
from ..certificate.tuning import FLOOR_SHARE, HELD, REACH, UNIT
from .objective import Objective, Point

__all__ = ["Bound", "balanced", "certificate_of", "nothing_known", "prove", "simplex"]


class Bound(NamedTuple):
    """What a dual point proves."""

    dual: float
    gap: float
    y: np.ndarray  # p - e, a row a class
    reach: float


def nothing_known(objective: Objective, point: Point) -> Bound:
    """What p = e proves: that no objective is below zero."""
    y = np.zeros((objective.K, objective.n))
    return Bound(0.0, point.value, y, math.inf)


def simplex(p: np.ndarray) -> np.ndarray:
    """Columns put onto the simplex: what is negative becomes zero, sums become one."""
    p = np.maximum(p, 0.0)
    p /= np.maximum(p.sum(axis=0), TINY)
    return p


def balanced(objective: Objective, p: np.ndarray) -> np.ndarray:
    """Mend p: expected weights of classes become those of the labels, columns stay on the simplex.

    Classes that are expected too often give the same share of every p_ik away, and in each sample
    the others get it in proportion to what they lack.
    """
    if not objective.fit_intercept:
        return p
    for _ in range(2):  # the second time for rounding
        off = p @ objective.c - objective.share
        over, under = np.maximum(off, 0.0), np.maximum(-off, 0.0)
        if not (over.any() and under.any()):
            break
        gives = over / (objective.share + over)
        gets = under / under.sum()
        p = p - gives[:, None] * p + gets[:, None] * (gives @ p)
    return p


def prove(objective: Objective, point: Point, p: np.ndarray) -> Bound:
    """The gap that p, columns on the simplex, proves of a point."""
    p = balanced(objective, p)
    v = -objective.adjoint(objective.pulls(p))
    top = float(np.abs(v[: objective.d]).max(initial=0.0)) * (1.0 + 8.0 * UNIT)
    l1 = objective.l1
    shares = [1.0]
    if l1 > 0.0 and top > l1:
        shares = [l1 / top] if objective.l2 == 0.0 else [1.0, l1 / top]
    found = [_bound(objective, point, p, v, share) for share in shares]
    return min(found, key=lambda bound: bound.gap)


def _bound(objective: Objective, point: Point, p: np.ndarray, v: np.ndarray, share: float) -> Bound:
    """The same for e + share (p - e)."""
    y = p.copy()
    y[objective.labels, objective.own] -= 1.0
    if share != 1.0:
        y *= share
        p = y.copy()
        p[objective.labels, objective.own] += 1.0
        v = share * v
    ratio = np.log(np.maximum(p, TINY))
    ratio -= point.scores
    ratio += point.log_sums
    rows = np.einsum("ki,ki->i", p, ratio)
    gap = float(objective.c @ np.maximum(rows, 0.0))
    gap += _penalty_bracket(objective, point.x[: objective.d], v[: objective.d])
    reach = math.inf
    if objective.l1 == 0.0 and objective.l2 == 0.0:
        reach = REACH * (1.0 + float(np.abs(point.scores).max()))
        # Against all points whose columns add at most ``reach`` to a prediction.
        open_ = np.abs(v[: objective.d])
        own = np.abs(point.x[: objective.d])
        gap += float(np.sum(open_ * (own + reach / objective.largest[: objective.d, None])))
    if objective.fit_intercept:
        # Rounding has left something: moving as much probability changes the bound by scores.
        gap += float(np.abs(v[-1]).sum()) * (2.0 + float(np.ptp(point.scores)))
    return Bound(point.value - gap, gap, y, reach)


def _penalty_bracket(objective: Objective, x: np.ndarray, v: np.ndarray) -> float:
    """Sum of g(x) + g*(v) - x v.

    With s = soft(v, l1): l2/2 (x - s/l2)^2 + l1 |x| - x (v - s), and both parts are >= 0.
    """
    l1, l2 = objective.l1, objective.l2
    if l1 == 0.0 and l2 == 0.0:
        return 0.0  # v must be zero: the caller counts what is left
    if l1 == 0.0:
        off = (l2 * x - v).ravel()
        return float(np.dot(off, off)) / (2.0 * l2)
    inside = np.clip(v, -l1, l1)
    value = float(np.sum(np.maximum(l1 * np.abs(x) - x * inside, 0.0)))
    if l2 > 0.0:
        off = (l2 * x - (v - inside)).ravel()
        value += float(np.dot(off, off)) / (2.0 * l2)
    return value


def certificate_of(objective: Objective, point: Point, bound: Bound) -> Certificate:
    """The certificate of a point by a bound that was proven at this point or another."""
    gap = bound.gap
    if bound.dual != point.value - bound.gap:
        gap = max(point.value - bound.dual, 0.0) + 2.0 * HELD * abs(bound.dual)
    floor = FLOOR_SHARE * objective.start_value
    dual = point.value - gap
    rel_gap = relative(gap, point.value, dual, floor)
    return Certificate(point.value, dual, gap, rel_gap, bound.y.T, floor, bound.reach)
